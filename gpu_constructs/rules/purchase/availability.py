"""Availability: do the region, the account and its quotas have what is asked for, and is it sold like this?"""

from __future__ import annotations

from collections import defaultdict
from functools import partial

from gpu_constructs.facts import RECORDED, InstanceType, PurchaseClass, accelerated, general, instance_type, regions
from gpu_constructs.facts.aws_limits import may_be_managed
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import PARTLY_SPOT, Pool, PoolKind, PurchaseOption, Shape, Unknown
from gpu_constructs.fleet.purchase import moment
from gpu_constructs.placement.costs import Counted, full_hosts, vcpus_of
from gpu_constructs.rules.evidence.fixes import of_types, priced
from gpu_constructs.rules.finding import Text, Way, Ways, Word, and_list, first_of, joined, one_way, or_list, with_verb
from gpu_constructs.rules.rule import Context, Problem, Problems, info, warning

_GIVE = "give the file that defines it too"
_REFER = "a reference to the group, or the file that defines it"
_DESCRIBE = "describe its hosts, such as --hosts g6.xlarge=4"
_LIST = "a list of instance types"
_REQUIRE = "InstanceRequirements with the accelerators that tasks need"
_OFFERINGS = "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypeOfferings.html"
_OF_HOSTS_WITHOUT_ACCELERATORS = "Standard"
_MOST_TRIED = 4
_SMALL_VCPUS = 128
"""Fewer vCPUs of one quota are not worth a word; a host of 8 GPUs has 96 to 192."""


@warning(
    "GPU001",
    question="does any recorded region offer the instance type?",
    because="sources disagree on whether an account may still launch an old type; only the account shows it",
    source=_OFFERINGS,
    changes="InstanceType",
    unless=("GPU106", "GPU117", "GPU032"),
)
def offered(pool: Pool) -> Problems:
    if pool.requirements is not None:
        return  # what attributes select comes from what the region offers
    missing = [each for each in pool.instance_types if each.accelerators and not each.is_offered_anywhere]
    if missing:
        doubts = grouped((each.traits.offering_doubt, each) for each in missing)
        modern = dict.fromkeys(each.replaced_by for each in missing if each.replaced_by)
        types = (*map(instance_type, modern), *(each for each in pool.instance_types if each not in missing))
        offers = "; ".join(
            f"{or_list(types)} was offered in none of the regions recorded on {RECORDED:%Y-%m-%d}"
            f"{f', though {doubt}' if doubt else ''}"
            for doubt, types in doubts.items()
        )
        # A launch configuration launches no type that is newer than 2022 (GPU055).
        such_as = f", such as {or_list(modern)}" if modern and not pool.launch_configuration else ""
        yield Problem(
            message=f"{offers}; only your account shows whether it may still launch it",
            fix=f"a type of a newer generation{such_as}",
            ways=one_way(f"modern replacements: {', '.join(modern)}", of_types(pool, types)) if modern else (),
        )


@warning(
    "GPU011",
    question="does the region of the stack offer the instance type?",
    because="a region launches only types that it offers; offerings change, and this is what was recorded",
    source=_OFFERINGS,
    changes="InstanceType",
)
def offered_here(pool: Pool) -> Problems:
    if pool.region not in regions():
        return
    missing = [each for each in pool.instance_types if each.regions and pool.region not in each.regions]
    # By attributes, EC2 chooses among what the region offers.
    if missing and (pool.requirements is None or len(missing) == len(pool.instance_types)):
        here = (pool.region or "").partition("-")[0]  # the same part of the world comes first
        regions_of = sorted(missing[0].regions, key=lambda each: each.partition("-")[0] != here)
        yield Problem(
            message=f"{or_list(missing)} was not offered in {pool.region} on {RECORDED}, but in {and_list(regions_of)}",
            fix="another region, or types that this one offers",
            ways=partial(_offered_instead, pool, missing),
        )


