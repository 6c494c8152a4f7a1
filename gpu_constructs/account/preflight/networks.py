"""Subnets: have those that exist free addresses for the hosts, and a way to AWS?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from gpu_constructs.account.preflight.check import (
    Ask,
    Call,
    Check,
    Found,
    Question,
    Row,
    Scope,
    UnansweredError,
    aws,
    ok,
    short,
    unchecked,
)
from gpu_constructs.account.preflight.offers import SUBNETS_CALL, subnets_of
from gpu_constructs.account.preflight.running import INSTANCES, Host, own, running, shares
from gpu_constructs.fleet import Pool, Unknown
from gpu_constructs.placement.reasons import listed

_TABLES = Call(service="ec2", operation="DescribeRouteTables")
_ENDPOINTS = Call(service="ec2", operation="DescribeVpcEndpoints")

_EVERYWHERE = {"0.0.0.0/0", "::/0"}
_WAYS = (
    "CarrierGatewayId",
    "CoreNetworkArn",
    "EgressOnlyInternetGatewayId",
    "InstanceId",
    "LocalGatewayId",
    "NatGatewayId",
    "NetworkInterfaceId",
    "TransitGatewayId",
)
# Hosts do not come out through the gateways of a VPC that is peered with theirs: "Edge to edge routing" in
# https://docs.aws.amazon.com/vpc/latest/peering/vpc-peering-basics.html
_PEERED = "VpcPeeringConnectionId"
_INTERNET = "igw-"
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/vpc-endpoints.html
_OF_AGENT = ("ecs", "ecs-agent", "ecs-telemetry")


def _subnet_questions(scope: Scope) -> Iterator[Question]:
    for pool in scope.pools:
        # What the deploy makes needs nothing of the account.
        if not pool.subnets or not all(each.is_new for each in pool.subnets):
            yield Question(subject=pool.name, read=partial(_subnets_found, pool, scope.pools, scope.region))


def _subnets_found(pool: Pool, pools: Sequence[Pool], region: str, ask: Ask) -> Found:
    ids = sorted(_ids(pool))
    if not ids:
        return unchecked("the files do not name its subnets by their ids")
    found = subnets_of(_ids(pool), ask)
    if missing := [each for each in ids if each not in found]:
        return short(
            f"{listed(missing)} {'does' if len(missing) == 1 else 'do'} not exist in {region}",
            "other subnets",
            "missing",
        )
    rows = [found[each] for each in ids]
    if (problem := _way_out(pool, rows, region, ask)) is not None:
        return problem
    return _addresses(pool, pools, rows, region, ask)


def _addresses(pool: Pool, pools: Sequence[Pool], rows: Sequence[Row], region: str, ask: Ask) -> Found:
    """Whether the free addresses are enough for all pools whose hosts have to share them."""
    found = list(shares(_ids(pool), [(each, _ids(each)) for each in pools]))
    subnets, hosts = subnets_of(found[-1].ids, ask), _running(ask)
    text, open_ = "", ""
    for share in found:
        free = sum(int(row.number("AvailableIpAddressCount")) for name, row in subnets.items() if name in share.ids)
        wanted = sum(_addresses_wanted(each, hosts) for each in share.pools)
        if wanted > free:
            lacking = f"{_addresses_free(free)}, the hosts{share.names} at MaxSize take {wanted:,}"
            fix = aws("ec2", "create-subnet", region, _like(rows[0]).items())
            return short(f"{lacking}: {wanted - free:,} short", fix)
        text = text or f"{_addresses_free(free)} for {wanted:,}{share.names}, and there is a way out"
        if share.unknown and not open_:
            there = f"{_addresses_free(free)} and there is a way out"
            open_ = f"{there}; how many hosts {listed(share.unknown)} can have is not known"
    return unchecked(open_) if open_ else ok(text)


def _addresses_free(number: int) -> str:
    return "1 address is free" if number == 1 else f"{number:,} addresses are free"


def _like(subnet: Row) -> Mapping[str, str]:
    return {
        "vpc-id": subnet.text("VpcId"),
        "availability-zone": subnet.text("AvailabilityZone"),
        "cidr-block": "CIDR",
    }


def _ids(pool: Pool) -> frozenset[str]:
    return frozenset(each.id for each in pool.subnets if each.id is not None)


def _running(ask: Ask) -> tuple[Host, ...]:
    """The hosts that run; none where the credentials may not see them."""
    try:
        return running(ask)[0]
    except UnansweredError:
        return ()


def _addresses_wanted(pool: Pool, hosts: Sequence[Host]) -> int:
    """Addresses that the hosts at MaxSize take besides those that run; tasks of network mode awsvpc take more."""
    # An interface of EFA alone has no address.
    of_a_host = sum(each.type != "efa-only" for each in pool.interfaces) or 1
    most = 0 if isinstance(pool.max_instances, Unknown) else pool.max_instances
    return max(0, most - len(own(hosts, pool))) * of_a_host


def _way_out(pool: Pool, rows: Sequence[Row], region: str, ask: Ask) -> Found | None:
    """What keeps hosts in some subnet from AWS; None where nothing does."""
    vpcs = sorted({each.text("VpcId") for each in rows})
    tables = list(ask(_TABLES, {"Filters": [{"Name": "vpc-id", "Values": vpcs}]}).rows("RouteTables"))
    for subnet in rows:
        table = _table_of(subnet, tables)
        if table is None:
            return unchecked(f"AWS said nothing about the routes of {subnet.text('SubnetId')}")
        has_address = subnet.flag("MapPublicIpOnLaunch") or pool.details.may_have_address
        leads_out = any(_leads_out(each, has_address=has_address) for each in table.rows("Routes"))
        if not leads_out and (problem := _without_route(subnet, table, region, ask)) is not None:
            return problem
    return None


def _table_of(subnet: Row, tables: Sequence[Row]) -> Row | None:
    """The route table of a subnet, else the main one of its VPC."""
    own = [
        each
        for each in tables
        if any(of.text("SubnetId") == subnet.text("SubnetId") for of in each.rows("Associations"))
    ]
    main = [
        each
        for each in tables
        if each.text("VpcId") == subnet.text("VpcId") and any(of.flag("Main") for of in each.rows("Associations"))
    ]
    return next(iter((*own, *main)), None)


def _is_default(route: Row) -> bool:
    return not _EVERYWHERE.isdisjoint((route.text("DestinationCidrBlock"), route.text("DestinationIpv6CidrBlock")))


def _leads_out(route: Row, *, has_address: bool) -> bool:
    """Whether hosts come out by a route; an internet gateway is for those with a public address alone.

    https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Internet_Gateway.html
    """
    if not _is_default(route) or route.text("State") == "blackhole":
        return False
    gateway = route.text("GatewayId")
    if gateway.startswith(_INTERNET):
        return has_address
    return bool(gateway) or any(route.text(each) for each in _WAYS)


def _without_route(subnet: Row, table: Row, region: str, ask: Ask) -> Found | None:
    """What hosts of a subnet without a way out lack; None where endpoints lead them to ECS."""
    vpc, name = subnet.text("VpcId"), subnet.text("SubnetId")
    filters = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "vpc-endpoint-state", "Values": ["available"]}]
    services = {each.text("ServiceName") for each in ask(_ENDPOINTS, {"Filters": filters}).rows("VpcEndpoints")}
    there = {each.rpartition(".")[2] for each in services}
    missing = [each for each in _OF_AGENT if each not in there]
    if not missing:
        return None
    lead = aws("ec2", "create-vpc-endpoint", region, _endpoint(vpc, name, region, missing[0]).items())
    if any(_is_default(each) and each.text(_PEERED) for each in table.rows("Routes")):
        text = (
            f"{name} leads to another VPC by peering, which is no way to the internet; whether ECS is reached through"
        )
        return unchecked(f"{text} endpoints there is not known", lead)
    dead = any(_is_default(each) and each.text("State") == "blackhole" for each in table.rows("Routes"))
    public = any(_is_default(each) and each.text("GatewayId").startswith(_INTERNET) for each in table.rows("Routes"))
    why = (
        "its route leads to what no longer exists"
        if dead
        else "it leads to an internet gateway, and hosts get no public address"
        if public
        else "it has no route to other networks"
    )
    return short(f"hosts in {name} do not reach ECS: {why}, and no endpoint for {listed(missing)}", lead, "no way out")


def _endpoint(vpc: str, subnet: str, region: str, service: str) -> Mapping[str, str]:
    return {
        "vpc-endpoint-type": "Interface",
        "vpc-id": vpc,
        "subnet-ids": subnet,
        "service-name": f"com.amazonaws.{region}.{service}",
    }


SUBNETS = Check(
    id="subnets",
    question="have the subnets that exist free addresses for the hosts at MaxSize, and a way to ECS?",
    reads=(
        "free addresses of all subnets of a pool, for it and the pools that have no others; a default route that leads "
        "out, or endpoints for the ECS agent"
    ),
    calls=(SUBNETS_CALL, _TABLES, _ENDPOINTS, INSTANCES),
    questions=_subnet_questions,
    without="the deploy makes all subnets",
)
"""https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Subnet.html"""
