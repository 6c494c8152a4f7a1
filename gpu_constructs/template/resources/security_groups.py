"""Security groups: what they let in and out, wherever their rules are written.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-securitygroup.html
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from math import inf

from gpu_constructs.facts.budget import work
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Remark, Unknown
from gpu_constructs.template.model import Reference, Resource
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import Notes, Section

INGRESS, EGRESS = "SecurityGroupIngress", "SecurityGroupEgress"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """The rules of a group in one direction, by the group on their other side; None for one that is not known.

    Attributes:
        ports: Ranges of ports of TCP, each once.
        all_traffic: The groups with which a rule for groups allows all traffic, or may.
    """

    ports: Mapping[Reference | None, Collection[Ports]]
    all_traffic: frozenset[Reference | None]


class SecurityGroups:
    """Reads security groups, each once. Other linters look at them: what is odd about them is not noted."""

    def __init__(self, index: Index, notes: Notes) -> None:
        self._index = index
        self._notes = notes
        self._work = work()
        self._is_noted = False
        self._alone: dict[str, dict[Reference, list[Section]]] = {}
        self._known: dict[tuple[Reference, str], _Rules] = {}

    def listed(self, section: Section, key: str) -> Groups:
        """The security groups of a list."""
        values = section.get(key)
        if not isinstance(values, (list, tuple)):
            return ()
        found: dict[Reference, Resource] = {}
        for each in values:
            group = self._index.find(each, _GROUP)
            if group is None:
                return ()
            found[group.reference] = group
        return tuple(found.values())

    def together(self, lists: Iterable[Groups]) -> Groups:
        """The security groups of several lists; none where one list has none."""
        found: dict[Reference, Resource] = {}
        for groups in lists:
            if not groups or not self._takes(len(groups), groups[0]):
                return ()
            found.update((each.reference, each) for each in groups)
        return tuple(found.values())

    def let_in_any(self, groups: Groups) -> bool:
        """Whether one of some groups has a rule that lets anything in, or may have one."""
        return self._has_open_ingress or any(self._rules(each, INGRESS).ports for each in groups)

    def let_in(self, groups: Groups, ports: tuple[int, int], *, apart_from: Groups) -> bool:
        """Whether some groups let anyone in at one of some ports, or may, apart from some other groups."""
        others = {each.reference for each in apart_from}
        for group in groups:
            found = self._rules(group, INGRESS).ports
            if self._has_open_ingress or not self._takes(1 + sum(map(len, found.values())), group):
                return True
            ranges = (each for other, of in found.items() if other not in others for each in of)
            if any(first <= ports[1] and ports[0] <= last for first, last in ranges):
                return True
        return False

    def may_let_out(self, groups: Groups, port: int) -> bool:
        """Whether one of some groups may let something out to a port; one without rules of its own lets out all."""
        if self._has_open_egress:
            return True
        for group in groups:
            ranges = [each for found in self._rules(group, EGRESS).ports.values() for each in found]
            if not group.properties.get(EGRESS) or not self._takes(1 + len(ranges), group):
                return True
            if any(first <= port <= last for first, last in ranges):
                return True
        return False

    @cached_property
    def _has_open_ingress(self) -> bool:
        """Whether a rule for what comes in is for a group that is not known."""
        return any(self._is_open(each) for each in self._index.all(f"AWS::EC2::{INGRESS}"))

    @cached_property
    def _has_open_egress(self) -> bool:
        """Whether a rule for what goes out is for a group that is not known."""
        return any(self._is_open(each) for each in self._index.all(f"AWS::EC2::{EGRESS}"))

    def _is_open(self, rule: Resource) -> bool:
        return self._index.find(rule.properties.get("GroupId"), _GROUP) is None

    def open_ports(self, groups: Groups, direction: str, others: Groups) -> Sequence[Ports]:
        """Ranges of ports at which some groups let others through, or may: all ports where that is not known.

        Args:
            groups: Security groups whose rules are read.
            direction: `INGRESS` or `EGRESS`.
            others: Security groups on the other side; of none, rules for addresses alone count.
        """
        allowed = (None, *(each.reference for each in others))
        found: list[Ports] = []
        for group in groups:
            # A group without egress of its own has the rule that EC2 gives each group, which lets all out.
            if direction == EGRESS and (not group.properties.get(EGRESS) or self._has_open_egress):
                return (_ANY_PORT,)
            rules = self._rules(group, direction)
            for other in allowed:
                ports = rules.ports.get(other, ())
                if not self._takes(1 + len(ports), group):
                    return (_ANY_PORT,)
                found += ports
        return found

    def without_all_traffic(self, groups: Groups, direction: str) -> bool:
        """Whether it is certain that no rule of some groups allows all traffic with these groups.

        Rules for addresses do not count: they are not for a group.

        Args:
            groups: Security groups of one network interface; empty where one is not known.
            direction: `INGRESS` or `EGRESS`.
        """
        own = {None, *(each.reference for each in groups)}
        for group in groups:
            open_to = self._rules(group, direction).all_traffic
            if not self._takes(1 + min(len(own), len(open_to)), group) or not own.isdisjoint(open_to):
                return False
        return bool(groups)

    def _takes(self, number: int, group: Resource) -> bool:
        """Whether so much more may be compared; what is not compared is unknown, which is noted once."""
        if self._work.takes(number):
            return True
        if not self._is_noted:
            self._is_noted = True
            text = "more security groups than are compared, so that who reaches whom is not known"
            self._notes.append(Remark(text=text, origin=group.origin))
        return False

    def _rules(self, group: Resource, direction: str) -> _Rules:
        key = (group.reference, direction)
        if key not in self._known:
            alone = self._by_group(direction).get(group.reference, ())
            self._known[key] = self._read((*Section.of(group, []).sections(direction), *alone), direction)
        return self._known[key]

    def _read(self, rules: Iterable[Section], direction: str) -> _Rules:
        ports: dict[Reference | None, dict[Ports, None]] = {}
        all_traffic: set[Reference | None] = set()
        for rule in rules:
            other = self._index.reference(rule.get(_OTHER_SIDE[direction]), _GROUP)
            protocol = rule.text("IpProtocol")
            first, last = rule.integer("FromPort"), rule.integer("ToPort")
            is_without_tcp = isinstance(protocol, str) and protocol.lower() in _WITHOUT_TCP
            if is_without_tcp or rule.text("CidrIp") in _NO_ADDRESS:
                continue
            here = _ANY_PORT
            if protocol != _ALL_TRAFFIC and isinstance(first, int) and isinstance(last, int):
                here = (first, last)
            ports.setdefault(other, {})[here] = None
            if rule.has(_OTHER_SIDE[direction]) and (isinstance(protocol, Unknown) or protocol == _ALL_TRAFFIC):
                all_traffic.add(other)
        return _Rules(ports=ports, all_traffic=frozenset(all_traffic))

    def _by_group(self, direction: str) -> dict[Reference, list[Section]]:
        if direction not in self._alone:
            found = self._alone[direction] = {}
            for resource in self._index.all(f"AWS::EC2::{direction}"):
                rule = Section.of(resource, [])
                group = self._index.find(rule.get("GroupId"), _GROUP)
                if group is not None:
                    found.setdefault(group.reference, []).append(rule)
        return self._alone[direction]
