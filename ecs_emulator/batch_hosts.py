"""A compute environment of AWS Batch: its cluster, and the hosts that it starts for jobs that wait.

moto 5.2.5 launches hosts for MinvCpus alone, of an image of its own and without the launch template. Not modelled:
allocation strategies by price, balance over Availability Zones, updates of running hosts.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from moto.batch.models import ComputeEnvironment
from moto.ec2.models import ec2_backends
from moto.ecs.models import ecs_backends
from moto.ssm.models import ssm_backends

from . import joining, launch_settings, switches
from .agent import AgentConfig, agent_config
from .hosts import EcsHost, empty_host
from .images import image
from .instance_types import instance_type
from .launching import LaunchError, choose, go_together, interfaces_of, set_kinds
from .placement import Demand, Host, reason_against

if TYPE_CHECKING:
    from moto.ec2.models.instances import Instance
    from moto.ec2.models.subnets import Subnet

    from .resource import Properties, Region
    from .running import RunningEcs

__all__ = ["FULL", "EmulatedEnvironment"]

FULL = "full"
"""Why no host comes where all that may be there are: not a reason of AWS Batch, which tries the next environment."""

IDLE_MINUTES = 10
"""Roughly how long a host without jobs stays; AWS states no number."""

BARRED = "ECS_AL2"
"""The beginning of image types that no new compute environment may have since 2026-06-30."""


class EmulatedEnvironment(ComputeEnvironment):
    """One managed compute environment.

    Args:
        where: Its account and region.
        name: Its name.
        settings: What it was asked to be, in the API's words.

    Raises:
        ValueError: AWS Batch refuses it.
    """

    def __init__(self, where: Region, name: str, settings: Properties) -> None:
        super().__init__(
            name,
            "MANAGED",
            settings.get("state", "ENABLED"),
            settings["computeResources"],
            settings.get("serviceRole", ""),
            where.account_id,
            where.name,
        )
        self.where = where
        self.launch_failure: str | None = None
        self._idle: dict[str, int] = {}
        self._check()
        cluster = self.ecs.create_cluster(f"AWSBatch-{name}-{uuid.uuid4()}")
        self.set_ecs(cluster.arn, cluster.name)

    @property
    def ecs(self) -> RunningEcs:
        """The ECS of its region."""
        return cast("RunningEcs", ecs_backends[self.where.account_id][self.where.name])

    @property
    def resources(self) -> Properties:
        """Its compute resources."""
        return self.compute_resources

    @property
    def running(self) -> list[Instance]:
        """Its instances."""
        self.instances = [each for each in self.instances if each.is_running()]
        return self.instances

    @property
    def hosts(self) -> list[EcsHost]:
        """Its registered hosts."""
        return self.ecs.hosts(self.ecs_name)

    def change(self, settings: Properties) -> None:
        """UpdateComputeEnvironment; hosts that run stay as they are.

        Raises:
            ValueError: AWS Batch refuses it.
        """
        before = self.compute_resources
        self.compute_resources = settings["computeResources"]
        try:
            self._check()
        except ValueError:
            self.compute_resources = before
            raise

    def _check(self) -> None:
        resources = self.resources
        if resources["type"] not in {"EC2", "SPOT"}:
            raise ValueError(f"compute resources of type {resources['type']} are not modelled here")
        names = list(resources["instanceTypes"])
        kinds = [instance_type(each) for each in names]
        if len({each.architecture for each in kinds}) > 1:
            raise ValueError("instance types of one compute environment must share the same architecture")
        if int(resources.get("minvCpus") or 0) > int(resources["maxvCpus"]):
            raise ValueError("minvCpus must not be greater than maxvCpus")
        for each in resources.get("ec2Configuration") or ():
            if str(each["imageType"]) in {BARRED, f"{BARRED}_NVIDIA"} and not each.get("imageIdOverride"):
                raise ValueError(f"{each['imageType']} is blocked for new compute environments")
        data = self._template
        if not (resources.get("securityGroupIds") or data.get("SecurityGroupIds") or data.get("NetworkInterfaces")):
            raise ValueError("security groups must be specified, here or in the launch template")
        if resources.get("securityGroupIds") and data.get("NetworkInterfaces"):
            # https://github.com/aws/aws-cdk/issues/21577
            raise ValueError(
                "Either compute environment Security Groups or Network Interfaces in Launch template are exclusively "
                "allowed"
            )
        if data.get("UserData") and "MIME-Version:" not in self._user_data:
            raise ValueError("user data in launch templates must be in the MIME multi-part archive format")
        if reasons := list(dict.fromkeys(launch_settings.refusals(self._settings(tuple(names))))):
            raise ValueError("; ".join(reasons))

    @property
    def _template(self) -> dict[str, Any]:
        named = self.resources.get("launchTemplate")
        if not named:
            return {}
        template = ec2_backends[self.where.account_id][self.where.name].get_launch_template(named["launchTemplateId"])
        return dict(template.get_version(str(named.get("version", "$Default"))).data)

    @property
    def _user_data(self) -> str:
        written = self._template.get("UserData")
        return written.decode() if written else ""

    def _settings(self, types: tuple[str, ...]) -> launch_settings.LaunchSettings:
        data = {**self._template, "InstanceType": types[0]}
        settings = launch_settings.settings_of(data, None, None, self.resources.get("placementGroup"))
        is_spot = self.resources["type"] == "SPOT"
        return replace(settings, types=types, market=launch_settings.SPOT if is_spot else settings.market)

    # Left abstract by moto.

    @classmethod
    def has_cfn_attr(cls, attr: str) -> bool:
        return False

    def is_created(self) -> bool:
        return True

    @classmethod
    def update_from_cloudformation_json(cls, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def delete_from_cloudformation_json(cls, *_: Any, **__: Any) -> None:
        raise NotImplementedError

    # Hosts

    def register(self) -> None:
        """Register the hosts that have started, and forget those that went."""
        ecs = self.ecs
        ecs._forget_terminated(ecs._get_cluster(self.ecs_name))
        known = {host.ec2_instance_id for host in self.hosts}
        for instance in self.running:
            if instance.id not in known and joining.joins(self.where, instance, str(self.ecs_arn)):
                host = EcsHost(instance, self._config, None, ecs)
                ecs.container_instances[self.ecs_name][host.id] = host

    @property
    def _config(self) -> AgentConfig:
        return replace(agent_config(self._user_data), cluster=self.ecs_name)

    @property
    def is_starting(self) -> bool:
        """Whether a host has yet to register."""
        return len(self.running) > len(self.hosts)

    def launch_for(self, demand: Demand) -> str | None:
        """Launch a host that takes a task; returns why none comes, None if one does."""
        fitting = [
            name for name in self.resources["instanceTypes"] if reason_against(demand, self._empty(name)) is None
        ]
        if not fitting:
            return "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"
        used = sum(instance_type(each.instance_type).vcpus for each in self.running)
        if used + -(-demand.cpu // 1024) > int(self.resources["maxvCpus"]):
            return FULL if self.running else "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE"
        try:
            self._launch(tuple(fitting))
        except LaunchError as error:
            self.launch_failure = str(error)
            return "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"
        return None

    def _empty(self, name: str) -> Host:
        parameters = ssm_backends[self.where.account_id][self.where.name]._parameters
        ami = image(self._image_id, parameters)
        return empty_host(instance_type(name), image_id=self._image_id, zone="", ami=ami, config=self._config)

    @property
    def _image_id(self) -> str:
        configured = (self.resources.get("ec2Configuration") or [{}])[0]
        return str(configured.get("imageIdOverride") or configured.get("imageType") or "ECS_AL2023_NVIDIA")

    def _launch(self, types: tuple[str, ...]) -> None:
        settings = self._settings(types)
        choice = choose(self.where, settings, self._subnets, [])
        groups = self.resources.get("securityGroupIds") or settings.security_groups
        subnet = choice.subnet or self._subnets[0]
        interfaces = {"nics": interfaces_of(settings, subnet)} if settings.interfaces else {}
        instance = (
            ec2_backends[self.where.account_id][self.where.name]
            .run_instances(
                self._image_id,
                1,
                None,
                [],
                instance_type=choice.instance_type,
                is_instance_type_default=False,
                subnet_id=subnet.id,
                security_group_ids=list(groups),
                tags={"instance": {"AWSBatchServiceTag": "batch"}},
                **interfaces,
            )
            .instances[0]
        )
        instance.lifecycle = None if choice.market == launch_settings.ON_DEMAND else choice.market
        instance.capacity_reservation_id = choice.reservation_id  # type: ignore[attr-defined]
        instance.missing_gpus = switches.next_number(self.where, "missing-gpus")  # type: ignore[attr-defined]
        joining.launched(self.where, instance, self.resources["instanceRole"])
        instance.ecs_managed = True  # type: ignore[attr-defined]  # it registers with no other cluster
        go_together(instance)
        set_kinds(instance, settings)
        self.instances.append(instance)

    @property
    def _subnets(self) -> list[Subnet]:
        ec2 = ec2_backends[self.where.account_id][self.where.name]
        return [ec2.get_subnet(each) for each in self.resources["subnets"]]

    def end_idle(self) -> None:
        """Terminate hosts that have been without a job for long enough, or end themselves; called once a minute."""
        for instance in joining.ended(self.where, self.running, self._template, self._user_data):
            self.terminate(instance)
        least = int(self.resources.get("minvCpus") or 0)
        for host in self.hosts:
            self._idle[host.id] = 0 if host.tasks else self._idle.get(host.id, 0) + 1
            left = sum(instance_type(each.instance_type).vcpus for each in self.running)
            own = next((each for each in self.running if each.id == host.ec2_instance_id), None)
            if own and self._idle[host.id] > IDLE_MINUTES and left - instance_type(own.instance_type).vcpus >= least:
                self.terminate(own)

    def terminate(self, instance: Instance) -> None:
        """Terminate one host."""
        ec2_backends[self.where.account_id][self.where.name].terminate_instances([instance.id])

    def end(self) -> None:
        """Terminate its hosts and delete its cluster."""
        for each in list(self.running):
            self.terminate(each)
        self.ecs._forget_terminated(self.ecs._get_cluster(self.ecs_name))
        self.ecs.delete_cluster(self.ecs_name)
