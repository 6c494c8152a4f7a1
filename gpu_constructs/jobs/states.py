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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpu_constructs.cdk.arguments import in_words
from gpu_constructs.cdk.state_parts import (
    State,
    call_ecs,
    choice_state,
    fail_state,
    is_there,
    pass_state,
    text_is,
    text_matches,
)
from gpu_constructs.cluster.monitoring.events import PASSED_ITS_TIME_LIMIT, STOPPED_BY_RECOVERY
from gpu_constructs.facts.aws_limits import LOST_HOST, NOT_STARTED
from gpu_constructs.jobs.job_run import ATTEMPT, CHECKPOINTS, INPUT, NAME, JobRetries, JobRun

OUR_GROUP = "States.Format('job:{}', $$.Execution.Name)"
"""The group of all tasks of one execution."""

IS_OURS = {"Variable": "$.group", "StringEqualsPath": "$.ours"}
"""A rule of a choice in `each_of_page`: the task is one of this execution."""

# A task's description has some 3 KB, and up to 8,192 characters of overrides, with quotes that are escaped again.
_TASKS = 16


def pages_of_tasks(
    run: JobRun,
    name: str,
    *,
    found: str,
    rest: str,
    groups: str = "$.Tasks[*].Group",
    guard: State | None = None,
) -> State:
    """States, from ``Find<name>`` on, that look for tasks of this execution which are meant to run.

    Args:
        run: What it runs.
        name: The end of their names.
        found: The state after a page with such tasks; it goes on with ``Rest<name>`` for the next page.
        rest: The state after the last page.
        groups: The groups of the tasks of a page that count.
        guard: What the states that ask ECS have as well.
    """
    listed = {"Cluster": run.cluster, "Family": run.family, "DesiredStatus": "RUNNING", "MaxResults": _TASKS}
    described = {"Cluster": run.cluster, "Tasks.$": "$.page.TaskArns"}
    token = "$.page.NextToken"  # noqa: S105 - where a list goes on
    after = {"ResultPath": "$.page", **(guard or {}), "Next": f"Any{name}"}
    seen = {"arns.$": "$.Tasks[*].TaskArn", "groups.$": groups}
    return {
        f"Find{name}": {**call_ecs(run.partition, "listTasks", listed), **after},
        f"More{name}": {**call_ecs(run.partition, "listTasks", {**listed, "NextToken.$": token}), **after},
        f"Any{name}": choice_state([{**is_there("$.page.TaskArns[0]"), "Next": f"Read{name}"}], f"Rest{name}"),
        f"Read{name}": {
            **call_ecs(run.partition, "describeTasks", described),
            "ResultSelector": seen,
            "ResultPath": "$.seen",
            **(guard or {}),
            "Next": f"Ours{name}",
        },
        f"Ours{name}": pass_state(
            {"found.$": f"States.ArrayContains($.seen.groups, {OUR_GROUP})"}, "$.ours", f"AnyOurs{name}"
        ),
        f"AnyOurs{name}": choice_state(
            [{"Variable": "$.ours.found", "BooleanEquals": True, "Next": found}], f"Rest{name}"
        ),
        f"Rest{name}": choice_state(
            [{"And": [is_there(token), text_matches(token, "*")], "Next": f"More{name}"}], rest
        ),
    }


def each_of_page(states: State, *, start: str, result: str) -> State:
    """A state that looks at each task of a page, by its ARN in ``$.arn`` and its group in ``$.group``.

    Args:
        states: What it does with one.
        start: The first of them.
        result: Where the results go. Without a place they would be the output: CDK leaves out a ``ResultPath`` of null.
    """
    item: Mapping[str, str] = {
        "arn.$": "$$.Map.Item.Value",
        "group.$": "States.ArrayGetItem($.seen.groups, $$.Map.Item.Index)",
        "ours.$": OUR_GROUP,
    }
    return {
        "Type": "Map",
        "ItemsPath": "$.seen.arns",
        "ItemSelector": item,
        "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": start, "States": states},
        "ResultPath": result,
    }


