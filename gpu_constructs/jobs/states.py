"""The state machine of a job, in the Amazon States Language: run the task, read why it ended, run it again or not.

One attempt is one ``ecs:runTask.sync``. Step Functions takes a task for failed if a container ended with another code
than 0, and puts the description of the task into the cause
(https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html); of a task that was interrupted it may say
either, so both ends are read in the same way. Each cause has a counter of its own, and a budget.

ECS lists tasks by family and not by group, so other executions' tasks are among them, with the whole of what each was
given. Step Functions takes 256 KiB from an answer and from a state
(https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html), and ends an execution that has more. So a
page is short, and of each task only its ARN and its group are kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.cdk.arguments import in_words
from gpu_constructs.cdk.state_parts import (
    State,
    call,
    choice_state,
    fail_state,
    if_state,
    is_there,
    pass_state,
    text_is,
    text_matches,
)
from gpu_constructs.cluster.monitoring.events import STOPPED_BY_RECOVERY
from gpu_constructs.facts.aws_limits import ENDED, LOST_HOST, NOT_STARTED
from gpu_constructs.facts.values import dataclass
from gpu_constructs.jobs.job_run import ATTEMPT, CHECKPOINTS, INPUT, NAME, JobRetries, JobRun

LONGEST_EXECUTION_SECONDS = 365 * 24 * 3600
"""After a year Step Functions ends any execution:
https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html"""

# The group of all tasks of one execution.
_GROUP = "States.Format('job:{}', $$.Execution.Name)"
# A task's description has some 3 KB, and up to 8,192 characters of overrides, with quotes that are escaped again.
_TASKS_OF_PAGE = 16
# The long one where the cluster has no room for one more task that waits: 500 may (quota L-B7718569).
_PAUSES = {"Pause": 60, "LongPause": 600}
# Stopping the task, and the states in between.
_MARGIN_SECONDS = 600
_TASK = "$.ended.task"
_CODE = "$.ended.codes[0]"
# What `.sync` raises where RunTask answers with failures, and what AWS raises itself and may not raise again.
# https://github.com/CloudSnorkel/cdk-github-runners/pull/341, https://github.com/aws/copilot-cli/issues/3160 and
# https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html
_NO_ROOM = ("AmazonECS.Unknown", "ECS.AmazonECSException", "ECS.ClientException")
_OF_AWS = ("AmazonECS.ServerException", "ECS.ServerException", "ECS.ThrottlingException")
# SIGKILL and SIGTERM.
_RECLAIMED = (137, 143)
_BY_HAND = ("ServiceSchedulerInitiated", "UserInitiated")


def longest_seconds(timeout_seconds: int, retries: JobRetries) -> int:
    """How long an execution may take, with all its attempts."""
    longest = retries.attempts * (timeout_seconds + _PAUSES["LongPause"]) + _MARGIN_SECONDS
    return min(longest, LONGEST_EXECUTION_SECONDS)


def definition_of(run: JobRun, retries: JobRetries) -> State:
    """The definition of a job's state machine."""
    of_error, of_task = tuple(_causes_of_errors(retries)), tuple(_causes_of_tasks(run, retries))
    every = (*of_error, *of_task)
    counters = [each.name for each in every if each.retries and not each.counts_as]
    pauses = {each.pause for each in every if each.retries}
    why = [
        {**text_is("$.error.Error", "States.Timeout"), "Next": "FindTasks"},
        {"And": [text_is("$.error.Error", "States.TaskFailed"), text_matches("$.error.Cause", "{*")], "Next": "Read"},
        *(rule for each in of_error for rule in each.rules()),
    ]
    of_container = f"{_TASK}.Containers[?(@.Name == '{run.container}')]"
    seen = {"task.$": _TASK, "codes.$": f"{of_container}.ExitCode"}
    if run.spot:
        seen["reasons.$"] = f"{of_container}.Reason"
    states: State = {
        "Begin": {
            "Type": "Pass",
            "Parameters": {"retries": dict.fromkeys(("Attempt", *counters), 0)},
            "Next": "Run",
        },
        "Why": choice_state(why, "NotAccepted"),
        "Read": pass_state({"task.$": "States.StringToJson($.error.Cause)"}, "$.ended", "ExitCode"),
        "ExitCode": pass_state(seen, "$.ended", "Judge"),
        "Judge": choice_state([rule for each in of_task for rule in each.rules()], "Ended"),
        # Step Functions refuses a state that nothing leads to.
        **{
            name: {"Type": "Wait", "Seconds": seconds, "Next": "Run"}
            for name, seconds in _PAUSES.items()
            if name in pauses
        },
        "Succeeded": {"Type": "Pass", "InputPath": _TASK, "End": True},
        "NotAccepted": fail_state(
            "NotAccepted", "ECS did not accept the task: {}: {}", "$.error.Error", "$.error.Cause"
        ),
        "Ended": fail_state("Ended", "the task ended: {} (task {})", f"{_TASK}.StoppedReason", f"{_TASK}.TaskArn"),
        "TimeLimit": fail_state("TimeLimit", time_limit(run)),
        "Run": _run_task(run),
        # No page of AWS promises that a timeout ends the task.
        **_stop_tasks(run),
    }
    for each in every:
        if each.name != "Succeeded":
            states[each.name] = each.fails()
        if each.name in counters:
            kept = {f"{name}.$": f"$.retries.{name}" for name in counters}
            counted = {f"{name}.$": f"States.MathAdd($.retries.{name}, 1)" for name in ("Attempt", each.name)}
            states[f"{each.name}Again"] = pass_state({"Attempt.$": "", **kept, **counted}, "$.retries", each.pause)
    return {
        "Comment": f"Runs {run.container} on GPUs, up to {retries.attempts} times",
        "StartAt": "Begin",
        "TimeoutSeconds": longest_seconds(run.timeout_seconds, retries),
        "States": states,
    }


