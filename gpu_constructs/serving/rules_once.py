"""Rules of security groups that several services would write, written once.

In network mode ``bridge`` and ``host`` CDK imports the groups of the hosts once for each service of another stack, and
writes the rules of that service beside its import (aws-cdk-lib 2.275, ``securityGroupsInThisStack``). EC2 refuses the
second of two rules that are alike (InvalidPermission.Duplicate of
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, cast
from weakref import WeakKeyDictionary

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import IConstruct

from gpu_constructs.hosts.cluster_hosts import ClusterHosts

_Rule: TypeAlias = ec2.CfnSecurityGroupIngress | ec2.CfnSecurityGroupEgress

_FIRST_IMPORT = "SecurityGroup1"
"""The id under which CDK imports the first group of a cluster."""


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
        """Leaves one of several rules that are alike."""
        alike = _alike(construct for group in self._groups for construct in group.node.children)
        stacks = {cdk.Stack.of(rule) for rules in alike for rule in rules}
        if stacks:
            # The rule for the other direction may be beside the group of a load balancer.
            ordered = (stack for stack in self._stacks if stack in stacks)
            _leave_one_each(_alike(construct for stack in ordered for construct in stack.node.find_all()))


_RULES: WeakKeyDictionary[IConstruct, _RulesOnce] = WeakKeyDictionary()


def write_rules_once(service: ecs.Ec2Service, scope: IConstruct, hosts: ClusterHosts) -> None:
    """Has rules that several services of a stage would write written once.

    Args:
        service: One of them.
        scope: Where it is defined.
        hosts: Those of its cluster.
    """
    if hosts.share_stack_with(scope) or service.node.try_find_child(_FIRST_IMPORT) is None:
        return
    write_rules_once_in(service, (*hosts.cluster.connections.security_groups, *service.connections.security_groups))


def write_rules_once_in(service: ecs.Ec2Service, groups: Sequence[ec2.ISecurityGroup]) -> None:
    """Has the rules of some groups written once, which a service shares with others or may share.

    Args:
        service: The service.
        groups: Its groups as its stack sees them, and as others do.
    """
    stage = cdk.Stage.of(service)
    if stage is not None:
        _RULES.setdefault(stage, _RulesOnce()).add(service, groups)


def _alike(constructs: Iterable[IConstruct]) -> list[Sequence[_Rule]]:
    """Rules that EC2 takes for the same, in their order."""
    found: dict[tuple[object, ...], list[_Rule]] = {}
    for each in constructs:
        if isinstance(each, (ec2.CfnSecurityGroupIngress, ec2.CfnSecurityGroupEgress)):
            address = each.cidr_ip, each.cidr_ipv6, each.ip_protocol, each.from_port, each.to_port
            found.setdefault((type(each), *_sides(each), *address), []).append(each)
    return [each for each in found.values() if len(each) > 1]


def _sides(rule: _Rule) -> tuple[object, ...]:
    """The group of a rule, and the group or the prefix list on its other side."""
    if isinstance(rule, ec2.CfnSecurityGroupIngress):
        return rule.group_id, rule.source_security_group_id, rule.source_prefix_list_id
    return rule.group_id, rule.destination_security_group_id, rule.destination_prefix_list_id


def _leave_one_each(alike: Sequence[Sequence[_Rule]]) -> None:
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
                scope = each.node.scope
                assert scope is not None  # noqa: S101 - a resource is in a stack
                scope.node.try_remove_child(each.node.id)


def _stack_of(group: object) -> cdk.Stack | None:
    """The stack of a group that this app defines."""
    token = cdk.Tokenization.reverse_string(group).first_token if isinstance(group, str) else None
    return cdk.Stack.of(token.target) if isinstance(token, cdk.Reference) else None


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
        stack.add_stack_dependency(other, "a rule of a security group that services of both need is written there")
