"""Security groups: what do they let through? Their rules may be written anywhere.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-securitygroup.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import inf
from typing import NamedTuple

from gpu_constructs.facts.budget import work
from gpu_constructs.facts.values import grouped, kept
from gpu_constructs.fleet import Unknown
from gpu_constructs.template.model import Reference, Resource
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.others import names_one_of
from gpu_constructs.template.resources.section import Section

INGRESS, EGRESS = "SecurityGroupIngress", "SecurityGroupEgress"
HTTPS = 443
_CHANGES_GROUPS = (
    "ec2:AuthorizeSecurityGroupEgress",
    "ec2:AuthorizeSecurityGroupIngress",
    "ec2:ModifyInstanceAttribute",
    "ec2:ModifyNetworkInterfaceAttribute",
    "ec2:ModifySecurityGroupRules",
)
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

    def of_launch(self, data: Section, script: str) -> Groups:
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
        return not groups or any(first <= port <= last for first, last in self.open_ports(groups, direction, others))

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
        """The rules of some groups in a direction; None where others may add some, or one is for an unknown group."""
        exposed, alone = self._index.others.exposed, self._alone(direction)
        # A dynamic block of Terraform may write rules of which its plan says nothing, but not beside others.
        bare = [each for each in groups if direction not in each.properties and each.reference not in alone]
        names = [each.reference for each in groups]
        may_change = any(each in exposed or self._index.others.may_call(*_CHANGES_GROUPS, on=each) for each in names)
        may_change = may_change or any("." in each.logical_id for each in bare)
        if may_change or None in alone:
            return None
        found = [self._rules_of(each, direction) for each in groups]
        return list(chain.from_iterable(found)) if self._work.takes(1 + sum(map(len, found))) else None

    @kept
    def _alone(self, direction: str) -> Mapping[Reference | None, Sequence[Section]]:
        """Rules that are resources of their own, by their group; None for one that is not known."""
        rules = (Section.of(each, []) for each in self._index.all(f"AWS::EC2::{direction}"))
        return grouped((self._index.reference(each.get("GroupId"), _GROUP), each) for each in rules)

    @kept
    def _rules_of(self, group: Resource, direction: str) -> Sequence[_Rule]:
        alone = self._alone(direction).get(group.reference, ())
        return tuple(dict.fromkeys(self._read((*Section.of(group, []).sections(direction), *alone), direction)))

    def _read(self, rules: Iterable[Section], direction: str) -> Iterator[_Rule]:
        for rule in rules:
            protocol = rule.text("IpProtocol")
            first, last = rule.integer("FromPort"), rule.integer("ToPort")
            is_without_tcp = isinstance(protocol, str) and protocol.lower() in _WITHOUT_TCP
            if is_without_tcp or rule.text("CidrIp") in _NO_ADDRESS:
                continue
            ports = _ANY_PORT
            if protocol != _ALL_TRAFFIC and isinstance(first, int) and isinstance(last, int):
                ports = first, last
            is_all = isinstance(protocol, Unknown) or protocol == _ALL_TRAFFIC
            yield _Rule(
                other=self._index.reference(rule.get(_OTHER_SIDE[direction]), _GROUP),
                ports=ports,
                is_for_all=is_all and rule.has(_OTHER_SIDE[direction]),
            )