def time_limit(run: JobRun) -> str:
    """What is said of an attempt whose time is over."""
    return f"it passed its time limit of {in_words(run.timeout_seconds)}"


def _run_task(run: JobRun) -> State:
    environment = [
        {"Name": NAME, "Value.$": "$$.Execution.Name"},
        {"Name": ATTEMPT, "Value.$": "States.Format('{}', $.retries.Attempt)"},
        {"Name": INPUT, "Value.$": "States.JsonToString($$.Execution.Input)"},
        *({"Name": name, "Value": value} for name, value in run.environment.items()),
    ]
    if run.checkpoints is not None:
        key = run.checkpoint_key
        where = (
            {"Value.$": f"States.Format('{run.checkpoints}{{}}/', {key})"}
            if key.startswith("$")
            else {"Value": f"{run.checkpoints}{key}/"}
        )
        environment.append({"Name": CHECKPOINTS, **where})
    request: State = {
        "Cluster": run.cluster,
        "TaskDefinition": run.task_definition,
        "CapacityProviderStrategy": list(run.strategy),
        # By which its task is found again when its time is over.
        "Group.$": _GROUP,
        "PropagateTags": "TASK_DEFINITION",
        "Overrides": {"ContainerOverrides": [{"Name": run.container, "Environment": environment}]},
    }
    if run.packed:
        request["PlacementStrategy"] = [{"Type": "binpack", "Field": "memory"}]
    if run.network is not None:
        request["NetworkConfiguration"] = {"AwsvpcConfiguration": run.network}
    return {
        "Type": "Task",
        "Resource": f"arn:{run.partition}:states:::ecs:runTask.sync",
        "Parameters": request,
        "ResultSelector": {"task.$": "$"},
        "ResultPath": "$.ended",
        "TimeoutSeconds": run.timeout_seconds,
        "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Why"}],
        "Next": "ExitCode",
    }


