"""Rules of security groups: what several services need is written once.

In network mode ``bridge`` and ``host`` CDK imports the groups of the hosts once for each service of another stack, and
writes the rules of that service beside its import (aws-cdk-lib 2.275, ``securityGroupsInThisStack``). EC2 refuses the
second of two rules that are alike (InvalidPermission.Duplicate of
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html).

CloudFormation creates what is new before it deletes what goes, so a rule must not get another logical id because the
service beside which CDK wrote it is renamed, removed or no longer the first. The rule for ports that Docker chooses is
the same whatever the services are, so its id is made of its two sides. It is two rules, each with
a part of the ports, so that EC2 does not refuse it as the same as a rule of CDK that is still there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, cast
from weakref import WeakKeyDictionary

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import IConstruct

from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.facts.aws_limits import DYNAMIC_PORTS, USUAL_DYNAMIC_PORTS

_Rule: TypeAlias = ec2.CfnSecurityGroupIngress | ec2.CfnSecurityGroupEgress
_Homes: TypeAlias = Mapping[str | None, cdk.Stack]
"""Where the groups are defined that a rule names by their ids."""

_FIRST_IMPORT = "SecurityGroup1"
"""The id under which CDK imports the first group of a cluster."""

_DYNAMIC = ("tcp", *DYNAMIC_PORTS)
_PARTS = (USUAL_DYNAMIC_PORTS, (USUAL_DYNAMIC_PORTS[1] + 1, DYNAMIC_PORTS[1]))


_SIDES: Mapping[type[_Rule], Sequence[str]] = {
    kind: ("group_id", f"{other}_security_group_id", f"{other}_prefix_list_id", "cidr_ip", "cidr_ipv6")
    for kind, other in ((ec2.CfnSecurityGroupIngress, "source"), (ec2.CfnSecurityGroupEgress, "destination"))
}
"""The properties that say whom a rule is between, by its direction."""


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

    def visit(self, node: IConstruct) -> None:  # noqa: ARG002 - as in CDK
        """Leaves one of several rules that are alike, with an id of its own for the ports that Docker chooses."""
        homes: _Homes = {each.security_group_id: cdk.Stack.of(each) for each in reversed(self._groups)}
        alike = _alike((construct for group in self._groups for construct in group.node.children), homes)
        stacks = {cdk.Stack.of(rule) for rules in alike for rule in rules}
        if stacks:
            # The rule for the other direction may be beside the group of a load balancer.
            ordered = (stack for stack in self._stacks if stack in stacks)
            for kept in _leave_one_each(_alike((one for stack in ordered for one in stack.node.find_all()), homes)):
                if _names_a_service(kept, homes):
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


def _alike(constructs: Iterable[IConstruct], homes: _Homes) -> list[Sequence[_Rule]]:
    """Rules that EC2 takes for the same, in their order; of one alone that which names its service."""
    found: dict[tuple[object, ...], list[_Rule]] = {}
    for each in constructs:
        if isinstance(each, (ec2.CfnSecurityGroupIngress, ec2.CfnSecurityGroupEgress)):
            found.setdefault((type(each), *_sides(each), each.ip_protocol, each.from_port, each.to_port), []).append(
                each
            )
    return [each for each in found.values() if len(each) > 1 or _names_a_service(each[0], homes)]


def _sides(rule: _Rule) -> tuple[str | None, ...]:
    """The group of a rule, and the group, the prefix list or the addresses on its other side."""
    return tuple(getattr(rule, each) for each in _SIDES[type(rule)])


def _names_a_service(rule: _Rule, homes: _Homes) -> bool:
    """Whether a rule for the ports that Docker chooses has the id of a service in its own: outside the hosts' stack."""
    home = next((homes[each] for each in _sides(rule) if each in homes), None)
    return home not in {None, cdk.Stack.of(rule)} and (rule.ip_protocol, rule.from_port, rule.to_port) == _DYNAMIC


def _write_by_sides(rule: _Rule) -> None:
    """Writes a rule in parts, with ids that say nothing but its sides, its direction and its ports."""
    stack = cdk.Stack.of(rule)
    kind = type(rule)
    sides = " ".join(_called(each, stack) for each in _sides(rule) if each is not None).replace("/", " ")
    same = {each: getattr(rule, each) for each in (*_SIDES[kind], "ip_protocol", "description")}
    for first, last in _PARTS:
        name = "Ingress" if kind is ec2.CfnSecurityGroupIngress else "Egress"
        kind(stack, f"{name} {sides} {first}", from_port=first, to_port=last, **same)
    _remove(rule)


def _called(side: str, stack: cdk.Stack) -> str:
    """What a side of a rule is called in an app, whichever stack sees it."""
    reference = _reference(side)
    return str(stack.resolve(side)) if reference is None else reference.target.node.path


def _remove(rule: _Rule) -> None:
    scope = rule.node.scope
    assert scope is not None  # noqa: S101 - a resource is in a stack
    scope.node.try_remove_child(rule.node.id)


def _leave_one_each(alike: Sequence[Sequence[_Rule]]) -> Iterator[_Rule]:
    """Leaves one of each, in the stack of a group, on which the others depend anyway, or else in the first stack.

    So a service that is added later changes no stack that is deployed already.
    """
    stacks = {id(rule): cdk.Stack.of(rule) for rules in alike for rule in rules}
    homes = [{_stack_of(each) for each in _sides(rules[0])} for rules in alike]
    at_home = [[each for each in rules if stacks[id(each)] in home] for rules, home in zip(alike, homes, strict=True)]
    for chosen, rules in sorted(zip(at_home, alike, strict=True), key=lambda each: not each[0]):
        candidates = chosen or rules
        others = {stacks[id(each)] for each in rules}
        free = (each for each in candidates if others.isdisjoint(_all_before(stacks[id(each)])))
        kept = next(free, candidates[0])
        for each in rules:
            if each is not kept:
                _come_after(stacks[id(each)], stacks[id(kept)])
                _remove(each)
        yield kept


def _stack_of(group: object) -> cdk.Stack | None:
    """The stack of a group that this app defines."""
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
