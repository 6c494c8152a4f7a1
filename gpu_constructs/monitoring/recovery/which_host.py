"""The first states of the recovery: what happened, to which host, and whether it may be replaced today."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.cdk.state_parts import State, call, choice_state, fail_state, is_there, pass_state, text_is
from gpu_constructs.hardware.aws_events import HOST_HEALTH, REBALANCE_RECOMMENDATION
from gpu_constructs.hardware.xid import FATAL_XIDS, XIDS
from gpu_constructs.monitoring.recovery.recovery_run import ENDS_BY_ITSELF, RecoveryRun, ask, caught, tell
from gpu_constructs.monitoring.signals import FAULT_DETAIL_TYPE

__all__ = ["DAY", "first_states"]

DAY = "Day"
"""The key of the table: one item for each day with a fault, with the hosts that it counts."""

_CONDITION = "DynamoDB.ConditionalCheckFailedException"


def first_states(run: RecoveryRun) -> State:
    """States from ``Meanings`` on, which lead to ``Drain`` or end the execution.

    Args:
        run: What the machine works on.
    """
    return {**_what_happened(), **_which_host(run), **_budget(run)}


def _what_happened() -> State:
    """Brings every event to the same form: ``kind``, ``host``, ``gpu`` and ``what``."""
    kind, xid = "$['detail-type']", "$.detail.xid"
    # The language finds a text by its place in a list, and by nothing else.
    meanings = [XIDS[each].meaning if each in FATAL_XIDS else "" for each in range(FATAL_XIDS[-1] + 1)]
    of_fault = text_is(kind, FAULT_DETAIL_TYPE)
    numbered = [of_fault, is_there(xid), {"Variable": xid, "IsNumeric": True}]
    fatal = {"Or": [{"Variable": xid, "NumericEquals": each} for each in FATAL_XIDS]}
    # A number that only the agent knows of is as fatal as the agent takes it.
    harmless = {"Or": [{"Variable": xid, "NumericEquals": each} for each in XIDS if each not in FATAL_XIDS]}
    detail, impaired = {"detail.$": "$.detail"}, "?(@.status == 'IMPAIRED')"
    meant = f"{xid}, States.ArrayGetItem($.meanings, {xid})"
    return {
        "Meanings": {"Type": "Pass", "Result": meanings, "ResultPath": "$.meanings", "Next": "Kind"},
        "Kind": choice_state(
            [
                {"And": [*numbered, fatal], "Next": "WhichGpu"},
                {"And": [*numbered, harmless], "Next": ENDS_BY_ITSELF},
                {**of_fault, "Next": "WithoutXid"},
                {**text_is(kind, HOST_HEALTH), "Next": "ChecksOfGpus"},
                {**text_is(kind, REBALANCE_RECOMMENDATION), "Next": "Rebalance"},
            ],
            "Interruption",
        ),
        "WhichGpu": choice_state(
            [{"Variable": "$.detail.gpuUuid", "IsString": True, "Next": "WithGpuAndXid"}], "WithXid"
        ),
        "WithGpuAndXid": _event(
            "Fault",
            "$.detail.ec2InstanceId",
            "States.Format('GPU {} ({}) failed with Xid {}, {}', "
            f"$.detail.gpuIndex, $.detail.gpuUuid, {meant})",
            gpu="$.detail.gpuUuid",
        ),
        "WithXid": _event(
            "Fault", "$.detail.ec2InstanceId", f"States.Format('a GPU failed with Xid {{}}, {{}}', {meant})"
        ),
        "WithoutXid": _event(
            "Fault",
            "$.detail.ec2InstanceId",
            "States.Format('a GPU failed: {}', $.detail.reason)",
            gpu="$.detail.gpuUuid",
        ),
        "ChecksOfGpus": pass_state(
            {**detail, "checks.$": "$.detail.healthChecks[?(@.type == 'ACCELERATED_COMPUTE')]"}, "$", "FailedChecks"
        ),
        "FailedChecks": pass_state(
            {**detail, "failed.$": f"$.checks[{impaired}]", "reasons.$": f"$.checks[{impaired}].statusReason"},
            "$",
            "AnyFailed",
        ),
        "AnyFailed": choice_state([{**is_there("$.failed[0]"), "Next": "Impaired"}], ENDS_BY_ITSELF),
        "Impaired": _event(
            "Fault",
            "$.detail.ec2InstanceId",
            "States.Format('ECS reports its GPUs impaired: {}', States.JsonToString($.reasons))",
        ),
        "Rebalance": _event(
            "Rebalance",
            "$.detail['instance-id']",
            "EC2 recommends replacing this Spot host, which it may take back soon",
        ),
        "Interruption": _event(
            "Interruption",
            "$.detail['instance-id']",
            "EC2 takes this Spot host back in two minutes",
        ),
    }


def _event(kind: str, host: str, what: str, *, gpu: str | None = None) -> State:
    of_gpu = {"gpu": ""} if gpu is None else {"gpu.$": gpu}
    words = {"what.$": what} if what.startswith("States.") else {"what": what}
    return pass_state({"kind": kind, "host.$": host, **of_gpu, **words}, "$", "FindHost")


def _which_host(run: RecoveryRun) -> State:
    provider = "$.found.ContainerInstances[0].CapacityProviderName"
    listed = {
        "Cluster": run.cluster_arn,
        # With quotes as in the one documented example of this subject.
        "Filter.$": "States.Format('ec2InstanceId in [\\'{}\\']', $.host)",
    }
    described = {"Cluster": run.cluster_arn, "ContainerInstances.$": "$.found.ContainerInstanceArns"}
    return {
        "FindHost": ask(run, "ecs:listContainerInstances", listed, "$.found", "InCluster"),
        "InCluster": choice_state(
            [{**is_there("$.found.ContainerInstanceArns[0]"), "Next": "DescribeHost"}], ENDS_BY_ITSELF
        ),
        "DescribeHost": ask(run, "ecs:describeContainerInstances", described, "$.found", "IsOurs"),
        "IsOurs": choice_state(
            [
                {**is_there(provider, there=False), "Next": ENDS_BY_ITSELF},
                *({**text_is(provider, each), "Next": "Instance"} for each in run.providers),
            ],
            ENDS_BY_ITSELF,
        ),
        "Instance": pass_state(
            {
                "arn.$": "$.found.ContainerInstances[0].ContainerInstanceArn",
                "status.$": "$.found.ContainerInstances[0].Status",
                "provider.$": provider,
            },
            "$.instance",
            "WhichWay",
        ),
        "WhichWay": choice_state(
            [
                # The agent drains such a host by itself, so it may have begun.
                {**text_is("$.kind", "Interruption"), "Next": "Interrupted"},
                {**text_is("$.instance.status", "DRAINING"), "Next": ENDS_BY_ITSELF},
            ],
            "TakeOne",
        ),
    }


def _budget(run: RecoveryRun) -> State:
    """One item for each day; each write is conditional, so that two at once are counted exactly.

    Items stay: they are small, and there is one for each day with a fault.
    """
    has = {name: f"(attribute_exists({name}) AND contains({name}, :id))" for name in ("Hosts", "LeftAlone", "Gone")}
    most = run.replacements_per_day
    replaced = f"{most} hosts were replaced today" if most > 1 else "1 host was replaced today"
    return {
        "TakeOne": {
            **_write(
                run,
                "Hosts",
                f"(attribute_not_exists(Hosts) OR size(Hosts) < :most) AND NOT {has['Hosts']}",
                {":most": {"N": str(most)}},
                refused="IsNew",
            ),
            "Next": "Drain",
        },
        "IsNew": {
            **_write(
                run,
                "LeftAlone",
                f"NOT {has['Hosts']} AND NOT {has['LeftAlone']}",
                {},
                refused=ENDS_BY_ITSELF,
            ),
            "Next": "TellLeftAlone",
        },
        "TellLeftAlone": tell(
            run,
            "is left alone",
            f"{replaced}, as many as the recovery may replace. Drain and replace this one by hand, or allow more with "
            "replacements_per_day",
            following="IsFault",
        ),
        # A recommendation about a healthy host raises no alarm.
        "IsFault": choice_state([{**text_is("$.kind", "Fault"), "Next": "BudgetUsed"}], ENDS_BY_ITSELF),
        "BudgetUsed": fail_state("BudgetUsed", f"{replaced}; host {{}} is left alone: {{}}", "$.host", "$.what"),
        "Interrupted": {
            **_write(run, "Gone", f"NOT {has['Gone']}", {}, refused=ENDS_BY_ITSELF),
            "Next": "Drain",
        },
    }


def _write(run: RecoveryRun, column: str, condition: str, values: Mapping[str, object], *, refused: str) -> State:
    """Adds the host to a set of today's item, or goes on elsewhere.

    The error is named as in https://github.com/aws-samples/aws-stepfunctions-examples (controlling concurrency).
    """
    request = {
        "TableName": run.table,
        "Key": {DAY: {"S.$": "States.ArrayGetItem(States.StringSplit($$.State.EnteredTime, 'T'), 0)"}},
        "UpdateExpression": f"ADD {column} :host",
        "ConditionExpression": condition,
        "ExpressionAttributeValues": {
            ":host": {"SS.$": "States.Array($.host)"},
            ":id": {"S.$": "$.host"},
            **values,
        },
    }
    asked = call(run.partition, "dynamodb:updateItem", request)
    return {
        **asked,
        "Retry": [{"ErrorEquals": [_CONDITION], "MaxAttempts": 0}, *asked["Retry"]],
        "Catch": [{"ErrorEquals": [_CONDITION], "ResultPath": "$.error", "Next": refused}, caught()],
        "ResultPath": "$.counted",
    }