_SOON_SECONDS = 5
# The long one where the cluster has no room for one more task that waits: 500 may (quota L-B7718569).
_PAUSES = {"Pause": 60, "LongPause": 600}
# Stopping the task, and the states in between.
_MARGIN_SECONDS = 600

_STATES = "arn:{}:states::"
_TASK = "$.ended.task"
_CODE = "$.ended.codes[0]"
# What `.sync` raises where RunTask answers with failures, and what AWS raises itself and may not raise again.
# https://github.com/CloudSnorkel/cdk-github-runners/pull/341, https://github.com/aws/copilot-cli/issues/3160 and
# https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html
_NO_ROOM = ("AmazonECS.Unknown", "ECS.AmazonECSException", "ECS.ClientException")
_OF_AWS = ("AmazonECS.ServerException", "ECS.ServerException", "ECS.ThrottlingException")
_BY_HAND = ("ServiceSchedulerInitiated", "UserInitiated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why an attempt did not end well.

    Attributes:
        name: The error that the execution ends with.
        when: The rule of a choice.
        retries: How often the job is run again for it.
        words: What the execution says, with a place for each value.
        values: Paths of these values.
        pause: The state in which it waits until it is run again.
        of_task: Whether there was a task, which is then named.
    """

    name: str
    when: State
    retries: int
    words: str
    values: tuple[str, ...] = ()
    pause: str = "Pause"
    of_task: bool = True

    def rules(self) -> Iterator[State]:
        """Rules of a choice: while its budget lasts, and after that."""
        if self.retries:
            left = {"Variable": f"$.retries.{self.name}", "NumericLessThan": self.retries}
            yield {"And": [self.when, left], "Next": f"{self.name}Again"}
        yield {**self.when, "Next": self.name}

    def fails(self) -> State:
        """The end of the execution."""
        words = self.words.replace("<times>", f" {self.retries + 1} times" if self.retries else "")
        if self.of_task:
            return fail_state(self.name, f"{words} (task {{}})", *self.values, f"{_TASK}.TaskArn")
        return fail_state(self.name, words, *self.values)


def definition_of(run: JobRun, retries: JobRetries) -> State:
    """The definition of a job's state machine."""
    words = time_limit(run)
    running = {
        **run_task(run, {}),
        "TimeoutSeconds": run.timeout_seconds,
        "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Why"}],
        "Next": "ExitCode",
    }
    return machine_of(
        run,
        retries,
        states={
            "Run": running,
            # No page of AWS promises that a timeout ends the task.
            **stop_tasks(run, words, following="TimeLimit", failed=("TimeLimitNotStopped", words)),
        },
        rules=[
            {**text_is("$.error.Error", "States.Timeout"), "Next": "FindTasks"},
            {
                "And": [text_is("$.error.Error", "States.TaskFailed"), text_matches("$.error.Cause", "{*")],
                "Next": "Read",
            },
        ],
    )


