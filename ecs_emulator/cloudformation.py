"""Stacks as their owner sees them: what happened, what failed and why.

moto 5.2.5 answers a failing CreateStack, UpdateStack or DeleteStack with an error and leaves the stack half done or
forgotten. AWS accepts the request and ends the stack in a state with a reason, which is what the CDK CLI waits for.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any, cast

from moto.cloudformation import models, urls
from moto.cloudformation.exceptions import AlreadyExistsException, CloudFormationError, ValidationError
from moto.cloudformation.models import ChangeSet, CloudFormationBackend, Event, Stack, StackSet
from moto.cloudformation.parsing import Export
from moto.cloudformation.responses import CloudFormationResponse
from moto.cloudformation.utils import generate_stack_id
from moto.core.responses import ActionResult, EmptyResult

from .references import circle
from .stacks import Happening, StackFailedError, StackResources

__all__ = ["EmulatedCloudFormation", "EmulatedStack", "install"]


STANDING = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE")
"""States in which everything that the template asks for exists."""

REVIEWED = "REVIEW_IN_PROGRESS"
"""The state of a stack of which nothing exists but a change set."""


class EmulatedStack(Stack):
    """One stack."""

    status_reason = ""

    @staticmethod
    def cloudformation_type() -> str:
        return ""  # there are no nested stacks

    # Left abstract by moto.
    @staticmethod
    def cloudformation_name_type() -> str:
        return ""

    def is_created(self) -> bool:
        return self.status in STANDING

    @property
    def resources(self) -> StackResources:
        """Its resources."""
        assert isinstance(self.resource_map, StackResources)
        return self.resource_map

    # The name is moto's, which lists a stack by it.
    @property
    def stack_parameters(self) -> dict[str, Any]:
        """What it was given or had by default, such as the name of a parameter of SSM and not what that says."""
        slots = self.template_dict.get("Parameters") or {}
        return {name: self.parameters.get(name, slot.get("Default")) for name, slot in slots.items()}

    @staticmethod
    def parse_template(template: str) -> dict[str, Any]:
        """A template; moto reads JSON as YAML too, which takes a second for a large one."""
        read: dict[str, Any] = (json.loads if template.lstrip().startswith("{") else Stack.parse_template)(template)
        return read

    # A list of stacks is read from these, which moto has for one stack alone.
    @property
    def stack_name(self) -> str:
        return self.name

    @property
    def stack_status(self) -> str:
        return self.status

    # moto makes a missing resource when it evaluates an output that refers to it.
    @property
    def outputs(self) -> list[dict[str, Any]] | None:
        return super().outputs if self.status in STANDING else None

    @property
    def exports(self) -> list[Export]:
        return super().exports if self.status in STANDING else []

    def attempt(self, doing: str, work: Callable[[], object]) -> bool:
        """Do the work; true if it succeeded.

        Args:
            doing: ``CREATE``, ``UPDATE``, ``DELETE`` or one of the rollbacks.
            work: What to do.
        """
        self.status = f"{doing}_IN_PROGRESS"
        self._add_stack_event(self.status, resource_status_reason="User Initiated")
        try:
            work()
        except (StackFailedError, CloudFormationError) as failure:  # such as `No export named X found.`
            self.finish(f"{doing}_FAILED", str(failure))
            return False
        self.finish(f"{doing}_COMPLETE")
        return True

    def finish(self, status: str, reason: str = "") -> None:
        """End in a state."""
        self.status, self.status_reason = status, reason
        self._add_stack_event(status, resource_status_reason=reason)

    def _create_resource_map(self) -> StackResources:
        resources = super()._create_resource_map()
        assert isinstance(resources, StackResources)
        resources.tell = self._tell
        return resources

    def _tell(self, happening: Happening) -> None:
        """Record what happened to a resource, for the CLI to show."""
        self.events.append(
            Event(
                stack_id=self.stack_id,
                stack_name=self.name,
                logical_resource_id=happening.logical_id,
                physical_resource_id=happening.physical_id,
                resource_type=happening.kind,
                resource_status=happening.status,
                resource_status_reason=happening.reason,
                resource_properties="",
            )
        )


class EmulatedCloudFormation(CloudFormationBackend):
    """CloudFormation in one account and region."""

    rolls_back = True
    """Whether the request that is answered leaves nothing half done."""

    @property
    def _url_module(self) -> ModuleType:
        return urls

    def create_stack(  # type: ignore[override]
        self, name: str, template: str, parameters: dict[str, Any], **settings: Any
    ) -> Stack:
        if name in [stack.name for stack in self.stacks.values()]:
            raise AlreadyExistsException(f"Stack {name} already exists")
        stack = self._checked(name, template, parameters, **settings)
        self.stacks[stack.stack_id] = stack
        self._fill(stack)
        return stack

    def _checked(self, name: str, template: str, parameters: dict[str, Any], **settings: Any) -> EmulatedStack:
        """A stack that is not made yet.

        Raises:
            ValidationError: The emulator lacks types of its resources, all of which the text names, or resources that
                are there would turn into another type.
        """
        stack = EmulatedStack(
            stack_id=generate_stack_id(name, self.region_name, self.account_id),
            name=name,
            template=template,
            parameters=parameters,
            account_id=self.account_id,
            region_name=self.region_name,
            cross_stack_resources=self.exports,
            **settings,
        )
        if unknown := stack.resources.unknown():
            named = (f"{kind} ({', '.join(names)})" for kind, names in sorted(unknown.items()))
            raise ValidationError(message=f"the emulator has no resource type {', '.join(named)}")
        wanted = stack.resources.types()
        if waiting := circle({each: stack.template_dict["Resources"][each] for each in wanted}):
            raise ValidationError(message=f"Circular dependency between resources: [{', '.join(waiting)}]")
        there = next((each for each in self.stacks.values() if each.name == name and each.status != REVIEWED), stack)
        assert isinstance(there, EmulatedStack)
        if turned := [each for each, kind in there.resources.types().items() if wanted.get(each, kind) != kind]:
            raise ValidationError(
                message="Update of resource type is not permitted. The new template modifies resource type of the "
                f"following resources: [{', '.join(turned)}]"
            )
        return stack

    def create_change_set(  # type: ignore[override]
        self, stack_name: str, change_set_name: str, template: str, parameters: dict[str, str], **settings: Any
    ) -> tuple[str, str]:
        self._checked(stack_name, template, parameters)
        return super().create_change_set(stack_name, change_set_name, template, parameters, **settings)

    def _fill(self, stack: EmulatedStack) -> None:
        """Make the resources of a new stack, or take back those that were made."""

        def work() -> None:
            stack.resources.create(stack.template_dict)
            self._publish(stack)

        if stack.attempt("CREATE", work):
            stack.description = stack.template_description
            return
        reason = stack.status_reason
        if self.rolls_back and stack.attempt("ROLLBACK", stack.resources.delete):
            stack.status_reason = reason  # what the CLI shows: why it was rolled back

    def change_set(self, name: str, stack_name: str | None) -> ChangeSet:
        """The change set of this name or ARN; moto 5.2.5 takes that of any stack, and the CDK gives all one name.

        Raises:
            CloudFormationError: There is none.
        """
        for found in reversed(self.change_sets.values()):
            if name == found.change_set_id or (
                name == found.change_set_name and stack_name in (found.stack_id, found.stack_name)
            ):
                return found
        raise CloudFormationError("ChangeSetNotFound", f"ChangeSet [{name}] does not exist")

    def change_sets_of(self, stack: str) -> list[ChangeSet]:
        """Those of the stack of this name or id."""
        return [each for each in self.change_sets.values() if stack in (each.stack_id, each.stack_name)]

    def execute_change_set(self, change_set_name: str, stack_name: str | None = None) -> None:
        change_set = self.change_set(change_set_name, stack_name)
        stack = self.stacks[change_set.stack_id]
        assert isinstance(stack, EmulatedStack)
        change_set.execution_status = "EXECUTE_COMPLETE"
        if change_set.change_set_type != "CREATE":
            self._change(stack, change_set.template, change_set.parameters)
            return
        # The stack was made empty, with the change set; from here on it is as if it were created directly.
        stack.template, stack.parameters = change_set.template, change_set.parameters
        stack.cross_stack_resources = self.exports
        stack._parse_template()
        stack.resource_map = stack._create_resource_map()
        stack.output_map = stack._create_output_map()
        self._fill(stack)

    def _publish(self, stack: EmulatedStack) -> None:
        """Let other stacks import what a stack exports from now on, and nothing else of it.

        Raises:
            StackFailedError: Another stack exports the name, or imports one whose value was another.
        """
        wanted = stack.resources.export_names()
        exports = {export.name: export for export in stack.output_map.exports if export.name in wanted}
        for name, export in exports.items():
            known = self.exports.get(name, export)
            if known.exporting_stack_id != stack.stack_id:
                owner = self.get_stack(known.exporting_stack_id).name
                raise StackFailedError(f"Export with name {name} is already exported by stack {owner}")
            if known.value != export.value:
                self._require_unused(stack, name, "cannot be updated")
        self._withdraw(stack)
        self.exports.update(exports)

    def _withdraw(self, stack: Stack) -> None:
        for name in self._published(stack):
            del self.exports[name]

    def _published(self, stack: Stack) -> list[str]:
        return [name for name, export in self.exports.items() if export.exporting_stack_id == stack.stack_id]

    def _require_unused(self, stack: Stack, name: str, reason: str) -> None:
        """See that no other stack imports an export.

        Seen in https://github.com/linz/geostore/issues/630 and https://github.com/aws/aws-cdk/issues/8671.
        """
        for other in self.stacks.values():
            assert isinstance(other, EmulatedStack)
            if other is not stack and name in other.resources.imports():
                raise StackFailedError(f"Export {name} {reason} as it is in use by {other.name}")

    def update_stack(
        self,
        name: str,
        template: str,
        role_arn: str | None,
        parameters: list[dict[str, Any]],
        tags: dict[str, str] | None,
    ) -> Stack:
        stack = self.get_stack(name)
        assert isinstance(stack, EmulatedStack)
        resolved = self._resolve_update_parameters(stack, parameters)
        if stack.template == template and stack.parameters == resolved:
            raise ValidationError(message="No updates are to be performed.")
        self._checked(stack.name, template, resolved)
        stack.role_arn = role_arn or stack.role_arn
        stack.tags = stack.tags if tags is None else tags
        self._change(stack, template, resolved)
        return stack

    def _change(self, stack: EmulatedStack, template: str, parameters: dict[str, str]) -> None:
        before = str(stack.template), stack.parameters
        if stack.attempt("UPDATE", lambda: self._bring(stack, template, parameters)):
            if stack.resources.left_behind:
                left = "; ".join(stack.resources.left_behind)
                stack.status_reason = f"Update successful. One or more resources could not be deleted: {left}"
            return
        reason = stack.status_reason
        if self.rolls_back and stack.attempt("UPDATE_ROLLBACK", lambda: self._take_back(stack, *before)):
            stack.status_reason = reason

    def _take_back(self, stack: EmulatedStack, template: str, parameters: dict[str, str]) -> None:
        stack.resources.take_back()
        self._bring(stack, template, parameters)

    def _bring(self, stack: EmulatedStack, template: str, parameters: dict[str, str]) -> None:
        """Bring a stack to what a template says."""
        stack.template, stack.parameters = template, parameters
        stack._parse_template()
        stack.resources.switch(stack.template_dict, parameters)
        stack.output_map = stack._create_output_map()
        # CloudFormation sees at once that an export goes, and a new value only when it is there.
        for name in set(self._published(stack)) - stack.resources.export_names():
            self._require_unused(stack, name, "cannot be deleted")
        stack.resources.update()
        self._publish(stack)
        stack.resources.clean_up()

    def _resolve_update_parameters(
        self, instance: Stack | StackSet, incoming_params: list[dict[str, str]]
    ) -> dict[str, str]:
        # The CLI asks to keep the value of parameters that it never gave; moto fails over those.
        known = [
            item
            for item in incoming_params
            if not item.get("UsePreviousValue") or item["ParameterKey"] in instance.parameters
        ]
        return super()._resolve_update_parameters(instance, known)

    def delete_stack(self, name_or_stack_id: str) -> None:
        for stack in list(self.stacks.values()):
            if name_or_stack_id not in (stack.stack_id, stack.name):
                continue
            assert isinstance(stack, EmulatedStack)
            try:
                for name in self._published(stack):
                    self._require_unused(stack, name, "cannot be deleted")
            except StackFailedError as failure:
                # The stack stays what it is: https://github.com/rlister/stax/issues/40
                stack.finish(stack.status, str(failure))
            else:
                if stack.attempt("DELETE", stack.resources.delete):
                    self._withdraw(stack)
                    self.deleted_stacks[stack.stack_id] = self.stacks.pop(stack.stack_id)
                    for each in self.change_sets_of(stack.stack_id):
                        del self.change_sets[each.change_set_id]


def _backend(response: CloudFormationResponse) -> EmulatedCloudFormation:
    return cast("EmulatedCloudFormation", response.cloudformation_backend)


def _change_set(self: CloudFormationResponse) -> ChangeSet:
    return _backend(self).change_set(self._get_param("ChangeSetName"), self._get_param("StackName"))


def _describe_change_set(self: CloudFormationResponse) -> ActionResult:
    return ActionResult(_change_set(self))


def _list_change_sets(self: CloudFormationResponse) -> ActionResult:
    return ActionResult({"Summaries": _backend(self).change_sets_of(self._get_param("StackName"))})


def _delete_change_set(self: CloudFormationResponse) -> ActionResult:
    with suppress(CloudFormationError):
        del _backend(self).change_sets[_change_set(self).change_set_id]
    return EmptyResult()


def _keeping_what_failed(answer: Callable[[CloudFormationResponse], Any]) -> Callable[[CloudFormationResponse], Any]:
    """The answer to a request that may say that what fails is left as it is, which moto 5.2.5 does not read."""

    @functools.wraps(answer)
    def told(response: CloudFormationResponse) -> Any:
        keeps = response._get_bool_param("DisableRollback", if_none=False)
        _backend(response).rolls_back = not (keeps or response._get_param("OnFailure") == "DO_NOTHING")
        return answer(response)

    return told


def install() -> None:
    """Put this CloudFormation in the place of moto's."""
    models.ResourceMap = StackResources  # type: ignore[attr-defined]
    models.Stack = EmulatedStack  # type: ignore[misc]  # what moto makes for a change set
    models.cloudformation_backends.backend = EmulatedCloudFormation
    CloudFormationResponse.describe_change_set = _describe_change_set  # type: ignore[method-assign]
    CloudFormationResponse.list_change_sets = _list_change_sets  # type: ignore[method-assign]
    CloudFormationResponse.delete_change_set = _delete_change_set  # type: ignore[method-assign]
    for name in ("create_stack", "update_stack", "execute_change_set"):
        setattr(CloudFormationResponse, name, _keeping_what_failed(getattr(CloudFormationResponse, name)))
