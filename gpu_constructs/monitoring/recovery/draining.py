"""States that empty a host: drain it, stop what runs on the failed GPU, and wait until the tasks have moved or ended.

Draining moves the tasks of services and leaves others alone, and managed draining waits for those for up to 48 hours
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/container-instance-draining.html). So tasks on the failed
GPU are stopped at once, and others when their time is over, with words that begin with `STOPPED_BY_RECOVERY`: a
`GpuJob` takes these for the loss of its host, and runs again.
"""

from __future__ import annotations

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
from gpu_constructs.monitoring.recovery.recovery_run import (
    ENDS_BY_ITSELF,
    PAUSE_SECONDS,
    RecoveryRun,
    ask,
    caught,
    tell,
)
from gpu_constructs.monitoring.signals import STOPPED_BY_RECOVERY

__all__ = ["draining_states", "longest_drain_seconds"]

_TASK = "$.found.Tasks[0]"
_GROUP = f"{_TASK}.Group"
# An execution has 25,000 events (https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html), a look 12.
_MOST_LOOKS = 720
_STOP_LOOKS = 10
_KEPT_PAUSE_SECONDS, _KEPT_LOOKS = 600, 288


def draining_states(run: RecoveryRun) -> State:
    """States from ``Drain`` on, which lead to ``FindGroup`` or end the execution.

    Args:
        run: What the machine works on.
    """
    return {**_drain(run), **_wait(run), **_time_over(run)}


def longest_drain_seconds(run: RecoveryRun) -> int:
    """How long these states may take together.

    Args:
        run: What the machine works on.
    """
    return run.drain_seconds + _KEPT_PAUSE_SECONDS * _KEPT_LOOKS + PAUSE_SECONDS * _STOP_LOOKS