def _stop_tasks(run: JobRun) -> State:
    """States that stop what an execution still runs, page by page, from ``FindTasks`` on."""
    failed, words = "TimeLimitNotStopped", time_limit(run)
    guard = {"Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.notStopped", "Next": failed}]}
    listed = {"Cluster": run.cluster, "Family": run.family, "DesiredStatus": "RUNNING", "MaxResults": _TASKS_OF_PAGE}
    described = {"Cluster": run.cluster, "Tasks.$": "$.page.TaskArns"}
    stopped = {"Cluster": run.cluster, "Task.$": "$.arn", "Reason": words}
    token = "$.page.NextToken"  # noqa: S105 - where a list goes on
    after_page = {"ResultPath": "$.page", **guard, "Next": "AnyTasks"}
    found = {"found.$": f"States.ArrayContains($.seen.groups, {_GROUP})"}
    of_each = {
        "IsOurs": if_state({"Variable": "$.group", "StringEqualsPath": "$.ours"}, "StopTask", "IsAnother"),
        "StopTask": {
            **call(run.partition, "aws-sdk:ecs:stopTask", stopped),
            "ResultSelector": {"arn.$": "$.Task.TaskArn"},
            "End": True,
        },
        "IsAnother": {"Type": "Succeed"},
    }
    return {
        "FindTasks": {**call(run.partition, "aws-sdk:ecs:listTasks", listed), **after_page},
        "MoreTasks": {**call(run.partition, "aws-sdk:ecs:listTasks", {**listed, "NextToken.$": token}), **after_page},
        "AnyTasks": if_state(is_there("$.page.TaskArns[0]"), "ReadTasks", "RestTasks"),
        "ReadTasks": {
            **call(run.partition, "aws-sdk:ecs:describeTasks", described),
            "ResultSelector": {"arns.$": "$.Tasks[*].TaskArn", "groups.$": "$.Tasks[*].Group"},
            "ResultPath": "$.seen",
            **guard,
            "Next": "OursTasks",
        },
        "OursTasks": pass_state(found, "$.ours", "AnyOursTasks"),
        "AnyOursTasks": if_state({"Variable": "$.ours.found", "BooleanEquals": True}, "EachTask", "RestTasks"),
        "RestTasks": if_state({"And": [is_there(token), text_matches(token, "*")]}, "MoreTasks", "TimeLimit"),
        "EachTask": {
            "Type": "Map",
            "ItemsPath": "$.seen.arns",
            "ItemSelector": {
                "arn.$": "$$.Map.Item.Value",
                "group.$": "States.ArrayGetItem($.seen.groups, $$.Map.Item.Index)",
                "ours.$": _GROUP,
            },
            "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": "IsOurs", "States": of_each},
            # Without a place the results would be the output: CDK leaves out a ``ResultPath`` of null.
            "ResultPath": "$.stopped",
            **guard,
            "Next": "FindOthers",
        },
        # From the first page: what was stopped is in the list no more, and pages are others than they were.
        "FindOthers": {"Type": "Wait", "Seconds": 5, "Next": "FindTasks"},
        failed: fail_state(failed, f"{words}, and its tasks could not be stopped: {{}}", "$.notStopped.Cause"),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cause:
    """Why an attempt did not end well.

    Attributes:
        name: The error that the execution ends with, and the state.
        retries: How often the job is run again for it.
        words: What the execution says, with a place for each value.
        values: Paths of these values.
        pause: The state in which it waits until it is run again.
        of_task: Whether there was a task, which is then named.
        counts_as: Another cause whose error and counter it has; empty where it has its own.
    """

    name: str
    when: State
    retries: int
    words: str
    values: tuple[str, ...] = ()
    pause: str = "Pause"
    of_task: bool = True
    counts_as: str = ""

    def rules(self) -> Iterator[State]:
        """Rules of a choice: while its budget lasts, and after that."""
        if self.retries:
            counter = self.counts_as or self.name
            left = {"Variable": f"$.retries.{counter}", "NumericLessThan": self.retries}
            yield {"And": [self.when, left], "Next": f"{counter}Again"}
        yield {**self.when, "Next": self.name}

    def fails(self) -> State:
        """The end of the execution."""
        words = self.words.replace("<times>", f" {self.retries + 1} times" if self.retries else "")
        if self.of_task:
            return fail_state(self.counts_as or self.name, f"{words} (task {{}})", *self.values, f"{_TASK}.TaskArn")
        return fail_state(self.name, words, *self.values)


