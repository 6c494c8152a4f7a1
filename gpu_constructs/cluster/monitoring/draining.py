"""States of the recovery that empty a host and replace it.

Draining moves the tasks of services and leaves others alone, and managed draining waits for those for up to 48 hours
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/container-instance-draining.html). So tasks on the failed
GPU are stopped at once, and others when their time is over, with words that begin with `STOPPED_BY_RECOVERY`: a
`GpuJob` takes these for the loss of its host, and runs again.

A host is ended with TerminateInstanceInAutoScalingGroup: the group launches another one for it, neither scale-in
protection nor managed termination protection holds it back
(https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-instance-protection.html), and ECS managed
draining still sees that the last tasks end well. SetInstanceHealth would come to the same by way of a health check.
"""

from __future__ import annotations

from gpu_constructs.cdk.arguments import in_words
from gpu_constructs.cdk.state_parts import (
    State,
    call_ecs,
    choice_state,
    is_there,
    pass_state,
    text_is,
    text_matches,
)
from gpu_constructs.cluster.monitoring.events import STOPPED_BY_RECOVERY
from gpu_constructs.cluster.monitoring.which_host import (
    ANOTHER_GPU,
    ENDS_BY_ITSELF,
    PAUSE_SECONDS,
    RecoveryRun,
    ask,
    caught,
    gives_up,
    tell,
)

_TASK = "$.found.Tasks[0]"
_GROUP = f"{_TASK}.Group"
# An execution has 25,000 events (https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html), a look 22.
_MOST_LOOKS = 360
_STOP_LOOKS = 10
_KEPT_PAUSE_SECONDS, _KEPT_LOOKS = 600, 288


def draining_states(run: RecoveryRun) -> State:
    """States from ``Drain`` on, which lead to ``FindGroup`` or end the execution."""
    return {**_drain(run), **_wait(run), **_time_over(run)}


def longest_drain_seconds(run: RecoveryRun) -> int:
    """How long these states may take together."""
    return run.drain_seconds + _KEPT_PAUSE_SECONDS * _KEPT_LOOKS + PAUSE_SECONDS * _STOP_LOOKS


