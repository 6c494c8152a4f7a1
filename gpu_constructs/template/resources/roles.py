"""Roles of IAM, the instance profiles that hold them, and the policies that are written apart from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import chain

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.template.model import Reference, Resource, Text, Value, end_of
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import is_list

ROLE = "AWS::IAM::Role"
INSTANCE_PROFILE = "AWS::IAM::InstanceProfile"


# What policies of AWS allow of what rules ask for, by the ends of their ARNs; any other policy may allow anything.
# https://docs.aws.amazon.com/aws-managed-policy/latest/reference/policy-list.html
_OF_AWS: Mapping[str, Sequence[str]] = {
    "AmazonEC2ContainerRegistryPullOnly": ("ecr:*",),
    "AmazonEC2ContainerRegistryReadOnly": ("ecr:*",),
    "AmazonEC2ContainerServiceforEC2Role": (
        "ecr:*",
        "ecs:DiscoverPollEndpoint",
        "ecs:Poll",
        "ecs:RegisterContainerInstance",
        "logs:*",
    ),
    # It lets ECS pass roles whose names begin with ecsInstanceRole, and none other.
    "AmazonECSInfrastructureRolePolicyForManagedInstances": ("ec2:*", "ecs:*"),
    "AmazonECSInfrastructureRolePolicyForVolumes": ("ec2:CreateVolume",),
    "AmazonECSTaskExecutionRolePolicy": ("ecr:*", "logs:CreateLogStream"),
    "AmazonS3FullAccess": (),
    "AmazonS3ReadOnlyAccess": (),
    "AmazonSSMManagedInstanceCore": ("ssm:*",),
    "CloudWatchAgentServerPolicy": ("logs:*", "ssm:*"),
    "CloudWatchLogsFullAccess": ("logs:*",),
}


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

    def has_a_name_of_its_own(self, role: Resource) -> bool:
        """Whether CloudFormation makes the name of a role, and no instance profile of the files may be given it."""
        given = any("InstanceProfileName" in each.properties for each in self._index.all(INSTANCE_PROFILE))
        return role.properties.get("RoleName") is None and not given

    def refusal(self, role: Resource, service: str, needed: Iterable[str], policy: str) -> tuple[str, str] | None:
        """What keeps a service from acting with a role, and what to change; None where it may do all that is needed.

        A trust policy that is written out decides who may assume the role.
        """
        if is_closed(role.properties.get("AssumeRolePolicyDocument"), "sts:assumerole", service):
            fix = f"Principal: {{Service: {service}}} in the AssumeRolePolicyDocument of the role"
            return f"does not trust {service}, which may not assume it", fix
        lacking = next((each for each in needed if self.lacks(role, each)), None)
        denied = ", and no statement that denies it" if lacking and _denies(role, lacking.lower()) else ""
        return None if lacking is None else (f"does not allow {lacking}", f"{policy}{denied}")

    def lacks(self, role: Resource, action: str) -> bool:
        """Whether a role certainly may not do something: a policy denies it, or all are known and none allows it."""
        wanted, named = action.lower(), _listed(role.properties, "ManagedPolicyArns")
        of_aws = (_OF_AWS.get(end_of(each).rpartition("/")[2], (UNKNOWN,)) for each in named)
        allowed = chain(_actions(role.properties.get("Policies")), *of_aws)
        is_unknown = not self._with_policies.isdisjoint({None, role.reference})
        may_do = is_unknown or any(not isinstance(each, str) or fnmatchcase(wanted, each.lower()) for each in allowed)
        return not may_do or _denies(role, wanted)

    def are_left_out(self, policy: Value) -> bool:
        """Whether the policy of a key certainly names no role of AWS: its account and roles of these files alone."""
        principals = [each.get("Principal") if isinstance(each, Mapping) else None for each in _statements(policy)]
        return policy is None or all(
            isinstance(each, Mapping)
            and all(end_of(one).endswith(":root") or self.named(one) for one in _listed(each, "AWS"))
            for each in principals
        )

    @cached_property
    def _with_policies(self) -> frozenset[Reference | None]:
        """The roles that a policy or somebody else may give more to; None for one that is not known."""
        roles: set[Reference | None] = {*self._index.others.exposed}
        for policy in self._index.all("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy"):
            named = policy.properties.get("Roles", [policy.properties.get("RoleName")])
            names = [each for each in named if each is not None] if is_list(named) else [UNKNOWN]
            roles.update(self._index.reference(each, ROLE) for each in names)
        return frozenset(roles)


def is_closed(policy: Value, action: str, service: str) -> bool:
    """Whether a policy is written out, and lets a service not do something; ``*`` is nobody with a role or a user."""
    return all(_is_for_others(each, action.lower(), service) for each in _statements(policy))


def _statements(document: Value) -> Sequence[Value]:
    """The statements of a policy, one of which may stand alone; something unknown where that is not known."""
    found = document.get("Statement") if isinstance(document, Mapping) else None
    return found if is_list(found) else (found,)


def _is_for_others(statement: Value, action: str, service: str) -> bool:
    """Whether a statement certainly allows an action to nobody, or to others only; a condition is taken to be met."""
    if not isinstance(statement, Mapping):
        return False
    actions, principal = _listed(statement, "Action"), statement.get("Principal")
    named = [not isinstance(each, str) or fnmatchcase(action, each.lower()) for each in actions]
    if statement.get("Effect") == "Deny" or (named and not any(named)):
        return True
    # In China a service has the suffix .cn, and CDK writes the region's suffix as a reference. A principal of AWS is an
    # account, a user or a role, and no service unless it is "*".
    return (
        isinstance(principal, Mapping)
        and all(isinstance(each, str) and not each.startswith(service) for each in _listed(principal, "Service"))
        and all(map(_is_somebody, _listed(principal, "AWS")))
    )


def _denies(role: Resource, action: str) -> bool:
    """Whether a statement in a role certainly denies an action on everything, whatever else allows it."""
    policies = _listed(role.properties, "Policies")
    documents = [each.get("PolicyDocument") for each in policies if isinstance(each, Mapping)]
    return any(
        isinstance(each, Mapping)
        and each.get("Effect") == "Deny"
        and "Condition" not in each
        and "*" in _listed(each, "Resource")
        and any(isinstance(one, str) and fnmatchcase(action, one.lower()) for one in _listed(each, "Action"))
        for each in chain.from_iterable(map(_statements, documents))
    )


def _is_somebody(principal: Value) -> bool:
    if isinstance(principal, Reference):
        return principal.attribute is not None
    return isinstance(principal, (str, Text)) and principal != "*"


def _listed(written: Mapping[str, Value], key: str) -> Sequence[Value]:
    value = written.get(key)
    return value if is_list(value) else () if value is None else (value,)


def _actions(policies: Value) -> Iterator[Value]:
    """What the policies of a role allow; something unknown where that is not known."""
    if policies is None:
        return
    for policy in policies if is_list(policies) else (UNKNOWN,):
        for each in _statements(policy.get("PolicyDocument") if isinstance(policy, Mapping) else None):
            if not isinstance(each, Mapping) or each.get("NotAction") is not None:
                yield UNKNOWN
            elif each.get("Effect") != "Deny":
                actions = each.get("Action")
                yield from actions if is_list(actions) else (actions,)