def _offered_instead(pool: Pool, missing: list[InstanceType]) -> Ways:
    """Without these types, or the types of the region with as much memory and as many devices, smallest first."""
    rest = tuple(each for each in pool.instance_types if each not in missing)
    if rest:
        return one_way(f"leave {or_list(missing)} out", of_types(pool, rest))
    like = missing[0]
    there = [
        each
        for each in (accelerated() if like.accelerators else general())
        if pool.region in each.regions
        and Shape.of(each) == Shape.of(like)
        and (each.gpu_memory_mib or 0) >= (like.gpu_memory_mib or 0)
        and each.memory_mib >= like.memory_mib
    ]
    there.sort(key=lambda each: (each.gpu_memory_mib or 0, each.memory_mib, each.vcpus))
    return first_of((f"{each}{priced(each, pool.region)}", of_types(pool, (each,))) for each in there[:_MOST_TRIED])


@warning(
    "GPU005",
    question="are instance types and numbers of hosts known before the deploy?",
    because="what depends on a value that exists at deploy time only cannot be checked",
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html",
    changes="InstanceType",
)
def known_before_deploy(context: Context) -> Problems:
    for pool in context.fleet.pools:
        # AWS Batch limits vCPUs, and ECS Managed Instances have no limit.
        in_vcpus = pool.kind is PoolKind.BATCH and pool.has_unknown_types
        is_limited = pool.kind is not PoolKind.MANAGED_INSTANCES and not in_vcpus
        values = {
            "InstanceType": pool.has_unknown_types,
            "MinSize": isinstance(pool.min_instances, Unknown),
            "MaxSize": isinstance(pool.max_instances, Unknown) and is_limited,
        }
        unknown = [argument for argument, is_unknown in values.items() if is_unknown]
        if unknown:
            message, fix = _unknown(context, pool, unknown)
            yield Problem(about=pool, message=f"{message}, so what depends on that was not checked", fix=fix)


@info(
    "GPU088",
    question="does the account's quota allow all hosts at MaxSize?",
    because="instances above the vCPU quota of their group are not launched; the quotas of GPU groups are small or 0 "
    "in a new account",
    source="https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html",
    changes="MaxSize",
)
def quotas(context: Context) -> Problems:
    asked: dict[Counted, list[tuple[Pool, int]]] = defaultdict(list)
    for pool in context.fleet.pools:
        if pool.kind is not PoolKind.INSTANCE:
            for counted, vcpus in vcpus_of(pool, full_hosts(pool)):
                if counted.group != _OF_HOSTS_WITHOUT_ACCELERATORS:
                    asked[counted].append((pool, vcpus))
    for (code, group, way, doubt, _), found in asked.items():
        vcpus = sum(each for _, each in found)
        if vcpus >= _SMALL_VCPUS:
            limits = sorted({"MaxvCpus" if pool.kind is PoolKind.BATCH else "MaxSize" for pool, _ in found})
            yield Problem(
                about=found[0][0],
                message=Text(
                    f"{and_list(pool.name for pool, _ in found)} can come to {vcpus} vCPUs of {way} {group} instances "
                    "at ",
                    joined(" and ", map(Word, limits)),
                    f", which count against the account's quota {code}{f'; {doubt}' if doubt else ''}",
                ),
                fix=f"aws service-quotas get-service-quota --service-code ec2 --quota-code {code}",
            )


@warning(
    "GPU391",
    question="does the Capacity Block of the hosts end in the future?",
    because="no host starts in a block that has ended, and Auto Scaling refuses a new scheduled action whose start is "
    "in the past, so that the deploy of a new group fails (github.com/hashicorp/terraform-provider-aws/pull/3033)",
    source="https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutScheduledUpdateGroupAction.html",
    changes="MinSize",
)
def block_is_not_over(context: Context) -> Problems:
    for pool in context.fleet.pools:
        ends = None if pool.bought.block is None else moment(pool.bought.block.ends)
        if ends is not None and context.now is not None and ends < context.now:
            yield Problem(
                about=pool,
                message=f"the schedule removes the hosts of {pool.name} at {ends:%Y-%m-%d %H:%M} UTC, before their "
                "Capacity Block ends, and that time is past",
                fix="the reservation and the times of a later block, or remove the group",
            )


