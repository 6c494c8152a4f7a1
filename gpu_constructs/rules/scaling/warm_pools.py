"""Warm pools: hosts that are kept prepared, and what they do not go with."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.errors import shown
from gpu_constructs.fleet import PARTLY_SPOT, LocalDiskUse, Pool, PurchaseOption, Unknown, WarmPool
from gpu_constructs.hardware import OperatingSystem
from gpu_constructs.hardware.aws_limits import MAX_PERCENT
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule

_ECS = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using-warm-pool.html"
_PUT = "https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutWarmPool.html"
_CHECK = "ECS_WARM_POOLS_CHECK"
_ON = frozenset({"true", "1", "t"})
_STATES = frozenset({"Stopped", "Running", "Hibernated"})


@rule(
    "GPU170",
    Severity.ERROR,
    about=Context,
    question="has a group of spot hosts no warm pool?",
    because="PutWarmPool refuses a group that requests Spot Instances; several types on demand it takes since November "
    "2025",
    source="https://aws.amazon.com/about-aws/whats-new/2025/11/ec2-auto-scaling-warm-pool-mixed-instances-policies/",
)
def no_spot(context: Context) -> Iterator[Problem]:
    for pool, _ in _warm(context):
        # Where the policy has no spot of its own, GPU160 speaks of what the launch template asks for.
        policy = pool.bought.distribution
        of_template = policy is not None and policy.on_demand_percentage == MAX_PERCENT
        option = pool.bought.option
        if option in PARTLY_SPOT and not of_template:
            yield Problem(
                about=pool,
                message=f"its hosts are {option}, and a group that requests Spot Instances gets no warm pool",
                fix="no warm pool, or a group on demand of its own for it",
            )


@rule(
    "GPU171",
    Severity.WARNING,
    about=Context,
    question="do hosts of a warm pool wait before they join the cluster?",
    because="an agent without ECS_WARM_POOLS_CHECK registers its host while it is prepared, gets tasks, and is stopped "
    "with them; Bottlerocket has no such setting (github.com/bottlerocket-os/bottlerocket/issues/4888)",
    source=_ECS,
)
def waits(context: Context) -> Iterator[Problem]:
    for pool, _ in _warm(context):
        if isinstance(pool.operating_system, Unknown):
            continue
        if pool.operating_system is OperatingSystem.BOTTLEROCKET:
            yield Problem(
                about=pool,
                message="its hosts join the cluster while they are prepared: Bottlerocket has no setting that makes "
                "the agent wait",
                fix="no warm pool, or an Amazon Linux image",
            )
        elif _does_not_wait(pool):
            written = pool.user_data.get(_CHECK)
            yield Problem(
                about=pool,
                message=f"its hosts join the cluster while they are prepared, for {_CHECK} is "
                f"{'not set' if written is None else shown(written)}",
                fix=f"{_CHECK}=true in /etc/ecs/ecs.config",
            )


@rule(
    "GPU172",
    Severity.WARNING,
    about=Context,
    question="do hosts that leave the group not go back to the warm pool?",
    because="ECS supports no warm pool that takes hosts back on scale-in",
    source=_ECS,
)
def no_reuse(context: Context) -> Iterator[Problem]:
    for pool, warm in _warm(context):
        if warm.reuse_on_scale_in is True:
            yield Problem(
                about=pool,
                message="hosts go back to the warm pool on scale-in, and ECS does not support that",
                fix="no ReuseOnScaleIn",
            )


@rule(
    "GPU173",
    Severity.WARNING,
    about=Context,
    question="do prepared hosts keep the images that they have pulled?",
    because="an instance store is empty after a stop, and with it what Docker kept there; user data, which runs at the "
    "first boot only, does not prepare it again",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-store-lifetime.html",
)
def keeps_images(context: Context) -> Iterator[Problem]:
    for pool, warm in _warm(context):
        if warm.state == "Stopped" and pool.user_data.local_disks is LocalDiskUse.IMAGES:
            yield Problem(
                about=pool,
                message="its hosts wait stopped and keep container images on local disks, which a stop empties: what "
                "was pulled while they were prepared is pulled again",
                fix="images on the root volume, or hosts that wait running",
            )


@rule(
    "GPU175",
    Severity.WARNING,
    about=Context,
    question="are no more hosts prepared than can be in service?",
    because="a warm pool may be larger than the group, and the hosts above MaxSize are paid for and never used",
    source=_PUT,
)
def not_too_many(context: Context) -> Iterator[Problem]:
    for pool, warm in _warm(context):
        most = pool.max_instances
        sizes = {"MinSize": warm.min_size, "MaxGroupPreparedCapacity": warm.max_prepared}
        over = {name: size for name, size in sizes.items() if _exceeds(size, most)}
        if over:
            yield Problem(
                about=pool,
                message=f"{and_list(f'{name} of the warm pool is {size}' for name, size in over.items())}, and no more "
                f"than {most} hosts are ever in service",
                fix=f"{most} or less, or a larger MaxSize of the group",
            )


@rule(
    "GPU176",
    Severity.ERROR,
    about=Context,
    question="can the hosts wait as the warm pool wants them to?",
    because="PutWarmPool takes Stopped, Running and Hibernated, and EC2 hibernates no type with accelerators",
    source=_PUT,
)
def known_state(context: Context) -> Iterator[Problem]:
    for pool, warm in _warm(context):
        if isinstance(warm.state, Unknown):
            continue
        if warm.state not in _STATES:
            yield Problem(
                about=pool, message=f"a warm pool has no state {warm.state!r:.60}", fix="Stopped, Running or Hibernated"
            )
        elif warm.state == "Hibernated":
            never = [each.name for each in pool.instance_types if each.accelerators is not None]
            if never:
                yield Problem(
                    about=pool,
                    message=f"the hosts of the warm pool hibernate, and EC2 does not hibernate {and_list(never)}",
                    fix="Stopped",
                )


@rule(
    "GPU177",
    Severity.WARNING,
    about=Context,
    question="has a capacity block no warm pool beside it?",
    because="hosts of a block start and end with it; a warm pool starts hosts with the stack, when the block may not "
    "be there, and keeps its MinSize when a schedule empties the group for the end of the block",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-template-capacity-blocks.html",
)
def no_block(context: Context) -> Iterator[Problem]:
    for pool, _ in _warm(context):
        if pool.bought.option is PurchaseOption.CAPACITY_BLOCK:
            yield Problem(
                about=pool,
                message="its hosts run in a capacity block, and a warm pool starts hosts outside the schedule of the "
                "block",
                fix="no warm pool",
            )


def _warm(context: Context) -> Iterator[tuple[Pool, WarmPool]]:
    return ((pool, pool.group.warm_pool) for pool in context.fleet.pools if pool.group.warm_pool is not None)


def _does_not_wait(pool: Pool) -> bool:
    """Whether the agent certainly does not wait; an image of the user's own may set what the user data does not."""
    written = pool.user_data.get(_CHECK)
    if isinstance(written, str):
        return written.strip().lower() not in _ON
    custom = isinstance(pool.image, Unknown) or pool.image.release == "custom"
    known = pool.user_data.complete and not isinstance(pool.user_data.format, Unknown)
    return written is None and known and not custom


def _exceeds(size: int | Unknown | None, most: int | Unknown) -> bool:
    return isinstance(size, int) and isinstance(most, int) and size > most
