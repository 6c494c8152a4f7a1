"""Capacity providers of ECS Managed Instances, which moto 5.2.5 has not.

There is no Auto Scaling group: for a task that waits, ECS launches the smallest type that satisfies the provider's
requirements and takes the task, and terminates hosts that stay idle. Types, markets, shortages and reservations go as
in `launching`; the hosts register with what their type has. Our reading of
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ManagedInstances.html, of botocore's model and of
`instance_requirements`. A provider that no instance type satisfies is refused here at once; AWS may only say so when a
task waits for it. Not modelled: spreading over Availability Zones, consolidation, patching, automatic repair, managed
daemons, what the infrastructure role must allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from moto.ec2.models import ec2_backends
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.models.instances import Instance
from moto.ecs.exceptions import EcsClientException
from moto.ecs.models import CapacityProvider
from moto.iam.models import iam_backends

from . import switches
from .agent import AgentConfig
from .hosts import empty_host
from .images import Image
from .instance_requirements import types_for
from .launch_settings import ON_DEMAND, SPOT, LaunchSettings
from .launching import LaunchError, choose, go_together
from .placement import Demand, Host, Placement, place, reason_against
from .resource import Region

if TYPE_CHECKING:
    from moto.ec2.models.subnets import Subnet

    from .hosts import EcsHost
    from .instance_types import InstanceType

__all__ = ["TASK_LIMITS", "ManagedInstances", "task_refusals"]

IMAGE = "ami-ecs-managed"
IDLE_SECONDS = 300
"""When an idle host goes where the provider does not say; AWS does not publish its own default."""

MARKETS = {"ON_DEMAND": ON_DEMAND, "SPOT": SPOT, "RESERVED": ON_DEMAND}
PREFERENCES = {
    "RESERVATIONS_ONLY": "capacity-reservations-only",
    "RESERVATIONS_FIRST": "capacity-reservations-first",
    "RESERVATIONS_EXCLUDED": "none",
}
TASK_LIMITS = {
    "containers": (
        "disableNetworking",
        "dnsSearchDomains",
        "dnsServers",
        "dockerSecurityOptions",
        "extraHosts",
        "hostname",
        "links",
    ),
    "linuxParameters": ("maxSwap", "sharedMemorySize", "swappiness", "tmpfs"),
}
"""What a container definition on Managed Instances must not have
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-tasks-services.html)."""


class ManagedInstances(CapacityProvider):
    """One provider.

    Args:
        where: Its account and region.
        name: Its name.
        cluster: The cluster it belongs to.
        details: ``managedInstancesProvider`` of CreateCapacityProvider.
        tags: Its tags.

    Raises:
        EcsClientException: A role, an instance profile or every instance type is missing.
    """

    def __init__(
        self, where: Region, name: str, cluster: str, details: dict[str, Any], tags: list[dict[str, str]] | None
    ) -> None:
        super().__init__(where.account_id, where.name, name, {}, tags)
        self.auto_scaling_group_provider = None  # type: ignore[assignment]
        self.cluster = cluster
        self.type = "MANAGED_INSTANCES"
        self.managed_instances_provider = details
        self.launch_failures: list[str] = []
        self._where = where
        self._instances: list[Instance] = []
        self._check()

    def update(self, asg_details: dict[str, Any]) -> None:
        """Take new settings; hosts that run stay."""
        before, self.managed_instances_provider = self.managed_instances_provider, asg_details
        try:
            self._check()
        except EcsClientException:
            self.managed_instances_provider = before
            raise

    @property
    def _template(self) -> dict[str, Any]:
        return dict(self.managed_instances_provider["instanceLaunchTemplate"])

    @property
    def types(self) -> list[InstanceType]:
        """The types that it may launch, smallest first."""
        kinds = types_for(self._template.get("instanceRequirements") or {})
        if self._template.get("capacityOptionType") != "SPOT":
            return kinds
        return [kind for kind in kinds if SPOT in INSTANCE_TYPES[kind.name]["SupportedUsageClasses"]]

    @property
    def instances(self) -> list[Instance]:
        """Its running instances."""
        self._instances = [instance for instance in self._instances if instance.is_running()]
        return self._instances

    def _check(self) -> None:
        iam = iam_backends[self._where.account_id]["aws"]
        role = self.managed_instances_provider["infrastructureRoleArn"]
        profile = self._template["ec2InstanceProfileArn"]
        if role not in {item.arn for item in iam.roles.values()}:
            raise EcsClientException(f"The infrastructure role {role} does not exist.")
        if profile not in {item.arn for item in iam.instance_profiles.values()}:
            raise EcsClientException(f"The instance profile {profile} does not exist.")
        if not self._template.get("networkConfiguration", {}).get("subnets"):
            raise EcsClientException("At least one subnet is required.")
        if not self.types:
            raise EcsClientException("No instance type satisfies the instance requirements.")
        reserved = self._template.get("capacityOptionType") == "RESERVED"
        if reserved and not self._template.get("capacityReservations"):
            raise EcsClientException("The capacity option RESERVED needs capacity reservations.")

    def scale_out(self, demands: Sequence[Demand], registered: int) -> None:
        """Launch what waiting tasks need, unless earlier launches have yet to register."""
        if len(self.instances) > registered:
            return
        filled: list[Host] = []
        for demand in demands:
            outcome = place(demand, filled)
            if isinstance(outcome, Placement):
                filled[[host.arn for host in filled].index(outcome.host.arn)] = outcome.host
                continue
            try:
                fresh = place(demand, [replace(self._launch_for(demand), arn=str(len(filled)))])
            except LaunchError as error:
                self.launch_failures.append(str(error))
                continue
            assert isinstance(fresh, Placement)
            filled.append(fresh.host)

    def scale_in(self, hosts: Sequence[EcsHost]) -> None:
        """Terminate hosts that have been idle for long enough; called once a minute."""
        after = (self.managed_instances_provider.get("infrastructureOptimization") or {}).get("scaleInAfter")
        seconds = IDLE_SECONDS if after is None else int(after)
        for host in hosts:
            host.idle_minutes = 0 if host.tasks else host.idle_minutes + 1
            if seconds >= 0 and host.idle_minutes * 60 > seconds:
                self._terminate([item for item in self.instances if item.id == host.ec2_instance_id])

    def end(self) -> None:
        """Terminate its hosts."""
        self._terminate(self.instances)

    def _launch_for(self, demand: Demand) -> Host:
        """Launch an instance that takes the task.

        Raises:
            LaunchError: No type of the provider does, or EC2 has none of those that do.
        """
        empty = {kind.name: _empty(kind) for kind in self.types}
        fitting = tuple(name for name, host in empty.items() if reason_against(demand, host) is None)
        if not fitting:
            raise LaunchError("no instance type that satisfies the requirements takes the task")
        choice = choose(self._where, self._settings(fitting), self._subnets, [])
        ec2 = ec2_backends[self._where.account_id][self._where.name]
        network = self._template["networkConfiguration"]
        instance = ec2.run_instances(
            IMAGE,
            1,
            None,
            [],
            instance_type=choice.instance_type,
            is_instance_type_default=False,
            subnet_id=choice.subnet.id if choice.subnet else network["subnets"][0],
            security_group_ids=list(network.get("securityGroups") or []),
            tags={"instance": {"AmazonECSManaged": "true"}},
        ).instances[0]
        instance.lifecycle = None if choice.market == ON_DEMAND else choice.market
        instance.capacity_reservation_id = choice.reservation_id  # type: ignore[attr-defined]
        instance.missing_gpus = switches.next_number(self._where, "missing-gpus")  # type: ignore[attr-defined]
        instance.ecs_managed = True  # type: ignore[attr-defined]
        go_together(instance)
        self._instances.append(instance)
        return empty[choice.instance_type]

    def _settings(self, types: tuple[str, ...]) -> LaunchSettings:
        option = self._template.get("capacityOptionType") or "ON_DEMAND"
        held = self._template.get("capacityReservations") or {}
        group = held.get("reservationGroupArn")
        default = "RESERVATIONS_ONLY" if option == "RESERVED" else "RESERVATIONS_FIRST"
        return LaunchSettings(
            types=types,
            market=MARKETS[option],
            reservation_groups=(group,) if group else (),
            preference=PREFERENCES[held.get("reservationPreference") or default] if held else "open",
        )

    @property
    def _subnets(self) -> list[Subnet]:
        ec2 = ec2_backends[self._where.account_id][self._where.name]
        return [ec2.get_subnet(name) for name in self._template["networkConfiguration"]["subnets"]]

    def _terminate(self, doomed: list[Instance]) -> None:
        ec2 = ec2_backends[self._where.account_id][self._where.name]
        for instance in list(doomed):
            ec2.terminate_instances([instance.id])


def _empty(kind: InstanceType) -> Host:
    return empty_host(kind, image_id=IMAGE, zone="", ami=Image(), config=AgentConfig())


def task_refusals(definition: Any) -> list[str]:
    """What keeps a task definition from being registered for Managed Instances."""
    found = []
    if (definition.network_mode or "bridge") not in ("awsvpc", "host"):
        found.append(f"networkMode {definition.network_mode or 'bridge'}")
    found += [name for name in ("ipcMode", "proxyConfiguration") if getattr(definition, _snake(name), None)]
    for container in definition.container_definitions:
        found += [name for name in TASK_LIMITS["containers"] if container.get(name)]
        found += [name for name in TASK_LIMITS["linuxParameters"] if (container.get("linuxParameters") or {}).get(name)]
    return found


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
