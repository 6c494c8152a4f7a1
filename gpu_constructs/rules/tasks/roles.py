"""Roles of a task: may ECS assume them, and read with them what a task gets? Only files define roles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from gpu_constructs.errors import brief
from gpu_constructs.fleet import Scheduler, Task, Workload
from gpu_constructs.rules.evidence.accelerated import accelerated_workloads, asks_for_accelerator
from gpu_constructs.rules.rule import Context, Problem, Problems, error
from gpu_constructs.template.model import Placeholder, Value, begin_of, pattern_of, pieces_of
from gpu_constructs.template.resources.containers import container_name, containers_in, needs_of_aws
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.roles import Roles
from gpu_constructs.template.resources.section import Section

_EXECUTION = "ExecutionRoleArn"
_OF_TASKS = (_EXECUTION, "TaskRoleArn", "JobRoleArn")
_SECRET = "AWS::SecretsManager::Secret"  # noqa: S105 - a type of resource
_SECRET_POLICY = "AWS::SecretsManager::ResourcePolicy"  # noqa: S105 - a type of resource
_OF_VOLUMES, _VOLUMES_POLICY = "ecs.amazonaws.com", "AmazonECSInfrastructureRolePolicyForVolumes"


class _Use(NamedTuple):
    """What ECS does for a container with its execution role, the action that the role must allow, and what does so."""

    what: str
    needed: str
    fix: str


_FIX = "the AWS managed policy service-role/AmazonECSTaskExecutionRolePolicy for the role"
_OF_SERVICES: Final = {
    "ecr.api": _Use("has an image in ECR", "ecr:GetAuthorizationToken", _FIX),
    "logs": _Use("logs with awslogs", "logs:CreateLogStream", _FIX),
}
_LOG_GROUP: Final = _Use(
    "has awslogs make a log group that the files do not have",
    "logs:CreateLogGroup",
    "a policy of the role that allows logs:CreateLogGroup, or the log group in the files",
)
_OF_STORES: Final = {"secretsmanager": "secretsmanager:GetSecretValue", "ssm": "ssm:GetParameters"}


@error(
    "GPU257",
    question="may ECS read the secrets, files, credentials and image of a task, and log, with its execution role?",
    because="the agent reads them with the execution role before a container starts; without a role or its permission "
    "every task stops with ResourceInitializationError or unable to find execution role credentials; neither the task "
    "role nor that of the hosts helps, and AmazonECSTaskExecutionRolePolicy allows images and logs, not secrets or log "
    "groups",
    softer="where a policy of the secret itself, an image or a log group that is there may help, or only logs are lost",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_execution_IAM_role.html",
    unless=("GPU275",),
)
def read_with_a_role(context: Context) -> Problems:
    for task, definition in _definitions(context):
        is_job = task.scheduler is Scheduler.BATCH
        of_task = _unreadable if is_job or definition.has(_EXECUTION) else _without_role
        first = max(of_task(task, definition, context), key=lambda each: each.is_certain, default=None)
        if first is not None:
            yield first


@error(
    "GPU275",
    question="may ECS act with the roles of the task and of its volumes?",
    because="ECS assumes the roles of a task or of a job of AWS Batch as ecs-tasks.amazonaws.com; it registers a task "
    "with a role that does not trust this principal, and starts none; it makes EBS volumes for tasks of a service as "
    f"{_OF_VOLUMES} with the role of the volume, which must allow ec2:CreateVolume",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_execution_IAM_role.html",
)
def roles_are_assumed(context: Context) -> Problems:
    told, roles = set(), context.of_files(Roles)
    for about, section, name, service in _with_roles(context):
        role = roles.named(section.get(name))
        if role is None or (place := (section.origin, name)) in told:
            continue
        is_volume = service == _OF_VOLUMES
        needed = ("ec2:CreateVolume",) if is_volume else ()
        refused = roles.refusal(role, service, needed, f"the AWS managed policy service-role/{_VOLUMES_POLICY}")
        if refused is not None:
            told.add(place)
            what = f"ManagedEBSVolume.{name}" if is_volume else name
            yield Problem(
                about=about,
                message=f"{what} of {about.name} names a role that {refused[0]}",
                fix=refused[1],
                property_name=name,
                origin=section.origin,
            )


def _with_roles(context: Context) -> Iterator[tuple[Task | Workload, Section, str, str]]:
    """What may name roles, in which property, and the service that assumes them."""
    for task, definition in _definitions(context):
        of_job = definition.section("EcsProperties").sections("TaskProperties")
        for section in (definition, *of_job, *containers_in(definition)):
            yield from ((task, section, name, "ecs-tasks.amazonaws.com") for name in _OF_TASKS if section.has(name))
    # https://docs.aws.amazon.com/AmazonECS/latest/developerguide/troubleshoot-ebs-volumes-scenarios.html
    for service in context.once(accelerated_workloads):
        found = context.section(service)
        for each in () if found is None else found.sections("VolumeConfigurations"):
            yield service, each.section("ManagedEBSVolume"), "RoleArn", _OF_VOLUMES


def _definitions(context: Context) -> Iterator[tuple[Task, Section]]:
    """Tasks and jobs with accelerators, whose whole definition is in the files."""
    for task in context.tasks:
        definition = context.section(task)
        if definition is not None and not task.is_part and asks_for_accelerator(task):
            yield task, definition


def _without_role(task: Task, definition: Section, _: Context) -> Problems:
    """What the agent does not read without a role (amazon-ecs-agent, agent/taskresource/envFiles/envfile.go).

    RegisterTaskDefinition itself refuses secrets without one.
    """
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
    """What the execution role of a task, or of a container of a job, does not let ECS do."""
    roles, is_job = context.of_files(Roles), task.scheduler is Scheduler.BATCH
    named = (definition, *definition.section("EcsProperties").sections("TaskProperties"))
    for container in (each for each in containers_in(definition) if each.has("Image")):
        role = next(filter(None, (roles.named(each.get(_EXECUTION)) for each in (container, *named))), None)
        whose = f"container {brief(container_name(container))} of {task.name}" if container.has("Name") else task.name
        for use, is_certain in _used(container, context, is_job=is_job):
            if role is not None and roles.lacks(role, use.needed):
                yield Problem(
                    about=task,
                    message=f"{whose} {use.what}, and the {'' if is_job else 'task '}execution role does "
                    f"not allow {use.needed}",
                    fix=use.fix,
                    property_name=_EXECUTION,
                    origin=container.origin if is_job else None,
                    is_certain=is_certain,
                )


def _used(container: Section, context: Context, *, is_job: bool) -> Iterator[tuple[_Use, bool]]:
    """What is done for a container, each with whether nothing but the role may allow it."""
    hosts, needs = context.fleet.pools, needs_of_aws(container, context.index, is_job=is_job)
    for service, stops in needs.items():
        if service in _OF_SERVICES:
            yield _OF_SERVICES[service], stops and bool(hosts) and not any(map(context.may_have_images, hosts))
    if "logs" in needs and _makes_group(container.section("LogConfiguration").section("Options"), context.index):
        yield _LOG_GROUP, False
    for each in container.sections("Secrets"):
        name, store = each.text("Name"), _store(each.get("ValueFrom"), context.index)
        if isinstance(name, str) and store is not None:
            needed = _OF_STORES[store.service]
            fix = f"a policy of the role that allows {needed} of the secret"
            yield _Use(f"gets the secret {brief(name)}", needed, fix), store.is_closed


def _makes_group(options: Section, index: Index) -> bool:
    """Whether awslogs is to make a log group, with the execution role, that none of these files makes.

    See docker_task_engine.go of amazon-ecs-agent, and github.com/terraform-aws-modules/terraform-aws-ecs/pull/313.
    """
    name, makers = options.get("awslogs-group"), index.of_custom_types()
    parts = [each for each in pieces_of(name) if not isinstance(each, str)]
    named = [each.properties.get("LogGroupName") for each in index.all("AWS::Logs::LogGroup")]
    return (
        options.flag("awslogs-create-group") is True
        and bool(begin_of(name))
        and all(isinstance(each, Placeholder) and each.name.startswith("AWS::") for each in parts)
        and not any(each == name or not isinstance(each, (str, type(None))) for each in named)
        and not any(begin_of(name) in str(each.properties) for each in makers)
    )


class _Store(NamedTuple):
    """The service that keeps a secret, and whether nothing but the role may allow to read it."""

    service: str
    is_closed: bool


def _store(source: Value, index: Index) -> _Store | None:
    if index.find(source, _SECRET) is not None:
        return _Store("secretsmanager", not any(True for _ in index.all(_SECRET_POLICY)))
    if index.find(source, "AWS::SSM::Parameter") is not None:
        return _Store("ssm", is_closed=True)
    pieces, written = pieces_of(source), pattern_of(source)
    is_arn, found = written.startswith("arn:"), re.search(":(ssm|secretsmanager):", written)
    if not written or not isinstance(pieces[0], str) or (is_arn and found is None):
        return None
    if found is not None and found[1] == "secretsmanager":
        return _Store("secretsmanager", is_closed=False)
    # A policy of a parameter itself is for other accounts; without an ARN the parameter is one of this account.
    is_of_this = any(isinstance(each, Placeholder) and each.name == "AWS::AccountId" for each in pieces)
    return _Store("ssm", is_of_this or not is_arn)
