"""Roles of IAM, the instance profiles that hold them, and the policies that are written apart from them."""

from __future__ import annotations

from gpu_constructs.template.model import Reference
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import is_list

__all__ = ["INSTANCE_PROFILE", "ROLE", "roles_with_policies"]

ROLE = "AWS::IAM::Role"
INSTANCE_PROFILE = "AWS::IAM::InstanceProfile"
_POLICIES = ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy")


def roles_with_policies(index: Index) -> frozenset[Reference | None]:
    """The roles for which a policy is written that is a resource of its own; None for one that is not known."""
    roles: set[Reference | None] = set()
    for policy in index.all(*_POLICIES):
        named = policy.properties.get("Roles", [policy.properties.get("RoleName")])
        found = [index.find(each, ROLE) for each in named if each is not None] if is_list(named) else [None]
        roles.update(None if each is None else each.reference for each in found)
    return frozenset(roles)
