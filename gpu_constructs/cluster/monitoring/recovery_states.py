"""The state machine of the recovery, in the Amazon States Language.

An execution starts with a fault that the daemon or ECS reports. It looks whether the host is one of ours, takes one of
the day's replacements, drains the host, waits until its tasks have gone, and has its Auto Scaling group replace it.
Whatever has to be looked at by hand ends an execution with an error.

Draining moves the tasks of services and leaves others alone, and managed draining waits for those for up to 48 hours
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/container-instance-draining.html). So those that are left
when their time is over are stopped, with words that begin with `STOPPED_BY_RECOVERY`.

A host is ended with TerminateInstanceInAutoScalingGroup: the group launches another one for it, and neither scale-in
protection nor managed termination protection holds it back
(https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-instance-protection.html).
"""

from __future__ import annotations

from collections.abc import Sequence

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
from gpu_constructs.cluster.monitoring.events import FAULT_SOURCE, STOPPED_BY_RECOVERY
from gpu_constructs.facts.values import dataclass

KEY = "Id"
"""The key of the table, which has an item for each day with a fault."""

_PAUSE_SECONDS = 60
# An execution has 25,000 events (https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html), a look 18.
_MOST_LOOKS = 360
# As long as ECS gives a container to stop, with some time to spare.
_STOP_SECONDS = 120
# What the calls take, with their retries.
_MARGIN_SECONDS = 3600
_CONDITION = "DynamoDB.ConditionalCheckFailedException"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryRun:
    """What the machine works on, and its limits.

    Attributes:
        daemon: The service that measures GPUs, whose task holds no host.
        replacements_per_day: Hosts that may be replaced in a day (UTC).
        drain_seconds: How long the tasks of a host may take to move or to end.
    """

    partition: str
    cluster_arn: str
    providers: Sequence[str]
    daemon: str
    table: str
    topic: str
    replacements_per_day: int
    drain_seconds: int


def recovery_definition(run: RecoveryRun) -> State:
    """The definition of the machine."""
    return {
        "Comment": "Drains and replaces hosts whose GPUs failed",
        "StartAt": "Event",
        "TimeoutSeconds": run.drain_seconds + _STOP_SECONDS + _MARGIN_SECONDS,
        "States": {
            **_what_failed(),
            **_is_ours(run),
            **_budget(run),
            **_drain(run),
            **_stop_rest(run),
            **_replace(run),
            "Done": {"Type": "Succeed"},
        },
    }


def _what_failed() -> State:
    """Brings both events to the same form: the ``arn`` of the container instance and the ``reason``."""
    arn = "$.detail.containerInstanceArn"
    of_gpus = "$.detail.healthChecks[?(@.type == 'ACCELERATED_COMPUTE')]"
    impaired = "$.checks[?(@.status == 'IMPAIRED')]"
    reason = "States.Format('ECS reports {}', States.JsonToString($.failed))"
    return {
        "Event": if_state(text_is("$.source", FAULT_SOURCE), "Fault", "Checks"),
        "Fault": pass_state({"arn.$": arn, "reason.$": "$.detail.reason"}, "$", "Describe"),
        "Checks": pass_state({"arn.$": arn, "checks.$": of_gpus}, "$", "Impaired"),
        "Impaired": pass_state({"arn.$": "$.arn", "failed.$": impaired}, "$", "AnyImpaired"),
        "AnyImpaired": if_state(is_there("$.failed[0]"), "Health", "Done"),
        "Health": pass_state({"arn.$": "$.arn", "reason.$": reason}, "$", "Describe"),
    }


def _describe(run: RecoveryRun, following: str) -> State:
    asked = {"Cluster": run.cluster_arn, "ContainerInstances.$": "States.Array($.arn)"}
    return call(run.partition, "aws-sdk:ecs:describeContainerInstances", asked, "$.found", following)


def _is_ours(run: RecoveryRun) -> State:
    """Goes on with a host of the cluster and of its Auto Scaling groups that nobody drains already."""
    found = "$.found.ContainerInstances[0]"
    provider = f"{found}.CapacityProviderName"
    host = {"arn.$": "$.arn", "reason.$": "$.reason", "id.$": f"{found}.Ec2InstanceId", "left": {"looks": 0}}
    return {
        "Describe": _describe(run, "IsOurs"),
        "IsOurs": choice_state(
            [
                {**is_there(provider, there=False), "Next": "Done"},
                {"Not": text_is(f"{found}.Status", "ACTIVE"), "Next": "Done"},
                *({**text_is(provider, each), "Next": "Host"} for each in run.providers or ["none"]),
            ],
            "Done",
        ),
        "Host": pass_state(host, "$", "Count"),
    }


