"""Networks as far as templates show them: zones of subnets, whether they have a way out, and endpoints without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import Blocked, Subnet, WayOut, written_subnet_id, written_zone
from gpu_constructs.template.model import ZONE_OF_LIST, Placeholder, Reference, Resource, Text, Value, end_of
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import Section, is_list, is_off
from gpu_constructs.template.resources.security_groups import HTTPS, INGRESS, SecurityGroups

_SUBNET = "AWS::EC2::Subnet"
_VPC = "AWS::EC2::VPC"


def subnets_of(subnets: Value, index: Index, zones: Value = None) -> tuple[Subnet, ...]:
    """What is written of each of some subnets, or else of some zones; empty where they are not known."""
    if is_list(subnets) and subnets:
        return tuple(_subnet(each, index) for each in subnets)
    return tuple(map(in_zone, zones if is_list(zones) else ()))


def in_zone(written: Value) -> Subnet:
    """What is written of an Availability Zone."""
    return Subnet(zone=written_zone(written), zone_index=_index_of_zone(written))


def _subnet(value: Value, index: Index) -> Subnet:
    if isinstance(value, str):
        return Subnet(id=written_subnet_id(value))
    found = index.find(value, _SUBNET)
    return Subnet() if found is None else in_zone(found.properties.get("AvailabilityZone"))


def _index_of_zone(written: Value) -> int | None:
    if not isinstance(written, Text) or len(written.pieces) != 1 or not isinstance(written.pieces[0], Placeholder):
        return None
    name = written.pieces[0].name
    return int(name.removeprefix(ZONE_OF_LIST)) if name.startswith(ZONE_OF_LIST) else None


_ACL, _ACL_ENTRY = "AWS::EC2::NetworkAcl", "AWS::EC2::NetworkAclEntry"
_EMPTIED_GROUP = "Custom::VpcRestrictDefaultSG"  # of CDK: ec2.Vpc(restrict_default_security_group=True)
_INTERNET_GATEWAY = "AWS::EC2::InternetGateway"
_NAT_GATEWAY = "AWS::EC2::NatGateway"
_PROPAGATION = "AWS::EC2::VPNGatewayRoutePropagation"
_ROUTE_TABLE = "AWS::EC2::RouteTable"
_TABLE_OF_ENDPOINT = "Terraform::EndpointRouteTable"  # which table it is for is not read

# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/vpc-endpoints.html
# https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html, layers of images are in S3
AGENT_ENDPOINTS = {"ecs": True, "ecs-agent": True, "ecs-telemetry": False}
"""Endpoints that the ECS agent needs, and whether it needs them to register its host."""
_NEEDED = (*AGENT_ENDPOINTS, "ecr.api", "ecr.dkr", "s3", "logs")
# What may answer for the names of services.
_RESOLVERS = ("AWS::EC2::VPCDHCPOptionsAssociation", "AWS::Route53::HostedZone")
_RESOLVER_RULES = ("AWS::Route53Profiles::ProfileAssociation", "AWS::Route53Resolver::ResolverRuleAssociation")

_Place = tuple["Reference | str", Reference]
"""A route table and its VPC."""

_MAIN = "main"
"""The main route table of a VPC, which no resource can give a route; it has none but the local one."""


class Networks:
    """Subnets, their routes, and the endpoints of their VPCs."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._security = SecurityGroups(index)

    def of_hosts(self, subnets: Value, zones: Value = None, *, public_address: bool | None = True) -> dict[str, Any]:
        """What a pool says about some subnets of its hosts, or else some zones."""
        found = subnets_of(subnets, self._index, zones)
        different = {each.zone for each in found}
        return {
            "zones": None if None in different and len(found) > 1 else len(different) or None,
            "subnets": found,
            "way_out": self.way_out(subnets, public_address=public_address),
        }

    def way_out(self, subnets: Value, *, public_address: bool | None) -> WayOut:
        """How some subnets are left by what has a public address, has none, or has that of its subnet (None)."""
        isolated = self._isolated(subnets, public_address=public_address)
        if not isolated:
            return WayOut()
        places = [self._places[each] for each in isolated]
        tables, vpc = {None, *(table for table, _ in places)}, places[0][1]
        there = {service for service, of_service in self._endpoints.get(vpc, ()) if of_service & tables}
        closed = self._closed & self._targets.get(places[0][0], frozenset())
        gateway = min(((Blocked.NAT_GATEWAY, each.logical_id) for each in closed), default=(Blocked.NO_ROUTE, ""))
        blocked_by, blocker = self._shut.get(isolated[0]) or gateway
        if not self._isolated(subnets, public_address=True):
            blocked_by, blocker = Blocked.NO_PUBLIC_ADDRESS, ""
        return WayOut(
            blocked_by=blocked_by,
            blocker=blocker,
            missing_endpoints=() if None in there else tuple(each for each in _NEEDED if each not in there),
            may_be_opened=blocked_by is Blocked.NO_DNS
            or not self._index.others.exposed_to_stacks.isdisjoint({*tables, vpc}),
        )

    def have_emptied_group(self, subnets: Value) -> bool:
        """Whether CDK takes all rules of the default security group of their VPC away, and nothing adds one to it."""
        found = self._index.find(subnets[0], _SUBNET) if is_list(subnets) and subnets else None
        first = None if found is None else self._index.find(found.properties.get("VpcId"), _VPC)
        if first is None:
            return False
        group = replace(first.reference, attribute="DefaultSecurityGroup")  # subnets of one environment have one VPC
        emptied = [each.properties.get("DefaultSecurityGroupId") for each in self._index.all(_EMPTIED_GROUP)]
        opened = [each.properties.get("GroupId") for each in self._index.all("AWS::EC2::SecurityGroupIngress")]
        return group in emptied and group not in opened

    def _isolated(self, subnets: Value, *, public_address: bool | None) -> Sequence[Reference]:
        """Subnets of one VPC without a way out; none where one has a route, which may lead anywhere.

        A route to an internet gateway is for hosts with a public address alone
        (https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Internet_Gateway.html). A launch template that says
        whether they get one overrides their subnets (https://docs.aws.amazon.com/vpc/latest/userguide/vpc-ip-addressing.html).
        """
        isolated: dict[Reference, Reference] = {}
        for found in (self._index.find(each, _SUBNET) for each in subnets) if is_list(subnets) else ():
            place = None if found is None else self._places.get(found.reference)
            if found is None or place is None:
                return ()
            is_private = public_address is False or (
                public_address is None and is_off(found.properties.get("MapPublicIpOnLaunch"))
            )
            closed = self._closed | {_INTERNET_GATEWAY} if is_private else self._closed
            if found.reference not in self._shut and not self._targets.get(place[0], frozenset()) <= closed:
                return ()
            isolated[found.reference] = place[1]
        # Something may be for a table or a VPC that is not known, and so for any.
        is_open = None in self._targets or None in self._endpoints or any(True for _ in self._index.all(_PROPAGATION))
        return () if is_open or len({*isolated.values()}) > 1 else tuple(isolated)

    @cached_property
    def _places(self) -> dict[Reference | None, _Place]:
        """By subnet, where the templates show both; a subnet that certainly has no table has the main one of its VPC.

        https://docs.aws.amazon.com/vpc/latest/userguide/WorkWithRouteTables.html#DefaultRouteTable
        """
        subnets = {each.reference: each.properties.get("VpcId") for each in self._index.all(_SUBNET)}
        tables: dict[Reference | None, Reference | str | None] = {}
        for each in self._index.all("AWS::EC2::SubnetRouteTableAssociation"):
            table = self._index.reference(each.properties.get("RouteTableId"), _ROUTE_TABLE)
            subnet = self._index.reference(each.properties.get("SubnetId"), _SUBNET)
            tables[subnet] = table if each.exists is True else tables.get(subnet)
        places: dict[Reference | None, _Place] = {}
        for subnet, of_subnet in subnets.items():
            at, vpc = tables.get(subnet, None if None in tables else _MAIN), self._index.reference(of_subnet, _VPC)
            if at is not None and vpc is not None:
                places[subnet] = (at, vpc)
        return places

    @cached_property
    def _targets(self) -> Mapping[Reference | str | None, frozenset[Reference | str | None]]:
        """Where routes lead, by their table; None for one that is not known."""
        find, routes = self._index.reference, self._index.all("AWS::EC2::Route")
        tables = grouped(
            (find(each.properties.get("RouteTableId"), _ROUTE_TABLE), self._target(each)) for each in routes
        )
        return {table: frozenset(targets) for table, targets in tables.items()}

    def _target(self, route: Resource) -> Reference | str | None:
        """A NAT gateway of these files, the type of an internet gateway of them for IPv4, or None for anything else."""
        gateway = self._index.find(route.properties.get("GatewayId"), _INTERNET_GATEWAY)
        if gateway is not None and route.properties.get("DestinationCidrBlock") is not None:
            return _INTERNET_GATEWAY
        return self._index.reference(route.properties.get("NatGatewayId"), _NAT_GATEWAY)

    @cached_property
    def _closed(self) -> frozenset[Reference]:
        """NAT gateways whose own subnet has no route on; the internet gateway drops what comes from a private one.

        https://docs.aws.amazon.com/vpc/latest/userguide/vpc-nat-gateway.html
        """
        closed = []
        for each in self._index.all(_NAT_GATEWAY):
            place = self._places.get(self._index.reference(each.properties.get("SubnetId"), _SUBNET))
            kind = each.properties.get("ConnectivityType", "public")
            dropped = {each.reference, _INTERNET_GATEWAY if kind == "private" else each.reference}
            if place is not None and isinstance(kind, str) and self._targets.get(place[0], frozenset()) <= dropped:
                closed.append(each.reference)
        return frozenset(closed)

    @cached_property
    def _shut(self) -> Mapping[Reference | None, tuple[Blocked, str]]:
        """What lets nothing through, by subnet: a network ACL without entries, or a VPC in which no name resolves.

        https://docs.aws.amazon.com/vpc/latest/userguide/custom-network-acl.html
        https://docs.aws.amazon.com/vpc/latest/userguide/vpc-dns.html
        """
        index = self._index
        vpcs = () if any(index.all(*_RESOLVERS, *_RESOLVER_RULES)) else index.all(_VPC)
        off = {each.reference for each in vpcs if Section.of(each, []).flag("EnableDnsSupport") is False}
        found = {subnet: (Blocked.NO_DNS, vpc.logical_id) for subnet, (_, vpc) in self._places.items() if vpc in off}
        filled = index.named_by(index.all(_ACL_ENTRY), "NetworkAclId", _ACL) | index.others.exposed
        some = index.all("AWS::EC2::SubnetNetworkAclAssociation")
        for subnet, of_subnet in grouped(
            (index.reference(each.properties.get("SubnetId"), _SUBNET), each) for each in some
        ).items():
            acls = index.named_by(of_subnet, "NetworkAclId", _ACL)
            acl = next(iter(acls)) if len(acls) == 1 and all(each.exists is True for each in of_subnet) else None
            if acl is not None and filled.isdisjoint({None, acl}):
                found[subnet] = (Blocked.NETWORK_ACL, acl.logical_id)
        return found

    @cached_property
    def _endpoints(self) -> Mapping[Reference | None, Sequence[tuple[str | None, frozenset[Reference | str | None]]]]:
        """Services with an endpoint that may be reached, and its `_tables`, by VPC; None for what is not known."""
        there = ((Section.of(each, []), self._tables(each)) for each in self._index.all("AWS::EC2::VPCEndpoint"))
        return grouped(
            (self._index.reference(each.get("VpcId"), _VPC), (_service(each.get("ServiceName")), tables))
            for each, tables in there
            if self._may_be_reached(each)
        )

    def _tables(self, endpoint: Resource) -> frozenset[Reference | str | None]:
        """The route tables of a gateway endpoint, which serves their subnets alone; None for any."""
        tables, kind = endpoint.properties.get("RouteTableIds"), Section.of(endpoint, []).text("VpcEndpointType")
        is_open = any(self._index.all(_TABLE_OF_ENDPOINT)) or endpoint.reference in self._index.others.exposed
        if is_open or kind not in {None, "Gateway"} or not (is_list(tables) or (tables is None and kind)):
            return frozenset({None})
        return frozenset(self._index.reference(each, _ROUTE_TABLE) for each in tables or ())

    def _may_be_reached(self, endpoint: Section) -> bool:
        """Whether hosts are let in, and the name of the service leads there; awslogs-endpoint may name that of logs."""
        is_nameless = endpoint.text("VpcEndpointType") == "Interface" and is_off(endpoint.get("PrivateDnsEnabled"))
        if is_nameless and _service(endpoint.get("ServiceName")) != "logs":
            return any(self._index.all(*_RESOLVERS, *_RESOLVER_RULES))
        return self._security.may_let(INGRESS, self._security.listed(endpoint, "SecurityGroupIds"), HTTPS)


def _service(name: Value) -> str | None:
    """The end of the name of a service: ``ecs-agent`` of ``com.amazonaws.us-east-1.ecs-agent``, or ``ecr.api``."""
    before, dot, last = end_of(name).replace("-fips", "").rpartition(".")
    return f"ecr.{last}" if before.endswith(".ecr") else last if dot else None
