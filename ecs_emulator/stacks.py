"""The resources of one stack: made, changed and deleted in the order that CloudFormation uses.

moto 5.2.5 skips the types it does not know, changes only what differs in the template's text (not what refers to
something that was changed), forgets resources it cannot update and deletes in any order until it works. Here unknown
types are named before a deploy begins, a change follows references, a replacement is made before what it replaces is
deleted, and deletes run once, in reverse order of dependency: a stack that needs luck to be deleted fails.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from moto.cloudformation import models, parsing
from moto.cloudformation.parsing import ResourceMap
from moto.core.common_models import CloudFormationModel
from moto.ec2.models import ec2_backends
from moto.ec2.models.core import TaggedEC2Resource

from .deletion import can_delete, delete
from .references import changed, entries, ordered
from .resource import AlreadyExistsError, HalfMadeError, Region, Resource, registered

__all__ = ["Happening", "ResourceFailedError", "StackFailedError", "StackResources", "install", "is_known"]

log = logging.getLogger(__name__)

UPDATED_BY_MOTO = frozenset(
    {
        "AWS::EC2::LaunchTemplate",
        "AWS::IAM::ManagedPolicy",
        "AWS::IAM::Policy",
        "AWS::IAM::Role",
        "AWS::SSM::Parameter",
    }
)
"""moto's own types that it updates in place; it replaces any other, or loses it."""

NAMED_WITHIN = frozenset(
    {
        "AWS::AutoScaling::LifecycleHook",
        "AWS::Batch::JobDefinition",
        "AWS::EC2::SecurityGroup",
        "AWS::ECS::Service",
        "AWS::Logs::MetricFilter",
        "AWS::Route53::HostedZone",
        "AWS::Route53::RecordSet",
        "AWS::Scheduler::Schedule",
        "AWS::ServiceDiscovery::Service",
    }
)
"""Types whose names are unique in something smaller than a region, or not at all."""

_USERS = {"AWS::ECS::ClusterCapacityProviderAssociations": 1, "AWS::ECS::Service": 2}
"""Types that hold up the deletion of capacity providers, those deleted first with the highest number."""

Template = dict[str, Any]


@dataclass(frozen=True)
class Happening:
    """What happened to one resource.

    Args:
        logical_id: Its name in the template.
        kind: Its type.
        status: Such as ``CREATE_COMPLETE``.
        physical_id: What it is called in the account.
        reason: Why, where it failed.
    """

    logical_id: str
    kind: str
    status: str
    physical_id: str = ""
    reason: str | None = None


class StackFailedError(Exception):
    """CloudFormation could not do what the template asks; the text says why."""


class ResourceFailedError(StackFailedError):
    """It could not do it for one resource, which the text names."""

    def __init__(self, what: Happening) -> None:
        super().__init__(f"{what.logical_id} ({what.kind}): {what.reason}")


