"""Purchase options: are the instance types sold like this, and at which price?"""

from __future__ import annotations

from gpu_constructs.fleet import PARTLY_SPOT, Pool, PurchaseOption
from gpu_constructs.hardware import RECORDED, InstanceType, PurchaseClass, instance_type
from gpu_constructs.rules.change import Way, one_way
from gpu_constructs.rules.evidence.fixes import of_types
from gpu_constructs.rules.evidence.lists import or_list, with_verb
from gpu_constructs.rules.rule import Problem, Problems, warning
from gpu_constructs.rules.words import Text, Word

_NO_BLOCK = "use On-Demand or Spot"
_WITH_BLOCKS = "p5.48xlarge"
_CHEAPEST = "lowest-price"


@warning(
    "GPU096",
    question="are the instance types sold as Spot?",
    because="DescribeInstanceTypes lists how a type is sold, and a request for another purchase option is never "
    "fulfilled; the list is one record and may differ by region",
    source="https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html",
    changes="InstanceType",
)
def sold_as_spot(pool: Pool) -> Problems:
    missing = _not_sold(pool, PurchaseClass.SPOT) if pool.bought.option in PARTLY_SPOT else []
    if missing:
        yield Problem(
            message=f"on {RECORDED} {with_verb(missing, 'was', 'were')} not sold as Spot",
            fix="use On-Demand, or another type",
        )


@warning(
    "GPU271",
    question="does the allocation strategy avoid Spot capacity that EC2 is likely to reclaim?",
    because="lowest-price takes the cheapest Spot capacity pools, which are those that EC2 reclaims first; AWS advises "
    "against it",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/allocation-strategies.html",
    unless=("GPU160", "GPU104"),
)
def spot_that_lasts(pool: Pool) -> Problems:
    policy = pool.bought.distribution
    if pool.bought.option in PARTLY_SPOT and policy is not None and policy.spot_allocation in {None, _CHEAPEST}:
        default = "" if policy.spot_allocation else ", which is the default"
        yield Problem(
            property_name="SpotAllocationStrategy",
            value=policy.spot_allocation,
            message=f"Spot hosts of {pool.name} are chosen by {_CHEAPEST}{default}",
            fix="SpotAllocationStrategy: price-capacity-optimized",
        )


@warning(
    "GPU097",
    question="do Capacity Blocks of the instance types exist?",
    because="Capacity Blocks exist for some types only, and hosts of another type have no block to launch into; the "
    "list is one record, and AWS adds types to it",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html",
)
def sold_as_block(pool: Pool) -> Problems:
    missing = (
        _not_sold(pool, PurchaseClass.CAPACITY_BLOCK) if pool.bought.option is PurchaseOption.CAPACITY_BLOCK else []
    )
    if missing:
        yield Problem(
            property_name="MarketType",
            value=[each.name for each in missing],
            message=f"EC2 sells no Capacity Blocks of {or_list(missing)} (SupportedUsageClasses of {RECORDED})",
            fix=_NO_BLOCK,
            ways=(
                (Way(text=_NO_BLOCK),),
                *one_way(
                    f"a type with Capacity Blocks, such as {_WITH_BLOCKS}",
                    of_types(pool, (instance_type(_WITH_BLOCKS),)),
                ),
            ),
        )


@warning(
    "GPU104",
    question="are the hosts of a Capacity Block of one type and in one zone?",
    because="a Capacity Block is a reservation of one type in one Availability Zone; launches of another type or in "
    "another zone fail, unless a group of reservations with distribution segments stands behind it",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-template-capacity-blocks.html",
)
def one_block(pool: Pool) -> Problems:
    policy = pool.bought.distribution
    if policy is not None and policy.template_option is PurchaseOption.CAPACITY_BLOCK and not policy.segments:
        # https://docs.aws.amazon.com/autoscaling/ec2/userguide/use-distribution-segments.html
        yield Problem(
            property_name="MixedInstancesPolicy",
            message="the launch template is for a Capacity Block, and the group has a mixed instances policy without "
            "distribution segments",
            fix="remove the policy, and give the launch template the one type of the block",
        )
        return
    if pool.bought.option is not PurchaseOption.CAPACITY_BLOCK:
        return
    if len(pool.instance_types) > 1:
        yield Problem(
            property_name="InstanceType",
            value=[each.name for each in pool.instance_types],
            message=f"a Capacity Block is of one instance type, and the hosts may be of {len(pool.instance_types)}: "
            f"{or_list(pool.instance_types)}",
            allowed="the type of the block",
            fix=Text("give each block ", Word("its own Auto Scaling group and capacity provider")),
        )
    has_group = pool.bought.reservation is not None and pool.bought.reservation.group is not None
    if pool.zones is not None and pool.zones > 1 and not has_group:
        yield Problem(
            property_name="VPCZoneIdentifier",
            value=pool.zones,
            message=f"a Capacity Block is in one Availability Zone, and the subnets are in {pool.zones}",
            allowed="one subnet, in the zone of the block",
            fix=Word("subnets of one zone"),
        )


def _not_sold(pool: Pool, wanted: PurchaseClass) -> list[InstanceType]:
    # A type without any class was not described when the catalogue was recorded.
    return [each for each in pool.instance_types if each.purchase_classes and wanted not in each.purchase_classes]
