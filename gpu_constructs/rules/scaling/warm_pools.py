"""Warm pools: can a group keep its hosts prepared, and do they wait until they are needed?"""

from __future__ import annotations

from gpu_constructs.errors import shown
from gpu_constructs.facts import OperatingSystem
from gpu_constructs.facts.aws_limits import MAX_PERCENT
from gpu_constructs.fleet import PARTLY_SPOT, Pool, PurchaseOption, Unknown
from gpu_constructs.rules.rule import Problem, Problems, error, warning
from gpu_constructs.rules.words import Text, Word, and_list

_CHECK = "ECS_WARM_POOLS_CHECK"
_ON = frozenset({"true", "1", "t"})


@error(
    "GPU170",
    question="do EC2 Auto Scaling and ECS support the warm pool?",
    because="PutWarmPool refuses a group that requests Spot Instances, as it did in a deploy of 2026-09-09, EC2 "
    "hibernates no type with accelerators, ECS supports no warm pool that takes hosts back on scale-in, and hosts of a "
    "Capacity Block start and end with it",
    softer="for hosts that are taken back, and beside a Capacity Block",
    source="https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutWarmPool.html",
)
def is_supported(pool: Pool) -> Problems:
    warm, policy = pool.group.warm_pool, pool.bought.distribution
    if warm is None:
        return
    # A policy that is all On-Demand over a launch template that requests Spot is refused for that alone (GPU160).
    if pool.bought.option is PurchaseOption.CAPACITY_BLOCK:
        # https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-template-capacity-blocks.html
        yield Problem(
            property_name="WarmPool",
            message="the hosts run in a Capacity Block, and a warm pool starts hosts outside the schedule of the block",
            fix="remove the warm pool",
            is_certain=False,
        )
    is_of_template = policy is not None and policy.on_demand_percentage == MAX_PERCENT
    if pool.bought.option in PARTLY_SPOT and not is_of_template:
        yield Problem(
            property_name="WarmPool",
            value=pool.bought.option,
            message="PutWarmPool refuses a group that requests Spot Instances, and these hosts are "
            f"{pool.bought.option}",
            allowed="On-Demand hosts, of one type or several",
            fix=Text("remove ", Word("the warm pool"), ", or move it to an On-Demand group"),
        )
    never = [each.name for each in pool.instance_types if each.accelerators is not None]
    if warm.state == "Hibernated" and never:
        yield Problem(
            property_name="PoolState",
            value=warm.state,
            message=f"the hosts of the warm pool hibernate, and EC2 does not hibernate {and_list(never)}",
            allowed="Stopped or Running",
            fix="Stopped",
        )
    if warm.reuse_on_scale_in is True:
        yield Problem(
            property_name="ReuseOnScaleIn",
            value=True,
            message="hosts return to the warm pool on scale-in, which ECS does not support",
            fix="remove ReuseOnScaleIn",
            is_certain=False,
        )


@warning(
    "GPU171",
    question="do the hosts of a warm pool wait before they join the cluster?",
    because="without ECS_WARM_POOLS_CHECK the agent registers its host while it is prepared; the host gets tasks and "
    "is stopped with them; Bottlerocket has no such setting (github.com/bottlerocket-os/bottlerocket/issues/4888)",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using-warm-pool.html",
    changes="UserData",
)
def wait(pool: Pool) -> Problems:
    if pool.group.warm_pool is None:
        return
    if pool.operating_system is OperatingSystem.BOTTLEROCKET:
        yield Problem(
            property_name="WarmPool",
            message="the hosts join the cluster while they are prepared, because Bottlerocket has no setting that "
            "makes the agent wait (github.com/bottlerocket-os/bottlerocket/issues/4888)",
            allowed="Amazon Linux",
            fix=Text("use an Amazon Linux image, or remove ", Word("the warm pool")),
        )
    elif _certainly_joins_early(pool):
        written = pool.user_data.get(_CHECK)
        yield Problem(
            property_name=_CHECK,
            value=written,
            message=f"the hosts join the cluster while they are prepared, because {_CHECK} is "
            f"{'not set' if written is None else shown(written)}",
            fix=f"{_CHECK}=true in /etc/ecs/ecs.config",
        )


def _certainly_joins_early(pool: Pool) -> bool:
    """Whether the agent does not wait; a custom image may set what the user data does not."""
    written = pool.user_data.get(_CHECK)
    if isinstance(written, str):
        return written.strip().lower() not in _ON
    if isinstance(pool.image, Unknown) or pool.image.release == "custom":
        return False
    return written is None and pool.user_data.complete and not isinstance(pool.user_data.format, Unknown)
