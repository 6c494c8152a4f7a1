"""Hosts whose agent never joins a cluster (``/emulator/never-joins``, `switches`), and what ends them.

On AWS such a host runs on. One that has the unit ``join-deadline`` in its user data shuts down after its time, which
terminates it where its launch template says so; otherwise it stops, and costs its volumes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import switches

if TYPE_CHECKING:
    from moto.ec2.models.instances import Instance

    from .resource import Region

__all__ = ["ended", "launched", "never_joins"]

_DEADLINE = re.compile(r"waited < (\d+);")


def launched(region: Region, instance: Instance) -> None:
    """Decide whether an instance that is launched now will join."""
    instance.never_joins = switches.next_number(region, "never-joins") > 0  # type: ignore[attr-defined]
    instance.minutes_apart = 0  # type: ignore[attr-defined]


def never_joins(instance: Instance) -> bool:
    """Whether its agent does not come up."""
    return getattr(instance, "never_joins", False)


def ended(instances: Iterable[Instance], template: Mapping[str, Any], user_data: str) -> list[Instance]:
    """Of the instances of one launch template, those whose time is over after one minute more."""
    found = _DEADLINE.search(user_data)
    over = []
    for each in filter(never_joins, instances):
        each.minutes_apart += 1  # type: ignore[attr-defined]
        if found and each.minutes_apart * 60 > int(found[1]):  # type: ignore[attr-defined]
            if template.get("InstanceInitiatedShutdownBehavior") == "terminate":
                over.append(each)
            else:
                each.stop()
    return over
