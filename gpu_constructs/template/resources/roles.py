"""Roles of IAM, the instance profiles that hold them, and the policies that are written apart from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.template.model import Reference, Resource, Text, Value, end_of
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import is_list

ROLE = "AWS::IAM::Role"
INSTANCE_PROFILE = "AWS::IAM::InstanceProfile"
_ASSUME = "sts:assumerole"
_POLICIES = ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """An action, and what is known of policies of AWS about it, by the ends of their ARNs.

    Attributes:
        action: Such as ``ecs:RegisterContainerInstance``.
        given_by: Policies that allow it.
        not_given_by: Policies that are often seen and do not.
    """

    action: str
    given_by: frozenset[str]
    not_given_by: frozenset[str]


class Roles:
    """What roles allow, and who may assume them."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def of_profile(self, profile: Value) -> Resource | None:
        """The one role of an instance profile; None where these files do not say which."""
        found = self._index.find(profile, INSTANCE_PROFILE)
        roles = found.properties.get("Roles") if found is not None else None
        return self.named(roles[0]) if is_list(roles) and len(roles) == 1 else None

    def named(self, value: Value) -> Resource | None:
        """The role that a property names."""
        return self._index.find(value, ROLE)

    def allow(self, role: Resource, permission: Permission) -> bool | Unknown:
        """Whether a role allows an action on anything; unknown where a policy of it is not known."""
        managed = role.properties.get("ManagedPolicyArns")
        arns = managed if is_list(managed) else (managed,) if managed is not None else ()
        names = {end_of(each).rpartition("/")[2] for each in arns}
        actions = list(_actions(role.properties.get("Policies")))
        wanted = permission.action.lower()
        if names & permission.given_by or any(
            isinstance(each, str) and fnmatchcase(wanted, each.lower()) for each in actions
        ):
            return True
        is_all_known = names <= permission.not_given_by and all(isinstance(each, str) for each in actions)
        return False if is_all_known and self._with_policies.isdisjoint({None, role.reference}) else UNKNOWN

    @cached_property
    def _with_policies(self) -> frozenset[Reference | None]:
        return roles_with_policies(self._index)


def trusts(role: Resource, service: str) -> bool | Unknown:
    """Whether a service, such as ``ec2.amazonaws.com``, may assume a role; unknown where that is not written out."""
    document = role.properties.get("AssumeRolePolicyDocument")
    statements = document.get("Statement") if isinstance(document, Mapping) else None
    allowed: list[bool | Unknown] = []
    denied: list[bool | Unknown] = []
    for each in statements if is_list(statements) else (statements,):
        is_about = _all([_names_service(each, service), _is_to_assume(each)])
        if not isinstance(each, Mapping) or each.get("Effect") != "Deny":
            # A condition is taken to let the service through.
            allowed.append(is_about)
        else:
            denied.append(is_about if each.get("Condition") is None else _all([is_about, UNKNOWN]))
    return False if True in denied else _all([_any(allowed), UNKNOWN if UNKNOWN in denied else True])


def _names_service(statement: Value, service: str) -> bool | Unknown:
    """Whether a statement of a trust policy is about a service."""
    principal = statement.get("Principal") if isinstance(statement, Mapping) else None
    if not isinstance(principal, Mapping):
        return UNKNOWN
    # In China it has the suffix .cn, and CDK writes the region's suffix as a reference.
    services = [
        name.startswith(service) if isinstance(name, str) else UNKNOWN for name in _listed(principal, "Service")
    ]
    # A principal of AWS is an account, a user or a role, and no service unless it is "*".
    others = [False if isinstance(name, (str, Text)) and name != "*" else UNKNOWN for name in _listed(principal, "AWS")]
    return _any([*services, *others])


def _is_to_assume(statement: Value) -> bool | Unknown:
    """Whether a statement of a trust policy is about the action of assuming the role."""
    actions = _listed(statement, "Action") if isinstance(statement, Mapping) else []
    found = [fnmatchcase(_ASSUME, each.lower()) if isinstance(each, str) else UNKNOWN for each in actions]
    return _any(found) if found else UNKNOWN


def _listed(written: Mapping[str, Value], key: str) -> list[Value]:
    value = written.get(key)
    return [*value] if is_list(value) else [] if value is None else [value]


def _any(found: Iterable[bool | Unknown]) -> bool | Unknown:
    known = {*found}
    return True if True in known else UNKNOWN if UNKNOWN in known else False


def _all(found: Iterable[bool | Unknown]) -> bool | Unknown:
    known = {*found}
    return False if False in known else UNKNOWN if UNKNOWN in known else True


def roles_with_policies(index: Index) -> frozenset[Reference | None]:
    """The roles for which a policy is written that is a resource of its own; None for one that is not known."""
    roles: set[Reference | None] = set()
    for policy in index.all(*_POLICIES):
        named = policy.properties.get("Roles", [policy.properties.get("RoleName")])
        roles.update([index.reference(each, ROLE) for each in named if each is not None] if is_list(named) else [None])
    return frozenset(roles)


def _actions(policies: Value) -> Iterator[Value]:
    """What the policies of a role allow; something unknown where that is not known."""
    if policies is None:
        return
    for policy in policies if is_list(policies) else (UNKNOWN,):
        document = policy.get("PolicyDocument") if isinstance(policy, Mapping) else None
        statements = document.get("Statement") if isinstance(document, Mapping) else None
        for each in statements if is_list(statements) else (statements,):
            if not isinstance(each, Mapping) or each.get("NotAction") is not None:
                yield UNKNOWN
            elif each.get("Effect") != "Deny":
                actions = each.get("Action")
                yield from actions if is_list(actions) else (actions,)
