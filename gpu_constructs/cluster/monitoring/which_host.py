"""The first states of the recovery: what happened, to which host, and whether it may be replaced today.

Any event may say anything: who may send events to the bus of the account may send those of the daemon. So a host is
taken only where ECS describes exactly the one that the event names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from gpu_constructs.cdk.state_parts import State, call, choice_state, is_there, pass_state, text_is, text_matches
from gpu_constructs.cluster.monitoring.events import FAULT_DETAIL_TYPE
from gpu_constructs.facts.aws_limits import HOST_HEALTH, REBALANCE_RECOMMENDATION
from gpu_constructs.facts.gpu_features import FATAL_XIDS, XIDS

ENDS_BY_ITSELF = "NothingToDo"
"""The state in which an execution ends well."""

GIVES_UP = "Release"
"""The state from which an execution ends without its host replaced, so that the next event may begin again."""

PAUSE_SECONDS = 60
"""Between two looks at what has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryRun:
    """What the machine works on, and its limits."""

    partition: str
    cluster_arn: str
    cluster_name: str
    providers: Sequence[str]
    table: str
    topic: str
    replacements_per_day: int
    drain_seconds: int
    ends_remaining_tasks: bool


def ask(run: RecoveryRun, action: str, request: State, result: str, following: str) -> State:
    """A state that calls AWS."""
    asked = call(run.partition, f"aws-sdk:{action}", request)
    return {**asked, "ResultPath": result, "Catch": [caught()], "Next": following}


def caught() -> State:
    """What a state does when it fails after its retries: the topic is told."""
    return {"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Failed"}


def gives_up(name: str, words: str, *values: str) -> State:
    """A state that ends the execution as failed, once it no longer holds its host.

    Args:
        name: Its error.
        words: Its cause, with ``{}`` in the place of each value.
        *values: Paths of the values.
    """
    quoted = words.replace("'", "\\'")
    cause = f"States.Format('{quoted}', {', '.join(values)})"
    return pass_state({"Error": name, "Cause.$": cause}, "$.error", GIVES_UP)


def tell(run: RecoveryRun, outcome: str, words: str, *values: str, following: str) -> State:
    """A state that tells the topic what happened to the host, and goes on even where that fails.

    The subject has up to 100 letters: https://docs.aws.amazon.com/sns/latest/api/API_Publish.html

    Args:
        run: What the machine works on.
        outcome: What became of the host, in a few words.
        words: The rest of the message, with ``{}`` in the place of each value.
        *values: Paths of the values.
        following: The next state.
    """
    message = f"Host {{}} of cluster {run.cluster_name} {outcome}: {{}}. {words}."
    request = {
        "TopicArn": run.topic,
        "Subject.$": f"States.Format('GPU recovery: host {{}} {outcome}', $.host)",
        "Message.$": f"States.Format('{message}', {', '.join(('$.host', '$.what', *values))})",
    }
    return {
        **call(run.partition, "sns:publish", request),
        "ResultPath": "$.told",
        "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.notTold", "Next": following}],
        "Next": following,
    }


KEY = "Id"
"""The key of the table. One item for each day with a fault has the hosts that it counts, and one for each host the
execution that holds it, by kind of event.
"""

ANOTHER_GPU = "AnotherGpu"
"""The kind of an execution for another GPU of a host that an earlier one has replaced."""

_CONDITION = "DynamoDB.ConditionalCheckFailedException"
_TODAY = "States.ArrayGetItem(States.StringSplit($$.State.EnteredTime, 'T'), 0)"
_ME = {"S.$": "$$.Execution.Id"}
_DRAINING = text_is("$.instance.status", "DRAINING")
_TURNS = 5
# What an event that leaves it out does not say.
_NOT_SAID: Mapping[str, object] = {
    "ec2InstanceId": "",
    "gpuIndex": "?",
    "gpuUuid": None,
    "healthChecks": [],
    "reason": "the event gives no reason",
    "xid": None,
}


def first_states(run: RecoveryRun) -> State:
    """States from ``Known`` on, which lead to ``Drain`` or end the execution."""
    return {**_what_happened(), **_which_host(run), **_holding(run), **_budget(run)}


def release_host(run: RecoveryRun, *, following: str) -> State:
    """A state that lets the host of this execution go, if it holds it."""
    return {
        **_write(run, "$.host", "REMOVE #kind, Gpus", "#kind = :me", {":me": _ME}, refused=following),
        "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.refused", "Next": following}],
        "Next": following,
    }


