"""What a job takes from its cluster and its task definition, and what bounds it.

Taken are the container that counts and the time; bounds are what one start may cost, the hours that it may lose,
and a directory that one execution has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import aws_cdk as cdk
from constructs import Construct

from gpu_constructs.cdk.arguments import in_words, is_positive, known_seconds
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.cdk.validation import warn
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown, unexpected
from gpu_constructs.fleet import PARTLY_SPOT, Fleet, Pool, Step, Task, Unknown, Workload
from gpu_constructs.jobs.states import LONGEST_EXECUTION_SECONDS
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.tasks.task_definition import GpuTaskDefinition


def attempt_seconds(timeout: cdk.Duration) -> int:
    """The time limit of an attempt."""
    return known_seconds(
        "timeout",
        timeout,
        smallest=60,
        largest=LONGEST_EXECUTION_SECONDS,
        fix="cdk.Duration.hours(6)",
        why="does not bound the whole execution",
    )


def container_of(task_definition: GpuTaskDefinition, name: str | None) -> str:
    """The container whose exit code is that of the job."""
    task = task_definition.task
    names = [each.name for each in task.containers if isinstance(each.name, str)]
    if name is None:
        return next(
            each.name
            for each in task.containers
            if isinstance(each.name, str) and demand_of(replace(task, containers=(each,))).gets_accelerator
        )
    if name not in names:
        raise InvalidValueError(
            f"{task_definition.node.path} has no container {shown(name)}",
            argument="container_name",
            value=name,
            allowed=", ".join(names),
            fix="leave it out for the first container with GPUs",
        )
    return name


def fleet_of(workload: Workload, pools: Sequence[Pool], timeout_seconds: int, longest: int) -> Fleet:
    """A job with its hosts, as a template of its own has it."""
    task = cast("Task", workload.task)
    step = Step(
        name=workload.name,
        task=task,
        waits=True,
        limit_seconds=timeout_seconds,
        whole_seconds=longest,
        may_come_back=True,
    )
    return Fleet(pools=tuple(pools), tasks=(task,), workloads=(workload,), steps=(step,))


_LONG_SECONDS = 6 * 3600


def require_apart(shared: bool, key: str) -> None:  # noqa: FBT001 - it is about nothing else
    """Refuses many executions at once that would write into one directory of checkpoints."""
    if shared:
        raise IncompatibleError(
            "jobs that run at once would write their checkpoints into one directory",
            argument="checkpoint_key",
            allowed="a field of what each is started with",
            fix=" or ".join(f"checkpoint_key='{each}'" for each in dict.fromkeys((key, "$$.Execution.Name"))),
        )


def require_cost(fleet: Fleet, longest: int | Unknown, max_cost_usd: float | None, retries: str) -> None:
    """Refuses a job of which one start may cost more than its user allows, or of which nobody knows.

    The fleet has that job alone, with its hosts; `longest` are the seconds of all its attempts, and `retries` is what
    makes them fewer.
    """
    if max_cost_usd is None:
        return
    if is_token(max_cost_usd):
        raise InvalidValueError(
            "a value that is only known at deploy time bounds nothing at synth",
            argument="max_cost_usd",
            fix="max_cost_usd=500, known when the app is synthesized",
        )
    if not is_positive(max_cost_usd):
        raise unexpected("max_cost_usd", max_cost_usd, "US dollars", fix="max_cost_usd=500")
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
        warn(
            scope,
            "no-checkpoints",
            f"{spot[0]} has Spot hosts, and the job may run for {timeout_seconds / 3600:g} hours without checkpoints: "
            "EC2 takes such a host back with two minutes' notice, and the next attempt begins anew; "
            "checkpoints=JobData.s3(bucket, prefix='checkpoints/'), or Purchase.on_demand()",
        )
