"""The state machine of a job, in the Amazon States Language: run the task, read why it ended, run it again or not.

One attempt is one ``ecs:runTask.sync``. Step Functions takes a task for failed if a container ended with another code
than 0, and puts the description of the task into the cause
(https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html); of a task that was interrupted it may say
either, so both ends are read in the same way. Each cause has a counter of its own, and a budget.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpu_constructs.cdk.durations import in_words
from gpu_constructs.jobs.retries import JobRetries

__all__ = [
    "LONGEST_EXECUTION_SECONDS",
    "NAME_FORM",
    "VARIABLES",
    "JobRun",
    "definition_of",
    "longest_seconds",
    "variables_by_hand",
]

NAME, ATTEMPT, INPUT, CHECKPOINTS = "JOB_NAME", "JOB_ATTEMPT", "JOB_INPUT", "JOB_CHECKPOINTS"
VARIABLES = frozenset({NAME, ATTEMPT, INPUT, CHECKPOINTS})
"""Variables of the job's container: the execution, which attempt it is, from 0, the execution's input as JSON, and
where it keeps what it resumes from."""

NAME_FORM = re.compile(r"[0-9A-Za-z_-]{1,80}", re.ASCII)
"""Of state machines and of executions:
https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html"""

LONGEST_EXECUTION_SECONDS = 365 * 24 * 3600
"""https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html"""

_PAUSE_SECONDS = 60
# Where the cluster has no room for one more task that waits: 500 may (quota L-B7718569).
_LONG_PAUSE_SECONDS = 600
# Stopping the task, and the states in between.
_MARGIN_SECONDS = 600

State = dict[str, Any]
_STATES = "arn:{}:states::"
_TASK = "$.ended.task"
_CODE = "$.ended.codes[0]"
# What `.sync` raises where RunTask answers with failures, and what AWS raises itself and may not raise again.
# https://github.com/CloudSnorkel/cdk-github-runners/pull/341, https://github.com/aws/copilot-cli/issues/3160 and
# https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html
_NO_ROOM = ("AmazonECS.Unknown", "ECS.AmazonECSException", "ECS.ClientException")
_OF_AWS = ("AmazonECS.ServerException", "ECS.ServerException", "ECS.ThrottlingException")
_LOST = ("InfrastructureHealth", "SpotInterruption", "TerminationNotice")
_BY_HAND = ("ServiceSchedulerInitiated", "UserInitiated")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """What each attempt of a job runs.

    Attributes:
        partition: The partition of AWS.
        cluster: The ARN of the cluster.
        task_definition: The ARN of the task definition.
        family: Its family.
        container: The container whose exit code is that of the job.
        strategy: Items of the capacity provider strategy, as the API has them.
        network: The configuration of ``awsvpc``, as the API has it; None in other modes.
        packed: Whether tasks are packed onto hosts, which Managed Instances do by themselves.
        environment: More variables of that container.
        checkpoints: Where each job has a directory to resume from; None without.
        timeout_seconds: How long one attempt may take.
    """

    partition: str
    cluster: str
    task_definition: str
    family: str
    container: str
    strategy: Sequence[Mapping[str, object]]
    network: Mapping[str, object] | None
    packed: bool
    environment: Mapping[str, str]
    checkpoints: str | None
    timeout_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cause:
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
            return _fail(self.name, f"{words} (task {{}})", *self.values, task)
        return _fail(self.name, words, *self.values)


def definition_of(run: JobRun, retries: JobRetries) -> State:
    """The definition of a job's state machine.

    Args:
        run: What each attempt runs.
        retries: How often it is run again.
    """
    of_error, of_task = tuple(_causes_of_errors(retries)), tuple(_causes_of_tasks(run, retries))
    causes = [*of_error, *of_task]
    counters = list(dict.fromkeys(each.name for each in causes if each.retries))
    states: State = {
        "Begin": {
            "Type": "Pass",
            "Parameters": {"retries": dict.fromkeys(("Attempt", *counters), 0)},
            "Next": "Run",
        },
        "Run": _run(run),
        "Why": _choice(
            [
                {**_is("$.error.Error", "States.Timeout"), "Next": "FindTasks"},
                {"And": [_is("$.error.Error", "States.TaskFailed"), _matches("$.error.Cause", "{*")], "Next": "Read"},
                *_rules(of_error),
            ],
            "NotAccepted",
        ),
        "Read": _pass({"task.$": "States.StringToJson($.error.Cause)"}, "$.ended", "ExitCode"),
        "ExitCode": _pass(
            {"task.$": _TASK, "codes.$": f"{_TASK}.Containers[?(@.Name == '{run.container}')].ExitCode"},
            "$.ended",
            "Judge",
        ),
        "Judge": _choice(_rules(of_task), "Ended"),
        "Pause": {"Type": "Wait", "Seconds": _PAUSE_SECONDS, "Next": "Run"},
        "LongPause": {"Type": "Wait", "Seconds": _LONG_PAUSE_SECONDS, "Next": "Run"},
        "Succeeded": {"Type": "Pass", "InputPath": _TASK, "End": True},
        "NotAccepted": _fail("NotAccepted", "ECS did not accept the task: {}: {}", "$.error.Error", "$.error.Cause"),
        "Ended": _fail("Ended", "the task ended: {} (task {})", f"{_TASK}.StoppedReason", f"{_TASK}.TaskArn"),
        **_stop(run),
    }
    for each in causes:
        if each.name != "Succeeded":
            states[each.name] = each.fails()
        if each.retries:
            counted = {f"{name}.$": _counted(name, each.name) for name in ("Attempt", *counters)}
            states[f"{each.name}Again"] = _pass(counted, "$.retries", each.pause)
    return {
        "Comment": f"Runs {run.container} on GPUs, up to {retries.attempts} times",
        "StartAt": "Begin",
        "TimeoutSeconds": longest_seconds(run.timeout_seconds, retries),
        "States": states,
    }


def longest_seconds(timeout_seconds: int, retries: JobRetries) -> int:
    """How long an execution may take with every retry, after which Step Functions ends it.

    Args:
        timeout_seconds: How long one attempt may take.
        retries: How often it is run again.
    """
    return retries.attempts * (timeout_seconds + _LONG_PAUSE_SECONDS) + _MARGIN_SECONDS


def variables_by_hand(run: JobRun, *, name: str, job_input: str) -> dict[str, str]:
    """What a task that no state machine runs is given, as the first attempt of a job.

    Args:
        run: What a job runs.
        name: In place of the name of an execution.
        job_input: In place of its input, as JSON.
    """
    checkpoints = {} if run.checkpoints is None else {CHECKPOINTS: f"{run.checkpoints}{name}/"}
    return {NAME: name, ATTEMPT: "0", INPUT: job_input, **run.environment, **checkpoints}


def _run(run: JobRun) -> State:
    environment = [
        {"Name": NAME, "Value.$": "$$.Execution.Name"},
        {"Name": ATTEMPT, "Value.$": "States.Format('{}', $.retries.Attempt)"},
        {"Name": INPUT, "Value.$": "States.JsonToString($$.Execution.Input)"},
        *({"Name": name, "Value": value} for name, value in run.environment.items()),
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
        "Group.$": "States.Format('job:{}', $$.Execution.Name)",
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
        "TimeoutSeconds": run.timeout_seconds,
        "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Why"}],
        "Next": "ExitCode",
    }


def _causes_of_errors(retries: JobRetries) -> Iterator[_Cause]:
    """What ECS answers to RunTask itself."""
    for errors, name, times, words, pause in (
        (_NO_ROOM, "NoRoom", retries.no_host, "ECS did not take the task<times>: {}", "LongPause"),
        (_OF_AWS, "EcsFailed", retries.not_started, "ECS failed to start the task<times>: {}", "Pause"),
    ):
        when = {"Or": [_is("$.error.Error", each) for each in errors]}
        yield _Cause(
            name=name, when=when, retries=times, words=words, values=("$.error.Cause",), pause=pause, of_task=False
        )


def _causes_of_tasks(run: JobRun, retries: JobRetries) -> Iterator[_Cause]:
    """What the description of a stopped task says; the first that is true counts."""
    stop, reason = f"{_TASK}.StopCode", f"{_TASK}.StoppedReason"
    not_started = {"And": [_is_there(stop), _is(stop, "TaskFailedToStart")]}
    never_placed = {"And": [*not_started["And"], _is_there(f"{_TASK}.ContainerInstanceArn", there=False)]}
    container = run.container
    yield _Cause(
        name="NoHost", when=never_placed, retries=retries.no_host, words="no host came<times>: {}", values=(reason,)
    )
    yield _Cause(
        name="NotStarted",
        when=not_started,
        retries=retries.not_started,
        words="a host came, and the containers did not start<times>: {}",
        values=(reason,),
    )
    yield _Cause(
        name="LostHost",
        when={"And": [_is_there(stop), {"Or": [_is(stop, each) for each in _LOST]}]},
        retries=retries.lost_host,
        words="its host was lost<times>: {}",
        values=(reason,),
    )
    yield _Cause(
        name="Stopped",
        when={"And": [_is_there(stop), {"Or": [_is(stop, each) for each in _BY_HAND]}]},
        retries=0,
        words="the task was stopped: {}",
        values=(reason,),
    )
    yield _Cause(name="Succeeded", when=_has_code(0), retries=0, words="")
    for code, times in retries.exit_codes.items():
        words = f"the container {container} ended<times> with exit code {code}"
        yield _Cause(name=f"ExitCode{code}", when=_has_code(code), retries=times, words=words)
    words = f"the container {container} ended with exit code {{}}"
    yield _Cause(name="OtherExitCode", when=_is_there(_CODE), retries=0, words=words, values=(_CODE,))


def _rules(causes: Sequence[_Cause]) -> list[State]:
    return [rule for each in causes for rule in ([each.again()] if each.retries else []) + [each.last()]]


def _stop(run: JobRun) -> State:
    """Ends the task of an attempt whose time is over; no page of AWS promises that a timeout does."""
    words = f"it passed its time limit of {in_words(run.timeout_seconds)}"
    guarded: State = {
        "Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 5, "MaxAttempts": 5, "BackoffRate": 2}],
        "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "TimeLimitNotStopped"}],
    }
    sdk = f"{_STATES.format(run.partition)}:aws-sdk:ecs"
    stop = {
        "Type": "Task",
        "Resource": f"{sdk}:stopTask",
        "Parameters": {"Cluster": run.cluster, "Task.$": "$.task.TaskArn", "Reason": words},
        "End": True,
    }
    ours = {"Variable": "$.task.Group", "StringEqualsPath": "$.group", "Next": "StopTask"}
    return {
        "FindTasks": {
            "Type": "Task",
            "Resource": f"{sdk}:listTasks",
            "Parameters": {"Cluster": run.cluster, "Family": run.family, "DesiredStatus": "RUNNING"},
            "ResultPath": "$.found",
            **guarded,
            "Next": "AnyTask",
        },
        "AnyTask": _choice([{**_is_there("$.found.TaskArns[0]"), "Next": "LookAtTasks"}], "TimeLimit"),
        "LookAtTasks": {
            "Type": "Task",
            "Resource": f"{sdk}:describeTasks",
            "Parameters": {"Cluster": run.cluster, "Tasks.$": "$.found.TaskArns"},
            "ResultPath": "$.found",
            **guarded,
            "Next": "EachTask",
        },
        "EachTask": {
            "Type": "Map",
            "ItemsPath": "$.found.Tasks",
            "ItemSelector": {
                "task.$": "$$.Map.Item.Value",
                "group.$": "States.Format('job:{}', $$.Execution.Name)",
            },
            "ItemProcessor": {
                "ProcessorConfig": {"Mode": "INLINE"},
                "StartAt": "IsOurs",
                "States": {
                    "IsOurs": _choice([ours], "IsAnother"),
                    "StopTask": stop,
                    "IsAnother": {"Type": "Succeed"},
                },
            },
            "ResultPath": None,
            **guarded,
            "Next": "TimeLimit",
        },
        "TimeLimit": {"Type": "Fail", "Error": "TimeLimit", "Cause": words},
        "TimeLimitNotStopped": _fail(
            "TimeLimitNotStopped", f"{words}, and its task could not be stopped: {{}}", "$.error.Cause"
        ),
    }


def _counted(name: str, cause: str) -> str:
    path = f"$.retries.{name}"
    return f"States.MathAdd({path}, 1)" if name in {"Attempt", cause} else path


def _pass(parameters: State, result: str, following: str) -> State:
    return {"Type": "Pass", "Parameters": parameters, "ResultPath": result, "Next": following}


def _choice(rules: list[State], default: str) -> State:
    return {"Type": "Choice", "Choices": rules, "Default": default}


def _fail(name: str, words: str, *values: str) -> State:
    if not values:
        return {"Type": "Fail", "Error": name, "Cause": words}
    quoted = words.replace("'", "\\'")
    return {"Type": "Fail", "Error": name, "CausePath": f"States.Format('{quoted}', {', '.join(values)})"}


def _is(path: str, text: str) -> State:
    return {"Variable": path, "StringEquals": text}


def _matches(path: str, pattern: str) -> State:
    return {"Variable": path, "StringMatches": pattern}


def _is_there(path: str, *, there: bool = True) -> State:
    return {"Variable": path, "IsPresent": there}


def _has_code(code: int) -> State:
    return {"And": [_is_there(_CODE), {"Variable": _CODE, "NumericEquals": code}]}