def machine_of(
    run: JobRun,
    retries: JobRetries,
    *,
    states: State,
    rules: Sequence[State],
    causes: Sequence[Cause] = (),
) -> State:
    """A state machine that runs something, reads why it ended, and runs it again or not.

    Args:
        run: What each attempt runs.
        retries: How often it is run again.
        states: ``Run``, which leaves its end in ``$.ended.task`` or ``$.error``, and what follows it.
        rules: What the error of an attempt leads to, before the causes.
        causes: Why an attempt may fail, next to what ECS answers.
    """
    of_error = (*causes, *_causes_of_errors(retries))
    of_task = tuple(_causes_of_tasks(run, retries))
    every = [*of_error, *of_task]
    counters = list(dict.fromkeys(each.name for each in every if each.retries))
    attempts = retries.attempts + sum(each.retries for each in causes)
    all_states: State = {
        "Begin": {
            "Type": "Pass",
            "Parameters": {"retries": dict.fromkeys(("Attempt", *counters), 0)},
            "Next": "Run",
        },
        "Why": choice_state([*rules, *(rule for each in of_error for rule in each.rules())], "NotAccepted"),
        "Read": pass_state({"task.$": "States.StringToJson($.error.Cause)"}, "$.ended", "ExitCode"),
        "ExitCode": pass_state(
            {"task.$": _TASK, "codes.$": f"{_TASK}.Containers[?(@.Name == '{run.container}')].ExitCode"},
            "$.ended",
            "Judge",
        ),
        "Judge": choice_state([rule for each in of_task for rule in each.rules()], "Ended"),
        # Step Functions refuses a state that nothing leads to.
        **{
            name: {"Type": "Wait", "Seconds": seconds, "Next": "Run"}
            for name, seconds in _PAUSES.items()
            if any(each.retries and each.pause == name for each in every)
        },
        "Succeeded": {"Type": "Pass", "InputPath": _TASK, "End": True},
        "NotAccepted": fail_state(
            "NotAccepted", "ECS did not accept the task: {}: {}", "$.error.Error", "$.error.Cause"
        ),
        "Ended": fail_state("Ended", "the task ended: {} (task {})", f"{_TASK}.StoppedReason", f"{_TASK}.TaskArn"),
        "TimeLimit": {"Type": "Fail", "Error": "TimeLimit", "Cause": time_limit(run)},
        **states,
    }
    for each in every:
        if each.name != "Succeeded":
            all_states[each.name] = each.fails()
        if each.retries:
            kept = {f"{name}.$": f"$.retries.{name}" for name in counters}
            counted = {f"{name}.$": f"States.MathAdd($.retries.{name}, 1)" for name in ("Attempt", each.name)}
            all_states[f"{each.name}Again"] = pass_state({"Attempt.$": "", **kept, **counted}, "$.retries", each.pause)
    return {
        "Comment": f"Runs {run.container} on GPUs, up to {attempts} times",
        "StartAt": "Begin",
        "TimeoutSeconds": longest_seconds(run.timeout_seconds, attempts),
        "States": all_states,
    }


def time_limit(run: JobRun) -> str:
    """What is said of an attempt whose time is over."""
    return f"{PASSED_ITS_TIME_LIMIT} of {in_words(run.timeout_seconds)}"


def longest_seconds(timeout_seconds: int, attempts: int) -> int:
    """How long an execution may take with every retry, after which Step Functions ends it."""
    return attempts * (timeout_seconds + _PAUSES["LongPause"]) + _MARGIN_SECONDS


def run_task(run: JobRun, more: Mapping[str, str]) -> State:
    """A state that runs the task and waits until it ends; without a word about what follows.

    Args:
        run: What it runs.
        more: More variables of the container, by name, each with the path of its value.
    """
    environment = [
        {"Name": NAME, "Value.$": "$$.Execution.Name"},
        {"Name": ATTEMPT, "Value.$": "States.Format('{}', $.retries.Attempt)"},
        {"Name": INPUT, "Value.$": "States.JsonToString($$.Execution.Input)"},
        *({"Name": name, "Value": value} for name, value in run.environment.items()),
        *({"Name": name, "Value.$": path} for name, path in more.items()),
    ]
    if run.checkpoints is not None:
        # The same for each attempt of one execution.
        of_job = f"States.Format('{run.checkpoints}{{}}/', $$.Execution.Name)"
        environment.append({"Name": CHECKPOINTS, "Value.$": of_job})
    request: State = {
        "Cluster": run.cluster,
        "TaskDefinition": run.task_definition,
        "CapacityProviderStrategy": list(run.strategy),
        # By which its task is found again when its time is over.
        "Group.$": OUR_GROUP,
        "PropagateTags": "TASK_DEFINITION",
        "Overrides": {"ContainerOverrides": [{"Name": run.container, "Environment": environment}]},
    }
    if run.packed:
        request["PlacementStrategy"] = [{"Type": "binpack", "Field": "memory"}]
    if run.network is not None:
        request["NetworkConfiguration"] = {"AwsvpcConfiguration": run.network}
    return {
        "Type": "Task",
        "Resource": f"{_STATES.format(run.partition)}:ecs:runTask.sync",
        "Parameters": request,
        "ResultSelector": {"task.$": "$"},
        "ResultPath": "$.ended",
    }


