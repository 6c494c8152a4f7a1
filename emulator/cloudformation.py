"""Stacks as their owner sees them: what happened, what failed and why.

moto 5.2.5 answers a failing CreateStack, UpdateStack or DeleteStack with an error and leaves the stack half done or
forgotten. AWS accepts the request and ends the stack in a state with a reason, which is what the CDK CLI waits for.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

from moto.cloudformation import models, urls
from moto.cloudformation.exceptions import AlreadyExistsException, ValidationError
from moto.cloudformation.models import CloudFormationBackend, Event, Stack, StackSet
from moto.cloudformation.parsing import Export
from moto.cloudformation.utils import generate_stack_id

from .stacks import Happening, ResourceFailedError, StackResources

__all__ = ["EmulatedCloudFormation", "EmulatedStack", "install"]


STANDING = ("CREATE_COMPLETE", "UPDATE_COMPLETE")
"""States in which everything that the template asks for exists."""


class EmulatedStack(Stack):
    """One stack."""

    status_reason = ""

    @staticmethod
    def cloudformation_type() -> str:
        return ""  # nested stacks stay moto's own

    # Left abstract by moto.
    @staticmethod
    def cloudformation_name_type() -> str:
        return ""

    def is_created(self) -> bool:
        return self.status in STANDING

    @staticmethod
    def parse_template(template: str) -> dict[str, Any]:
        """A template; moto reads JSON as YAML too, which takes a second for a large one."""
        read: dict[str, Any] = (json.loads if template.lstrip().startswith("{") else Stack.parse_template)(template)
        return read

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
            doing: ``CREATE``, ``UPDATE`` or ``DELETE``.
            work: What to do.
        """
        self.status = f"{doing}_IN_PROGRESS"
        self._add_stack_event(self.status, resource_status_reason="User Initiated")
        try:
            work()
        except ResourceFailedError as failure:
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
            ValidationError: The emulator lacks types of its resources, all of which the text names.
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
        assert isinstance(stack.resource_map, StackResources)
        if unknown := stack.resource_map.unknown():
            named = (f"{kind} ({', '.join(names)})" for kind, names in sorted(unknown.items()))
            raise ValidationError(message=f"the emulator has no resource type {', '.join(named)}")
        return stack

    def create_change_set(  # type: ignore[override]
        self, stack_name: str, change_set_name: str, template: str, parameters: dict[str, str], **settings: Any
    ) -> tuple[str, str]:
        self._checked(stack_name, template, parameters)
        return super().create_change_set(stack_name, change_set_name, template, parameters, **settings)

    def _fill(self, stack: EmulatedStack) -> None:
        """Make the resources of a new stack, or take back those that were made."""
        if stack.attempt("CREATE", lambda: stack.resource_map.create(stack.template_dict)):
            stack.description = stack.template_description
            self._publish(stack)
            return
        reason = stack.status_reason
        if stack.attempt("ROLLBACK", stack.resource_map.delete):
            stack.status_reason = reason  # what the CLI shows: why it was rolled back

    def execute_change_set(self, change_set_name: str, stack_name: str | None = None) -> None:
        change_set = next(
            item
            for item in self.change_sets.values()
            if change_set_name in (item.change_set_id, item.change_set_name) and stack_name in (None, item.stack_name)
        )
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

    def _publish(self, stack: Stack) -> None:
        self._validate_export_uniqueness(stack)
        for export in stack.exports:
            self.exports[export.name] = export

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
        published = {export.name for export in stack.exports}
        stack.template = template
        stack._parse_template()
        # A failed update is left as it is, like with `--no-rollback`: who looks at it wants to see what failed.
        if not stack.attempt("UPDATE", lambda: stack.resource_map.update(stack.template_dict, parameters)):
            return
        assert isinstance(stack.resource_map, StackResources)
        if stack.resource_map.left_behind:
            left = "; ".join(stack.resource_map.left_behind)
            stack.status_reason = f"Update successful. One or more resources could not be deleted: {left}"
        stack.parameters = parameters
        stack.output_map = stack._create_output_map()
        for export in published:
            self.exports.pop(export, None)
        self._publish(stack)

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
            published = [export.name for export in stack.exports]
            if stack.attempt("DELETE", stack.resource_map.delete):
                for export in published:
                    self.exports.pop(export, None)
                self.deleted_stacks[stack.stack_id] = self.stacks.pop(stack.stack_id)


def install() -> None:
    """Put this CloudFormation in the place of moto's."""
    models.ResourceMap = StackResources  # type: ignore[attr-defined]
    models.Stack = EmulatedStack  # type: ignore[misc]  # what moto makes for a change set
    models.cloudformation_backends.backend = EmulatedCloudFormation
