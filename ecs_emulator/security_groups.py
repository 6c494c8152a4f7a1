"""Security groups and their rules as resources of a stack.

moto 5.2.5 ignores the egress of a group in a template, needs ports where a rule is for all traffic, has no
``AWS::EC2::SecurityGroupEgress``, and deletes groups that rules of other groups or interfaces still refer to. Not
modelled: traffic. https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-securitygroup.html
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from moto.ec2.exceptions import DependencyViolationError, InvalidPermissionDuplicateError
from moto.ec2.models import EC2Backend, ec2_backends

from .resource import Properties, Region, Resource

__all__ = ["SecurityGroup", "SecurityGroupEgress", "SecurityGroupIngress"]

OTHER_SIDE = {
    "ingress": ("SourceSecurityGroupId", "SourcePrefixListId"),
    "egress": ("DestinationSecurityGroupId", "DestinationPrefixListId"),
}


def _ec2(region: Region) -> EC2Backend:
    return ec2_backends[region.account_id][region.name]


def _add_rule(region: Region, group: str, way: str, rule: Properties) -> str:
    """Authorize one rule; returns its id."""
    source, prefixes = (rule.get(name) for name in OTHER_SIDE[way])
    ranges: list[dict[str, Any]] = [{name: rule[name]} for name in ("CidrIp",) if name in rule]
    ranges += [{"CidrIpv6": rule["CidrIpv6"]}] if "CidrIpv6" in rule else []
    if not (ranges or source or prefixes):
        raise ValueError("a security group rule needs a range of addresses, a prefix list or a security group")
    authorize = getattr(_ec2(region), f"authorize_security_group_{way}")
    ports = [None if rule.get(name) is None else int(rule[name]) for name in ("FromPort", "ToPort")]
    try:
        rules, _ = authorize(
            group,
            str(rule["IpProtocol"]),
            *ports,
            ranges,
            source_groups=[{"GroupId": source}] if source else [],
            prefix_list_ids=[{"PrefixListId": prefixes}] if prefixes else [],
        )
    except InvalidPermissionDuplicateError as error:
        peer = source or prefixes or next(iter(ranges[0].values()))
        protocol = {"-1": "ALL"}.get(str(rule["IpProtocol"]), str(rule["IpProtocol"]).upper())
        where = "" if protocol == "ALL" else f" from port: {ports[0]}, to port: {ports[1]},"
        error.message = f'the specified rule "peer: {peer}, {protocol},{where} ALLOW" already exists'
        raise
    return str(rules[0].id)


def _drop_rule(region: Region, group: str, way: str, rule_id: str) -> None:
    found: Any = _ec2(region).get_security_group_from_id(group)
    rules = getattr(found, f"{way}_rules")
    setattr(found, f"{way}_rules", [rule for rule in rules if rule.id != rule_id])


class SecurityGroup(Resource):
    """A group with the rules that its own properties name; a group without egress of its own lets everything out."""

    type_name = "AWS::EC2::SecurityGroup"
    name_property = "GroupName"
    attribute_names = frozenset({"GroupId", "Id", "VpcId"})
    create_only = frozenset({"GroupDescription", "GroupName", "VpcId"})

    def __init__(self, group_id: str, vpc_id: str) -> None:
        super().__init__(group_id, {"GroupId": group_id, "Id": group_id, "VpcId": vpc_id})
        self._rules: list[tuple[str, str]] = []

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> SecurityGroup:
        group = _ec2(region).create_security_group(
            name=name, description=properties["GroupDescription"], vpc_id=properties.get("VpcId")
        )
        group.add_tags({tag["Key"]: tag["Value"] for tag in properties.get("Tags", [])})
        made = cls(group.id, str(group.vpc_id))
        if properties.get("SecurityGroupEgress"):
            group.egress_rules = []
        try:
            made._add(region, properties)
        except Exception:
            _ec2(region).delete_security_group(group_id=group.id)
            raise
        return made

    def update(self, region: Region, properties: Properties) -> None:
        for way, rule_id in self._rules:
            _drop_rule(region, self.physical_resource_id, way, rule_id)
        self._rules = []
        self._add(region, properties)

    def _add(self, region: Region, properties: Properties) -> None:
        for way, key in (("ingress", "SecurityGroupIngress"), ("egress", "SecurityGroupEgress")):
            for rule in properties.get(key) or []:
                # CloudFormation takes no notice of a rule that is there:
                # https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/1532
                with suppress(InvalidPermissionDuplicateError):
                    self._rules.append((way, _add_rule(region, self.physical_resource_id, way, rule)))

    def remove(self, region: Region) -> None:
        ec2, mine = _ec2(region), self.physical_resource_id
        users = [item.id for item in ec2.enis.values() if mine in {used.id for used in item.group_set}]
        users += [
            group.id
            for groups in ec2.groups.values()
            for group in groups.values()
            if group.id != mine
            and any(rule.source_group.get("GroupId") == mine for rule in [*group.ingress_rules, *group.egress_rules])
        ]
        if users:
            raise DependencyViolationError(f"resource {mine} has a dependent object: {', '.join(users)}")
        ec2.delete_security_group(group_id=mine)


class _Rule(Resource):
    """A rule on its own; every change replaces it, but that of its description, which nobody reads here."""

    attribute_names = frozenset({"Id"})
    create_only = frozenset({"CidrIp", "CidrIpv6", "FromPort", "GroupId", "GroupName", "IpProtocol", "ToPort"}).union(
        {"SourceSecurityGroupName", "SourceSecurityGroupOwnerId"}, *OTHER_SIDE.values()
    )
    way = ""

    def __init__(self, rule_id: str, group: str) -> None:
        super().__init__(rule_id, {"Id": rule_id})
        self._group = group

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> _Rule:
        return cls(_add_rule(region, properties["GroupId"], cls.way, properties), properties["GroupId"])

    def update(self, region: Region, properties: Properties) -> None:
        pass

    def remove(self, region: Region) -> None:
        _drop_rule(region, self._group, self.way, self.physical_resource_id)


class SecurityGroupIngress(_Rule):
    """One way in."""

    type_name = "AWS::EC2::SecurityGroupIngress"
    way = "ingress"


class SecurityGroupEgress(_Rule):
    """One way out."""

    type_name = "AWS::EC2::SecurityGroupEgress"
    way = "egress"
