"""The roles that ECS and the containers of a task act with."""

from __future__ import annotations

from gpu_constructs.fleet.unknown import UNKNOWN, Unknown
from gpu_constructs.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRead:
    """Something that ECS reads for a task with its execution role, which the role does not allow.

    Attributes:
        container: The container that gets it.
        name: The environment variable that it is put into.
        action: What the role would have to allow, such as ``secretsmanager:GetSecretValue``.
        is_certain: Whether nothing else may allow it, such as a resource policy of the secret.
    """

    container: str
    name: str
    action: str
    is_certain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRole:
    """A role that a task names, which the files define.

    Attributes:
        property_name: ``ExecutionRoleArn`` or ``TaskRoleArn``.
        trusts_tasks: Whether tasks of ECS may assume it.
        unreadable_secrets: Of a task execution role: what it certainly does not let ECS read.
    """

    property_name: str
    trusts_tasks: bool | Unknown = UNKNOWN
    unreadable_secrets: tuple[SecretRead, ...] = ()
