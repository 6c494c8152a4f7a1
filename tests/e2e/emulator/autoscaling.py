"""Auto Scaling groups: which types they launch, and launching and terminating as a group does.

moto 5.2.5 launches an Auto Scaling group's instances, but of the launch template's type even where a mixed instances
policy names others, none at all for some splits between on-demand and spot, and leaves network interfaces behind.
"""

from __future__ import annotations

import logging
from typing import Any

from moto.autoscaling.models import FakeAutoScalingGroup, autoscaling_backends
from moto.ec2.models import ec2_backends
from moto.ec2.models.instances import Instance
from moto.ssm.models import ssm_backends

from .agent import AgentConfig, agent_config
from .hosts import empty_host
from .images import Image, image
from .instance_types import InstanceType, instance_type
from .placement import Host

__all__ = ["config_of", "find", "install", "instances", "launch", "sample_hosts", "terminate"]

log = logging.getLogger(__name__)


def find(account_id: str, region: str, name_or_arn: str) -> FakeAutoScalingGroup | None:
    """The group of this name or ARN."""
    return autoscaling_backends[account_id][region].autoscaling_groups.get(name_or_arn.rsplit("/", maxsplit=1)[-1])


def instances(group: FakeAutoScalingGroup) -> list[Instance]:
    """Its running instances."""
    return [state.instance for state in group.instance_states if state.instance.is_running()]


def config_of(group: FakeAutoScalingGroup) -> AgentConfig:
    """How the agents of its next instances are configured."""
    return agent_config(group.user_data.decode() if group.user_data else "")


def sample_hosts(group: FakeAutoScalingGroup) -> tuple[Host, ...]:
    """One empty host of each type that the group can launch; none of the types that its AMI does not boot on."""
    ami = _image(group)
    return tuple(
        empty_host(
            kind,
            image_id=group.image_id,
            zone=group.availability_zones[0],
            gpu_driver=ami.gpu_driver,
            config=config_of(group),
        )
        for kind in _types(group)
        if ami.architecture in (None, kind.architecture)
    )


def launch(group: FakeAutoScalingGroup, count: int) -> None:
    """Launch `count` more instances of the group's first type."""
    kind, ami = _types(group)[0], _image(group)
    if ami.architecture not in (None, kind.architecture):
        log.warning("%s: AMI for %s does not boot on %s", group.name, ami.architecture, kind.name)
        return
    group.desired_capacity = len(instances(group)) + count
    group.replace_autoscaling_group_instances(count, group.get_propagated_tags())
    log.warning("%s: launched %d %s", group.name, count, kind.name)


def terminate(group: FakeAutoScalingGroup, doomed: list[Instance]) -> None:
    """Terminate instances of the group and lower its desired capacity by as many."""
    ec2 = ec2_backends[group.account_id][group.region]
    for instance in doomed:
        ec2.terminate_instances([instance.id])
        for interface in instance.nics.values():
            ec2.enis.pop(interface.id, None)
    group.instance_states = [state for state in group.instance_states if state.instance not in doomed]
    group.desired_capacity = len(group.instance_states)


def _types(group: FakeAutoScalingGroup) -> list[InstanceType]:
    """The types it can launch, in the order it prefers them."""
    return [instance_type(name) for name in _override_types(group) or [group.instance_type]]


def _override_types(group: FakeAutoScalingGroup) -> list[str]:
    policy: dict[str, Any] = (group.mixed_instances_policy or {}).get("LaunchTemplate", {})
    overrides = policy.get("Overrides") or []
    if any("InstanceType" not in override for override in overrides):
        raise ValueError(f"{group.name}: overrides by instance requirements are not modelled here")
    return [override["InstanceType"] for override in overrides]


def _image(group: FakeAutoScalingGroup) -> Image:
    return image(group.image_id, ssm_backends[group.account_id][group.region]._parameters)


def _preferred_type(group: FakeAutoScalingGroup) -> str:
    overrides = _override_types(group)
    if overrides:
        return overrides[0]
    if group.ec2_launch_template:
        return group.ec2_launch_template.get_version(group.launch_template_version).instance_type
    return str(group.launch_config.instance_type)


def install() -> None:
    """Make moto launch the first type of a mixed instances policy."""
    FakeAutoScalingGroup.instance_type = property(_preferred_type)  # type: ignore[method-assign,assignment]
