"""Who else may change what these files define: code of somebody, roles that programs have, and other stacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import chain

from gpu_constructs.facts.values import dataclass, grouped
from gpu_constructs.template.model import (
    STATE_MACHINES,
    Reference,
    Resource,
    Stack,
    allowed_in,
    mentioned,
    references_in,
)

CUSTOM = ("Custom::", "AWS::CloudFormation::CustomResource")
"""How the types of custom resources begin, which a function of somebody makes."""
# AWS does what a program, a template or a document of somebody says.
_AS_TOLD = (
    "AWS::CloudFormation::CustomResource",
    "AWS::CloudFormation::StackSet",
    "AWS::CodeBuild::Project",
    "AWS::SSM::Document",
    "AWS::Serverless::Application",
    "AWS::ServiceCatalog::CloudFormationProvisionedProduct",
)
_OF_AWS = ("AWS::", "Terraform::")  # or of the reader of plans, which has no other word for what AWS makes
_COMMENT = r"(?m)^[ \t]*(?:#[ \t#]|//).*$"  # a whole line of Python or JavaScript, not #private()
_ANY_API = ":aws-sdk:"  # in a state that calls an API by its name
_ROLE = "AWS::IAM::Role"
_POLICIES = ("AWS::IAM::ManagedPolicy", "AWS::IAM::Policy", "AWS::IAM::RolePolicy", _ROLE)
_FUNCTIONS = ("AWS::Lambda::Function", "AWS::Serverless::Function")
# https://docs.aws.amazon.com/aws-managed-policy/latest/reference/policy-list.html
_FULL_ACCESS: Mapping[str, Sequence[str]] = {
    "AdministratorAccess": ("*",),
    "AmazonEC2FullAccess": ("autoscaling:*", "ec2:*"),
    "AmazonElasticFileSystemFullAccess": ("elasticfilesystem:*",),
    "AutoScalingFullAccess": ("autoscaling:*",),
    "PowerUserAccess": ("*",),
}


@dataclass(frozen=True, eq=False)
class Others:
    """What code and other stacks can reach of these resources, and which calls they may make."""

    _resources: Iterable[Resource]
    _stacks: Sequence[Stack]
    _all: Callable[..., Iterable[Resource]]
    _at: Callable[[Reference], Resource | None]
    _calls: dict[tuple[str, ...], set[Reference | None]] = field(default_factory=dict)

    @cached_property
    def exposed(self) -> frozenset[Reference]:
        """What code or other stacks can reach."""
        return self.exposed_to_code | self.exposed_to_stacks

    @cached_property
    def exposed_to_code(self) -> frozenset[Reference]:
        """What code of somebody can reach, be it by an alias, a function or its role."""
        return frozenset(one for each in self._code for one in references_in(each.properties))

    @cached_property
    def exposed_to_stacks(self) -> frozenset[Reference]:
        """What outputs and parameters give to stacks and scripts that these files do not show."""
        stored = (
            one for each in self._all("AWS::SSM::Parameter") for one in references_in(each.properties.get("Value"))
        )
        return frozenset(chain(stored, (one for each in self._stacks for one in each.exposed())))

    def may_call(self, *operations: str, on: Reference | None = None) -> bool:
        """Whether code of somebody, or a role of these files, may call one of some operations, as policies name them.

        What a policy allows for other resources than `on` does not count: CDK allows a role of its own to change the
        default security group of each VPC, with ``@aws-cdk/aws-ec2:restrictDefaultSecurityGroup``.
        """
        if operations not in self._calls:  # as each group of hosts is asked about the same
            wanted = [each.lower() for each in operations]
            found = {of for action, of in self._allowed if any(fnmatchcase(each, action) for each in wanted)}
            self._calls[operations] = found | ({None} if names_one_of(operations, self._texts) else set())
        of_some = self._calls[operations]
        return None in of_some or (bool(of_some) if on is None else on in of_some)

    @cached_property
    def _allowed(self) -> frozenset[tuple[str, Reference | None]]:
        """The actions that policies allow, in small letters, each with its resource; an unknown one is any."""
        some = [*self._all(*_POLICIES, "AWS::Serverless::Function")]
        named = (line.rpartition("/")[2] for each in some for line in mentioned(each)[0].splitlines())
        of_aws = ((action, None) for each in named for action in _FULL_ACCESS.get(each, ()))
        allowed = chain.from_iterable(map(allowed_in, some))
        return frozenset((each.lower() if isinstance(each, str) else "*", of) for each, of in (*of_aws, *allowed))

    @cached_property
    def _texts(self) -> str:
        """What whoever may call an API says, without comments."""
        rules = self._all("AWS::Events::Rule", "AWS::Scheduler::Schedule", *_FUNCTIONS, *STATE_MACHINES)
        callers = {each.reference: each for each in (*self._code, *rules) if each.type not in _POLICIES}
        return "\n".join(re.sub(_COMMENT, "", mentioned(each)[0]) for each in callers.values())

    @cached_property
    def _code(self) -> Sequence[Resource]:
        """Custom resources, types and modules of somebody, what calls any API, and what they are handed it by."""
        policies = grouped(
            (one, each) for each in self._all("AWS::IAM::Policy") for one in references_in(each.properties.get("Roles"))
        )
        found: dict[Reference, None] = {}
        waiting = [each for each in self._resources if _is_of_somebody(each)]
        for each in waiting:
            new = dict.fromkeys(one for one in references_in(each.properties) if one not in found)
            found.update(new)
            for one in filter(None, map(self._at, new)):
                waiting += [one] if one.type in {"AWS::KMS::Alias", "AWS::Lambda::Function", _ROLE} else []
                waiting += policies.get(one.reference, ()) if one.type == _ROLE else ()
        return waiting


def _is_of_somebody(resource: Resource) -> bool:
    """Whether its author says what it does to which resources, and not AWS.

    https://docs.aws.amazon.com/step-functions/latest/dg/supported-services-awssdk.html
    """
    if resource.type in STATE_MACHINES:
        return _ANY_API in mentioned(resource)[0]
    return not resource.type.startswith(_OF_AWS) or resource.type in _AS_TOLD


def names_one_of(operations: Iterable[str], text: str) -> bool:
    """Whether a text names one of some operations of APIs, in the spelling of a program or a command."""
    plain = text.lower().replace("-", "").replace("_", "")
    return any(each.lower().rpartition(":")[2] in plain for each in operations)
