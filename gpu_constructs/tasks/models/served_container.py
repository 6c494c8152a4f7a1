"""What a server and a cache make of a container with GPUs: its arguments, its volume, the copy that it waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs

from gpu_constructs.cdk.calls import require_construct_id
from gpu_constructs.cdk.refusal import alone_on, raise_first
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import IncompatibleError, InvalidValueError, unexpected
from gpu_constructs.facts.aws_limits import LARGEST_INTEGER
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Container, Pool, ResourceRequirement, Task
from gpu_constructs.rules import check
from gpu_constructs.rules.tasks.images import still_compiled
from gpu_constructs.tasks.models.cache_storage import BucketCopy, CacheStorage, EfsStorage
from gpu_constructs.tasks.models.model_cache import ModelCache
from gpu_constructs.tasks.models.model_server import ModelServer
from gpu_constructs.tasks.task_target import Capacity

# "startTimeout" of the container that is waited for; the agent's own 3 minutes end before a large model is copied.
_LONGEST_COPY_MINUTES = 60
_COPY_MEMORY_MIB = 512
_NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedContainer:
    """A container that may be made; without a cache it keeps models itself, without a command it has its image's."""

    name: str
    server: ModelServer
    cache: CacheStorage | None
    directory: str
    command: list[str] | None
    environment: dict[str, str]

    def arguments(self, given: Mapping[str, Any], *, network_mode: object) -> dict[str, Any]:
        """Arguments of `GpuTaskDefinition.add_gpu_container`, those that were given in place of the server's own."""
        port = self.server.port
        own = {name: value for name, value in self.environment.items() if name not in (given.get("secrets") or {})}
        environment = given.get("environment")
        defaults: dict[str, Any] = {}
        if self.command is not None:
            defaults["command"] = self.command
        if port is not None:
            # CDK refuses a name in network mode host, in which there is no Service Connect. There the port of the host
            # is that of the container, and only cdk-preflight wants it written.
            # By its name Service Connect knows a port: up to 64 lowercase letters, digits, underscores and hyphens
            # (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html).
            name = self.name.lower().lstrip("-")[:64]
            named = {"host_port": port} if network_mode == "host" else {"name": name}
            defaults["port_mappings"] = [ecs.PortMapping(container_port=port, **named)]
        if own and isinstance(environment, (Mapping, type(None))):
            defaults["environment"] = {**own, **(environment or {})}
            given = {name: value for name, value in given.items() if name != "environment"}
        return {"image": self.server.container_image(), **defaults, **given}

    def copying(self) -> dict[str, Any] | None:
        """Arguments of `GpuTaskDefinition.add_container` for what fills the cache first; None where nothing does."""
        if not isinstance(self.cache, BucketCopy):
            return None
        return {
            "image": ecs.ContainerImage.from_registry(self.cache.image),
            "command": self.cache.command,
            "essential": False,
            "memory_reservation_mib": _COPY_MEMORY_MIB,
            "start_timeout": cdk.Duration.minutes(_LONGEST_COPY_MINUTES),
        }

    def require_network(self, capacity: Sequence[Capacity], network_mode: object) -> None:
        """Refuses a task that has no way to the server or its cache."""
        if isinstance(self.cache, EfsStorage):
            self.cache.require_reached(capacity, from_hosts=network_mode != "awsvpc")
        is_filled = isinstance(self.cache, BucketCopy)
        if network_mode == _NONE and (self.server.port is not None or is_filled):
            raise IncompatibleError(
                f"{'nothing copies from the bucket' if is_filled else 'the server gets no requests'} in network mode "
                "none",
                argument="network_mode",
                value=_NONE,
                allowed="bridge, awsvpc, host",
                fix="leave network_mode out of the task definition",
            )

    def mount_in(self, container: ecs.ContainerDefinition, copier: ecs.ContainerDefinition | None, volume: str) -> None:
        """Mounts the cache."""
        is_read_only = self.cache is not None and self.cache.is_read_only
        for each, read_only in ((container, is_read_only), (copier, False)):
            if each is not None:
                each.add_mount_points(
                    ecs.MountPoint(source_volume=volume, container_path=self.directory, read_only=read_only)
                )
        if copier is not None:
            condition = ecs.ContainerDependencyCondition.SUCCESS
            container.add_container_dependencies(ecs.ContainerDependency(container=copier, condition=condition))


