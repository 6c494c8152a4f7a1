"""Elastic Fabric Adapters: do the instance types take them where the launch template puts them?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpu_constructs.errors import shown
from gpu_constructs.facts import InstanceType, family
from gpu_constructs.fleet import BOUGHT_IN_ADVANCE, NetworkInterface, Pool, PurchaseOption
from gpu_constructs.fleet.host import efa_layout
from gpu_constructs.rules.evidence.accelerated import gangs, has_several_nodes
from gpu_constructs.rules.evidence.fixes import of_types
from gpu_constructs.rules.finding import Way, Ways, Word, and_list, one_way, or_list, some, with_verb
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning
from gpu_constructs.template.resources.security_groups import EGRESS, INGRESS, SecurityGroups

_PROPERTY = "NetworkInterfaces"
_TYPES = ("interface", "efa", "efa-only")


@error(
    "GPU092",
    question="do the instance types take the network interfaces of the launch template?",
    because="EC2 does not compare a launch template with the instance types when it is created, and refuses to launch "
    "a type that supports no EFA, with more interfaces than it takes, or with one on a network card that it lacks",
    softer="where the pool has other types, which the group launches instead",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html",
)
def taken_by_the_types(pool: Pool) -> Problems:
    for (card, device), count in Counter((each.card, each.device) for each in pool.interfaces).items():
        if count > 1 and isinstance(card, int) and isinstance(device, int):
            yield Problem(
                message=f"{count} interfaces are at network card {card}, device {device}, which has room for one",
                fix="another NetworkCardIndex or DeviceIndex for each but one",
                property_name=_PROPERTY,
            )
    without = [each for each in pool.instance_types if each.network.efa_supported is False] if _efa(pool) else []
    misplaced = {each: [*_misplaced(pool, each)] for each in pool.instance_types}
    is_certain = pool.types_are_known and all(each in without or misplaced[each] for each in pool.instance_types)
    if without and is_certain and len(without) == len(pool.instance_types):
        yield Problem(
            message=f"{_support_none(without)}, and the launch template has EFA interfaces",
            fix="types with EFA, or no EFA",
            ways=_with_efa(pool, without),
            property_name=_PROPERTY,
            value=[each.name for each in without],
        )
    if is_certain:
        fix = "interfaces that the type takes, or a type that takes these"
        for each in filter(None, misplaced.values()):
            yield Problem(message="; ".join(each), fix=fix, property_name=_PROPERTY)
        return
    if reasons := [
        *([_support_none(without)] if without else []),
        *(each for one in misplaced.values() for each in one),
    ]:
        yield Problem(
            message=f"the launch template does not suit every type of {pool.name}: {some(reasons)}",
            fix="types that take the same interfaces",
            ways=_with_efa(pool, without) if without else (),
            property_name=_PROPERTY,
            value=[each.name for each in without],
            is_certain=False,
        )


@error(
    "GPU093",
    question="does EC2 launch hosts with the network interfaces of the launch template?",
    because="EC2 does not validate a launch template when it is created, and refuses every launch with an interface "
    "type that it does not have, with a primary interface that is efa-only and so has no IP address, and with "
    "AssociatePublicIpAddress beside several interfaces",
    source="https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceNetworkInterfaceSpecification.html",
)
def accepted(pool: Pool) -> Problems:
    wrong = dict.fromkeys(
        shown(each.type) for each in pool.interfaces if isinstance(each.type, str) and each.type not in _TYPES
    )
    if wrong:
        yield Problem(
            message=f"EC2 does not have the interface type {or_list(wrong)}; it has {and_list(_TYPES)}",
            fix="one of these interface types",
            property_name=_PROPERTY,
        )
    if any((each.card, each.device, each.type) == (0, 0, "efa-only") for each in pool.interfaces):
        yield Problem(
            message="the primary interface (network card 0, device 0) is efa-only, and such an interface has no IP "
            "address",
            fix="InterfaceType interface or efa for it, and efa-only on another device",
            property_name=_PROPERTY,
        )
    if len(pool.interfaces) > 1 and any(each.public_address is True for each in pool.interfaces):
        yield Problem(
            message=f"AssociatePublicIpAddress cannot go with {len(pool.interfaces)} interfaces",
            fix="private subnets with a NAT gateway or VPC endpoints",
            property_name=_PROPERTY,
        )


@warning(
    "GPU254",
    question="do the security groups of hosts with EFA allow all traffic among themselves?",
    because="EFA needs all traffic allowed from and to the security group itself; a rule that allows addresses is "
    "not enough",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start-nccl.html#nccl-start-base-setup",
)
def open_to_itself(context: Context) -> Problems:
    for pool, data in context.launched:
        if pool.max_instances in {0, 1} or not _efa(pool):
            continue
        security, closed = context.of_files(SecurityGroups), dict[str, None]()
        for each in data.sections("NetworkInterfaces"):
            groups = security.listed(each, "Groups") if each.text("InterfaceType") in _TYPES[1:] else ()
            lacks = (side for side in (INGRESS, EGRESS) if security.without_all_traffic(groups, side))
            closed |= {f"{side} of {groups[-1].logical_id}": None for side in lacks}
        if closed:
            yield Problem(
                about=pool,
                message=f"hosts with EFA do not reach each other: {with_verb(closed, 'does', 'do')} not allow all "
                "traffic of the group itself",
                fix="rules with IpProtocol -1 from and to the group itself; CDK writes the outgoing one only with "
                "allow_all_outbound=False",
                property_name=_PROPERTY,
            )


def _of_gangs(context: Context) -> Problems:
    """Hosts of multi-node jobs without EFA."""
    for task, pools in gangs(context):
        far = [each for each in pools if each.placement_group is False and each.zones is not None and each.zones > 1]
        if has_several_nodes(task) and far and not _efa(far[0]):
            fix = "subnets of one zone, and a PlacementGroup with the strategy cluster"
            yield Problem(
                about=far[0],
                involves=(task,),
                property_name="ComputeResources.PlacementGroup",
                message=f"{task.name} runs on {task.nodes} hosts at once, and those of {far[0].name} may be in "
                f"{far[0].zones} Availability Zones",
                fix=fix,
                ways=one_way(fix, replace(far[0], zones=1, placement_group=True)),
                changes="ComputeResources.PlacementGroup",
            )


@warning(
    "GPU095",
    question="are hosts with EFA, of a cluster placement group or of a multi-node job near each other?",
    because="EFA traffic does not leave its Availability Zone, other hosts talk slowly across zones and their traffic "
    "is charged; a cluster placement group keeps hosts near each other and is in one zone: once it has hosts, no "
    "others can start in another zone",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html",
    unless=("GPU294",),
    changes="PlacementGroup",
    in_fleet=_of_gangs,
)
def together(pool: Pool) -> Problems:
    if pool.max_instances in {0, 1}:
        return
    if not _efa(pool):
        yield from _in_one_zone(pool)
    elif pool.zones is not None and pool.zones > 1:
        yield Problem(
            message="EFA traffic does not leave one Availability Zone, and the subnets of "
            f"{pool.name} are in {pool.zones}",
            fix=Word("subnets of one zone"),
            property_name="VPCZoneIdentifier",
            value=pool.zones,
        )
    else:
        if pool.zones_are_open:  # only the constructs know; a template does not show in which zone a subnet is
            yield Problem(
                message="EFA traffic does not leave one Availability Zone, and the zones of the subnets of "
                f"{pool.name} are only known at deploy time",
                fix="subnets whose zone is written out, all in one",
                property_name="VPCZoneIdentifier",
            )
        # The hosts of a Capacity Block are near each other anyway, and a reservation determines where its hosts are
        # (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-cpg.html).
        reservation = pool.bought.reservation
        is_reserved = pool.bought.option in BOUGHT_IN_ADVANCE or (reservation is not None and reservation.comes_first)
        if pool.placement_group is False and not is_reserved:
            yield Problem(
                message="its hosts have EFA and are in no cluster placement group, so they may be far from each other",
                fix="a placement group with strategy cluster",
                property_name="Placement",
            )
        yield from _in_one_zone(pool)


def _in_one_zone(pool: Pool) -> Problems:
    """Hosts of a cluster placement group in several zones; a Capacity Block has none."""
    # Subnets whose zones are not known are usually one for each zone.
    zones = pool.group.subnets if pool.zones is None else pool.zones
    if pool.placement_group is True and zones > 1 and pool.bought.option is not PurchaseOption.CAPACITY_BLOCK:
        what = "subnets, which are usually in as many zones" if pool.zones is None else "Availability Zones"
        yield Problem(
            message=f"the hosts of {pool.name} are in a cluster placement group, which is in one zone, and the group "
            f"has {zones} {what}",
            fix="subnets of one zone",
            property_name="VPCZoneIdentifier",
            changes="VPCZoneIdentifier",
        )


def _efa(pool: Pool) -> list[NetworkInterface]:
    return [each for each in pool.interfaces if each.is_efa]


def _support_none(without: Iterable[InstanceType]) -> str:
    return f"{with_verb(without, 'supports', 'support')} no Elastic Fabric Adapter"


def _with_efa(pool: Pool, without: Iterable[InstanceType]) -> Ways:
    """The smallest size of their families that has EFA, and interfaces without it."""
    families = dict.fromkeys(each.family for each in without)
    enough = [next((each for each in family(name) if efa_layout(each)), None) for name in families]
    sizes = (
        Way(text=f"{each} is the smallest {each.family} that does", things=(of_types(pool, (each,)),))
        for each in enough
        if each is not None
    )
    return tuple(sizes), *one_way("no EFA", replace(pool, interfaces=()))


def _misplaced(pool: Pool, instance_type: InstanceType) -> Iterator[str]:
    network = instance_type.network
    wanted = _efa(pool)
    most = network.max_efa_interfaces
    if most and len(wanted) > most:
        takes = f"{instance_type} takes {most} EFA interface{'s' if most > 1 else ''}"
        yield f"{takes}, and the launch template has {len(wanted)}"
    if network.cards is None:
        return
    used = dict.fromkeys(each.card for each in pool.interfaces if isinstance(each.card, int))
    beyond = [card for card in used if not 0 <= card < network.cards]
    if beyond:
        numbers = "card 0 only" if network.cards == 1 else f"network cards 0 to {network.cards - 1}"
        yield f"{instance_type} has {numbers}, and an interface is on card {and_list(beyond)}"
    if network.efa_cards:
        refused = dict.fromkeys(
            each.card
            for each in wanted
            if isinstance(each.card, int)
            and each.card not in beyond
            and each.card not in (network.efa_only_cards if each.type == "efa-only" else network.efa_cards)
        )
        if refused:
            yield f"network card {and_list(refused)} of {instance_type} takes no EFA interface"
