"""Hosts whose agent never joins a cluster (``/emulator/never-joins``, `switches`), and what ends them.

On AWS such a host runs on. One that has the unit ``join-deadline`` in its user data shuts down after its time, which
terminates it where its launch template says so; otherwise it stops, and costs its volumes. It says so in the log group
that the unit names, where its role allows that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from moto.core.utils import unix_time_millis
from moto.logs.models import logs_backends

from . import permissions, switches
from .policies import Call

if TYPE_CHECKING:
    from moto.ec2.models.instances import Instance

    from .resource import Region

__all__ = ["ended", "joins", "launched", "role_of"]

_DEADLINE = re.compile(r"waited < (\d+);")
_LOG = re.compile(r'\\"logGroupName\\":\\"([\w-]+)\\"')


def launched(region: Region, instance: Instance, profile: str | None) -> None:
    """Decide whether an instance that is launched now will join, and keep the role of its instance profile."""
    instance.never_joins = switches.next_number(region, "never-joins") > 0  # type: ignore[attr-defined]
    instance.minutes_apart = 0  # type: ignore[attr-defined]
    instance.role_arn = permissions.role_of_profile(region, profile)  # type: ignore[attr-defined]


def joins(region: Region, instance: Instance, cluster_arn: str) -> bool:
    """Whether its agent comes up, and its role lets it join."""
    denied = permissions.refusal(region, role_of(instance), permissions.calls_of_agent(cluster_arn))
    instance.is_refused = denied is not None  # type: ignore[attr-defined]
    return not _stays_apart(instance)


def role_of(instance: Instance) -> str | None:
    """The ARN of its role; None where it is not in the account."""
    return getattr(instance, "role_arn", None)


def _stays_apart(instance: Instance) -> bool:
    return getattr(instance, "never_joins", False) or getattr(instance, "is_refused", False)


def ended(region: Region, instances: Iterable[Instance], template: Mapping[str, Any], user_data: str) -> list[Instance]:
    """Of the instances of one launch template, those whose time is over after one minute more."""
    found = _DEADLINE.search(user_data)
    over = []
    for each in filter(_stays_apart, instances):
        each.minutes_apart = getattr(each, "minutes_apart", 0) + 1  # type: ignore[attr-defined]
        if found and each.minutes_apart * 60 > int(found[1]):  # type: ignore[attr-defined]
            _tell(region, each, user_data, f"this host is not in its ECS cluster after {found[1]} seconds")
            if template.get("InstanceInitiatedShutdownBehavior") == "terminate":
                over.append(each)
            else:
                each.stop()
    return over


def _tell(region: Region, instance: Instance, user_data: str, message: str) -> None:
    if found := _LOG.search(user_data):
        name, here = found[1], f"arn:aws:logs:{region.name}:{region.account_id}:log-group"
        asks = [Call(f"logs:{each}", f"{here}:{name}") for each in ("CreateLogGroup", "PutRetentionPolicy")]
        asks += [Call(f"logs:{each}", f"{here}:{name}:log-stream:one") for each in ("CreateLogStream", "PutLogEvents")]
        if permissions.refusal(region, role_of(instance), asks) is None:
            logs = logs_backends[region.account_id][region.name]
            if name not in logs.groups:
                logs.create_log_group(name, {}, retentionInDays="30")
            logs.create_log_stream(name, instance.id)
            logs.put_log_events(name, instance.id, [{"timestamp": int(unix_time_millis()), "message": message}])