def _causes_of_errors(retries: JobRetries) -> Iterator[Cause]:
    for errors, name, times, words, pause in (
        (_NO_ROOM, "NoRoom", retries.no_host, "ECS did not take the task<times>: {}", "LongPause"),
        (_OF_AWS, "EcsFailed", retries.not_started, "ECS failed to start the task<times>: {}", "Pause"),
    ):
        when = {"Or": [text_is("$.error.Error", each) for each in errors]}
        yield Cause(
            name=name, when=when, retries=times, words=words, values=("$.error.Cause",), pause=pause, of_task=False
        )


def _causes_of_tasks(run: JobRun, retries: JobRetries) -> Iterator[Cause]:
    """What the description of a stopped task says; the first that is true counts."""
    stop, reason = f"{_TASK}.StopCode", f"{_TASK}.StoppedReason"
    not_started = {"And": [is_there(stop), text_is(stop, NOT_STARTED)]}
    never_placed = {"And": [*not_started["And"], is_there(f"{_TASK}.ContainerInstanceArn", there=False)]}
    yield Cause(
        name="NoHost", when=never_placed, retries=retries.no_host, words="no host came<times>: {}", values=(reason,)
    )
    yield Cause(
        name="NotStarted",
        when=not_started,
        retries=retries.not_started,
        words="a host came, and the containers did not start<times>: {}",
        values=(reason,),
    )
    yield Cause(
        name="LostHost",
        when=host_is_lost(_TASK),
        retries=retries.lost_host,
        words="its host was lost<times>: {}",
        values=(reason,),
    )
    yield Cause(
        name="Stopped",
        when={"And": [is_there(stop), {"Or": [text_is(stop, each) for each in _BY_HAND]}]},
        retries=0,
        words="the task was stopped: {}",
        values=(reason,),
    )
    yield Cause(name="Succeeded", when=_has_code(0), retries=0, words="")
    for code, times in retries.exit_codes.items():
        words = f"the container {run.container} ended<times> with exit code {code}"
        yield Cause(name=f"ExitCode{code}", when=_has_code(code), retries=times, words=words)
    words = f"the container {run.container} ended with exit code {{}}"
    yield Cause(name="OtherExitCode", when=is_there(_CODE), retries=0, words=words, values=(_CODE,))


def host_is_lost(task: str) -> State:
    """A rule of a choice: the host of a task is gone, or its GPU failed and the recovery stopped the task.

    Args:
        task: Path of the description of the stopped task.
    """
    stop, reason = f"{task}.StopCode", f"{task}.StoppedReason"
    gone = {"And": [is_there(stop), {"Or": [text_is(stop, each) for each in LOST_HOST]}]}
    return {"Or": [gone, {"And": [is_there(reason), text_matches(reason, f"{STOPPED_BY_RECOVERY}*")]}]}


def stop_tasks(run: JobRun, reason: str, *, following: str, failed: tuple[str, str]) -> State:
    """States that stop what an execution still runs, from ``FindTasks`` on.

    Args:
        run: What it runs.
        reason: What ECS says of the tasks.
        following: The next state.
        failed: The error where that does not succeed, and the beginning of its cause.
    """
    name, words = failed
    guard = {"Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.notStopped", "Next": name}]}
    stopped = {"Cluster": run.cluster, "Task.$": "$.arn", "Reason": reason}
    each = {
        "IsOurs": choice_state([{**IS_OURS, "Next": "StopTask"}], "IsAnother"),
        "StopTask": {
            **call_ecs(run.partition, "stopTask", stopped),
            "ResultSelector": {"arn.$": "$.Task.TaskArn"},
            "End": True,
        },
        "IsAnother": {"Type": "Succeed"},
    }
    return {
        **pages_of_tasks(run, "Tasks", found="EachTask", rest=following, guard=guard),
        "EachTask": {**each_of_page(each, start="IsOurs", result="$.stopped"), **guard, "Next": "FindOthers"},
        # From the first page: what was stopped is in the list no more, and pages are others than they were.
        "FindOthers": {"Type": "Wait", "Seconds": _SOON_SECONDS, "Next": "FindTasks"},
        name: fail_state(name, f"{words}, and its tasks could not be stopped: {{}}", "$.notStopped.Cause"),
    }


def _has_code(code: int) -> State:
    return {"And": [is_there(_CODE), {"Variable": _CODE, "NumericEquals": code}]}