def _budget(run: RecoveryRun) -> State:
    """Counts the host among those of the day; the write is conditional, so that two at once are counted exactly.

    Items stay: they are small, and there is one for each day with a fault. The error is named as in
    https://github.com/aws-samples/aws-stepfunctions-examples (controlling concurrency).
    """
    item = {
        "TableName": run.table,
        "Key": {KEY: {"S.$": "States.ArrayGetItem(States.StringSplit($$.State.EnteredTime, 'T'), 0)"}},
    }
    counted = call(
        run.partition,
        "dynamodb:updateItem",
        {
            **item,
            "UpdateExpression": "ADD Hosts :host",
            "ConditionExpression": "attribute_not_exists(Hosts) OR (size(Hosts) < :most AND NOT contains(Hosts, :id))",
            "ExpressionAttributeValues": {
                ":host": {"SS.$": "States.Array($.id)"},
                ":id": {"S.$": "$.id"},
                ":most": {"N": str(run.replacements_per_day)},
            },
        },
    )
    return {
        "Count": {
            **counted,
            "Retry": [{"ErrorEquals": [_CONDITION], "MaxAttempts": 0}, *counted["Retry"]],
            "Catch": [{"ErrorEquals": [_CONDITION], "ResultPath": "$.refused", "Next": "Today"}],
            "ResultPath": "$.counted",
            "Next": "Tell",
        },
        "Today": call(run.partition, "dynamodb:getItem", {**item, "ConsistentRead": True}, "$.today", "Known"),
        "Known": pass_state({"is.$": "States.ArrayContains($.today.Item.Hosts.SS, $.id)"}, "$.known", "IsKnown"),
        # The same fault again: the execution that counted the host looks after it, or has failed.
        "IsKnown": if_state({"Variable": "$.known.is", "BooleanEquals": True}, "Done", "BudgetUsed"),
        "BudgetUsed": fail_state(
            "BudgetUsed",
            f"{run.replacements_per_day} hosts were replaced today, as many as may be; {{}} is left alone: {{}}",
            "$.id",
            "$.reason",
        ),
    }


def _drain(run: RecoveryRun) -> State:
    """Drains the host, and looks until only the daemon is left, which ECS may keep until the host ends."""
    drained = {"Cluster": run.cluster_arn, "ContainerInstances.$": "States.Array($.arn)", "Status": "DRAINING"}
    daemons = {"Cluster": run.cluster_arn, "ContainerInstance.$": "$.arn", "ServiceName": run.daemon}
    message = (
        "States.Format('A GPU of host {} failed: {}. The host is drained and replaced; "
        f"tasks that are left after {in_words(run.drain_seconds)} are stopped.', $.id, $.reason)"
    )
    told = {"TopicArn": run.topic, "Subject": "GPU recovery: a host is replaced", "Message.$": message}
    looks = min(_MOST_LOOKS, -(-run.drain_seconds // _PAUSE_SECONDS))
    found = "$.found.ContainerInstances[0]"
    counts = {
        "tasks.$": f"States.MathAdd({found}.RunningTasksCount, {found}.PendingTasksCount)",
        "daemons.$": "States.ArrayLength($.daemons.TaskArns)",
        "looks.$": "States.MathAdd($.left.looks, 1)",
    }
    return {
        "Tell": {
            **call(run.partition, "sns:publish", told),
            "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.told", "Next": "Drain"}],
            "ResultPath": "$.told",
            "Next": "Drain",
        },
        "Drain": call(run.partition, "aws-sdk:ecs:updateContainerInstancesState", drained, "$.drained", "Pause"),
        "Pause": {"Type": "Wait", "Seconds": -(-run.drain_seconds // looks), "Next": "Look"},
        "Look": _describe(run, "IsThere"),
        "IsThere": if_state(is_there(found), "Daemons", "FindGroup"),
        # After the host: a daemon that ends between the two counts as a task, and no task counts as a daemon.
        "Daemons": call(run.partition, "aws-sdk:ecs:listTasks", daemons, "$.daemons", "Left"),
        "Left": pass_state(counts, "$.left", "IsEmpty"),
        "IsEmpty": choice_state(
            [
                {"Variable": "$.left.tasks", "NumericLessThanEqualsPath": "$.left.daemons", "Next": "FindGroup"},
                {"Variable": "$.left.looks", "NumericLessThan": looks, "Next": "Pause"},
            ],
            "FindRest",
        ),
    }


def _stop_rest(run: RecoveryRun) -> State:
    """Stops the tasks whose time is over, a hundred at most; what cannot be stopped ends with the host."""
    listed = {"Cluster": run.cluster_arn, "ContainerInstance.$": "$.arn"}
    stopped = {
        "Cluster": run.cluster_arn,
        "Task.$": "$.task",
        "Reason.$": f"States.Format('{STOPPED_BY_RECOVERY}{{}}', $.reason)",
    }
    refused = {"ErrorEquals": ["States.ALL"], "ResultPath": "$.refused", "Next": "NotStopped"}
    states = {
        "Stop": {**call(run.partition, "aws-sdk:ecs:stopTask", stopped), "Catch": [refused], "End": True},
        "NotStopped": {"Type": "Pass", "End": True},
    }
    return {
        "FindRest": call(run.partition, "aws-sdk:ecs:listTasks", listed, "$.rest", "StopRest"),
        "StopRest": {
            "Type": "Map",
            "ItemsPath": "$.rest.TaskArns",
            "MaxConcurrency": 10,
            "ItemSelector": {"task.$": "$$.Map.Item.Value", "reason.$": "$.reason"},
            "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": "Stop", "States": states},
            "ResultPath": "$.stopped",
            "Next": "LetThemEnd",
        },
        "LetThemEnd": {"Type": "Wait", "Seconds": _STOP_SECONDS, "Next": "FindGroup"},
    }


def _replace(run: RecoveryRun) -> State:
    """Ends the host, unless its group does so already."""
    asked = {"InstanceIds.$": "States.Array($.id)"}
    ended = {"InstanceId.$": "$.id", "ShouldDecrementDesiredCapacity": False}
    state = "$.group.AutoScalingInstances[0].LifecycleState"
    return {
        "FindGroup": call(
            run.partition, "aws-sdk:autoscaling:describeAutoScalingInstances", asked, "$.group", "InGroup"
        ),
        "InGroup": choice_state(
            [
                {**is_there(state, there=False), "Next": "Done"},
                {**text_matches(state, "Terminat*"), "Next": "Done"},
            ],
            "Replace",
        ),
        "Replace": call(
            run.partition, "aws-sdk:autoscaling:terminateInstanceInAutoScalingGroup", ended, "$.ended", "Done"
        ),
    }
