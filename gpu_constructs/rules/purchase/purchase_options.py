"""Purchase options: are the instance types sold like this, and at which price?"""

from __future__ import annotations

from gpu_constructs.fleet import PARTLY_SPOT, Pool, PoolKind, PurchaseOption, Unknown
from gpu_constructs.hardware import RECORDED, InstanceType, PurchaseClass, instance_type, on_demand_price
from gpu_constructs.rules.change import Way, one_way
from gpu_constructs.rules.evidence.fixes import of_types
from gpu_constructs.rules.evidence.lists import or_list, with_verb
from gpu_constructs.rules.rule import Problem, Problems, info, warning
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
    "GPU252",
    question="does a group with Spot hosts have room for one?",
    because="Auto Scaling starts a Spot host only once the base of On-Demand hosts is full",
    source="https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html",
)
def room_for_spot(pool: Pool) -> Problems:
    policy, most = pool.bought.distribution, pool.max_instances
    if pool.bought.option is not PurchaseOption.MIXED or policy is None or isinstance(most, Unknown):
        return
    base = policy.on_demand_base
    if not isinstance(base, Unknown) and 0 < most <= base:
        yield Problem(
            property_name="OnDemandBaseCapacity",
            value=base,
            message=f"the first {base} hosts are On-Demand and MaxSize is {most}, so no host is ever Spot",
            allowed=f"0 to {most - 1}",
            fix="lower OnDemandBaseCapacity, or use On-Demand alone",
        )


@warning(
    "GPU308",
    question="does a group ask for Spot hosts once?",
    because="EC2 Auto Scaling asks for new Spot Instances itself whenever the group has too few, for which AWS says to "
    "use one-time requests; a persistent one asks again by itself",
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/"
    "aws-properties-ec2-launchtemplate-spotoptions.html",
)
def asks_once(pool: Pool) -> Problems:
    if pool.kind is PoolKind.AUTO_SCALING_GROUP and pool.bought.spot_request == "persistent":
        yield Problem(
            property_name="SpotInstanceType",
            value="persistent",
            allowed="one-time",
            message=f"the launch template of {pool.name} asks for Spot Instances with a persistent request, and Auto "
            "Scaling asks for them itself",
            fix="SpotInstanceType: one-time",
            one_value=True,
        )


@warning(
    "GPU271",
    question="does the allocation strategy avoid Spot capacity that EC2 is likely to reclaim?",
    because="lowest-price takes the cheapest Spot capacity pools, which are those that EC2 reclaims first; AWS advises "
    "against it",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/allocation-strategies.html",
    unless=("GPU160", "GPU161"),
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
    "another zone fail, unless a group of reservations stands behind it",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-template-capacity-blocks.html",
    unless=("GPU161",),
)
def one_block(pool: Pool) -> Problems:
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


@info(
    "GPU202",
    question="is the maximum price of Spot hosts at least the price on demand?",
    because="while the Spot price is above the maximum price, no Spot host starts and EC2 takes running ones back; "
    "AWS recommends no maximum price, since a host costs the current Spot price in any case; the list of prices is one "
    "record",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-interruptions.html",
    changes="SpotMaxPrice",
)
def maximum_price_on_demand(pool: Pool) -> Problems:
    most = pool.bought.max_price_usd_per_hour
    if pool.bought.option not in PARTLY_SPOT or not isinstance(most, str):
        return
    prices = [on_demand_price(each.name, pool.region) for each in pool.instance_types]
    above = [each for each in prices if each is not None and float(most) < each.usd_per_hour]
    if above:
        dearest = max(above, key=lambda each: each.usd_per_hour)
        yield Problem(
            message=f"the maximum price of its Spot hosts is ${most} an hour, and {dearest.instance_type} costs "
            f"{dearest}: above the maximum no host starts, and running ones are taken back",
            fix="no maximum price: a Spot host costs the current Spot price in any case",
        )


def _not_sold(pool: Pool, wanted: PurchaseClass) -> list[InstanceType]:
    # A type without any class was not described when the catalogue was recorded.
    return [each for each in pool.instance_types if each.purchase_classes and wanted not in each.purchase_classes]
