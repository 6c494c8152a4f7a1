"""Security groups: what they let in and out, wherever their rules are written.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-securitygroup.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import Unknown
from gpu_constructs.template.model import Reference, Resource
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import Section

__all__ = ["ALL_TRAFFIC", "EGRESS", "INGRESS", "SecurityGroups"]

ALL_TRAFFIC = "-1"
INGRESS, EGRESS = "SecurityGroupIngress", "SecurityGroupEgress"
_GROUP = "AWS::EC2::SecurityGroup"
_OTHER_SIDE = {INGRESS: "SourceSecurityGroupId", EGRESS: "DestinationSecurityGroupId"}


class SecurityGroups:
    """Reads security groups. Other linters look at them: what is odd about them is not noted."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._alone: dict[str, dict[Reference, list[Section]]] = {}

    def listed(self, section: Section, key: str) -> tuple[Resource, ...]:
        """The security groups of a list; none where one of them is not known."""
        values = section.get(key)
        if not isinstance(values, (list, tuple)):
            return ()
        found = [self._index.find(each, _GROUP) for each in values]
        known = tuple(each for each in found if each is not None)
        return known if len(known) == len(found) else ()

    def rules(self, group: Resource, direction: str) -> Iterator[tuple[Section, Resource | None]]:
        """The rules of a group, each with the group on its other side as far as it is known.

        Args:
            group: A security group.
            direction: `INGRESS` or `EGRESS`.
        """
        for rule in (*Section.of(group, []).sections(direction), *self._by_group(direction).get(group.reference, ())):
            yield rule, self._index.find(rule.get(_OTHER_SIDE[direction]), _GROUP)

    def without_all_traffic(self, groups: tuple[Resource, ...], direction: str) -> bool:
        """Whether it is certain that no rule of some groups allows all traffic with these groups.

        Rules for addresses do not count: they are not for a group.

        Args:
            groups: Security groups of one network interface; empty where one is not known.
            direction: `INGRESS` or `EGRESS`.
        """
        own = {each.reference for each in groups}
        return bool(groups) and not any(
            rule.has(_OTHER_SIDE[direction])
            and (other is None or other.reference in own)
            and (isinstance(protocol := rule.text("IpProtocol"), Unknown) or protocol == ALL_TRAFFIC)
            for group in groups
            for rule, other in self.rules(group, direction)
        )

    def _by_group(self, direction: str) -> dict[Reference, list[Section]]:
        """Rules that are resources of their own, by security group."""
        if direction not in self._alone:
            found = self._alone[direction] = {}
            for resource in self._index.all(f"AWS::EC2::{direction}"):
                rule = Section.of(resource, [])
                group = self._index.find(rule.get("GroupId"), _GROUP)
                if group is not None:
                    found.setdefault(group.reference, []).append(rule)
        return self._alone[direction]
