"""Lifecycle hooks of Auto Scaling groups: hosts that wait for a word before they enter service.

moto 5.2.5 keeps the names of hooks, and its instances never wait. Here an instance of a group with a launching hook is
in ``Pending:Wait`` until CompleteLifecycleAction, by a test or by the host itself. A host completes its action where
its user data names ``complete-lifecycle-action`` and its role allows that; it does so in the minute after its launch:
CONTINUE where all GPUs of its type came up, ABANDON where ``/emulator/missing-gpus`` took some away. This stands for a
check with ``nvidia-smi``; the script itself does not run, so what it really does is for other tests. Its ECS agent
starts after that, as on the ECS-optimized AMI, where the agent waits for user data. A host whose user data completes
nothing joins its cluster while it waits, and tasks run on it: that is what AWS does, too.

A host from a warm pool went through the hook once when it entered the pool and does so again when it leaves it. It does
not run its user data again (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html: at the first boot), so
it answers the second time only where user data left something behind that runs at each boot, one of `AT_EACH_BOOT`, and
only from a pool of stopped hosts, which do boot then. Otherwise its agent starts, tasks run on it, and the timeout
takes the host away.

Without an answer, the default result holds when the heartbeat timeout is over, counted in minutes of the emulator. An
abandoned instance is terminated and replaced. Terminating hooks are kept and never waited for.
https://docs.aws.amazon.com/autoscaling/ec2/userguide/lifecycle-hooks.html
"""

from __future__ import annotations

import base64
import re

from moto.autoscaling.exceptions import ValidationError
from moto.autoscaling.models import InstanceState, autoscaling_backends
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.models.instances import Instance

from . import permissions
from .autoscaling import LAUNCHING, EmulatedGroup
from .policies import Call
from .resource import Properties, Region, Resource

__all__ = ["LifecycleHook", "agent_starts", "install", "pass_a_minute", "put", "rejects"]

CALL = "complete-lifecycle-action"
ACTION = "autoscaling:CompleteLifecycleAction"
WAITING = "Pending:Wait"
AT_EACH_BOOT = ("per-boot", "systemctl enable", "WantedBy=", "boothook", "bootcmd", 'mode = "always"')
"""What in user data shows that something runs at each boot: cloud-init's, systemd's and Bottlerocket's words."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")


def agent_starts(instance: Instance) -> bool:
    """Whether the ECS agent of an instance of a group has started."""
    group: EmulatedGroup | None = getattr(instance, "autoscaling_group", None)
    if group is None or not _answers(group, instance):
        return True
    return any(state.instance is instance and state.lifecycle_state != WAITING for state in group.instance_states)


def pass_a_minute(group: EmulatedGroup) -> None:
    """Let the hosts that wait answer, or time out."""
    hook = group.hook_of(LAUNCHING)
    for state in [state for state in group.instance_states if state.lifecycle_state == WAITING]:
        waited = state.__dict__["waited_minutes"] = state.__dict__.get("waited_minutes", 0) + 1
        if hook is None:  # deleted while they waited
            complete(group, state, "CONTINUE")
        elif _answers(group, state.instance) and _may_complete(group):
            complete(group, state, "ABANDON" if getattr(state.instance, "missing_gpus", 0) else "CONTINUE")
        elif waited * 60 >= int(hook.heartbeat_timeout):
            complete(group, state, hook.default_result)


def complete(group: EmulatedGroup, state: InstanceState, result: str) -> None:
    """End the wait of an instance.

    Args:
        group: Its group.
        state: The instance.
        result: ``CONTINUE`` or ``ABANDON``.
    """
    if result == "CONTINUE":
        state.lifecycle_state = "InService"
    else:
        group.end([state.instance])


def rejects(group: EmulatedGroup, instance: Instance) -> bool:
    """Whether an instance that is about to enter the group's warm pool abandons itself."""
    return bool(getattr(instance, "missing_gpus", 0)) and _answers(group, instance) and _may_complete(group)


def _answers(group: EmulatedGroup, instance: Instance) -> bool:
    """Whether a host tries to complete its own action."""
    text = group.user_data.decode() if group.user_data else ""
    if group.hook_of(LAUNCHING) is None or not any(CALL in part for part in (text, *_embedded(text))):
        return False
    warmed = getattr(instance, "warmed", None)
    return warmed is None or (warmed == "Stopped" and any(mark in text for mark in AT_EACH_BOOT))


def _embedded(text: str) -> list[str]:
    """What user data carries in base64, such as that of a bootstrap container of Bottlerocket."""
    whole = [match for match in _BASE64.findall(text) if len(match) % 4 == 0]
    return [base64.b64decode(match).decode(errors="replace") for match in whole]


def _may_complete(group: EmulatedGroup) -> bool:
    """Whether the hosts' role allows the call."""
    role = permissions.role_of_profile(group.where, group.instance_profile)
    return role is not None and permissions.refusal(group.where, role, [Call(ACTION, group.arn)]) is None


class LifecycleHook(Resource):
    """The resource type."""

    type_name = "AWS::AutoScaling::LifecycleHook"
    name_property = "LifecycleHookName"
    create_only = frozenset({"AutoScalingGroupName", "LifecycleHookName"})

    def __init__(self, name: str, group: str) -> None:
        super().__init__(name)
        self._group = group

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> LifecycleHook:
        hook = cls(name, properties["AutoScalingGroupName"])
        hook.update(region, properties)
        return hook

    def update(self, region: Region, properties: Properties) -> None:
        put(region, self._group, self.physical_resource_id, properties)

    def remove(self, region: Region) -> None:
        autoscaling_backends[region.account_id][region.name].delete_lifecycle_hook(
            self._group, self.physical_resource_id
        )


def put(region: Region, group: str, name: str, properties: Properties) -> None:
    """PutLifecycleHook, from CloudFormation's properties.

    Raises:
        ValidationError: The group does not exist, or the timeout is not one that Auto Scaling takes.
    """
    backend = autoscaling_backends[region.account_id][region.name]
    if group not in backend.autoscaling_groups:
        raise ValidationError(f"AutoScalingGroup name not found - {group}")
    timeout = properties.get("HeartbeatTimeout")
    if timeout is not None and not 30 <= int(timeout) <= 7200:
        raise ValidationError("Heartbeat timeout must be between 30 and 7200 seconds")
    backend.create_lifecycle_hook(
        name,
        group,
        properties["LifecycleTransition"],
        int(timeout) if timeout is not None else None,
        properties.get("DefaultResult", "ABANDON"),
    )


def _complete_lifecycle_action(self: AutoScalingResponse) -> ActionResult:
    """CompleteLifecycleAction, which moto has not."""
    ask = self._get_param
    group = self.autoscaling_backend.autoscaling_groups.get(ask("AutoScalingGroupName"))
    result = ask("LifecycleActionResult")
    if not isinstance(group, EmulatedGroup) or result not in ("CONTINUE", "ABANDON"):
        raise ValidationError("No active Lifecycle Action found")
    for state in group.instance_states:
        if state.instance.id == ask("InstanceId") and state.lifecycle_state == WAITING:
            complete(group, state, result)
            return EmptyResult()
    raise ValidationError(f"No active Lifecycle Action found with instance ID {ask('InstanceId')}")


def install() -> None:
    """Answer the operation."""
    setattr(AutoScalingResponse, "complete_lifecycle_action", _complete_lifecycle_action)  # noqa: B010
