"""Networks as far as templates show them: missing endpoints, zones of subnets, and whose hosts share machines.

Endpoints are missing where hosts have no other way to AWS.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from gpu_constructs.fleet import Subnet, written_subnet_id, written_zone
from gpu_constructs.template.model import ZONE_OF_LIST, Placeholder, Reference, Resource, Text, Value, end_of
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import is_list, is_off

_SUBNET = "AWS::EC2::Subnet"
_VPC = "AWS::EC2::VPC"


def zones_of(subnets: Value, zones: Value, index: Index) -> int | None:
    """How many Availability Zones some subnets, or else some zones, are; None where that is not known."""
    if is_list(subnets) and subnets:
        if len(subnets) == 1:
            return 1
        found = (index.find(each, _SUBNET) for each in subnets)
        return _different(None if each is None else each.properties.get("AvailabilityZone") for each in found)
    return _different(zones) if is_list(zones) and zones else None


def subnets_of(subnets: Value, zones: Value, index: Index) -> tuple[Subnet, ...]:
    """What is written of each of some subnets, or else of some zones; empty where they are not known."""
    if is_list(subnets) and subnets:
        return tuple(_subnet(each, index) for each in subnets)
    found = zones if is_list(zones) else ()
    return tuple(map(in_zone, found))


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


def _different(names: Iterable[Value]) -> int | None:
    known: set[str] = set()
    for each in names:
        if not isinstance(each, str):
            return None
        known.add(each)
    return len(known)


_ASSOCIATION = "AWS::EC2::SubnetRouteTableAssociation"
_ENDPOINT = "AWS::EC2::VPCEndpoint"
_EMPTIED_GROUP = "Custom::VpcRestrictDefaultSG"  # of CDK: ec2.Vpc(restrict_default_security_group=True)
_INGRESS = "AWS::EC2::SecurityGroupIngress"
_INTERNET_GATEWAY = "AWS::EC2::InternetGateway"
_PROPAGATION = "AWS::EC2::VPNGatewayRoutePropagation"
_ROUTE = "AWS::EC2::Route"
_ROUTE_TABLE = "AWS::EC2::RouteTable"

# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/vpc-endpoints.html
_OF_AGENT = ("ecs", "ecs-agent", "ecs-telemetry")

_Place = tuple["Reference | str", Reference]
"""A route table and its VPC."""

_MAIN = "main"
"""The main route table of a VPC, which no resource can give a route; it has none but the local one."""


class Networks:
    """Subnets, their routes, and the endpoints of their VPCs."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def missing_endpoints(self, subnets: Value, *, may_have_address: bool = True) -> tuple[str, ...]:
        """Services that hosts in these subnets cannot reach; empty where there is a way, or that is not known.

        Args:
            subnets: Where the hosts run.
            may_have_address: Whether they may get a public address, whatever their subnets say.
        """
        vpc = self._vpc_without_route(subnets, without_address=not may_have_address)
        if vpc is None:
            return ()
        there = self._endpoints.get(vpc, frozenset())
        return () if None in there else tuple(each for each in _OF_AGENT if each not in there)

    def have_no_route_out(self, subnets: Value) -> bool:
        """Whether subnets certainly have no route; endpoints may lead to some services all the same."""
        return self._vpc_without_route(subnets) is not None

    def have_emptied_group(self, subnets: Value) -> bool:
        """Whether CDK takes all rules of the default security group of their VPC away, and nothing adds one to it."""
        found = [self._subnet(each) for each in subnets] if is_list(subnets) else []
        vpcs = [None if each is None else self._index.find(each.properties.get("VpcId"), _VPC) for each in found]
        first = vpcs[0] if vpcs else None
        if first is None:
            return False
        group = replace(first.reference, attribute="DefaultSecurityGroup")  # subnets of one environment have one VPC
        emptied = [each.properties.get("DefaultSecurityGroupId") for each in self._index.all(_EMPTIED_GROUP)]
        opened = [each.properties.get("GroupId") for each in self._index.all(_INGRESS)]
        return group in emptied and group not in opened

    def _vpc_without_route(self, subnets: Value, *, without_address: bool = False) -> Reference | None:
        """The VPC of subnets that have no route; a route may lead anywhere, so only they are without a way out.

        A route to an internet gateway is for hosts with a public address alone
        (https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Internet_Gateway.html).
        """
        if not is_list(subnets) or not subnets:
            return None
        vpcs: set[Reference] = set()
        for found in map(self._subnet, subnets):
            place = None if found is None else self._places.get(found.reference) or self._of_main(found)
            if found is None or place is None:
                return None
            is_private = without_address and is_off(found.properties.get("MapPublicIpOnLaunch"))
            if place[0] in (self._routed_elsewhere if is_private else self._routed):
                return None
            vpcs.add(place[1])
        return vpcs.pop() if len(vpcs) == 1 and not self._are_unclear else None

    def _subnet(self, value: Value) -> Resource | None:
        return self._index.find(value, _SUBNET)

    @cached_property
    def _places(self) -> dict[Reference, _Place]:
        """By subnet, where the templates show both."""
        places: dict[Reference, _Place] = {}
        for each in self._index.all(_ASSOCIATION):
            subnet = self._subnet(each.properties.get("SubnetId"))
            table = self._index.find(each.properties.get("RouteTableId"), _ROUTE_TABLE)
            if subnet is not None and table is not None and each.exists is True:
                vpc = self._index.find(subnet.properties.get("VpcId"), _VPC)
                if vpc is not None:
                    places[subnet.reference] = (table.reference, vpc.reference)
        return places

    def _of_main(self, subnet: Resource) -> _Place | None:
        """The main route table of the VPC, where certainly no other is for the subnet.

        https://docs.aws.amazon.com/vpc/latest/userguide/WorkWithRouteTables.html#DefaultRouteTable
        """
        vpc = self._index.find(subnet.properties.get("VpcId"), _VPC)
        if vpc is None or not self._associated.isdisjoint({None, subnet.reference}):
            return None
        return _MAIN, vpc.reference

    @cached_property
    def _associated(self) -> frozenset[Reference | None]:
        """The subnets that have a route table; None for one that is not known."""
        return frozenset(
            self._index.reference(each.properties.get("SubnetId"), _SUBNET) for each in self._index.all(_ASSOCIATION)
        )

    @cached_property
    def _routed(self) -> frozenset[Reference | None]:
        return self._tables(self._index.all(_ROUTE))

    @cached_property
    def _routed_elsewhere(self) -> frozenset[Reference | None]:
        """Route tables with a route that does not lead to an internet gateway of these files, or is not for IPv4."""
        others = [
            each
            for each in self._index.all(_ROUTE)
            if self._index.find(each.properties.get("GatewayId"), _INTERNET_GATEWAY) is None
            or each.properties.get("DestinationCidrBlock") is None
        ]
        return self._tables(others)

    def _tables(self, routes: Iterable[Resource]) -> frozenset[Reference | None]:
        """The route tables of some routes; None for one that is not known."""
        return frozenset(self._index.reference(each.properties.get("RouteTableId"), _ROUTE_TABLE) for each in routes)

    @cached_property
    def _endpoints(self) -> dict[Reference | None, frozenset[str | None]]:
        """Services with an endpoint by VPC; None for what is not known."""
        found: dict[Reference | None, set[str | None]] = {}
        for each in self._index.all(_ENDPOINT):
            vpc = self._index.reference(each.properties.get("VpcId"), _VPC)
            found.setdefault(vpc, set()).add(_service(each.properties.get("ServiceName")))
        return {vpc: frozenset(services) for vpc, services in found.items()}

    @cached_property
    def _are_unclear(self) -> bool:
        """Whether something is for a table or a VPC that is not known, and may be for any."""
        return None in self._routed or None in self._endpoints or any(True for _ in self._index.all(_PROPAGATION))


def _service(name: Value) -> str | None:
    """The last word of the name of a service: ``ecs-agent`` of ``com.amazonaws.us-east-1.ecs-agent``."""
    text = end_of(name)
    return text.rpartition(".")[2] if "." in text else None
