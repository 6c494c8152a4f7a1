"""Auto Scaling groups: which types they launch, and launching, keeping and terminating instances as a group does.

moto 5.2.5 launches an Auto Scaling group's instances, but of the launch template's type even where a mixed instances
policy names others, none at all for some splits between on-demand and spot, and leaves network interfaces behind. It
knows no warm hosts, nothing of lifecycle hooks but their names, and never replaces an instance.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from moto.autoscaling import models
from moto.autoscaling.models import FakeAutoScalingGroup, InstanceState, autoscaling_backends
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult
from moto.ec2.models import ec2_backends
from moto.ec2.models.instances import Instance
from moto.ssm.models import ssm_backends

from . import launch_settings
from .agent import AgentConfig, agent_config
from .hosts import empty_host
from .images import Image, image
from .instance_types import InstanceType, instance_type
from .launch_settings import SPOT, LaunchSettings
from .launching import LaunchError, launch_one
from .placement import Host
from .resource import Region

__all__ = [
    "EmulatedGroup",
    "config_of",
    "find",
    "groups_of",
    "install",
    "instances",
    "launch",
    "sample_hosts",
    "terminate",
]

log = logging.getLogger(__name__)

LAUNCHING = "autoscaling:EC2_INSTANCE_LAUNCHING"


class EmulatedGroup(FakeAutoScalingGroup):
    """One group.

    Beside what moto keeps, it has warm hosts (`warm_pools`), its own capacity reservation specification, and the
    reasons why it could not launch.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.warm: list[Instance] = []
        self.reservations: dict[str, Any] | None = None
        self.launch_failures: list[str] = []
        super().__init__(*args, **kwargs)

    @staticmethod
    def cloudformation_type() -> str:
        return ""  # `autoscaling_resources` has the type

    # Left abstract by moto.
    def is_created(self) -> bool:
        return True

    @property
    def where(self) -> Region:
        """Its account and region."""
        return Region(self.account_id, self.region)

    @property
    def instance_profile(self) -> str | None:
        """The name or ARN of the instance profile of its hosts."""
        profile = self.template_data.get("IamInstanceProfile") or {}
        return profile.get("Arn") or profile.get("Name")

    @property
    def template_data(self) -> dict[str, Any]:
        """Data of its launch template, or of its launch configuration in the same words."""
        if self.ec2_launch_template:
            return dict(self.ec2_launch_template.get_version(self.launch_template_version).data)
        spot = {"InstanceMarketOptions": {"MarketType": SPOT}} if self.launch_config.spot_price else {}
        return {
            "ImageId": self.launch_config.image_id,
            "InstanceType": str(self.launch_config.instance_type),
            "UserData": self.user_data.decode() if self.user_data else "",
            "SecurityGroupIds": self.launch_config.security_groups,
            "BlockDeviceMappings": self.launch_config.block_device_mapping_dict,
            **spot,
        }

    @property
    def settings(self) -> LaunchSettings:
        """What it launches."""
        return launch_settings.settings_of(
            self.template_data, self.mixed_instances_policy, self.reservations, self.placement_group
        )

    @property
    def instance_type(self) -> str:
        return next(iter(self.settings.types), "")

    @property
    def running(self) -> list[Instance]:
        """Its running instances, those that a lifecycle hook holds included, warm ones not."""
        return [state.instance for state in self.instance_states if state.instance.is_running()]

    # moto calls this one when the desired capacity is set.
    def replace_autoscaling_group_instances(self, count_needed: int, propagated_tags: dict[str, str]) -> None:
        try:
            for _ in range(count_needed):
                self.take(self.warm.pop(0) if self.warm else launch_one(self, self.settings))
        except LaunchError as error:
            self.launch_failures.append(str(error))
            log.warning("%s: %s", self.name, error)

    @property
    def blueprint(self) -> str:
        """What its next instances are made from, to be told from what earlier ones were."""
        return json.dumps([self.template_data, self.mixed_instances_policy, self.reservations], default=str)

    def take(self, instance: Instance) -> None:
        """Add an instance; a launching hook holds it back until somebody completes the action."""
        if not instance.is_running():
            instance.start()
        instance.autoscaling_group = self  # type: ignore[attr-defined]
        instance.launched_from = self.blueprint  # type: ignore[attr-defined]
        state = "Pending:Wait" if self.hook_of(LAUNCHING) else "InService"
        self.instance_states.append(
            InstanceState(instance, state, protected_from_scale_in=self.new_instances_protected_from_scale_in)
        )

    def hook_of(self, transition: str) -> models.LifecycleHook | None:
        """Its lifecycle hook for a transition."""
        hooks = self.autoscaling_backend.describe_lifecycle_hooks(self.name)
        return next((hook for hook in hooks if hook.lifecycle_transition == transition), None)

    def end(self, doomed: list[Instance]) -> None:
        """Terminate instances, and leave the desired capacity as it is: they are replaced."""
        ec2 = ec2_backends[self.account_id][self.region]
        for instance in doomed:
            ec2.terminate_instances([instance.id])
        self.instance_states = [state for state in self.instance_states if state.instance not in doomed]
        self.warm = [instance for instance in self.warm if instance not in doomed]


