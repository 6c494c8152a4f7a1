"""The roles of a task definition: may tasks assume them, and do they let ECS read the secrets of the containers?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu_constructs.fleet import SecretRead, TaskRole
from gpu_constructs.template.model import Resource, Value
from gpu_constructs.template.resources.containers import container_name
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.roles import Permission, Roles, trusts
from gpu_constructs.template.resources.section import Section

_TASKS = "ecs-tasks.amazonaws.com"
_EXECUTION = "ExecutionRoleArn"
_SECRET = "AWS::SecretsManager::Secret"  # noqa: S105 - a type of resource
_SECRET_POLICY = "AWS::SecretsManager::ResourcePolicy"  # noqa: S105 - a type of resource
_NOT_GIVEN_BY = frozenset(
    {
        "AmazonEC2ContainerRegistryReadOnly",
        "AmazonECSTaskExecutionRolePolicy",
        "AmazonS3ReadOnlyAccess",
        "CloudWatchLogsFullAccess",
    }
)
_GIVEN_BY_ALL = frozenset({"AdministratorAccess", "PowerUserAccess"})
_READS_SECRET: Final = Permission(
    action="secretsmanager:GetSecretValue",
    given_by=_GIVEN_BY_ALL | {"SecretsManagerReadWrite"},
    not_given_by=_NOT_GIVEN_BY,
)
_READS_PARAMETER: Final = Permission(
    action="ssm:GetParameters",
    given_by=_GIVEN_BY_ALL | {"AmazonSSMFullAccess", "AmazonSSMReadOnlyAccess"},
    not_given_by=_NOT_GIVEN_BY,
)


class TaskRoles:
    """Reads the roles of task definitions."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._roles = Roles(index)

    def of(self, properties: Section) -> tuple[TaskRole, ...]:
        """Those of the roles that the files define."""
        return tuple(self._read(properties))

    def _read(self, properties: Section) -> Iterator[TaskRole]:
        for name in (_EXECUTION, "TaskRoleArn"):
            role = self._roles.named(properties.get(name))
            if role is not None:
                unreadable = tuple(self._unreadable(properties, role)) if name == _EXECUTION else ()
                yield TaskRole(property_name=name, trusts_tasks=trusts(role, _TASKS), unreadable_secrets=unreadable)

    def _unreadable(self, properties: Section, role: Resource) -> Iterator[SecretRead]:
        for container in properties.sections("ContainerDefinitions"):
            for each in container.sections("Secrets"):
                source, name = each.get("ValueFrom"), each.text("Name")
                needed, is_certain = self._needed(source)
                if needed is not None and isinstance(name, str) and self._roles.allow(role, needed) is False:
                    yield SecretRead(
                        container=container_name(container), name=name, action=needed.action, is_certain=is_certain
                    )

    def _needed(self, source: Value) -> tuple[Permission | None, bool]:
        """What reads a secret, and whether nothing but the role may allow it."""
        if self._index.find(source, _SECRET) is not None:
            return _READS_SECRET, not any(True for _ in self._index.all(_SECRET_POLICY))
        if not isinstance(source, str) or not source:
            return None, False
        if ":secretsmanager:" in source:
            return _READS_SECRET, False
        return (_READS_PARAMETER if ":ssm:" in source or not source.startswith("arn:") else None), False
