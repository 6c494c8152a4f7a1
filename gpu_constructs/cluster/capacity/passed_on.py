"""What a capacity passes on: arguments of CDK's Auto Scaling group, settings of the agent, attributes, commands.

The agent's variables: README of https://github.com/aws/amazon-ecs-agent, read 2026-11-28. The forms of attributes and
how many a host may have: `Attribute` and `PutAttributesRequest` of the ECS API (botocore 1.44.5).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
from typing_extensions import TypedDict, Unpack

from gpu_constructs.cdk.arguments import whole_seconds
from gpu_constructs.cdk.kinds import require_kinds
from gpu_constructs.cluster.capacity.part import Contribution, HostPart
from gpu_constructs.cluster.capacity.user_data import ATTRIBUTES, SETTINGS, generation_of
from gpu_constructs.errors import IncompatibleError, InvalidValueError, UnknownNameError, shown, unexpected
from gpu_constructs.facts import OperatingSystem
from gpu_constructs.facts.names import IN_BOTTLEROCKET
from gpu_constructs.fleet import GPU_SUPPORT, INSTANCE_ATTRIBUTES, UNKNOWN, Pool, PurchaseOption, UserData, known

if TYPE_CHECKING:
    from aws_cdk import aws_autoscaling as autoscaling
    from aws_cdk import aws_ec2 as ec2

_TIMES: Mapping[str, int] = {
    "ECS_CONTAINER_CREATE_TIMEOUT": 60,
    "ECS_CONTAINER_START_TIMEOUT": 45,
    "ECS_CONTAINER_STOP_TIMEOUT": 1,
    "ECS_ENGINE_TASK_CLEANUP_WAIT_DURATION": 1,
    "ECS_IMAGE_CLEANUP_INTERVAL": 600,
    "ECS_IMAGE_MINIMUM_CLEANUP_AGE": 1,
    "ECS_IMAGE_PULL_INACTIVITY_TIMEOUT": 60,
    "ECS_IMAGE_PULL_TIMEOUT": 1,
    "ECS_MANIFEST_PULL_TIMEOUT": 30,
}
"""Seconds below which the agent on Linux takes another time (its ``agent/config``, read 2026-11-28)."""
_FLAG = ("true|false", "'true' or 'false'")
_FORMS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(_TIMES, (r"(?=.)(\d{1,6}h)?(\d{1,6}m)?(\d{1,6}s)?", "a time such as '15m', '1h30m' or '45s'")),
    "ECS_DISABLE_IMAGE_CLEANUP": _FLAG,
    "ECS_ENABLE_CONTAINER_METADATA": _FLAG,
    "ECS_ENABLE_UNTRACKED_IMAGE_CLEANUP": _FLAG,
    "ECS_POLL_METRICS": _FLAG,
    "ECS_PULL_DEPENDENT_CONTAINERS_UPFRONT": _FLAG,
    "ECS_IMAGE_PULL_BEHAVIOR": ("default|always|once|prefer-cached", "'default', 'always', 'once' or 'prefer-cached'"),
    "ECS_LOGLEVEL": ("debug|info|warn|error|crit", "'debug', 'info', 'warn', 'error' or 'crit'"),
    "ECS_NUM_IMAGES_DELETE_PER_CYCLE": (r"[1-9]\d{0,6}", "a whole number as text, such as '5'"),
}
"""Settings of the agent that a capacity takes: what their values look like, and the same in words."""
_INSTEAD: Mapping[str, str] = {
    "ECS_RESERVED_MEMORY": "cluster.leave_room_for_daemons(memory_mib=…), which keeps memory from tasks",
    INSTANCE_ATTRIBUTES: "instance_attributes={'team': 'vision'}",
}
_OURS = frozenset({"ECS_CLUSTER", GPU_SUPPORT, "ECS_WARM_POOLS_CHECK", INSTANCE_ATTRIBUTES, *SETTINGS})
_ARCHITECTURE = "gpu.arch"
_ATTRIBUTE = r"(?a)(?!ecs\.|com\.amazonaws\.)[\w./-]{1,128}=(?! )[\w.@/: -]{1,128}(?<! )"
_MOST_ATTRIBUTES = 10
_DAY, _MOST_DAYS, _UNITS = 24 * 3600, 365, {"h": 3600, "m": 60, "s": 1}


class HostOptions(TypedDict, total=False):
    """Arguments of CDK's `autoscaling.AutoScalingGroup` that a capacity passes on, and what hosts are told.

    Attributes:
        agent_settings: Settings of the ECS agent, such as ``{"ECS_CONTAINER_START_TIMEOUT": "15m"}``.
        capacity_rebalance: Whether Auto Scaling replaces Spot hosts that EC2 says may be interrupted soon.
        default_instance_warmup: How long metrics of a new host do not count for scaling policies.
        group_metrics: Metrics of the group, such as ``[autoscaling.GroupMetrics.all()]``.
        health_checks: What Auto Scaling looks at besides the instance, such as its EBS volumes.
        instance_attributes: Attributes of each host for placement constraints, besides those that hosts have anyway:
            ``{"team": "vision"}``, and ``{"gpu.arch": "Ada"}``, which is held against the types.
        instance_monitoring: Whether EC2 measures hosts each minute. By default each five.
        max_instance_lifetime: After how long a host is replaced, a day to a year; its tasks move first.
        notifications: Topics that are told when hosts start and end.
        termination_policies: Which host goes first when the group becomes smaller.
        user_data: Commands that hosts run at their first boot, after all others and before the agent starts; read when
            the capacity is made. Not on Bottlerocket, which has no shell.
    """

    agent_settings: Mapping[str, str] | None
    capacity_rebalance: bool | None
    default_instance_warmup: cdk.Duration | None
    group_metrics: Sequence[autoscaling.GroupMetrics] | None
    health_checks: autoscaling.HealthChecks | None
    instance_attributes: Mapping[str, str] | None
    instance_monitoring: autoscaling.Monitoring | None
    max_instance_lifetime: cdk.Duration | None
    notifications: Sequence[autoscaling.NotificationConfiguration] | None
    termination_policies: Sequence[autoscaling.TerminationPolicy] | None
    user_data: ec2.UserData | None


PASSED_ON = tuple(HostOptions.__annotations__)


def _typed(**options: Unpack[HostOptions]) -> None:
    """Its signature says what kind each argument is."""


class PassedOn(HostPart):
    """The arguments of `HostOptions` that a capacity was given, by name."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        if given:
            require_kinds(_typed, given)
        self._given = given

    def require_possible(self, pool: Pool) -> None:
        """Refuses what contradicts how the hosts are bought and protected."""
        if "max_instance_lifetime" in self._given and pool.managed_termination_protection is True:
            # https://docs.aws.amazon.com/autoscaling/ec2/userguide/asg-max-instance-lifetime.html
            problem = "Auto Scaling replaces no host that is protected from scale-in, and ECS protects those with tasks"
            fix = "HostScaling without managed_termination_protection: managed draining lets tasks end all the same"
            raise IncompatibleError(problem, argument="max_instance_lifetime", fix=fix)
        has_spot = pool.bought.option in {PurchaseOption.SPOT, PurchaseOption.MIXED}
        if self._given.get("capacity_rebalance") and not has_spot:
            problem = f"EC2 announces interruptions of Spot hosts only, and those of {pool.name} are not Spot"
            fix = "leave it out, or purchase=Purchase.spot()"
            raise IncompatibleError(problem, argument="capacity_rebalance", value=True, fix=fix)

    def contribute(self, adds: Contribution, pool: Pool) -> None:
        """Passes on what CDK's constructs take, and tells hosts the rest."""
        if not self._given:
            return
        of_group, ours = {**self._given}, {*_OURS, *adds.agent}
        settings, attributes = (of_group.pop(each, {}) for each in ("agent_settings", "instance_attributes"))
        _require_settings(settings, ours, pool)
        _require_attributes(attributes, pool)
        adds.agent |= settings
        adds.attributes |= attributes
        if user_data := of_group.pop("user_data", None):
            adds.last_commands, adds.told_by_user = _commands(user_data, ours, pool, settings)
        if monitoring := of_group.pop("instance_monitoring", None):
            # CDK's group refuses it beside a launch template, whose argument it is.
            adds.launch_arguments["detailed_monitoring"] = monitoring.name == "DETAILED"
        for name, value in of_group.items():
            _require_of_group(name, value)
            adds.group_arguments[name] = list(value) if isinstance(value, tuple) else value


