"""Networks as far as templates show them: missing endpoints, zones of subnets, and what security groups let through.

Endpoints are missing where hosts have no other way to AWS. The rules of a security group may be written anywhere:
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-securitygroup.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import chain
from math import inf
from typing import Any, NamedTuple

from gpu_constructs.facts.budget import work
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import Subnet, Unknown, written_subnet_id, written_zone
from gpu_constructs.template.model import ZONE_OF_LIST, Placeholder, Reference, Resource, Text, Value, end_of
from gpu_constructs.template.resources.index import Index, names_one_of
from gpu_constructs.template.resources.section import Section, is_list, is_off

INGRESS, EGRESS = "SecurityGroupIngress", "SecurityGroupEgress"
_CHANGES_GROUPS = ("AuthorizeSecurityGroup", "ModifyInstanceAttribute", "ModifyNetworkInterfaceAttribute")
_ALL_TRAFFIC = "-1"
_WITHOUT_TCP = frozenset({"1", "17", "58", "icmp", "icmpv6", "udp"})
# CDK and the documentation of CloudFormation use these addresses in rules that let nothing through.
_NO_ADDRESS = frozenset({"255.255.255.255/32", "127.0.0.1/32"})
_GROUP = "AWS::EC2::SecurityGroup"
_OTHER_SIDE = {INGRESS: "SourceSecurityGroupId", EGRESS: "DestinationSecurityGroupId"}

Groups = tuple[Resource, ...]
"""Security groups, each once; none where one of them is not known."""

Ports = tuple[float, float]
"""The first and the last port of a range."""

_ANY_PORT: Ports = (-inf, inf)


class _Rule(NamedTuple):
    """What a rule lets through.

    Attributes:
        other: The group on the other side; None for addresses, and for a group that is not known.
        ports: Ports of TCP.
        is_for_all: Whether it is for a group, and for all traffic with it, or may be.
    """

    other: Reference | None
    ports: Ports
    is_for_all: bool


class SecurityGroups:
    """Reads security groups, each once. Other linters look at them: what is odd about them is not noted.

    Where more rules are to be compared than there is work left for, what they let through is not known.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._work = work()
        self._alone = cache(self._written_alone)
        self._rules_of = cache(self._read_rules)

    def listed(self, section: Section, key: str) -> Groups:
        """The security groups of a list."""
        values = section.get(key)
        found = [self._index.find(each, _GROUP) for each in values] if isinstance(values, (list, tuple)) else []
        return () if None in found else tuple({each.reference: each for each in found if each is not None}.values())

    def together(self, lists: Iterable[Groups]) -> Groups:
        """The security groups of several lists; none where one list has none."""
        found: dict[Reference, Resource] = {}
        for groups in lists:
            if not groups or not self._work.takes(len(groups)):
                return ()
            found.update((each.reference, each) for each in groups)
        return tuple(found.values())

    def of_launch(self, data: Section, script: str = "") -> Groups:
        """The security groups of hosts that are made from a launch template, where their user data gives no others."""
        if names_one_of(_CHANGES_GROUPS, script):
            return ()
        lists = [self.listed(each, "Groups") for each in data.sections("NetworkInterfaces")]
        return self.together(lists or [self.listed(data, "SecurityGroupIds") or self.listed(data, "SecurityGroups")])

    def of_tasks(self, service: Section) -> Groups:
        """The security groups of the network interfaces of tasks."""
        return self.listed(service.section("NetworkConfiguration").section("AwsvpcConfiguration"), "SecurityGroups")

    def may_let(self, direction: str, groups: Groups, port: int, others: Groups | None = None) -> bool:
        """Whether one of some groups may let others, or anything, through at a port; groups not known may."""
        given, alone = self._index.given_away, self._alone(direction)
        # A dynamic block of Terraform may write rules of which its plan says nothing, but not beside others.
        bare = [one for one in groups if direction not in one.properties and one.reference not in alone]
        may_change = any(one.reference in given for one in groups) or self._index.may_call(*_CHANGES_GROUPS)
        is_open = not groups or may_change or any("." in one.logical_id for one in bare)
        return is_open or any(first <= port <= last for first, last in self.open_ports(groups, direction, others))

    def open_ports(self, groups: Groups, direction: str, others: Groups | None) -> Sequence[Ports]:
        """Ranges of ports at which some groups let others, or anything, through: all where that is not known."""
        rules = self._rules(groups, direction)
        # A group that is given no egress has the rule that EC2 gives each group, which lets all out.
        if rules is None or (direction == EGRESS and not all(each.properties.get(EGRESS) for each in groups)):
            return (_ANY_PORT,)
        allowed = None if others is None else {None, *(each.reference for each in others)}
        return [each.ports for each in rules if allowed is None or each.other in allowed]

    def without_all_traffic(self, groups: Groups, direction: str) -> bool:
        """Whether it is certain that no rule of some groups allows all traffic with these groups.

        Rules for addresses do not count: they are not for a group.
        """
        rules, own = self._rules(groups, direction), {None, *(each.reference for each in groups)}
        return bool(groups) and rules is not None and not any(each.is_for_all and each.other in own for each in rules)

    def _rules(self, groups: Groups, direction: str) -> Sequence[_Rule] | None:
        """The rules of some groups in a direction; None where one is for a group that is not known."""
        found = [self._rules_of(each, direction) for each in groups]
        is_known = None not in self._alone(direction) and self._work.takes(1 + sum(map(len, found)))
        return list(chain.from_iterable(found)) if is_known else None

    def _written_alone(self, direction: str) -> Mapping[Reference | None, Sequence[Section]]:
        """Rules that are resources of their own, by their group; None for one that is not known."""
        rules = (Section.of(each, []) for each in self._index.all(f"AWS::EC2::{direction}"))
        return grouped((self._index.reference(each.get("GroupId"), _GROUP), each) for each in rules)

    def _read_rules(self, group: Resource, direction: str) -> Sequence[_Rule]:
        alone = self._alone(direction).get(group.reference, ())
        return tuple(dict.fromkeys(self._read((*Section.of(group, []).sections(direction), *alone), direction)))

    def _read(self, rules: Iterable[Section], direction: str) -> Iterator[_Rule]:
        for rule in rules:
            protocol = rule.text("IpProtocol")
            first, last = rule.integer("FromPort"), rule.integer("ToPort")
            is_without_tcp = isinstance(protocol, str) and protocol.lower() in _WITHOUT_TCP
            if is_without_tcp or rule.text("CidrIp") in _NO_ADDRESS:
                continue
            is_range = protocol != _ALL_TRAFFIC and isinstance(first, int) and isinstance(last, int)
            is_all = isinstance(protocol, Unknown) or protocol == _ALL_TRAFFIC
            yield _Rule(
                other=self._index.reference(rule.get(_OTHER_SIDE[direction]), _GROUP),
                ports=(first, last) if is_range else _ANY_PORT,  # type: ignore[arg-type]
                is_for_all=is_all and rule.has(_OTHER_SIDE[direction]),
            )