def _unknown(context: Context, pool: Pool, arguments: list[str]) -> tuple[str, str]:
    """What is not known, why it may not be, and what would help."""
    if arguments == ["InstanceType"]:
        if pool.kind is PoolKind.MANAGED_INSTANCES:
            return f"{pool.name} has no instance requirements that are known, and ECS chooses its types", _REQUIRE
        if pool.kind is PoolKind.BATCH:
            return f"AWS Batch or a value of the deploy chooses the instance types of {pool.name}", _LIST
        unread = isinstance(pool.image, Unknown) and pool.image_written is None
        if unread and isinstance(pool.user_data.format, Unknown):
            return f"the launch template of {pool.name} is not in the files that were read", _GIVE
    if pool.is_of_unknown_group:
        provider = context.section(pool)
        arn = None if provider is None else provider.section("AutoScalingGroupProvider").get("AutoScalingGroupArn")
        if (maker := context.index.custom(arn)) is not None:
            return f"a custom resource, {maker.logical_id}, makes the Auto Scaling group of {pool.name}", _DESCRIBE
        return f"no file that was read shows which Auto Scaling group {pool.name} has", _REFER
    verb = "is" if len(arguments) == 1 else "are"
    return (
        f"{and_list(arguments)} of {pool.name} {verb} not known before the deploy",
        "write the values, or take them from context",
    )


_NO_BLOCK = "use On-Demand or Spot"
_WITH_BLOCKS = "p5.48xlarge"
_CHEAPEST = "lowest-price"


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
            message=f"Spot hosts of {pool.name} are chosen by {_CHEAPEST}{default}",
            fix="SpotAllocationStrategy: price-capacity-optimized",
        )


@warning(
    "GPU097",
    question="are the instance types sold as Spot or in Capacity Blocks where the hosts are bought so?",
    because="DescribeInstanceTypes lists how a type is sold, and no request for another purchase option is fulfilled; "
    "the list is one record, may differ by region, and grows",
    source="https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html",
)
def sold_so(pool: Pool) -> Problems:
    missing = _not_sold(pool, PurchaseClass.SPOT) if pool.bought.option in PARTLY_SPOT else []
    if missing:
        yield Problem(
            message=f"on {RECORDED} {with_verb(missing, 'was', 'were')} not sold as Spot",
            fix="use On-Demand, or another type",
            changes="InstanceType",
        )
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


@warning(
    "GPU185",
    question="do ECS Managed Instances launch the instance types?",
    because="AWS lists the families that Managed Instances launch, and of these no type with one vCPU and no nano or "
    "micro; AWS adds families to the list",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-instance-types.html",
)
def launched(pool: Pool) -> Problems:
    if pool.kind is not PoolKind.MANAGED_INSTANCES:
        return
    missing = [each for each in pool.instance_types if not may_be_managed(each)]
    if missing:
        families = dict.fromkeys(each.family for each in missing)
        others = len(missing) < len(pool.instance_types)
        yield Problem(
            property_name="AllowedInstanceTypes",
            message=f"{with_verb(families, 'is', 'are')} not among the families of Managed Instances, which may never "
            f"launch {or_list(missing)}",
            fix=f"leave out {and_list(missing)}" if others else "use an Auto Scaling group, or another family",
        )
    doubts = dict.fromkeys(each.traits.managed_doubt for each in pool.instance_types)
    if doubts and None not in doubts:
        yield Problem(
            property_name="AllowedInstanceTypes",
            message=f"whether Managed Instances launch {or_list(pool.instance_types)} is in doubt: "
            f"{and_list(each for each in doubts if each)}",
            fix="use an Auto Scaling group, or another family",
        )


def _not_sold(pool: Pool, wanted: PurchaseClass) -> list[InstanceType]:
    # A type without any class was not described when the catalogue was recorded.
    return [each for each in pool.instance_types if each.purchase_classes and wanted not in each.purchase_classes]