def find(account_id: str, region: str, name_or_arn: str) -> EmulatedGroup | None:
    """The group of this name or ARN."""
    found = autoscaling_backends[account_id][region].autoscaling_groups.get(name_or_arn.rsplit("/", maxsplit=1)[-1])
    assert found is None or isinstance(found, EmulatedGroup)
    return found


def groups_of(region: Region, cluster: str) -> list[EmulatedGroup]:
    """The groups whose hosts join this cluster."""
    groups = autoscaling_backends[region.account_id][region.name].autoscaling_groups.values()
    return [group for group in groups if isinstance(group, EmulatedGroup) and config_of(group).cluster == cluster]


def instances(group: EmulatedGroup) -> list[Instance]:
    """Its running instances."""
    return group.running


def config_of(group: EmulatedGroup) -> AgentConfig:
    """How the agents of its next instances are configured."""
    return agent_config(group.user_data.decode() if group.user_data else "")


def sample_hosts(group: EmulatedGroup) -> tuple[Host, ...]:
    """One empty host of each type that the group can launch; none of the types that its AMI does not boot on."""
    ami = _image(group)
    return tuple(
        empty_host(
            kind,
            image_id=group.image_id,
            zone=group.availability_zones[0],
            ami=ami,
            config=config_of(group),
        )
        for kind in _types(group)
        if ami.architecture in (None, kind.architecture)
    )


def launch(group: EmulatedGroup, count: int) -> None:
    """Launch `count` more instances, warm ones first."""
    kind, ami = _types(group)[0], _image(group)
    if ami.architecture not in (None, kind.architecture):
        log.warning("%s: AMI for %s does not boot on %s", group.name, ami.architecture, kind.name)
        return
    group.desired_capacity = len(instances(group)) + count
    group.replace_autoscaling_group_instances(count, {})
    log.warning("%s: launched %d of %d %s", group.name, len(instances(group)), group.desired_capacity, kind.name)


def replenish(group: EmulatedGroup) -> None:
    """Launch what is missing to the desired capacity, as Auto Scaling does for instances that are gone."""
    group.instance_states = [state for state in group.instance_states if state.instance.is_running()]
    missing = int(group.desired_capacity or 0) - len(instances(group))
    if missing > 0:
        launch(group, missing)


def resize(group: EmulatedGroup, wanted: int) -> None:
    """Bring the group to a capacity; instances that are protected from scale-in stay."""
    running = instances(group)
    if wanted > len(running):
        launch(group, wanted - len(running))
        return
    free = [state.instance for state in group.instance_states if not state.protected_from_scale_in]
    terminate(group, free[: len(running) - wanted])


def terminate(group: EmulatedGroup, doomed: list[Instance]) -> None:
    """Terminate instances of the group and lower its desired capacity by as many."""
    group.end(doomed)
    group.desired_capacity = len(group.instance_states)


def activities(group: EmulatedGroup, most: int) -> list[dict[str, str]]:
    """The launches of a group that failed, the newest first."""
    failures = group.launch_failures[: -most - 1 : -1]
    return [
        {
            "AutoScalingGroupName": group.name,
            "Description": "Launching a new EC2 instance.  Status Reason: " + each,
            "StatusCode": "Failed",
            "StatusMessage": each,
        }
        for each in failures
    ]


def _types(group: EmulatedGroup) -> list[InstanceType]:
    """The types it can launch, in the order it prefers them."""
    return [instance_type(name) for name in group.settings.types]


def _image(group: EmulatedGroup) -> Image:
    return image(group.image_id, ssm_backends[group.account_id][group.region]._parameters)


def _describe_scaling_activities(self: AutoScalingResponse) -> ActionResult:
    group = find(self.current_account, self.region, self._get_param("AutoScalingGroupName"))
    most = int(self._get_param("MaxRecords") or 100)
    return ActionResult({"Activities": activities(group, most) if group else []})


def install() -> None:
    """Put these groups in the place of moto's, and their failed launches where moto knows no activity."""
    AutoScalingResponse.describe_scaling_activities = _describe_scaling_activities  # type: ignore[method-assign]
    models.FakeAutoScalingGroup = EmulatedGroup  # type: ignore[misc]