def _what_happened() -> State:
    """Brings every event to the same form: ``kind``, ``host``, ``gpu`` and ``what``."""
    kind, xid, uuid = "$['detail-type']", "$.detail.xid", "$.detail.gpuUuid"
    # The language finds a text by its place in a list, and by nothing else.
    meanings = [XIDS[each].meaning if each in FATAL_XIDS else "" for each in range(FATAL_XIDS[-1] + 1)]
    of_fault = text_is(kind, FAULT_DETAIL_TYPE)
    numbered = [of_fault, {"Variable": xid, "IsNumeric": True}]
    fatal = {"Or": [{"Variable": xid, "NumericEquals": each} for each in FATAL_XIDS]}
    # A number that only the agent knows of is as fatal as the agent takes it.
    harmless = {"Or": [{"Variable": xid, "NumericEquals": each} for each in XIDS if each not in FATAL_XIDS]}
    detail, impaired = {"detail.$": "$.detail"}, "?(@.status == 'IMPAIRED')"
    meant = f"{xid}, States.ArrayGetItem($.known.meanings, {xid})"
    has_uuid = {"Variable": uuid, "IsString": True}
    fault = partial(_event, "Fault", "$.detail.ec2InstanceId")
    failed = "States.Format('a GPU failed: {}', $.detail.reason)"
    known = {"meanings": meanings, "detail": dict(_NOT_SAID)}
    return {
        "Known": {"Type": "Pass", "Result": known, "ResultPath": "$.known", "Next": "Complete"},
        "Complete": pass_state(
            {
                "detail-type.$": kind,
                "known.$": "$.known",
                "detail.$": "States.JsonMerge($.known.detail, $.detail, false)",
            },
            "$",
            "Kind",
        ),
        "Kind": choice_state(
            [
                {"And": [*numbered, fatal], "Next": "WhichGpu"},
                {"And": [*numbered, harmless], "Next": ENDS_BY_ITSELF},
                {"And": [of_fault, has_uuid], "Next": "WithGpu"},
                {**of_fault, "Next": "WithoutGpu"},
                {**text_is(kind, HOST_HEALTH), "Next": "ChecksOfGpus"},
                {**text_is(kind, REBALANCE_RECOMMENDATION), "Next": "Rebalance"},
            ],
            "Interruption",
        ),
        "WhichGpu": choice_state([{**has_uuid, "Next": "WithGpuAndXid"}], "WithXid"),
        "WithGpuAndXid": fault(
            f"States.Format('GPU {{}} ({{}}) failed with Xid {{}}, {{}}', $.detail.gpuIndex, {uuid}, {meant})", gpu=uuid
        ),
        "WithXid": fault(f"States.Format('a GPU failed with Xid {{}}, {{}}', {meant})"),
        "WithGpu": fault(failed, gpu=uuid),
        "WithoutGpu": fault(failed),
        "ChecksOfGpus": pass_state(
            {**detail, "checks.$": "$.detail.healthChecks[?(@.type == 'ACCELERATED_COMPUTE')]"}, "$", "FailedChecks"
        ),
        "FailedChecks": pass_state(
            {**detail, "failed.$": f"$.checks[{impaired}]", "reasons.$": f"$.checks[{impaired}].statusReason"},
            "$",
            "AnyFailed",
        ),
        "AnyFailed": choice_state([{**is_there("$.failed[0]"), "Next": "Impaired"}], ENDS_BY_ITSELF),
        "Impaired": fault(
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
    return pass_state({"kind": kind, "host.$": host, **of_gpu, **words, "turn": {"looks": 0}}, "$", "IsHost")


def _which_host(run: RecoveryRun) -> State:
    found = "$.found.ContainerInstances[0]"
    provider = f"{found}.CapacityProviderName"
    listed = {
        "Cluster": run.cluster_arn,
        # With quotes as in the one documented example of this subject.
        "Filter.$": "States.Format('ec2InstanceId in [\\'{}\\']', $.host)",
    }
    described = {"Cluster": run.cluster_arn, "ContainerInstances.$": "$.found.ContainerInstanceArns"}
    # A quote would end the text in the filter.
    named = [text_matches("$.host", "i-*"), {"Not": text_matches("$.host", "*'*")}]
    return {
        "IsHost": choice_state([{"And": named, "Next": "FindHost"}], ENDS_BY_ITSELF),
        "FindHost": ask(run, "ecs:listContainerInstances", listed, "$.found", "InCluster"),
        "InCluster": choice_state(
            [
                {**is_there("$.found.ContainerInstanceArns[1]"), "Next": ENDS_BY_ITSELF},
                {**is_there("$.found.ContainerInstanceArns[0]"), "Next": "DescribeHost"},
            ],
            ENDS_BY_ITSELF,
        ),
        "DescribeHost": ask(run, "ecs:describeContainerInstances", described, "$.found", "IsOurs"),
        "IsOurs": choice_state(
            [
                {**is_there(provider, there=False), "Next": ENDS_BY_ITSELF},
                {"Not": {"Variable": f"{found}.Ec2InstanceId", "StringEqualsPath": "$.host"}, "Next": ENDS_BY_ITSELF},
                *({**text_is(provider, each), "Next": "Instance"} for each in run.providers),
            ],
            ENDS_BY_ITSELF,
        ),
        "Instance": pass_state(
            {"arn.$": f"{found}.ContainerInstanceArn", "status.$": f"{found}.Status"}, "$.instance", "WhichWay"
        ),
        # A healthy host that drains already goes by itself. One that failed may hold tasks on its failed GPU, and so
        # may one that EC2 takes back, which the agent drains by itself.
        "WhichWay": choice_state(
            [{"And": [text_is("$.kind", "Rebalance"), _DRAINING], "Next": ENDS_BY_ITSELF}],
            "Hold",
        ),
    }


def _holding(run: RecoveryRun) -> State:
    """One execution for each host and kind of event goes on; others stop what runs on another GPU of the host.

    Those wait until the first one drains the host: it may yet find the budget used, or fail, and let the host go.
    """
    gpu = {":gpu": {"SS.$": "States.Array(States.Format('GPU {}', $.gpu))"}}
    one = {":one": {"S.$": "States.Format('GPU {}', $.gpu)"}}
    of_gpu = [text_is("$.kind", "Fault"), {"Not": text_is("$.gpu", "")}]
    return {
        "Hold": {
            **_write(
                run,
                "$.host",
                "SET #kind = :me ADD Gpus :gpu",
                "attribute_not_exists(#kind)",
                {":me": _ME, **gpu},
                refused="IsHeld",
            ),
            "Next": "NeedsNoBudget",
        },
        "IsHeld": choice_state(
            [
                {"And": [*of_gpu, _DRAINING], "Next": "AddGpu"},
                {"And": [*of_gpu, {"Variable": "$.turn.looks", "NumericLessThan": _TURNS}], "Next": "WaitForDrain"},
            ],
            ENDS_BY_ITSELF,
        ),
        "WaitForDrain": {"Type": "Wait", "Seconds": PAUSE_SECONDS, "Next": "Turn"},
        "Turn": pass_state({"looks.$": "States.MathAdd($.turn.looks, 1)"}, "$.turn", "FindHost"),
        "AddGpu": {
            **_write(
                run,
                "$.host",
                "ADD Gpus :gpu",
                "attribute_exists(#kind) AND NOT contains(Gpus, :one)",
                {**gpu, **one},
                refused=ENDS_BY_ITSELF,
            ),
            "Next": "Another",
        },
        "Another": {"Type": "Pass", "Result": ANOTHER_GPU, "ResultPath": "$.kind", "Next": "FindDaemons"},
        "NeedsNoBudget": choice_state([{**text_is("$.kind", "Interruption"), "Next": "Drain"}], "TakeOne"),
    }


def _budget(run: RecoveryRun) -> State:
    """One item for each day; each write is conditional, so that two at once are counted exactly.

    Faults and recommendations count apart, so that healthy hosts take nothing of what failed ones may need. Items stay:
    they are small, and there is one for each day with a fault.
    """
    host = {":host": {"SS.$": "States.Array($.host)"}, ":id": {"S.$": "$.host"}}
    most = run.replacements_per_day
    replaced = f"{most} hosts were replaced today" if most > 1 else "1 host was replaced today"
    return {
        "TakeOne": {
            **_write(
                run,
                _TODAY,
                "ADD #kind :host",
                "attribute_not_exists(#kind) OR size(#kind) < :most OR contains(#kind, :id)",
                {**host, ":most": {"N": str(most)}},
                refused="IsFault",
            ),
            "Next": "Drain",
        },
        # EC2 may take a healthy host back later, and says so then.
        "IsFault": choice_state([{**text_is("$.kind", "Fault"), "Next": "IsNew"}], GIVES_UP),
        "IsNew": {
            **_write(
                run,
                _TODAY,
                "ADD LeftAlone :host",
                # The faults of the day are there, or it would have been taken.
                "attribute_exists(#kind) AND NOT (attribute_exists(LeftAlone) AND contains(LeftAlone, :id))",
                host,
                refused=GIVES_UP,
            ),
            "Next": "TellLeftAlone",
        },
        "TellLeftAlone": tell(
            run,
            "is left alone",
            f"{replaced}, as many as the recovery may replace. Drain and replace this one by hand, or allow more with "
            "replacements_per_day",
            following="BudgetUsed",
        ),
        "BudgetUsed": gives_up("BudgetUsed", f"{replaced}; host {{}} is left alone: {{}}", "$.host", "$.what"),
    }


def _write(
    run: RecoveryRun, key: str, update: str, condition: str, values: Mapping[str, object], *, refused: str
) -> State:
    """Changes an item, or goes on elsewhere where the condition is false. ``#kind`` is the kind of event.

    The error is named as in https://github.com/aws-samples/aws-stepfunctions-examples (controlling concurrency).
    """
    request = {
        "TableName": run.table,
        "Key": {KEY: {"S.$": key}},
        "UpdateExpression": update,
        "ConditionExpression": condition,
        "ExpressionAttributeNames": {"#kind.$": "$.kind"},
        "ExpressionAttributeValues": values,
    }
    asked = call(run.partition, "dynamodb:updateItem", request)
    return {
        **asked,
        "Retry": [{"ErrorEquals": [_CONDITION], "MaxAttempts": 0}, *asked["Retry"]],
        "Catch": [{"ErrorEquals": [_CONDITION], "ResultPath": "$.refused", "Next": refused}, caught()],
        "ResultPath": "$.counted",
    }
