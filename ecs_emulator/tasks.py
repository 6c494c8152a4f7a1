"""Tasks: what RunTask starts, from waiting for a host to stopped, with the GPU ids that each container holds.

moto 5.2.5 starts every task as RUNNING, describes the first container only and knows no GPU ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from moto.core.utils import utcnow
from moto.ec2.models import ec2_backends
from moto.ec2.models.elastic_network_interfaces import NetworkInterface
from moto.ec2.utils import generate_dns_from_ip
from moto.ecs.models import Task

from . import permissions
from .demands import demand_of, devices_of
from .placement import Demand, Placement
from .resource import Region

if TYPE_CHECKING:
    from moto.ecs.models import Cluster, TaskDefinition

    from .hosts import EcsHost
    from .running import RunningEcs

__all__ = ["EmulatedTask", "install", "task_demand"]

_DISTINCT = "distinctInstance"
FIRST_DYNAMIC_PORT, LAST_DYNAMIC_PORT = 32768, 60999
"""The usual range of the kernel (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html)."""

DEVICE_FILES = ("/dev/neuron", "/dev/infiniband/uverbs")
"""Device files that follow from what a host has; any other is taken to be there."""


def task_demand(
    definition: TaskDefinition, constraints: list[dict[str, str]] | None = None, *, group: str | None = None
) -> Demand:
    """What a task of this definition asks of a host, with the constraints and the group given at run time.

    ``distinctInstance`` is for services and RunTask alone; managed scaling counts hosts without it.
    """
    expressions = [each for each in constraints or () if each.get("type") != _DISTINCT]
    apart = group if len(expressions) < len(constraints or ()) else None
    demand = demand_of(
        definition.container_definitions,
        cpu=definition.cpu,
        memory=definition.memory,
        constraints=[*definition.placement_constraints, *expressions],
        architecture=(definition.runtime_platform or {}).get("cpuArchitecture"),
        network_mode=definition.network_mode,
    )
    return replace(demand, apart=apart)


class EmulatedTask(Task):
    """One task; waits in PROVISIONING until `run_on` gives it a host.

    Args:
        cluster: Its cluster.
        definition: Its task definition.
        demand: What it asks of a host.
        backend: The ECS backend of its region.
        group: ``family:...`` or ``service:...``.
        provider: The capacity provider it goes to, None for launch type EC2.
        options: What else RunTask says, passed on to moto.
    """

    def __init__(
        self,
        cluster: Cluster,
        definition: TaskDefinition,
        demand: Demand,
        backend: RunningEcs,
        *,
        group: str,
        provider: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._last_status = "PROVISIONING"
        interfaces = ec2_backends[backend.account_id][backend.region_name].enis
        before = set(interfaces)
        try:
            super().__init__(
                cluster,
                definition,
                container_instance_arn=None,
                resource_requirements=None,
                backend=backend,
                group=group,
                launch_type="EC2",
                capacity_provider_name=provider,
                **(options or {}),
            )
        except BaseException:
            # moto makes the interface of awsvpc mode first; a task that never was leaves none behind.
            for name in interfaces.keys() - before:
                del interfaces[name]
            raise
        self.demand = demand
        self.host: EcsHost | None = None
        self.deployment = 0
        self.is_daemon = False
        self.gpus: Mapping[str, tuple[str, ...]] = {}
        self.bindings: list[dict[str, Any]] = []
        self._network_mode = definition.network_mode
        self.cpu, self.memory = str(demand.cpu), str(demand.memory)
        self.created_at = utcnow()
        self.stop_code: str | None = None
        self.end: str | None = None
        self.waited = 0
        self.exit_code: int | None = None
        self.exit_reason = ""
        self.family = definition.family
        self._execution_role: str | None = getattr(definition, "execution_role_arn", None)
        self._definitions: list[dict[str, Any]] = definition.container_definitions
        self.containers = self._described()

    # moto keeps this one in a state machine of its own, which starts at RUNNING.
    @property
    def last_status(self) -> str:
        return self._last_status

    @last_status.setter
    def last_status(self, value: str) -> None:
        self._last_status = value
        self.containers = self._described()

    @property
    def waiting(self) -> bool:
        """Whether it still has no host."""
        return self._last_status == "PROVISIONING"

    def run_on(self, host: EcsHost, placement: Placement) -> None:
        """Take the place that the scheduler found."""
        self.host = host
        self.container_instance_arn = host.container_instance_arn
        self.gpus = placement.gpus
        self.bindings = self._bound(host)
        self.last_status = "PENDING"

    @property
    def _address(self) -> str | None:
        """The address of its own network interface; None without."""
        attachments: list[Any] = getattr(self, "attachments", [])
        details = [each for attachment in attachments for each in attachment["details"]]
        return next((each["value"] for each in details if each["name"] == "privateIPv4Address"), None)

    def _bound(self, host: EcsHost) -> list[dict[str, Any]]:
        """Where each container port is reached: an address or a host, and a port; a dynamic one is the next free."""
        address = self._address
        taken = {each["hostPort"] for task in host.tasks for each in task.bindings}
        free = (port for port in range(FIRST_DYNAMIC_PORT, LAST_DYNAMIC_PORT + 1) if port not in taken)
        return [
            {
                "bindId": address or host.ec2_instance_id,
                "containerName": container["name"],
                "containerPort": mapping["containerPort"],
                "hostPort": mapping["containerPort"]
                if self._network_mode in {"awsvpc", "host"}
                else mapping.get("hostPort") or next(free),
            }
            for container in self._definitions
            for mapping in container.get("portMappings", ())
        ]

    def begin(self) -> None:
        """Start the containers.

        It fails without the right to the image, secrets and logs, and for a device file that the host has not, which
        the scheduler does not know.
        """
        assert self.host is not None
        where = Region(self._account_id, self.region_name)
        here = f"{self.region_name}:{self._account_id}"
        calls = (call for each in self._definitions for call in permissions.calls_before_start(each, here))
        if denied := permissions.refusal(where, self._execution_role or self.host.role_arn, calls):
            self.stop(f"CannotStartContainerError: AccessDeniedException: {denied}", "TaskFailedToStart")
            return
        wanted = (path for path in devices_of(self._definitions) if path.startswith(DEVICE_FILES))
        missing = sorted(path for path in wanted if path not in self.host.devices)
        if missing:
            self.stop(
                "CannotStartContainerError: Error response from daemon: error gathering device information while "
                f'adding custom device "{missing[0]}": no such file or directory',
                "TaskFailedToStart",
            )
        else:
            self.last_status = "RUNNING"

    def exit(self, code: int | None, reason: str = "") -> None:
        """End by itself, with this exit code of the containers, or none that the agent could say, and a reason."""
        self.exit_code, self.exit_reason = code, reason
        self.stop("Essential container in task exited", "EssentialContainerExited")

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """Its containers, as its task definition has them."""
        return self._definitions

    @property
    def as_described(self) -> dict[str, Any]:
        """What DescribeTasks says of it, as far as somebody here reads it."""
        placed = {"containerInstanceArn": self.container_instance_arn} if self.container_instance_arn else {}
        return {
            "taskArn": self.task_arn,
            "group": self.group,
            "lastStatus": self._last_status,
            "desiredStatus": self.desired_status,
            "stopCode": self.stop_code,
            "stoppedReason": self.stopped_reason,
            "containers": self.containers,
            "overrides": self.overrides,
            "createdAt": self.created_at,
            **({"capacityProviderName": self.capacity_provider_name} if self.capacity_provider_name else {}),
            **placed,
        }

    def stop(self, reason: str, code: str = "UserInitiated") -> None:
        """Stop, and give back what it held."""
        self.stopped_reason, self.stop_code = reason, code
        self.desired_status = self.last_status = "STOPPED"
        # The network interface of awsvpc mode goes with the task; moto leaves it, and with it a subnet in use.
        interfaces = ec2_backends[self._account_id][self.region_name].enis
        attachments: list[Any] = self.attachments
        for attachment in attachments:
            for detail in attachment["details"]:
                if detail["name"] == "networkInterfaceId":
                    interfaces.pop(detail["value"], None)

    def _described(self) -> Any:
        """The containers as DescribeTasks shows them; typed loosely, because moto declares its own model here."""
        gpus = getattr(self, "gpus", {})
        return [
            {
                "containerArn": f"{self.task_arn.replace(':task/', ':container/')}/{definition['name']}",
                "taskArn": self.task_arn,
                "name": definition["name"],
                "image": definition.get("image"),
                "lastStatus": self._last_status,
                "cpu": str(definition.get("cpu", 0)),
                "networkInterfaces": [{"privateIpv4Address": self._address}] if self._address else [],
                "gpuIds": list(gpus.get(definition["name"], ())),
                **({} if getattr(self, "exit_code", None) is None else {"exitCode": self.exit_code}),
                **({"reason": self.exit_reason} if getattr(self, "exit_reason", "") else {}),
                "networkBindings": [
                    {"protocol": "tcp", "containerPort": each["containerPort"], "hostPort": each["hostPort"]}
                    for each in getattr(self, "bindings", ())
                    if each["containerName"] == definition["name"]
                ],
            }
            for definition in getattr(self, "_definitions", [])
        ]


class _PrivateDnsName:
    """The name of an interface that was given none.

    moto names those of a VPC with DNS hostnames alone, and its VPCs that come from a template have none, whatever
    ``EnableDnsHostnames`` says.
    """

    def __get__(self, interface: NetworkInterface, _: type[NetworkInterface]) -> str:
        return generate_dns_from_ip(interface.private_ip_address)


def install() -> None:
    """Give every interface a name, which moto's own task asks for."""
    NetworkInterface.private_dns_name = _PrivateDnsName()  # type: ignore[assignment]