class StackResources(ResourceMap):
    """The resources of one stack, by logical id."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tell: Callable[[Happening], object] = lambda _: None
        self._definitions: Template = {}
        """What each existing resource was made from, functions resolved."""
        self._replaced: dict[str, list[tuple[Any, Template]]] = {}
        """What updates put something else in the place of, and have yet to delete."""
        self._just_replaced: list[str] = []
        """Where the last update did."""
        self._half_made: list[tuple[str, Resource, Template]] = []
        """What failed to be created, until the next operation deletes it.

        https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stack-failure-options.html
        """
        self._half_updated: set[str] = set()
        """What an update failed to change, so that nobody knows what it is like."""
        self._in_order: tuple[Template, list[str]] = {}, []
        """All resources of a template, each after those it needs."""
        self._order_before: list[str] = []
        """The resources of the template before, each after those it needs."""
        self.left_behind: list[str] = []
        """What the last update could not delete, and why."""

    def types(self) -> dict[str, str]:
        """The types of the resources whose condition holds, by logical id."""
        return {logical_id: self._resource_json_map[logical_id]["Type"] for logical_id in self._wanted()}

    def unknown(self) -> dict[str, list[str]]:
        """The types of the template that nobody here can make and delete, with the resources that are of them."""
        found: dict[str, list[str]] = {}
        for logical_id, kind in sorted(self.types().items()):
            if not is_known(kind):
                found.setdefault(kind, []).append(logical_id)
        return found

    def imports(self) -> set[str]:
        """The names of the exports that the existing resources and the outputs use."""
        parts = [self._resource_json_map.get(logical_id) for logical_id in self._definitions]
        found = entries([*parts, self._template.get("Outputs") if parts else None])
        return {str(parsing.clean_json(name, self)) for key, name in found if key == "Fn::ImportValue"}

    def export_names(self) -> set[str]:
        """What the outputs whose condition holds export; their values may be there later."""
        outputs = (self._template.get("Outputs") or {}).values()
        held = [each for each in outputs if self.lazy_condition_map.get(each.get("Condition"), True)]
        return {str(parsing.clean_json(each["Export"]["Name"], self)) for each in held if "Export" in each}

    def create(self, template: Template) -> bool:
        self._template, self._resource_json_map = template, template["Resources"]
        for logical_id in self._wanted():
            self._make(logical_id)
        return True

    def switch(self, template: Template, parameters: dict[str, Any]) -> None:
        """Begin an update, which `update` and `clean_up` carry out."""
        self._order_before, self._just_replaced = self._wanted(), []
        self._template, self._resource_json_map = template, template["Resources"]
        self.input_parameters, self.resolved_parameters = parameters, {}
        self.load_mapping()
        self.load_parameters()
        self.load_conditions()

    def update(self, *_: Any) -> None:
        """Make what is missing and change what differs."""
        self._delete_half_made()
        before = dict(self._definitions)
        for logical_id in self._wanted():
            if logical_id not in before:
                self._make(logical_id)
            elif not self._change(logical_id, before[logical_id]):
                self._replace(logical_id, before[logical_id])

    def take_back(self) -> None:
        """Put what an update has replaced back into its place; what replaced it is deleted at the end."""
        for logical_id in self._just_replaced:
            old, before = self._replaced[logical_id].pop()
            self._replaced[logical_id].append((self._parsed_resources[logical_id], self._definitions[logical_id]))
            self._parsed_resources[logical_id], self._definitions[logical_id] = old, before

    def clean_up(self) -> None:
        """Delete what the update has no use for."""
        wanted = self._wanted()
        self.left_behind.clear()
        for logical_id in reversed(self._order_before):
            self._clean_up(logical_id, is_wanted=logical_id in wanted)

    def _clean_up(self, logical_id: str, *, is_wanted: bool) -> None:
        """Delete what an update has no use for; what cannot be deleted is skipped and belongs to no stack any more.

        https://repost.aws/knowledge-center/cloudformation-stack-cleanup-stuck
        """
        try:
            self._delete_replaced(logical_id)
            if not is_wanted:
                self._delete(logical_id)
        except ResourceFailedError as failure:
            self.left_behind.append(str(failure))
            self._replaced.pop(logical_id, None)
            if not is_wanted:
                self._parsed_resources.pop(logical_id, None)
                self._definitions.pop(logical_id, None)

    def delete(self) -> None:
        self._delete_half_made()
        order = self._wanted()
        if not self._definitions.keys() <= set(order):
            # A rollback failed: what both templates have made is there, and what it holds up goes first.
            order = list(dict.fromkeys([*self._order_before, *order, *self._definitions]))
            order.sort(key=lambda each: _USERS.get(self._definitions.get(each, {}).get("Type", ""), 0))
        for logical_id in reversed(order):
            self._delete(logical_id)
            self._delete_replaced(logical_id)

    def _make(self, logical_id: str) -> None:
        kind = self._resource_json_map[logical_id]["Type"]
        with self._doing(logical_id, kind, "CREATE"):
            self._require_free(logical_id, kind)
            try:
                resource: Any = self[logical_id]
            except HalfMadeError as failure:
                self._half_made.append((logical_id, failure.made, self._resolved(logical_id)))
                raise
            if isinstance(resource, TaggedEC2Resource):
                self._tag(logical_id, resource)
            self._definitions[logical_id] = self._resolved(logical_id)

    def _require_free(self, logical_id: str, kind: str) -> None:
        """See that no resource of a stack has the name, which moto 5.2.5 often takes for an update.

        https://repost.aws/knowledge-center/cloudformation-fix-stack-resource-error
        """
        key = _name_property_of(kind)
        if kind in NAMED_WITHIN or key not in self._resource_json_map[logical_id].get("Properties", {}):
            return
        name = self._resolved(logical_id)["Properties"][key]
        for stack in models.cloudformation_backends[self._account_id][self._region_name].stacks.values():
            assert isinstance(stack.resource_map, StackResources)
            for made in stack.resource_map._definitions.values():
                if made["Type"] == kind and made["Properties"].get(key) == name:
                    raise ValueError(f"{name} already exists in stack {stack.stack_id}")

    def _tag(self, logical_id: str, resource: Any) -> None:
        tags = self.tags | {
            "aws:cloudformation:stack-name": self._parsed_resources["AWS::StackName"],
            "aws:cloudformation:stack-id": self.stack_id,
            "aws:cloudformation:logical-id": logical_id,
        }
        ec2_backends[self._account_id][self._region_name].create_tags([resource.id], tags)

    def _change(self, logical_id: str, before: Template) -> bool:
        """Bring a resource up to date in place; false where that takes a replacement."""
        resource, after = self._parsed_resources[logical_id], self._resolved(logical_id)
        differ = set(changed(before["Properties"], after["Properties"]))
        if not _updatable(resource, after["Type"], differ):
            return False
        if differ or logical_id in self._half_updated:
            self._half_updated.add(logical_id)
            with self._doing(logical_id, after["Type"], "UPDATE"):
                if isinstance(resource, Resource):
                    resource.update_policy = after.get("UpdatePolicy") or {}
                    resource.update(self._region, copy.deepcopy(after["Properties"]))
                elif after["Type"] in UPDATED_BY_MOTO:
                    parsing.parse_and_update_resource(
                        logical_id, self._resource_json_map[logical_id], self, self._account_id, self._region_name
                    )
                # What `Fn::GetAtt` gives can be different now.
                self._definitions[logical_id] = self._resolved(logical_id)
            self._half_updated.discard(logical_id)
        return True

    def _replace(self, logical_id: str, before: Template) -> None:
        """Make a new resource; the old one is deleted when nothing refers to it any more."""
        old, after = self._parsed_resources[logical_id], self._resolved(logical_id)
        name = _name_property_of(after["Type"])
        with self._doing(logical_id, after["Type"], "UPDATE"):
            if name and name in after["Properties"] and after["Properties"][name] == before["Properties"].get(name):
                raise _taken(after["Type"], after["Properties"][name])
        del self._parsed_resources[logical_id]
        try:
            self._make(logical_id)
        except ResourceFailedError:
            self._parsed_resources[logical_id] = old
            raise
        self._replaced.setdefault(logical_id, []).append((old, before))
        self._just_replaced.append(logical_id)

    def _delete(self, logical_id: str) -> None:
        if logical_id in self._definitions:
            self._remove(logical_id, self._parsed_resources[logical_id], self._definitions[logical_id])
            del self._parsed_resources[logical_id], self._definitions[logical_id]

    def _delete_half_made(self) -> None:
        while self._half_made:
            logical_id, resource, definition = self._half_made[-1]
            self._remove(logical_id, resource, {**definition, "DeletionPolicy": None})
            self._half_made.pop()

    def _delete_replaced(self, logical_id: str) -> None:
        for resource, definition in self._replaced.pop(logical_id, []):
            # https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-updatereplacepolicy.html
            self._remove(logical_id, resource, {**definition, "DeletionPolicy": definition.get("UpdateReplacePolicy")})

    def _remove(self, logical_id: str, resource: Any, definition: Template) -> None:
        if definition.get("DeletionPolicy") not in ("Retain", "RetainExceptOnCreate"):
            with self._doing(logical_id, definition["Type"], "DELETE"):
                delete(resource, definition, self._region)

    @contextmanager
    def _doing(self, logical_id: str, kind: str, doing: str) -> Iterator[None]:
        """Tell how one resource fares, and turn whatever goes wrong into a failure of the stack."""
        try:
            yield
        except Exception as error:
            reason = str(getattr(error, "message", "")) or str(error) or type(error).__name__
            trace = None if isinstance(error, NotImplementedError) else error  # the reason says it all
            log.warning("%s of %s failed: %s", doing, logical_id, reason, exc_info=trace)
            failed = Happening(logical_id, kind, f"{doing}_FAILED", reason=reason)
            self.tell(failed)
            raise ResourceFailedError(failed) from error
        name = getattr(self._parsed_resources.get(logical_id), "physical_resource_id", None)
        self.tell(Happening(logical_id, kind, f"{doing}_COMPLETE", physical_id=str(name or "")))

    @property
    def _region(self) -> Region:
        return Region(self._account_id, self._region_name)

    def _resolved(self, logical_id: str) -> Template:
        definition = {"Properties": {}, **self._resource_json_map[logical_id]}
        return cast("Template", parsing.clean_json(definition, self))  # which copies

    def _wanted(self) -> list[str]:
        """The resources whose condition holds, each after those it needs."""
        conditions = {each: of.get("Condition") for each, of in self._resource_json_map.items()}
        if self._in_order[0] is not self._resource_json_map:
            self._in_order = self._resource_json_map, ordered(self._resource_json_map)
        return [each for each in self._in_order[1] if not (of := conditions[each]) or self.lazy_condition_map[of]]

    # moto lists a stack's resources through these.
    def __iter__(self) -> Iterator[str]:
        return iter(self._definitions)

    def __len__(self) -> int:
        return len(self._definitions)


def _updatable(resource: Any, kind: str, differ: set[str]) -> bool:
    """Whether these properties can change without a replacement."""
    if not differ:
        return True
    if isinstance(resource, Resource):
        return not resource.create_only & (differ | {"*"})
    return kind in UPDATED_BY_MOTO or differ <= {"Tags"}


def _taken(kind: str, name: str) -> ValueError:
    """Why nothing replaces a resource under the name that it keeps.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html; ECS was seen to let
    CloudFormation try and fail.
    """
    if kind.startswith("AWS::ECS::"):
        return AlreadyExistsError(kind, name)
    return ValueError(
        "CloudFormation cannot update a stack when a custom-named resource requires replacing. "
        f"Rename {name} and update the stack again."
    )


def is_known(kind: str) -> bool:
    """Whether there is a resource type that can be made and deleted."""
    model = registered().get(kind) or parsing.get_model_map().get(kind)
    # moto deletes nested stacks as a stack and not as a resource.
    return model is not None and kind != "AWS::CloudFormation::Stack" and can_delete(model, kind)


def _class_of(kind: str) -> type[CloudFormationModel]:
    """The model of a type, the emulator's own before moto's."""
    return registered().get(kind) or parsing.get_model_map()[kind]


def _name_property_of(kind: str) -> str | None:
    return _class_of(kind).cloudformation_name_type()


def install() -> None:
    """Look every resource type up here first."""
    parsing.resource_class_from_type = _class_of  # type: ignore[assignment]
    parsing.resource_name_property_from_type = _name_property_of  # type: ignore[assignment]