def _drain(run: RecoveryRun) -> State:
    drained = {"Cluster": run.cluster_arn, "ContainerInstances.$": "States.Array($.instance.arn)", "Status": "DRAINING"}
    daemons = {"Cluster": run.cluster_arn, "SchedulingStrategy": "DAEMON", "MaxResults": 100}
    looks = min(_MOST_LOOKS, -(-run.drain_seconds // PAUSE_SECONDS))
    return {
        "Drain": ask(run, "ecs:updateContainerInstancesState", drained, "$.drained", "FindDaemons"),
        # They stay on a host until it ends.
        "FindDaemons": ask(run, "ecs:listServices", daemons, "$.daemons", "FindTasks"),
        **_each_task(run, "Tasks", only_failed_gpu=True, none="NoTask", following="Moving"),
        "NoTask": {"Type": "Pass", "Result": [], "ResultPath": "$.tasks", "Next": "Moving"},
        "Moving": pass_state(
            {
                "daemons.$": "$.tasks[?(@.is == 'daemon')]",
                "moved.$": "$.tasks[?(@.is == 'task')].group",
                "stopped.$": "$.tasks[?(@.is == 'stopped')].group",
            },
            "$.moving",
            "TellDrained",
        ),
        "TellDrained": tell(
            run,
            "is draining",
            "It gets no new task. Stopped, to run elsewhere: {}. To move, or to end: {}",
            "States.JsonToString($.moving.stopped)",
            "States.JsonToString($.moving.moved)",
            following="EndsByEc2",
        ),
        "EndsByEc2": choice_state([{**text_is("$.kind", "Interruption"), "Next": ENDS_BY_ITSELF}], "FirstWait"),
        "FirstWait": _waiting("Move", looks, -(-run.drain_seconds // looks)),
    }


def _each_task(run: RecoveryRun, name: str, *, only_failed_gpu: bool, none: str, following: str) -> State:
    """Looks at each task of the host, and stops those that hold the failed GPU, or all.

    Tasks are described one by one: what a job was started with is in the description, and a state holds 256 KiB.
    """
    listed = {"Cluster": run.cluster_arn, "ContainerInstance.$": "$.instance.arn", "DesiredStatus": "RUNNING"}
    described = {"Cluster": run.cluster_arn, "Tasks.$": "States.Array($.arn)"}
    stopped = {
        "Cluster": run.cluster_arn,
        "Task.$": "$.arn",
        "Reason.$": f"States.Format('{STOPPED_BY_RECOVERY}{{}}', $.what)",
    }
    first = f"Gpus{name}" if only_failed_gpu else f"Stop{name}"
    of_service = f"States.Format('{run.services}{{}}', States.ArrayGetItem(States.StringSplit({_GROUP}, ':'), 1))"
    states = {
        f"Describe{name}": {
            **call_ecs(run.partition, "describeTasks", described),
            "ResultPath": "$.found",
            "Next": f"Kind{name}",
        },
        f"Kind{name}": choice_state(
            [
                {**is_there(_GROUP, there=False), "Next": f"Gone{name}"},
                {**text_matches(_GROUP, "service:*"), "Next": f"Service{name}"},
            ],
            first,
        ),
        f"Gone{name}": {"Type": "Pass", "Parameters": {"is": "gone"}, "End": True},
        f"Service{name}": pass_state({"arn.$": of_service}, "$.service", f"Listed{name}"),
        f"Listed{name}": pass_state(
            {"is.$": "States.ArrayContains($.daemons, $.service.arn)"}, "$.daemon", f"Daemon{name}"
        ),
        f"Daemon{name}": choice_state([{**_is_true("$.daemon.is"), "Next": f"Leave{name}"}], first),
        f"Leave{name}": _as("daemon"),
        f"Stop{name}": {
            **call_ecs(run.partition, "stopTask", stopped),
            "ResultPath": "$.stopped",
            # Such as a task that has just ended.
            "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": f"Stopped{name}"}],
            "Next": f"Stopped{name}",
        },
        f"Stopped{name}": _as("stopped"),
    }
    if only_failed_gpu:
        states |= {
            f"Gpus{name}": pass_state({"gpus.$": f"{_TASK}.Containers[*].GpuIds[*]"}, "$.of", f"Which{name}"),
            f"Which{name}": pass_state({"is.$": "States.ArrayContains($.of.gpus, $.gpu)"}, "$.uses", f"Uses{name}"),
            f"Uses{name}": choice_state([{**_is_true("$.uses.is"), "Next": f"Stop{name}"}], f"Moves{name}"),
            f"Moves{name}": _as("task"),
        }
    return {
        f"Find{name}": ask(run, "ecs:listTasks", listed, "$.listed", f"Any{name}"),
        f"Any{name}": choice_state([{**is_there("$.listed.TaskArns[0]"), "Next": f"Each{name}"}], none),
        f"Each{name}": {
            "Type": "Map",
            "ItemsPath": "$.listed.TaskArns",
            "MaxConcurrency": 10,
            "ItemSelector": {
                "arn.$": "$$.Map.Item.Value",
                "gpu.$": "$.gpu",
                "what.$": "$.what",
                "daemons.$": "$.daemons.ServiceArns",
            },
            "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": f"Describe{name}", "States": states},
            "ResultPath": "$.tasks",
            "Catch": [caught()],
            "Next": following,
        },
    }


def _as(kind: str) -> State:
    return {"Type": "Pass", "Parameters": {"is": kind, "group.$": _GROUP}, "End": True}


def _waiting(then: str, looks: int, pause: int) -> State:
    """Begins to wait: so many looks, with this pause, and then what `_wait` says."""
    wait = {"then": then, "looks": looks, "pause": pause, "daemons.$": "States.ArrayLength($.moving.daemons)"}
    return pass_state(wait, "$.wait", "Begin")


def _wait(run: RecoveryRun) -> State:
    """Waits until only daemons are left, for as long as it was told to."""
    asked = {"Cluster": run.cluster_arn, "ContainerInstances.$": "States.Array($.instance.arn)"}
    running = "$.found.ContainerInstances[0].RunningTasksCount"
    pending = "$.found.ContainerInstances[0].PendingTasksCount"
    less = {"Variable": "$.count.looks", "NumericLessThanPath": "$.wait.looks", "Next": "Pause"}
    return {
        "Begin": {"Type": "Pass", "Result": {"looks": 0}, "ResultPath": "$.count", "Next": "Look"},
        "Look": ask(run, "ecs:describeContainerInstances", asked, "$.found", "IsThere"),
        "IsThere": choice_state([{**is_there(running), "Next": "Left"}], "FindGroup"),
        "Left": pass_state({"tasks.$": f"States.MathAdd({running}, {pending})"}, "$.left", "IsEmpty"),
        "IsEmpty": choice_state(
            [
                {"Variable": "$.left.tasks", "NumericLessThanEqualsPath": "$.wait.daemons", "Next": "FindGroup"},
                less,
                {**text_is("$.wait.then", "Move"), "Next": "TimeOver"},
                {**text_is("$.wait.then", "Stop"), "Next": "FindGroup"},
            ],
            "TellKept",
        ),
        "Pause": {"Type": "Wait", "SecondsPath": "$.wait.pause", "Next": "Counted"},
        "Counted": pass_state({"looks.$": "States.MathAdd($.count.looks, 1)"}, "$.count", "Look"),
        "TellKept": tell(
            run,
            "still holds tasks",
            f"They have not ended within {in_words(_KEPT_PAUSE_SECONDS * _KEPT_LOOKS)}, so the host stays draining "
            "with them. Replace it by hand",
            following="Kept",
        ),
        "Kept": fail_state("Kept", "host {} still holds tasks: {}", "$.host", "$.what"),
    }


def _time_over(run: RecoveryRun) -> State:
    """What happens to tasks that have not moved in time."""
    late = f"They have not ended or moved within {in_words(run.drain_seconds)}."
    waiting = {
        "TellWaiting": tell(
            run,
            "waits for its tasks",
            f"{late} The host is replaced when the last one has ended",
            following="SlowWait",
        ),
        "SlowWait": _waiting("Keep", _KEPT_LOOKS, _KEPT_PAUSE_SECONDS),
    }
    if not run.ends_remaining_tasks:
        return {"TimeOver": {"Type": "Pass", "Next": "TellWaiting"}, **waiting}
    # Nothing is wrong with the GPUs of a host that EC2 only recommends to replace.
    healthy = {**text_is("$.kind", "Rebalance"), "Next": "TellWaiting"}
    return {
        "TimeOver": choice_state([healthy], "TellStopping"),
        **waiting,
        "TellStopping": tell(
            run,
            "ends with tasks",
            f"{late} They are stopped now, to run elsewhere, and the host is replaced",
            following="FindRest",
        ),
        **_each_task(run, "Rest", only_failed_gpu=False, none="LastWait", following="LastWait"),
        "LastWait": _waiting("Stop", _STOP_LOOKS, PAUSE_SECONDS),
    }


def _is_true(path: str) -> State:
    return {"Variable": path, "BooleanEquals": True}
