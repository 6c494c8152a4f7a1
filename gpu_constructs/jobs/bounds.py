"""What bounds a job: what one start may cost, the hours that it may lose, and a directory that one execution has."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import aws_cdk as cdk
from constructs import Construct

from gpu_constructs.cdk.arguments import in_words
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.fleet import PARTLY_SPOT, Fleet, Pool, Unknown

_LONG_SECONDS = 6 * 3600


def require_apart(shared: bool, key: str) -> None:  # noqa: FBT001 - it is about nothing else
    """Refuses many executions at once that would write into one directory of checkpoints.

    Raises:
        IncompatibleError: They share it.
    """
    if shared:
        raise IncompatibleError(
            "jobs that run at once would write their checkpoints into one directory",
            argument="checkpoint_key",
            allowed="a field of what each is started with",
            fix=f"checkpoint_key='{key}', or '$$.Execution.Name'",
        )


def require_cost(fleet: Fleet, longest: int | Unknown, max_cost_usd: float | None, retries: str) -> None:
    """Refuses a job of which one start may cost more than its user allows, or of which nobody knows.

    The fleet has that job alone, with its hosts; `longest` are the seconds of all its attempts, and `retries` is what
    makes them fewer.

    Raises:
        InvalidValueError: The limit is no amount.
        IncompatibleError: It may.
    """
    if max_cost_usd is None:
        return
    if isinstance(max_cost_usd, bool) or not isinstance(max_cost_usd, (int, float)) or not 0 < max_cost_usd < inf:
        raise InvalidValueError(
            f"expects US dollars, got {shown(max_cost_usd)}",
            argument="max_cost_usd",
            value=max_cost_usd,
            fix="max_cost_usd=500",
        )
    from gpu_constructs.check.planning.starts import starts_of  # noqa: PLC0415 - few jobs have a limit

    if isinstance(longest, Unknown):
        raise IncompatibleError(
            "what one start costs is not known, because its timeout is only known at deploy time",
            argument="max_cost_usd",
            value=max_cost_usd,
            fix="timeout=cdk.Duration.hours(6), known when the app is synthesized",
        )
    costs = [each.usd_at_most for each in starts_of(fleet)]
    most = costs[0] if costs else None
    if most is None or most > max_cost_usd:
        raise IncompatibleError(
            "what one start costs is not known, because a type of its hosts has no price"
            if most is None
            else f"one start may cost ${most:,.2f}, in {in_words(longest)} with all attempts",
            argument="max_cost_usd",
            value=max_cost_usd,
            fix=f"a smaller timeout, {retries}, or a higher limit",
        )


def warn_of_lost_hours(scope: Construct, pools: Sequence[Pool], timeout_seconds: int | Unknown | None) -> None:
    """Warns of a job without checkpoints that may lose many hours when EC2 takes its host back."""
    spot = [each.name for each in pools if each.bought.option in PARTLY_SPOT]
    if spot and isinstance(timeout_seconds, int) and timeout_seconds > _LONG_SECONDS:
        cdk.Annotations.of(scope).add_warning_v2(
            "gpu-constructs:GpuJob.checkpoints",
            f"{spot[0]} has Spot hosts, and the job may run for {timeout_seconds / 3600:g} hours without checkpoints: "
            "EC2 takes such a host back with two minutes' notice, and the next attempt begins anew; "
            "checkpoints=JobData.s3(bucket, prefix='checkpoints/'), or Purchase.on_demand()",
        )
