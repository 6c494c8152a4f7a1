"""What the state machine of the recovery works on, and the states that all of its parts use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_constructs.cdk.state_parts import State, call, pass_state

ENDS_BY_ITSELF = "NothingToDo"
"""The state in which an execution ends well."""

GIVES_UP = "Release"
"""The state from which an execution ends without its host replaced, so that the next event may begin again."""

PAUSE_SECONDS = 60
"""Between two looks at what has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryRun:
    """What the machine works on, and its limits.

    Attributes:
        partition: The partition of AWS.
        cluster_arn: The cluster.
        cluster_name: Its name.
        providers: Names of the capacity providers whose hosts it may replace.
        table: Name of the table that counts.
        topic: ARN of the topic that is told.
        replacements_per_day: How many hosts it may replace a day for faults, and as many for recommendations of EC2.
        drain_seconds: How long tasks may take to move.
        ends_remaining_tasks: Whether those that are left then are stopped.
    """

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
    """A state that calls AWS.

    Args:
        run: What the machine works on.
        action: The service and what it is asked, such as ``ecs:listTasks``.
        request: The request.
        result: Where the answer goes.
        following: The next state.
    """
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
