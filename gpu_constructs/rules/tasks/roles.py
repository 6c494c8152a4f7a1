"""Roles of a task: may ECS assume them, and read and mount with them what a task gets? Only files define roles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gpu_constructs.errors import brief
from gpu_constructs.fleet import Scheduler, Task
from gpu_constructs.rules.evidence.accelerated import is_accelerated
from gpu_constructs.rules.rule import Context, Problem, Problems, error
from gpu_constructs.template.model import Placeholder, Text, Value
from gpu_constructs.template.resources.containers import container_name
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.roles import Permission, Roles, is_closed_to, is_closed_to_unnamed
from gpu_constructs.template.resources.section import Section

_TASKS = "ecs-tasks.amazonaws.com"
_EXECUTION = "ExecutionRoleArn"
_SECRET = "AWS::SecretsManager::Secret"  # noqa: S105 - a type of resource
_SECRET_POLICY = "AWS::SecretsManager::ResourcePolicy"  # noqa: S105 - a type of resource
_PARAMETER = "AWS::SSM::Parameter"
_OF_SECRETS = re.compile(":(ssm|secretsmanager):")
_FILE_SYSTEM = "AWS::EFS::FileSystem"
_POLICY = "FileSystemPolicy"
_MOUNT = "elasticfilesystem:ClientMount"
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


@error(
    "GPU257",
    question="may ECS read the secrets, environment files and registry credentials of a task with its execution role?",
    because="the agent reads them with the task execution role before a container starts; without the permission, or "
    "without a role, every task stops with ResourceInitializationError or unable to find execution role credentials, "
    "and its service starts the next one; the task role and the role of the hosts do not count, and "
    "AmazonECSTaskExecutionRolePolicy lets it pull images and write logs, and read no secrets; that secrets need a "
    "role is said by RegisterTaskDefinition",
    softer="where a policy of the secret itself may allow it",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_execution_IAM_role.html",
    unless=("GPU275",),
)
def read_with_a_role(context: Context) -> Problems:
    for task, definition in _definitions(context):
        of_task = _unreadable if definition.has(_EXECUTION) else _without_role
        first = max(of_task(task, definition, context), key=lambda each: each.is_certain, default=None)
        if first is not None:
            yield first


@error(
    "GPU275",
    question="may ECS act with the roles of the task?",
    because="ECS assumes the roles of a task as ecs-tasks.amazonaws.com, whatever starts the task; it registers a task "
    "with a role that does not trust this principal, and starts none",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_execution_IAM_role.html",
)
def roles_are_assumed(context: Context) -> Problems:
    for task, definition in _definitions(context):
        for name in (_EXECUTION, "TaskRoleArn"):
            role = context.of_files(Roles).named(definition.get(name))
            if role is not None and is_closed_to(role, _TASKS):
                yield Problem(
                    about=task,
                    message=f"{name} of {task.name} names a role that ecs-tasks.amazonaws.com may not assume",
                    fix="Principal: {Service: ecs-tasks.amazonaws.com} in the AssumeRolePolicyDocument of the role",
                    property_name=name,
                )


@error(
    "GPU237",
    question="does a task mount a file system of EFS that has a policy with its role?",
    because="a file system with a policy admits only clients that the policy allows to mount it, and a client that "
    "mounts without IAM has no role: the mount is denied, and the task or job stops before its container starts; CDK "
    "gives its file systems such a policy where @aws-cdk/aws-efs:denyAnonymousAccess is on, and after a grant",
    source="https://github.com/aws/aws-cdk/issues/30753",
)
def mounts_with_a_role(context: Context) -> Problems:
    for definition, task in {
        each.origin: (each, task) for task in context.tasks if task.wants_gpu and (each := context.section(task))
    }.values():
        for name, mount in _mounts(definition):
            authorization = mount.section("AuthorizationConfig")
            system = context.index.find(mount.get("FilesystemId") or mount.get("FileSystemId"), _FILE_SYSTEM)
            without_iam = not {authorization.text("IAM"), authorization.text("Iam")} - {None, "DISABLED"}
            if system is not None and without_iam and is_closed_to_unnamed(system.properties.get(_POLICY), _MOUNT):
                yield Problem(
                    about=task,
                    message=f"{task.name} mounts {brief(name)} without IAM, and the policy of the file system lets no "
                    "such client mount it",
                    fix="TransitEncryption: ENABLED, IAM: ENABLED in its AuthorizationConfig, and a role that may "
                    "mount it",
                    property_name="AuthorizationConfig",
                    origin=mount.origin,
                )


def _mounts(definition: Section) -> Iterator[tuple[str, Section]]:
    """The volumes of EFS of a task definition or of a job, in whose names some letters are small, by name."""
    ranges = definition.section("NodeProperties").sections("NodeRangeProperties")
    jobs = [definition.section("ContainerProperties"), *(each.section("Container") for each in ranges)]
    for each in (definition, *jobs, *definition.section("EcsProperties").sections("TaskProperties")):
        for volume in each.sections("Volumes"):
            for key in ("EFSVolumeConfiguration", "EfsVolumeConfiguration"):
                if volume.has(key):
                    yield str(volume.text("Name")), volume.section(key)


def _definitions(context: Context) -> Iterator[tuple[Task, Section]]:
    """Tasks of ECS with accelerators, whose whole definition is in the files."""
    for task in context.tasks:
        definition = context.section(task)
        if definition is not None and task.scheduler is Scheduler.ECS and not task.is_part and is_accelerated(task):
            yield task, definition


def _without_role(task: Task, definition: Section, _: Context) -> Problems:
    """What the agent does not read without a role (amazon-ecs-agent, agent/taskresource/envFiles/envfile.go)."""
    for container in definition.sections("ContainerDefinitions"):
        what = ""
        if container.section("RepositoryCredentials").has("CredentialsParameter"):
            what = "has an image of a private registry"
        if any(not each.is_unknown for each in container.sections("EnvironmentFiles")):
            what = "gets environment files from S3"
        if what:
            yield Problem(
                about=task,
                message=f"container {brief(container_name(container))} of {task.name} {what}, and the task definition "
                "has no task execution role",
                fix="ExecutionRoleArn, a role that ecs-tasks.amazonaws.com may assume and that may read them",
                property_name=_EXECUTION,
                origin=container.origin,
            )


def _unreadable(task: Task, definition: Section, context: Context) -> Problems:
    """Secrets that the task execution role does not let ECS read."""
    roles = context.of_files(Roles)
    role = roles.named(definition.get(_EXECUTION))
    for container in definition.sections("ContainerDefinitions") if role is not None else ():
        for each in container.sections("Secrets"):
            name = each.text("Name")
            needed, is_certain = _needed(each.get("ValueFrom"), context.index)
            if role is None or needed is None or not isinstance(name, str) or roles.allow(role, needed) is not False:
                continue
            yield Problem(
                about=task,
                message=f"container {brief(container_name(container))} of {task.name} gets the secret {brief(name)}, "
                f"and the task execution role does not allow {needed.action}",
                fix=f"a policy of the role that allows {needed.action} of the secret",
                property_name=_EXECUTION,
                is_certain=is_certain,
            )


def _needed(source: Value, index: Index) -> tuple[Permission | None, bool]:
    """What reads a secret, and whether nothing but the role may allow it."""
    if index.find(source, _SECRET) is not None:
        return _READS_SECRET, not any(True for _ in index.all(_SECRET_POLICY))
    if index.find(source, _PARAMETER) is not None:
        return _READS_PARAMETER, True
    pieces = source.pieces if isinstance(source, Text) else (source,)
    written = "".join(each if isinstance(each, str) else "*" for each in pieces)
    is_arn, found = written.startswith("arn:"), _OF_SECRETS.search(written)
    if not written or not isinstance(pieces[0], str) or (is_arn and found is None):
        return None, False
    if found is not None and found[1] == "secretsmanager":
        return _READS_SECRET, False
    # A policy of a parameter itself is for other accounts; without an ARN the parameter is one of this account.
    is_of_this = any(isinstance(each, Placeholder) and each.name == "AWS::AccountId" for each in pieces)
    return _READS_PARAMETER, is_of_this or not is_arn