def _require_of_group(name: str, value: Any) -> None:  # noqa: ANN401 - what CDK's group takes under this name
    """Refuses what CDK's group would refuse without the name of the argument."""
    if isinstance(value, cdk.Duration):
        days = known(whole_seconds(name, value), otherwise=0) / _DAY
        if name == "max_instance_lifetime" and days and not 1 <= days <= _MOST_DAYS:  # 0 takes a limit away
            raise unexpected(name, days, f"1 to {_MOST_DAYS} days", fix="cdk.Duration.days(30)")
    elif name == "termination_policies" and any(each.name == "CUSTOM_LAMBDA_FUNCTION" for each in value):
        problem = "CUSTOM_LAMBDA_FUNCTION needs the ARN of a function, for which a capacity has no argument"
        fix = "capacity.auto_scaling_group.node.default_child.add_property_override('TerminationPolicies', ['arn:…'])"
        raise InvalidValueError(problem, argument=name, value=value, fix=fix)


def _require_settings(settings: Mapping[str, str], ours: Iterable[str], pool: Pool) -> None:
    argument = "agent_settings"
    for name, value in settings.items():
        _require_not_ours(name, argument, ours)
        if name not in _FORMS:
            problem = f"{shown(name)} is not among the settings of the agent that a capacity takes"
            near = tuple(get_close_matches(name.upper(), _FORMS, n=2))
            other = f"user_data with the command 'echo {name}=… >> /etc/ecs/ecs.config'"
            raise UnknownNameError(problem, argument=argument, value=name, nearest=near, otherwise=other)
        form, words = _FORMS[name]
        if not re.fullmatch(form, value, re.ASCII):
            problem = f"{name} expects {words}, got {shown(value)}"
            raise InvalidValueError(problem, argument=argument, value=value, fix=words)
        least = _TIMES.get(name, 0)
        if least and sum(int(each[:-1]) * _UNITS[each[-1]] for each in re.findall("[0-9]+.", value)) < least:
            problem = f"the agent takes no {name} below {least}s, got {shown(value)}"
            raise InvalidValueError(problem, argument=argument, value=value, fix=f"'{least}s' or more, or leave it out")
        if pool.operating_system is OperatingSystem.BOTTLEROCKET and name not in IN_BOTTLEROCKET:
            has = ", ".join(each for each in _FORMS if each in IN_BOTTLEROCKET)
            problem = f"Bottlerocket has no setting for {name}"
            raise IncompatibleError(problem, argument=argument, value=name, allowed=has, fix="leave it out")


