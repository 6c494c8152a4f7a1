"""A container that serves a model, as CDK takes it: what fills its cache first, the container itself, its volume."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_cdk import aws_ecs as ecs
from constructs import IDependable

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.models.cache_storage import CacheStorage, Runner
from gpu_constructs.models.served_container import ServedContainer
from gpu_constructs.tasks.container_options import passed_on
from gpu_constructs.tasks.gpu_ask import Gpus
from gpu_constructs.tasks.gpu_container import plan_gpu_container
from gpu_constructs.tasks.gpu_needs import plan_needs
from gpu_constructs.tasks.rehearsal import rehearse_whole
from gpu_constructs.tasks.sidecar import plan_sidecar

if TYPE_CHECKING:
    from gpu_constructs.tasks.task_definition import GpuTaskDefinition

_AWSVPC = "awsvpc"
_NONE = "none"


def add_served_container(
    task: GpuTaskDefinition, construct_id: str, served: ServedContainer, *, gpus: Gpus, arguments: dict[str, Any]
) -> ecs.ContainerDefinition:
    """Adds a container that serves a model, with what goes before it; all of it is there afterwards, or nothing.

    Raises:
        IncompatibleError: The task has no network, and the server or its cache needs one.
        GpuConstructsError: As `GpuTaskDefinition.add_gpu_container`.
    """
    cache, copying = served.cache, served.copying()
    if cache is not None:
        cache.require_near(task.capacity)
    if cache is not None and task.task.network_mode != _AWSVPC:
        cache.require_way_from(task.capacity)
    if task.task.network_mode == _NONE and (served.server.port is not None or copying is not None):
        what = "the server gets no requests" if copying is None else "nothing copies from the bucket"
        raise IncompatibleError(
            f"{what} in network mode none",
            argument="network_mode",
            value=_NONE,
            allowed="bridge, awsvpc, host",
            fix="leave network_mode out of the task definition",
        )
    copier = None
    if copying is not None:
        copier_id = f"{construct_id}Copy"
        limit = _limit_of_copy(task, construct_id, copier_id, gpus=gpus, arguments=arguments, copying=copying)
        copier = task.add_container(copier_id, memory_limit_mib=limit, **copying)
    container = task.add_gpu_container(construct_id, gpus=gpus, **arguments)
    if cache is not None:
        volume = _volume(task, cache)
        served.mount_in(container, volume)
        if copier is not None:
            served.mount_in(copier, volume, is_copy=True)
            condition = ecs.ContainerDependencyCondition.SUCCESS
            container.add_container_dependencies(ecs.ContainerDependency(container=copier, condition=condition))
    return container


def connect_caches(service: Runner, task: GpuTaskDefinition) -> list[IDependable]:
    """Lets the tasks of a service or a job reach the caches of its servers.

    Args:
        service: The service, or the security group of a job.
        task: What it runs; servers that are added later are connected as well.

    Returns:
        What it has to wait for, until they can be mounted.
    """
    task.services.append(service)
    return [ready for cache in task.volumes_of_caches if (ready := _connect(service, task, cache)) is not None]


def _connect(service: Runner, task: GpuTaskDefinition, cache: CacheStorage) -> IDependable | None:
    if task.task.network_mode == _AWSVPC:
        # The agent mounts from the network of the task ("netns" in GetDriverOptions of amazon-ecs-agent).
        cache.reach_from_tasks(service)
    return cache.ready


def _limit_of_copy(
    task: GpuTaskDefinition,
    construct_id: str,
    copier_id: str,
    *,
    gpus: Gpus,
    arguments: Any,  # noqa: ANN401 - of add_gpu_container, and of add_container
    copying: Any,  # noqa: ANN401
) -> int | None:
    """How much memory in MiB the container before a server may take: half of the server's, which starts after it.

    Half, because daemons that are added later take some from the server. CDK and ECS need no limit, cdk-preflight does.

    Raises:
        GpuConstructsError: The server would be refused once that container is there, which nothing takes out again.
    """
    pools = [each.pool for each in task.capacity]
    before = plan_sidecar(
        copier_id,
        task=task.task,
        pools=pools,
        cpu=None,
        memory_limit_mib=None,
        memory_reservation_mib=copying["memory_reservation_mib"],
        options=copying,
        environment=None,
    )
    name = arguments.get("container_name") or construct_id
    plan = plan_gpu_container(
        name,
        task=before,
        pools=pools,
        gpus=gpus,
        needs=plan_needs(arguments),
        options=arguments,
        kept=task.kept_by_daemons,
    )
    rehearse_whole(task, construct_id, passed_on(arguments))
    size, kept = plan.container.memory_limit_mib, copying["memory_reservation_mib"]
    return max(kept, size // 2) if isinstance(size, int) else None


def _volume(task: GpuTaskDefinition, cache: CacheStorage) -> str:
    """The volume of a cache in a task, defined once, with permission and a way to it."""
    volumes = task.volumes_of_caches
    if cache not in volumes:
        name = task.free_volume_name(cache.volume_name(task))
        volume = cache.volume(task.capacity, name)
        task.add_volume(
            name=name,
            efs_volume_configuration=volume.efs,
            docker_volume_configuration=volume.docker,
            host=volume.host,
        )
        cache.grant(task)
        if task.task.network_mode != _AWSVPC:
            for hosts in dict.fromkeys(each.hosts for each in task.capacity):
                cache.reach_from_hosts(hosts, task)
        volumes[cache] = name
        for service in task.services:
            ready = _connect(service, task, cache)
            if ready is not None:
                service.node.add_dependency(ready)
    return volumes[cache]