def _causes_of_errors(retries: JobRetries) -> Iterator[_Cause]:
    for errors, name, times, words, pause in (
        (_NO_ROOM, "NoRoom", retries.no_host, "ECS did not take the task<times>: {}", "LongPause"),
        (_OF_AWS, "EcsFailed", retries.not_started, "ECS failed to start the task<times>: {}", "Pause"),
    ):
        when = {"Or": [text_is("$.error.Error", each) for each in errors]}
        yield _Cause(
            name=name, when=when, retries=times, words=words, values=("$.error.Cause",), pause=pause, of_task=False
        )


def _causes_of_tasks(run: JobRun, retries: JobRetries) -> Iterator[_Cause]:
    """What the description of a stopped task says; the first that is true counts."""
    stop, reason = f"{_TASK}.StopCode", f"{_TASK}.StoppedReason"
    not_started = [is_there(stop), text_is(stop, NOT_STARTED)]
    host_is_gone = {"And": [is_there(stop), {"Or": [text_is(stop, each) for each in LOST_HOST]}]}
    # Its GPU failed, and the recovery stopped the task.
    gpu_failed = {"And": [is_there(reason), text_matches(reason, f"{STOPPED_BY_RECOVERY}*")]}
    for name, when, times, words in (
        (
            "NoHost",
            {"And": [*not_started, is_there(f"{_TASK}.ContainerInstanceArn", there=False)]},
            retries.no_host,
            "no host came<times>: {}",
        ),
        (
            "NotStarted",
            {"And": not_started},
            retries.not_started,
            "a host came, and the containers did not start<times>: {}",
        ),
        ("LostHost", {"Or": [host_is_gone, gpu_failed]}, retries.lost_host, "its host was lost<times>: {}"),
        (
            "Stopped",
            {"And": [is_there(stop), {"Or": [text_is(stop, each) for each in _BY_HAND]}]},
            0,
            "the task was stopped: {}",
        ),
    ):
        yield _Cause(name=name, when=when, retries=times, words=words, values=(reason,))
    yield _Cause(name="Succeeded", when=_has_code(0), retries=0, words="")
    for code, times in retries.exit_codes.items():
        words = f"the container {run.container} ended<times> with exit code {code}"
        yield _Cause(name=f"ExitCode{code}", when=_has_code(code), retries=times, words=words)
    if run.spot:
        yield _Cause(
            name="Reclaimed",
            counts_as="LostHost",
            when=_is_reclaimed(run, retries),
            retries=retries.lost_host,
            words=f"the container {run.container} ended<times> as on a Spot host that is taken back, with exit code "
            "137, 143 or none: {}",
            values=(reason,),
        )
    words = f"the container {run.container} ended with exit code {{}}"
    yield _Cause(name="OtherExitCode", when=is_there(_CODE), retries=0, words=words, values=(_CODE,))


def _is_reclaimed(run: JobRun, retries: JobRetries) -> State:
    """Whether a task ended as its containers do when EC2 takes back their Spot host, which says no more of it.

    Shutting down, the host ends them by SIGTERM (143) and SIGKILL (137), or is gone before its agent can say a code.
    A container that needed more memory than it has ends with 137 as well, and would do so on any host.
    """
    stop, provider, why = f"{_TASK}.StopCode", f"{_TASK}.CapacityProviderName", "$.ended.reasons[0]"
    of_memory = {"And": [is_there(why), text_matches(why, "*OutOfMemory*")]}
    on_spot = [is_there(provider), {"Or": [text_is(provider, each) for each in run.spot]}]
    codes = [_has_code(each) for each in _RECLAIMED if each not in retries.exit_codes]
    return {
        "And": [
            is_there(stop),
            text_is(stop, ENDED),
            {"Not": of_memory},
            *([] if len(run.spot) == len(run.strategy) else on_spot),
            {"Or": [*codes, is_there(_CODE, there=False)]},
        ]
    }


def _has_code(code: int) -> State:
    return {"And": [is_there(_CODE), {"Variable": _CODE, "NumericEquals": code}]}