def _drain(run: RecoveryRun) -> State:
    drained = {"Cluster": run.cluster_arn, "ContainerInstances.$": "States.Array($.instance.arn)", "Status": "DRAINING"}
    looks = min(_MOST_LOOKS, -(-run.drain_seconds // PAUSE_SECONDS))
    ends = [text_is("$.kind", each) for each in ("Interruption", ANOTHER_GPU)]
    return {
        "Drain": ask(run, "ecs:updateContainerInstancesState", drained, "$.drained", "FindDaemons"),
        **_daemons(run, following="FindTasks"),
        **_each_task(run, "Tasks", only_failed_gpu=True, none="NoTask", following="Moving", done="EndsHere"),
        "NoTask": {"Type": "Pass", "Result": [], "ResultPath": "$.tasks", "Next": "Moving"},
        "Moving": pass_state(
            {
                "moved.$": "$.tasks[?(@.is == 'task')].group",
                "stopped.$": "$.tasks[?(@.is == 'stopped')].group",
                "refused.$": "$.tasks[?(@.is == 'refused')].group",
                "causes.$": "$.tasks[?(@.is == 'refused')].cause",
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
            following="AnyRefused",
        ),
        "AnyRefused": choice_state([{**is_there("$.moving.refused[0]"), "Next": "TellRefused"}], "MoreTasks"),
        "TellRefused": tell(
            run,
            "still runs tasks on the failed GPU",
            "They could not be stopped: {}. ECS says: {}",
            "States.JsonToString($.moving.refused)",
            "States.JsonToString($.moving.causes)",
            following="MoreTasks",
        ),
        # EC2 replaces the host, or the execution does that drains it.
        "EndsHere": choice_state([{"Or": ends, "Next": ENDS_BY_ITSELF}], "FirstWait"),
        "FirstWait": _waiting("Move", looks, -(-run.drain_seconds // looks)),
    }


def _daemons(run: RecoveryRun, *, following: str) -> State:
    """Finds the tasks of daemons on the host, which count for nothing: no page says whether they stay until it ends."""
    services = {"Cluster": run.cluster_arn, "SchedulingStrategy": "DAEMON", "MaxResults": 100}
    name = "States.ArrayGetItem(States.StringSplit($.service, '/'), 2)"
    listed = {"Cluster": run.cluster_arn, "ContainerInstance.$": "$.instance", "ServiceName.$": name}
    states = {
        # ARNs of services from before 2018 have no name of a cluster.
        "IsLong": choice_state([{**text_matches("$.service", "*/*/*"), "Next": "ListDaemon"}], "Skip"),
        "ListDaemon": {
            **call_ecs(run.partition, "listTasks", listed),
            "ResultSelector": {"arns.$": "$.TaskArns"},
            "End": True,
        },
        "Skip": {"Type": "Pass", "Result": {"arns": []}, "End": True},
    }
    return {
        "FindDaemons": ask(run, "ecs:listServices", services, "$.services", "EachDaemon"),
        "EachDaemon": {
            "Type": "Map",
            "ItemsPath": "$.services.ServiceArns",
            "MaxConcurrency": 10,
            "ItemSelector": {"service.$": "$$.Map.Item.Value", "instance.$": "$.instance.arn"},
            "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": "IsLong", "States": states},
            "ResultPath": "$.services",
            "Catch": [caught()],
            "Next": "Daemons",
        },
        "Daemons": pass_state({"tasks.$": "$.services[*].arns[*]"}, "$.daemons", following),
    }


def _each_task(run: RecoveryRun, name: str, *, only_failed_gpu: bool, none: str, following: str, done: str) -> State:
    """Looks at each task of the host, and stops those that hold the failed GPU, or all.

    Tasks are described one by one: what a job was started with is in the description, and a state holds 256 KiB. They
    are listed by hundreds: ``following`` comes after each page and leads to ``More``, and ``done`` after the last one.
    """
    listed = {"Cluster": run.cluster_arn, "ContainerInstance.$": "$.instance.arn", "DesiredStatus": "RUNNING"}
    described = {"Cluster": run.cluster_arn, "Tasks.$": "States.Array($.arn)"}
    stopped = {
        "Cluster": run.cluster_arn,
        "Task.$": "$.arn",
        "Reason.$": f"States.Format('{STOPPED_BY_RECOVERY}{{}}', $.what)",
    }
    first = f"Gpus{name}" if only_failed_gpu else f"Stop{name}"
    states = {
        f"Daemon{name}": pass_state({"is.$": "States.ArrayContains($.daemons, $.arn)"}, "$.daemon", f"Is{name}"),
        f"Is{name}": choice_state([{**_is_true("$.daemon.is"), "Next": f"Leave{name}"}], f"Describe{name}"),
        f"Leave{name}": {"Type": "Pass", "Parameters": {"is": "daemon"}, "End": True},
        f"Describe{name}": {
            **call_ecs(run.partition, "describeTasks", described),
            "ResultPath": "$.found",
            "Next": f"Kind{name}",
        },
        f"Kind{name}": choice_state([{**is_there(_GROUP, there=False), "Next": f"Gone{name}"}], first),
        f"Gone{name}": {"Type": "Pass", "Parameters": {"is": "gone"}, "End": True},
        f"Stop{name}": {
            **call_ecs(run.partition, "stopTask", stopped),
            "ResultPath": "$.stopped",
            "Catch": [
                # A task that has ended: https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_StopTask.html
                {"ErrorEquals": ["Ecs.InvalidParameterException"], "ResultPath": "$.error", "Next": f"Gone{name}"},
                {"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": f"Refused{name}"},
            ],
            "Next": f"Stopped{name}",
        },
        f"Refused{name}": _as("refused", {"cause.$": "$.error.Cause"}),
        f"Stopped{name}": _as("stopped"),
    }
    if only_failed_gpu:
        states |= {
            f"Gpus{name}": pass_state({"gpus.$": f"{_TASK}.Containers[*].GpuIds[*]"}, "$.of", f"Which{name}"),
            f"Which{name}": pass_state({"is.$": "States.ArrayContains($.of.gpus, $.gpu)"}, "$.uses", f"Uses{name}"),
            f"Uses{name}": choice_state([{**_is_true("$.uses.is"), "Next": f"Stop{name}"}], f"Moves{name}"),
            f"Moves{name}": _as("task"),
        }
    token = "$.listed.NextToken"  # noqa: S105 - where a list goes on
    return {
        f"Find{name}": ask(run, "ecs:listTasks", listed, "$.listed", f"Any{name}"),
        f"Next{name}": ask(run, "ecs:listTasks", {**listed, "NextToken.$": token}, "$.listed", f"Any{name}"),
        f"Any{name}": choice_state([{**is_there("$.listed.TaskArns[0]"), "Next": f"Each{name}"}], none),
        f"Each{name}": {
            "Type": "Map",
            "ItemsPath": "$.listed.TaskArns",
            "MaxConcurrency": 10,
            "ItemSelector": {
                "arn.$": "$$.Map.Item.Value",
                "gpu.$": "$.gpu",
                "what.$": "$.what",
                "daemons.$": "$.daemons.tasks",
            },
            "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": f"Daemon{name}", "States": states},
            "ResultPath": "$.tasks",
            "Catch": [caught()],
            "Next": following,
        },
        f"More{name}": choice_state([{**is_there(token), "Next": f"Next{name}"}], done),
    }


def _as(kind: str, more: State | None = None) -> State:
    return {"Type": "Pass", "Parameters": {"is": kind, "group.$": _GROUP, **(more or {})}, "End": True}


def _waiting(then: str, looks: int, pause: int) -> State:
    """Begins to wait: so many looks, with this pause, and then what `_wait` says."""
    return pass_state({"then": then, "looks": looks, "pause": pause}, "$.wait", "Begin")


def _wait(run: RecoveryRun) -> State:
    """Waits until only daemons are left, for as long as it was told to."""
    asked = {"Cluster": run.cluster_arn, "ContainerInstances.$": "States.Array($.instance.arn)"}
    daemons = {"Cluster": run.cluster_arn, "Tasks.$": "$.daemons.tasks"}
    running = "$.found.ContainerInstances[0].RunningTasksCount"
    pending = "$.found.ContainerInstances[0].PendingTasksCount"
    less = {"Variable": "$.count.looks", "NumericLessThanPath": "$.wait.looks", "Next": "Pause"}
    return {
        "Begin": {"Type": "Pass", "Result": {"looks": 0}, "ResultPath": "$.count", "Next": "Look"},
        "Look": ask(run, "ecs:describeContainerInstances", asked, "$.found", "IsThere"),
        "IsThere": choice_state(
            [
                {**is_there(running, there=False), "Next": "FindGroup"},
                {**is_there("$.daemons.tasks[0]"), "Next": "LookAtDaemons"},
            ],
            "NoDaemons",
        ),
        # After the host: a daemon that ends between the two counts as a task, and no task counts as a daemon.
        "LookAtDaemons": {
            **ask(run, "ecs:describeTasks", daemons, "$.alive", "Left"),
            "ResultSelector": {"daemons.$": "$.Tasks[?(@.DesiredStatus == 'RUNNING')].DesiredStatus"},
        },
        "NoDaemons": {"Type": "Pass", "Result": {"daemons": []}, "ResultPath": "$.alive", "Next": "Left"},
        "Left": pass_state(
            {
                "tasks.$": f"States.MathAdd({running}, {pending})",
                "daemons.$": "States.ArrayLength($.alive.daemons)",
            },
            "$.left",
            "IsEmpty",
        ),
        "IsEmpty": choice_state(
            [
                {"Variable": "$.left.tasks", "NumericLessThanEqualsPath": "$.left.daemons", "Next": "FindGroup"},
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
        "Kept": gives_up("Kept", "host {} still holds tasks: {}", "$.host", "$.what"),
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
        **_each_task(run, "Rest", only_failed_gpu=False, none="LastWait", following="MoreRest", done="LastWait"),
        "LastWait": _waiting("Stop", _STOP_LOOKS, PAUSE_SECONDS),
    }


def _is_true(path: str) -> State:
    return {"Variable": path, "BooleanEquals": True}


_REPLACEMENT_LOOKS = 30

LONGEST_REPLACEMENT_SECONDS = PAUSE_SECONDS * _REPLACEMENT_LOOKS
"""How long the new host may take."""


def replacement_states(run: RecoveryRun) -> State:
    """States from ``FindGroup`` on, which end the execution."""
    state = "$.of.AutoScalingInstances[0].LifecycleState"
    group = "$.of.AutoScalingInstances[0].AutoScalingGroupName"
    asked = {"InstanceIds.$": "States.Array($.host)"}
    name = {"AutoScalingGroupNames.$": f"States.Array({group})"}
    in_service = "$.AutoScalingGroups[0].Instances[?(@.LifecycleState == 'InService')]"
    enough = {"Variable": "$.ready.hosts", "NumericGreaterThanEqualsPath": "$.group.wanted", "Next": "TellReplaced"}
    less = {"Variable": "$.count.looks", "NumericLessThan": _REPLACEMENT_LOOKS, "Next": "LookForNew"}
    return {
        "FindGroup": ask(run, "autoscaling:describeAutoScalingInstances", asked, "$.of", "InGroup"),
        "InGroup": choice_state(
            [
                {**is_there(group, there=False), "Next": "TellGone"},
                {**text_matches(state, "Terminat*"), "Next": "TellGone"},
            ],
            "Replace",
        ),
        "TellGone": tell(run, "is gone", "Its Auto Scaling group has ended it already", following=ENDS_BY_ITSELF),
        "Replace": ask(
            run,
            "autoscaling:terminateInstanceInAutoScalingGroup",
            {"InstanceId.$": "$.host", "ShouldDecrementDesiredCapacity": False},
            "$.ended",
            "CountAgain",
        ),
        "CountAgain": {"Type": "Pass", "Result": {"looks": 0}, "ResultPath": "$.count", "Next": "LookForNew"},
        "LookForNew": {"Type": "Wait", "Seconds": PAUSE_SECONDS, "Next": "CountLook"},
        "CountLook": pass_state({"looks.$": "States.MathAdd($.count.looks, 1)"}, "$.count", "DescribeGroup"),
        "DescribeGroup": {
            **ask(run, "autoscaling:describeAutoScalingGroups", name, "$.group", "Ready"),
            "ResultSelector": {"wanted.$": "$.AutoScalingGroups[0].DesiredCapacity", "hosts.$": in_service},
        },
        "Ready": pass_state({"hosts.$": "States.ArrayLength($.group.hosts)"}, "$.ready", "IsReady"),
        "IsReady": choice_state([enough, less], "Activities"),
        "TellReplaced": tell(
            run,
            "is replaced",
            "Its Auto Scaling group has the {} hosts that it should have",
            "$.group.wanted",
            following=ENDS_BY_ITSELF,
        ),
        "Activities": {
            **ask(
                run,
                "autoscaling:describeScalingActivities",
                {"AutoScalingGroupName.$": group, "MaxRecords": 10},
                "$.activities",
                "TellNotReplaced",
            ),
            "ResultSelector": {"said.$": "$.Activities[?(@.StatusCode == 'Failed')].StatusMessage"},
        },
        "TellNotReplaced": tell(
            run,
            "has no replacement yet",
            f"After {in_words(LONGEST_REPLACEMENT_SECONDS)} its Auto Scaling group has {{}} of {{}} hosts. It "
            "goes on trying, and tasks without a host wait. EC2 says: {}",
            "$.ready.hosts",
            "$.group.wanted",
            "States.JsonToString($.activities.said)",
            following="NotReplaced",
        ),
        "NotReplaced": gives_up("NotReplaced", "no host has come for {}: {}", "$.host", "$.what"),
    }
