"""The state machine of a job, in the Amazon States Language: run the task, read why it ended, run it again or not.

One attempt is one ``ecs:runTask.sync``. Step Functions takes a task for failed if a container ended with another code
than 0, and puts the description of the task into the cause
(https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html); of a task that was interrupted it may say
either, so both ends are read in the same way. Each cause has a counter of its own, and a budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpu_constructs.cdk.durations import in_words
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
from gpu_constructs.hardware.aws_events import LOST_HOST, NOT_STARTED
from gpu_constructs.jobs.job_run import ATTEMPT, CHECKPOINTS, INPUT, NAME, JobRun
from gpu_constructs.jobs.retries import JobRetries
from gpu_constructs.jobs.task_pages import IS_OURS, OUR_GROUP, each_of_page, pages_of_tasks
from gpu_constructs.monitoring.metrics import PASSED_ITS_TIME_LIMIT, STOPPED_BY_RECOVERY

LONGEST_EXECUTION_SECONDS = 365 * 24 * 3600
"""https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html"""

_SOON_SECONDS = 5
_PAUSE_SECONDS = 60
# Where the cluster has no room for one more task that waits: 500 may (quota L-B7718569).
_LONG_PAUSE_SECONDS = 600
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

    def again(self) -> State:
        """The rule while its budget lasts."""
        left = {"Variable": f"$.retries.{self.name}", "NumericLessThan": self.retries}
        return {"And": [self.when, left], "Next": f"{self.name}Again"}

    def last(self) -> State:
        """The rule after that."""
        return {**self.when, "Next": self.name}

    def fails(self) -> State:
        """The end of the execution."""
        again = f" {self.retries + 1} times" if self.retries else ""
        words, task = self.words.replace("<times>", again), f"{_TASK}.TaskArn"
        if self.of_task:
            return fail_state(self.name, f"{words} (task {{}})", *self.values, task)
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
        "Why": choice_state([*rules, *_rules(of_error)], "NotAccepted"),
        "Read": pass_state({"task.$": "States.StringToJson($.error.Cause)"}, "$.ended", "ExitCode"),
        "ExitCode": pass_state(
            {"task.$": _TASK, "codes.$": f"{_TASK}.Containers[?(@.Name == '{run.container}')].ExitCode"},
            "$.ended",
            "Judge",
        ),
        "Judge": choice_state(_rules(of_task), "Ended"),
        "Pause": {"Type": "Wait", "Seconds": _PAUSE_SECONDS, "Next": "Run"},
        "LongPause": {"Type": "Wait", "Seconds": _LONG_PAUSE_SECONDS, "Next": "Run"},
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
            counted = {f"{name}.$": _counted(name, each.name) for name in ("Attempt", *counters)}
            all_states[f"{each.name}Again"] = pass_state(counted, "$.retries", each.pause)
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
    return attempts * (timeout_seconds + _LONG_PAUSE_SECONDS) + _MARGIN_SECONDS


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
    """What ECS answers to RunTask itself."""
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
    container = run.container
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
        words = f"the container {container} ended<times> with exit code {code}"
        yield Cause(name=f"ExitCode{code}", when=_has_code(code), retries=times, words=words)
    words = f"the container {container} ended with exit code {{}}"
    yield Cause(name="OtherExitCode", when=is_there(_CODE), retries=0, words=words, values=(_CODE,))


def host_is_lost(task: str) -> State:
    """A rule of a choice: the host of a task is gone, or its GPU failed and the recovery stopped the task.

    Args:
        task: Path of the description of the stopped task.
    """
    stop, reason = f"{task}.StopCode", f"{task}.StoppedReason"
    gone = {"And": [is_there(stop), {"Or": [text_is(stop, each) for each in LOST_HOST]}]}
    return {"Or": [gone, {"And": [is_there(reason), text_matches(reason, f"{STOPPED_BY_RECOVERY}*")]}]}


def _rules(causes: Sequence[Cause]) -> list[State]:
    return [rule for each in causes for rule in ([each.again()] if each.retries else []) + [each.last()]]


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


def _counted(name: str, cause: str) -> str:
    path = f"$.retries.{name}"
    return f"States.MathAdd({path}, 1)" if name in {"Attempt", cause} else path


def _has_code(code: int) -> State:
    return {"And": [is_there(_CODE), {"Variable": _CODE, "NumericEquals": code}]}