def served_container(
    name: str,
    *,
    server: ModelServer,
    cache: ModelCache | None,
    gpus: object,
    capacity: Sequence[Capacity],
) -> ServedContainer:
    """Checks a server and a cache against the capacity of its task."""
    require_construct_id(name)
    if not isinstance(server, ModelServer):
        raise unexpected("server", server, "a ModelServer", fix="ModelServer.vllm(model='Qwen/Qwen2.5-7B-Instruct')")
    if cache is not None and not isinstance(cache, ModelCache):
        raise unexpected("cache", cache, "a ModelCache", fix="ModelCache.efs(file_system), or ModelCache.host_disk()")
    pools = [each.pool for each in capacity]
    container = Container(name=name, image=server.image_name, requirements=(ResourceRequirement.gpus(1),))
    task = Task(name=name, containers=(container,))
    raise_first(check(alone_on(pools, task), rules=(still_compiled,)), {"Image": "server"})
    storage = None if cache is None else cache.storage
    if storage is not None:
        storage.require_on(capacity)
    directory = "" if storage is None else _directory(server, storage)
    return ServedContainer(
        name=name,
        server=server,
        cache=storage,
        directory=directory,
        command=_command(server, gpus, pools),
        environment=_environment(server, storage, directory),
    )


def _directory(server: ModelServer, cache: CacheStorage) -> str:
    """Where the container sees a cache."""
    found = cache.directory or server.cache_directory
    if found is None:
        raise InvalidValueError(
            f"it is not known where {server.name} keeps models",
            argument="cache",
            fix="ModelServer(…, cache_directory='/root/.cache/huggingface'), the directory in which its image keeps "
            "them, or leave cache out",
        )
    return found


def _command(server: ModelServer, gpus: object, pools: Sequence[Pool]) -> list[str] | None:
    count = _count(gpus, pools) if server.gpu_arguments else None
    words = (*server.command, *(() if count in {None, "1"} else server.gpu_arguments))
    return [each.replace("{port}", _port(server)).replace("{gpus}", str(count)) for each in words] or None


def _environment(server: ModelServer, cache: CacheStorage | None, directory: str) -> dict[str, str]:
    # A server loads models by path from a cache that it cannot write to, and compiles into its container.
    led = {} if cache is None or cache.is_read_only else server.cache_variables
    return {
        **{name: value.replace("{port}", _port(server)) for name, value in server.environment.items()},
        **{name: value.replace("{cache}", directory) for name, value in led.items()},
    }


def _port(server: ModelServer) -> str:
    return "" if server.port is None else str(server.port)


def _count(gpus: object, pools: Sequence[Pool]) -> str | None:
    """How many whole GPUs a container gets, as text; None for a share or a part of one."""
    if is_token(gpus):
        return gpus if isinstance(gpus, str) else cdk.Tokenization.stringify_number(cast("float", gpus))
    if isinstance(gpus, int):
        # A number that is too large is refused with the other arguments of its container.
        return str(gpus) if gpus <= LARGEST_INTEGER else None
    if gpus != "ALL":
        return None
    counts = {each.gpus for pool in pools for each in pool.instance_types}
    if len(counts) != 1 or not all(pool.types_are_known for pool in pools):
        raise InvalidValueError(
            "the command of the server needs a number of GPUs, and the hosts have different numbers",
            argument="gpus",
            value=gpus,
            allowed="a number of GPUs, or hosts that all have the same number",
            fix=f"gpus={min(counts, default=1)}",
        )
    return str(counts.pop())
