"""Rules of security groups: what several services need is written once.

In network mode ``bridge`` and ``host`` CDK imports the groups of the hosts once for each service of another stack, and
writes the rules of that service beside its import, or beside the other side with the id of the import in its own
(aws-cdk-lib 2.275, ``securityGroupsInThisStack``). EC2 refuses the second of two rules that are alike
(InvalidPermission.Duplicate of https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html).

CloudFormation creates what is new before it deletes what goes, so a rule must not get another logical id because the
service whose id CDK gave it is renamed, removed or no longer the first. It is the same whatever the services are, so
its id is made of its two sides. The rule for ports that Docker chooses is two, each with a part of the ports, so that
EC2 does not refuse it as the same as a rule of CDK that is still there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast
from weakref import WeakKeyDictionary

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import IConstruct

from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.facts.aws_limits import DYNAMIC_PORTS, USUAL_DYNAMIC_PORTS
from gpu_constructs.facts.values import grouped

_Rule: TypeAlias = ec2.CfnSecurityGroupIngress | ec2.CfnSecurityGroupEgress

_FIRST_IMPORT = "SecurityGroup1"
"""The id under which CDK imports the first group of a cluster."""

_DYNAMIC = ("tcp", *DYNAMIC_PORTS)
_PARTS = (USUAL_DYNAMIC_PORTS, (USUAL_DYNAMIC_PORTS[1] + 1, DYNAMIC_PORTS[1]))


_SIDES: Mapping[type[_Rule], Sequence[str]] = {
    kind: ("group_id", f"{other}_security_group_id", f"{other}_prefix_list_id", "cidr_ip", "cidr_ipv6")
    for kind, other in ((ec2.CfnSecurityGroupIngress, "source"), (ec2.CfnSecurityGroupEgress, "destination"))
}
"""The properties that say whom a rule is between, by its direction."""


class _Written(NamedTuple):
    """A rule that CDK has written about the group of hosts or a service.

    Attributes:
        sides: Its group, and the group, the prefix list or the addresses on its other side.
        ports: Protocol, first port and last port.
        names_a_service: Whether it has the id of a service in its own.
    """

    rule: _Rule
    stack: cdk.Stack
    sides: tuple[str | None, ...]
    ports: tuple[str, float | None, float | None]
    names_a_service: bool


@jsii.implements(cdk.IAspect)
class _RulesOnce:
    """What CDK asks at synth, when all services of a stage are defined."""

    def __init__(self) -> None:
        self._groups: dict[ec2.ISecurityGroup, None] = {}
        self._stacks: dict[cdk.Stack, None] = {}

    def add(self, service: ecs.Ec2Service, groups: Sequence[ec2.ISecurityGroup]) -> None:
        """Adds a service, and the groups whose rules it may write."""
        if not self._groups:
            cdk.Aspects.of(service.node.find_child("Service")).add(cast("cdk.IAspect", self))
        self._groups |= dict.fromkeys(groups)
        self._stacks |= dict.fromkeys(map(cdk.Stack.of, (*groups, service)))

    def visit(self, node: IConstruct) -> None:
        """Leaves one of several rules that are alike, with an id that names no service."""
        stage = cdk.Stage.of(node)
        found = [] if stage is None else [*_written(stage.node.find_all(), self._groups)]
        order = {stack: place for place, stack in enumerate(self._stacks)}
        in_order = sorted(found, key=lambda one: order.get(one.stack, len(order)))
        alike = grouped(((type(each.rule), each.sides, each.ports), each) for each in in_order)
        several = [each for each in alike.values() if len(each) > 1 or each[0].names_a_service]
        for kept in _leave_one_each(several):
            if kept.names_a_service:
                _write_by_sides(kept)


_RULES: WeakKeyDictionary[IConstruct, _RulesOnce] = WeakKeyDictionary()


def write_rules_once(service: ecs.Ec2Service, scope: IConstruct, hosts: ClusterHosts) -> None:
    """Has rules written once that several services of a stage would write, of which this is one."""
    if hosts.share_stack_with(scope) or service.node.try_find_child(_FIRST_IMPORT) is None:
        return
    stage = cdk.Stage.of(service)
    if stage is not None:
        groups = (*hosts.cluster.connections.security_groups, *service.connections.security_groups)
        _RULES.setdefault(stage, _RulesOnce()).add(service, groups)


def _written(constructs: Iterable[IConstruct], groups: Iterable[ec2.ISecurityGroup]) -> Iterator[_Written]:
    """The rules about some groups; outside the stack of a group, CDK gives them the id of what imports it."""
    homes = {each.security_group_id: cdk.Stack.of(each) for each in reversed([*groups])}
    imports = [each for each in groups if cdk.Stack.of(each) != homes[each.security_group_id]]
    scopes, ids = {each.node.path for each in imports}, [each.unique_id for each in imports]
    for rule in constructs:
        if not isinstance(rule, (ec2.CfnSecurityGroupIngress, ec2.CfnSecurityGroupEgress)):
            continue
        sides = tuple(getattr(rule, each) for each in _SIDES[type(rule)])
        home = next((homes[each] for each in sides if each in homes), None)
        if home is not None:
            stack, ports = cdk.Stack.of(rule), (rule.ip_protocol, rule.from_port, rule.to_port)
            scope, _, name = rule.node.path.rpartition("/")
            is_of_import = ports == _DYNAMIC or scope in scopes or any(each in name for each in ids)
            yield _Written(rule, stack, sides, ports, names_a_service=stack != home and is_of_import)


def _write_by_sides(written: _Written) -> None:
    """Writes a rule, or its parts, with ids that say nothing but its sides, its direction and its ports."""
    rule, stack, sides, ports, _ = written
    kind, protocol = type(rule), ports[0]
    name = "Ingress" if kind is ec2.CfnSecurityGroupIngress else "Egress"
    called = " ".join(_called(each, stack) for each in sides if each is not None).replace("/", " ")
    between: dict[str, Any] = dict(zip(_SIDES[kind], sides, strict=True))
    for first, last in _PARTS if ports == _DYNAMIC else (ports[1:],):
        kind(
            stack,
            f"{name} {called} {first}" if protocol == "tcp" else f"{name} {called} {protocol} {first}",
            **between,
            ip_protocol=protocol,
            from_port=first,
            to_port=last,
            description=rule.description if ports == _DYNAMIC else None,  # of others it may name the service
        )
    _remove(rule)


def _called(side: str, stack: cdk.Stack) -> str:
    reference = _reference(side)
    return str(stack.resolve(side)) if reference is None else reference.target.node.path


def _remove(rule: _Rule) -> None:
    scope = rule.node.scope
    assert scope is not None  # noqa: S101 - a resource is in a stack
    scope.node.try_remove_child(rule.node.id)


def _leave_one_each(alike: Sequence[Sequence[_Written]]) -> Iterator[_Written]:
    """Leaves one of each, in the stack of a group, on which the others depend anyway, or else in the first stack.

    So a service that is added later changes no stack that is deployed already; for that, one that names none is left.
    """
    homes = [{_stack_of(each) for each in rules[0].sides} for rules in alike]
    at_home = [[each for each in rules if each.stack in home] for rules, home in zip(alike, homes, strict=True)]
    for chosen, rules in sorted(zip(at_home, alike, strict=True), key=lambda each: not each[0]):
        candidates = chosen or rules
        others = {each.stack for each in rules}
        free = [each for each in candidates if others.isdisjoint(_all_before(each.stack))]
        kept = min(free or candidates[:1], key=lambda each: each.names_a_service)
        for each in rules:
            if each is not kept:
                _come_after(each.stack, kept.stack)
                _remove(each.rule)
        yield kept


def _stack_of(group: object) -> cdk.Stack | None:
    reference = _reference(group)
    return None if reference is None else cdk.Stack.of(reference.target)


def _reference(value: object) -> cdk.Reference | None:
    token = cdk.Tokenization.reverse_string(value).first_token if isinstance(value, str) else None
    return token if isinstance(token, cdk.Reference) else None


def _all_before(stack: cdk.Stack) -> set[cdk.Stack]:
    """The stacks that a stack is known to depend on."""
    found: set[cdk.Stack] = set()
    left = [stack]
    while left:
        new = set(left.pop().dependencies) - found
        found |= new
        left += new
    return found


def _come_after(stack: cdk.Stack, other: cdk.Stack) -> None:
    """Deploys a stack after another, but for a nested one, which is deployed in the course of the stack around it."""
    around: cdk.Stack | None = stack
    while around is not None and around != other:
        around = around.nested_stack_parent
    if around is None:
        # As it is called before aws-cdk-lib 2.262, and deprecated since.
        depend = stack.add_stack_dependency if hasattr(stack, "add_stack_dependency") else stack.add_dependency
        depend(other, "a rule of a security group that services of both need is written there")
