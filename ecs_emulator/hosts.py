"""Container instances: what an EC2 instance registers with its cluster, as the ECS agent on it would.

moto 5.2.5 gives every host 4096 CPU units, 7482 MiB and no GPU, whatever its type, and no instance registers by itself.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from moto.core.utils import utcnow
from moto.ec2.models.instances import Instance
from moto.ecs.models import ContainerInstance
from moto.ssm.models import ssm_backends

from . import joining
from .agent import AgentConfig
from .expressions import Subjects
from .images import Image, image
from .instance_types import InstanceType, instance_type
from .placement import MPS, Host

if TYPE_CHECKING:
    from .running import RunningEcs
    from .tasks import EmulatedTask

__all__ = ["EcsHost", "empty_host"]

SYSTEM_PORTS = ("22", "2375", "2376", "51678", "51679", "51680")
"""Ports that the agent, Docker and SSH keep (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html)."""


def empty_host(
    kind: InstanceType, *, image_id: str, zone: str, ami: Image, config: AgentConfig, missing_gpus: int = 0
) -> Host:
    """A host as it registers, before any task.

    Args:
        kind: Its instance type.
        image_id: Its AMI.
        zone: Its Availability Zone.
        ami: What that AMI can do.
        config: How its agent is configured.
        missing_gpus: How many of its GPUs did not come up.
    """
    count = max(kind.gpus - missing_gpus, 0) if ami.gpu_driver else 0
    attributes: dict[str, str | None] = {
        "ecs.ami-id": image_id,
        "ecs.availability-zone": zone,
        "ecs.cpu-architecture": kind.architecture,
        "ecs.instance-type": kind.name,
        "ecs.os-family": "LINUX",
        "ecs.os-type": "linux",
    }
    if count and ami.mps and kind.gpu_share == 1:
        attributes[MPS] = None
    return Host(
        arn="",
        subjects=Subjects(attributes | dict(config.attributes)),
        cpu=kind.registered_cpu,
        memory=kind.registered_memory_mib - config.reserved_memory_mib,
        gpus=tuple(f"GPU-{index}" for index in range(count)),
        gpu_total=count,
        gpu_share=kind.gpu_share,
        gpu_memory_mib=kind.gpu_memory_mib,
        neuron=kind.neuron_devices if ami.neuron else 0,
        ports=frozenset(map(int, SYSTEM_PORTS)),
    )


class EcsHost(ContainerInstance):
    """One registered host; what is left of it follows from the tasks on it.

    Args:
        instance: Its EC2 instance.
        config: How its agent is configured.
        provider: Name of the capacity provider whose Auto Scaling group launched it.
        backend: The ECS backend of its region.
    """

    def __init__(self, instance: Instance, config: AgentConfig, provider: str | None, backend: RunningEcs) -> None:
        account_id, region = backend.account_id, backend.region_name
        ami = image(instance.image_id, ssm_backends[account_id][region]._parameters)
        self.ec2_instance_id = instance.id
        self.role_arn = joining.role_of(instance)
        self.capacity_provider_name = provider
        self.cluster_name = config.cluster
        self.region_name = region
        self.id = uuid.uuid5(uuid.NAMESPACE_OID, instance.id).hex
        self.agent_connected = True
        self.status = "ACTIVE"
        self.pending_tasks_count = 0
        self.version_info = {"agentVersion": "1.107.0", "agentHash": "", "dockerVersion": ""}
        self.registered_at = utcnow()
        self.idle_minutes = 0
        self._account_id = account_id
        self._backend: RunningEcs = backend
        empty = empty_host(
            instance_type(instance.instance_type),
            image_id=instance.image_id,
            zone=str(instance.availability_zone),
            ami=ami,
            config=config,
            missing_gpus=getattr(instance, "missing_gpus", 0),
        )
        self.devices = frozenset(_devices(empty.neuron, instance))
        # NVML names a device by a UUID; the same host always has the same ones.
        gpus = tuple(f"GPU-{uuid.uuid5(uuid.NAMESPACE_OID, f'{instance.id}/{gpu}')}" for gpu in empty.gpus)
        self.empty = replace(empty, arn=self.container_instance_arn, gpus=gpus)
        self.attributes = dict(self.empty.subjects.attributes)

    @property
    def is_draining(self) -> bool:
        """Whether it gets no task any more, and services replace those that it has."""
        return self.status == "DRAINING"

    @property
    def tasks(self) -> list[EmulatedTask]:
        """The tasks that hold a part of it."""
        return [task for task in self._backend.active_tasks(self.cluster_name) if task.host is self]

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs on it but daemons."""
        return all(task.is_daemon for task in self.tasks)

    @property
    def free(self) -> Host:
        """The scheduler's view of it."""
        tasks = self.tasks
        taken = {gpu for task in tasks for ids in task.gpus.values() for gpu in ids}
        used: Counter[str] = Counter()
        for task in tasks:
            for part in task.demand.shared_gpu:
                used[task.gpus[part.container][0]] += part.memory_mib
        return replace(
            self.empty,
            subjects=Subjects(
                self.attributes,
                instance_id=self.ec2_instance_id,
                agent_connected=self.agent_connected,
                running_tasks=len(tasks),
                task_groups=frozenset(task.group for task in tasks),
            ),
            cpu=self.empty.cpu - sum(task.demand.cpu for task in tasks),
            memory=self.empty.memory - sum(task.demand.memory for task in tasks),
            gpus=tuple(gpu for gpu in self.empty.gpus if gpu not in taken),
            shared={gpu: self.empty.gpu_memory_mib - mib for gpu, mib in used.items()},
            neuron=0 if any(task.demand.neuron for task in tasks) else self.empty.neuron,
            ports=self.empty.ports.union(*(task.demand.ports for task in tasks)),
        )

    # The names below are those that moto serializes; moto declares them as attributes that it counts up and down.
    @property
    def registered_resources(self) -> list[dict[str, Any]]:  # type: ignore[override]
        return _resources(self.empty)

    @property
    def remaining_resources(self) -> list[dict[str, Any]]:  # type: ignore[override]
        return _resources(self.free)

    @property
    def running_tasks_count(self) -> int:  # type: ignore[override]
        return sum(1 for task in self.tasks if task.last_status == "RUNNING")


def _resources(host: Host) -> list[dict[str, Any]]:
    resources: list[dict[str, Any]] = [
        {"name": "CPU", "type": "INTEGER", "integerValue": host.cpu},
        {"name": "MEMORY", "type": "INTEGER", "integerValue": host.memory},
        {"name": "PORTS", "type": "STRINGSET", "stringSetValue": _sorted(host.ports)},
        {"name": "PORTS_UDP", "type": "STRINGSET", "stringSetValue": []},
    ]
    if host.gpu_total:
        resources.append({"name": "GPU", "type": "STRINGSET", "stringSetValue": list(host.gpus)})
    return resources


def _devices(neuron: int, instance: Instance) -> Iterable[str]:
    """The device files of a host that a task can ask for by path."""
    yield from (f"/dev/neuron{index}" for index in range(neuron))
    efas = [nic for nic in instance.nics.values() if nic.interface_type.startswith("efa")]
    yield from (f"/dev/infiniband/uverbs{index}" for index in range(len(efas)))


def _sorted(ports: Iterable[int]) -> list[str]:
    return [str(port) for port in sorted(ports)]