_SUBNET = "AWS::EC2::Subnet"
_VPC = "AWS::EC2::VPC"


def subnets_of(subnets: Value, index: Index, zones: Value = None) -> tuple[Subnet, ...]:
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


_ACL, _ACL_ENTRY = "AWS::EC2::NetworkAcl", "AWS::EC2::NetworkAclEntry"
_ACL_ASSOCIATION = "AWS::EC2::SubnetNetworkAclAssociation"
_ASSOCIATION = "AWS::EC2::SubnetRouteTableAssociation"
_ENDPOINT = "AWS::EC2::VPCEndpoint"
_EMPTIED_GROUP = "Custom::VpcRestrictDefaultSG"  # of CDK: ec2.Vpc(restrict_default_security_group=True)
_INGRESS = "AWS::EC2::SecurityGroupIngress"
_INTERNET_GATEWAY = "AWS::EC2::InternetGateway"
_NAT_GATEWAY = "AWS::EC2::NatGateway"
_PROPAGATION = "AWS::EC2::VPNGatewayRoutePropagation"
_ROUTE = "AWS::EC2::Route"
_ROUTE_TABLE = "AWS::EC2::RouteTable"
_TABLE_OF_ENDPOINT = "Terraform::EndpointRouteTable"  # which table it is for is not read

# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/vpc-endpoints.html
# https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html, layers of images are in S3
_NEEDED = ("ecs", "ecs-agent", "ecs-telemetry", "ecr.api", "ecr.dkr", "s3", "logs")
_HTTPS = 443
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
        different, blocked = {each.zone for each in found}, self._blocked_by(subnets)
        return {
            "zones": None if None in different and len(found) > 1 else len(different) or None,
            "subnets": found,
            "has_no_route_out": self._vpc_without_route(subnets) is not None,
            "missing_endpoints": self._missing_endpoints(subnets, public_address=public_address),
            "blocked_by": blocked,
            "may_be_let_out": (blocked is not None and blocked[0] == _VPC)
            or any(not self._index.read_elsewhere.isdisjoint(place) for place in self._places_of(subnets)),
        }

    def lead_to_gateway(self, subnets: Value) -> bool:
        """Whether some subnets lead to an internet gateway and nowhere else, as far as they have routes at all."""
        private, all_of_them = (self._vpc_without_route(subnets, public_address=each) for each in (False, True))
        return private is not None and all_of_them is None

    def _missing_endpoints(self, subnets: Value, *, public_address: bool | None) -> tuple[str, ...]:
        """Of `_NEEDED`, what hosts in these subnets cannot reach; empty where there is a way, or that is not known."""
        vpc = self._vpc_without_route(subnets, public_address=public_address)
        if vpc is None:
            return ()
        reached = {None, *(table for table, _ in self._places_of(subnets))}
        there = {service for service, tables in self._endpoints.get(vpc, ()) if tables & reached}
        return () if None in there else tuple(each for each in _NEEDED if each not in there)

    def _places_of(self, subnets: Value) -> Sequence[_Place]:
        found = [self._index.reference(each, _SUBNET) for each in subnets] if is_list(subnets) else []
        return [self._places[each] for each in found if each in self._places]

    def _blocked_by(self, subnets: Value) -> tuple[str, str] | None:
        """What keeps the way out of the first of some subnets shut, by its type and name."""
        first = self._index.reference(subnets[0], _SUBNET) if is_list(subnets) and subnets else None
        targets = self._targets.get(self._places[first][0], frozenset()) if first in self._places else frozenset()
        gateway = min((each.logical_id for each in self._closed & targets), default=None)
        return self._shut.get(first) or (None if gateway is None else (_NAT_GATEWAY, gateway))

    def have_emptied_group(self, subnets: Value) -> bool:
        """Whether CDK takes all rules of the default security group of their VPC away, and nothing adds one to it."""
        found = self._index.find(subnets[0], _SUBNET) if is_list(subnets) and subnets else None
        first = None if found is None else self._index.find(found.properties.get("VpcId"), _VPC)
        if first is None:
            return False
        group = replace(first.reference, attribute="DefaultSecurityGroup")  # subnets of one environment have one VPC
        emptied = [each.properties.get("DefaultSecurityGroupId") for each in self._index.all(_EMPTIED_GROUP)]
        opened = [each.properties.get("GroupId") for each in self._index.all(_INGRESS)]
        return group in emptied and group not in opened

    def _vpc_without_route(self, subnets: Value, *, public_address: bool | None = True) -> Reference | None:
        """The VPC of subnets that have no route; a route may lead anywhere, so only they are without a way out.

        A route to an internet gateway is for hosts with a public address alone
        (https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Internet_Gateway.html). A launch template that says
        whether they get one overrides their subnets (https://docs.aws.amazon.com/vpc/latest/userguide/vpc-ip-addressing.html).
        """
        if not is_list(subnets) or not subnets:
            return None
        vpcs: set[Reference] = set()
        for found in (self._index.find(each, _SUBNET) for each in subnets):
            place = None if found is None else self._places.get(found.reference)
            if found is None or place is None:
                return None
            is_private = public_address is False or (
                public_address is None and is_off(found.properties.get("MapPublicIpOnLaunch"))
            )
            closed = self._closed | {_INTERNET_GATEWAY} if is_private else self._closed
            if found.reference not in self._shut and not self._targets.get(place[0], frozenset()) <= closed:
                return None
            vpcs.add(place[1])
        return vpcs.pop() if len(vpcs) == 1 and not self._are_unclear else None

    @cached_property
    def _places(self) -> dict[Reference | None, _Place]:
        """By subnet, where the templates show both; a subnet that certainly has no table has the main one of its VPC.

        https://docs.aws.amazon.com/vpc/latest/userguide/WorkWithRouteTables.html#DefaultRouteTable
        """
        subnets = {each.reference: each.properties.get("VpcId") for each in self._index.all(_SUBNET)}
        tables: dict[Reference | None, Reference | str | None] = {}
        for each in self._index.all(_ASSOCIATION):
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
        find, routes = self._index.reference, self._index.all(_ROUTE)
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
    def _shut(self) -> Mapping[Reference | None, tuple[str, str]]:
        """What lets nothing through, by subnet: a network ACL without entries, or a VPC in which no name resolves.

        https://docs.aws.amazon.com/vpc/latest/userguide/custom-network-acl.html
        https://docs.aws.amazon.com/vpc/latest/userguide/vpc-dns.html
        """
        index = self._index
        vpcs = () if any(index.all(*_RESOLVERS, *_RESOLVER_RULES)) else index.all(_VPC)
        off = {each.reference for each in vpcs if Section.of(each, []).flag("EnableDnsSupport") is False}
        found = {subnet: (_VPC, vpc.logical_id) for subnet, (_, vpc) in self._places.items() if vpc in off}
        filled = index.named_by(index.all(_ACL_ENTRY), "NetworkAclId", _ACL) | index.given_away
        some = index.all(_ACL_ASSOCIATION)
        for subnet, of_subnet in grouped(
            (index.reference(each.properties.get("SubnetId"), _SUBNET), each) for each in some
        ).items():
            acls = index.named_by(of_subnet, "NetworkAclId", _ACL)
            acl = next(iter(acls)) if len(acls) == 1 and all(each.exists is True for each in of_subnet) else None
            if acl is not None and filled.isdisjoint({None, acl}):
                found[subnet] = (_ACL, acl.logical_id)
        return found

    @cached_property
    def _endpoints(self) -> Mapping[Reference | None, Sequence[tuple[str | None, frozenset[Reference | str | None]]]]:
        """Services with an endpoint that may be reached, and its `_tables`, by VPC; None for what is not known."""
        there = ((Section.of(each, []), self._tables(each)) for each in self._index.all(_ENDPOINT))
        return grouped(
            (self._index.reference(each.get("VpcId"), _VPC), (_service(each.get("ServiceName")), tables))
            for each, tables in there
            if self._may_be_reached(each)
        )

    def _tables(self, endpoint: Resource) -> frozenset[Reference | str | None]:
        """The route tables of a gateway endpoint, which serves their subnets alone; None for any."""
        tables, kind = endpoint.properties.get("RouteTableIds"), endpoint.properties.get("VpcEndpointType")
        is_open = any(self._index.all(_TABLE_OF_ENDPOINT)) or endpoint.reference in self._index.given_away
        if is_open or kind not in {None, "Gateway"} or not (is_list(tables) or (tables is None and kind)):
            return frozenset({None})
        return frozenset(self._index.reference(each, _ROUTE_TABLE) for each in tables or ())

    def _may_be_reached(self, endpoint: Section) -> bool:
        """Whether hosts are let in, and the name of the service leads there; awslogs-endpoint may name that of logs."""
        is_nameless = endpoint.text("VpcEndpointType") == "Interface" and is_off(endpoint.get("PrivateDnsEnabled"))
        if is_nameless and _service(endpoint.get("ServiceName")) != "logs":
            return any(self._index.all(*_RESOLVERS, *_RESOLVER_RULES))
        return self._security.may_let(INGRESS, self._security.listed(endpoint, "SecurityGroupIds"), _HTTPS)

    @cached_property
    def _are_unclear(self) -> bool:
        """Whether something is for a table or a VPC that is not known, and may be for any."""
        return None in self._targets or None in self._endpoints or any(True for _ in self._index.all(_PROPAGATION))


def _service(name: Value) -> str | None:
    """The end of the name of a service: ``ecs-agent`` of ``com.amazonaws.us-east-1.ecs-agent``, or ``ecr.api``."""
    before, dot, last = end_of(name).replace("-fips", "").rpartition(".")
    return f"ecr.{last}" if before.endswith(".ecr") else last if dot else None