def _require_not_ours(name: str, argument: str, ours: Iterable[str]) -> None:
    if name in ours:
        problem = f"{name} is set by this library, which counts on its value"
        raise InvalidValueError(problem, argument=argument, value=name, fix=_INSTEAD.get(name, "leave it out"))


def _require_attributes(given: Mapping[str, str], pool: Pool) -> None:
    argument, most = "instance_attributes", _MOST_ATTRIBUTES - len(ATTRIBUTES)
    for name, value in given.items():
        _require_not_ours(name, argument, ATTRIBUTES)
        if not re.fullmatch(_ATTRIBUTE, f"{name}={value}"):
            problem = f"{shown(name)}: {shown(value)} is no attribute that a host may be given"
            fix = "a name of letters, digits, - _ . and /, not of ECS; a value of these, @, : and spaces within"
            raise InvalidValueError(problem, argument=argument, value=value, fix=fix)
    if _ARCHITECTURE in given:
        found = {generation_of(each) or "unknown" for each in pool.instance_types}
        found |= set() if pool.types_are_known else {"unknown"}
        if found != {given[_ARCHITECTURE]} or "unknown" in found:
            problem = f"the GPU architecture of the types of {pool.name} is {' and '.join(sorted(found))}"
            fix = f"{{'{_ARCHITECTURE}': {shown(min(found))}}}" if len(found) == 1 else "a capacity for each"
            fix = "leave it out" if "unknown" in found else fix
            raise InvalidValueError(problem, argument=argument, value=given[_ARCHITECTURE], fix=fix)
    if len(given) > most:
        problem = f"a host has {_MOST_ATTRIBUTES} attributes at most, {len(ATTRIBUTES)} of them of this library"
        raise InvalidValueError(problem, argument=argument, value=list(given), fix=f"{most} or fewer")


def _commands(given: ec2.UserData, ours: Iterable[str], pool: Pool, also: Iterable[str]) -> tuple[list[str], UserData]:
    """Commands of a shell script without its first line, and what a reader of the template sees in them."""
    from gpu_constructs.template.resources.user_data import agent_settings  # noqa: PLC0415 - for those who give some

    if pool.operating_system is OperatingSystem.BOTTLEROCKET:
        problem = "Bottlerocket has no shell, and reads settings where other hosts read commands"
        fix = "agent_settings; for other lines of TOML capacity.launch_template.user_data.add_commands"
        raise IncompatibleError(problem, argument="user_data", fix=fix)
    text = given.render()
    first, *rest = text.splitlines() or [""]
    if first.strip() not in {"#!/bin/bash", "#!/bin/sh"}:
        problem = f"expects a script that begins with #!/bin/bash, got {shown(first)}"
        fix = "ec2.UserData.for_linux() with add_commands; options of the shell as a command, such as 'set -x'"
        raise InvalidValueError(problem, argument="user_data", fix=fix)
    told = agent_settings(text, lambda _: UNKNOWN).data
    for name, _ in told.agent:
        if name in also:
            problem = f"{name} is in agent_settings as well"
            raise IncompatibleError(problem, argument="user_data", value=name, fix="leave it out of one of the two")
        _require_not_ours(name, "user_data", ours)
    return rest, told
