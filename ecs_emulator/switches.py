"""What a test tells the emulator about the world outside the account: SSM parameters below ``/emulator/``.

They are read where they matter, over HTTP and in the same process alike, and nobody else uses such names:

- ``/emulator/now``: the time, such as ``2026-12-01T00:00:00Z``; without it, it is `EPOCH` forever, so that no test
  depends on the day it runs. Scheduled actions and reservations look at it;
- ``/emulator/jobs/<name>``: how the attempts of a job of AWS Batch end, such as ``lost,0``, see `batch_jobs`;
- ``/emulator/nodes/<name>``: which nodes of a multi-node job fail, such as ``2:1`` or ``2:image``, see `batch_gangs`;
- ``/emulator/logs/<family>``: what the tasks of a family print, see `task_logs`;
- ``/emulator/due``: names of EventBridge rules and schedules whose time has come, such as ``Nightly``, see `schedules`;
- ``/emulator/missing-gpus``: how many GPUs fail to come up on the next hosts, such as ``1`` or ``0,8``; each host takes
  one number from it;
- ``/emulator/never-joins``: which of the next hosts never join their cluster, such as ``1`` or ``0,1``, see `joining`;
- ``/emulator/no-capacity``: what EC2 has none of, such as ``p5.48xlarge,g6.xlarge:spot``;
- ``/emulator/reservations/<id>`` and ``/emulator/reservation-groups/<name>``: see `reservations`.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from moto.ssm.models import ssm_backends

if TYPE_CHECKING:
    from .resource import Region

__all__ = ["EPOCH", "delete", "lacks_capacity", "moment", "names", "next_number", "now", "read", "write"]

PREFIX = "/emulator/"
EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)
"""The time of an account that was told no other."""


def read(region: Region, name: str) -> str | None:
    """The value of a switch, None where it is not set."""
    # `ParameterDict` makes an entry for whatever it is asked for.
    versions = dict.get(ssm_backends[region.account_id][region.name]._parameters, PREFIX + name)
    return versions[-1].value if versions else None


def write(region: Region, name: str, value: str) -> None:
    """Set a switch."""
    ssm_backends[region.account_id][region.name].put_parameter(
        PREFIX + name,
        description="",
        value=value,
        parameter_type="String",
        allowed_pattern="",
        keyid="",
        overwrite=True,
        tags=[],
        data_type="text",
        tier=None,
        policies=None,
    )


def delete(region: Region, name: str) -> None:
    """Unset a switch."""
    ssm_backends[region.account_id][region.name].delete_parameter(PREFIX + name)


def names(region: Region, prefix: str) -> list[str]:
    """The switches that are set and whose names begin like this, without that beginning."""
    start = PREFIX + prefix
    parameters = ssm_backends[region.account_id][region.name]._parameters
    return [name.removeprefix(start) for name, versions in parameters.items() if name.startswith(start) and versions]


def moment(text: str) -> datetime:
    """Read a time of the API's form, with UTC where it names no zone."""
    read_time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return read_time if read_time.tzinfo else read_time.replace(tzinfo=timezone.utc)


def now(region: Region) -> datetime:
    """The time in the account."""
    told = read(region, "now")
    return moment(told) if told else EPOCH


def next_number(region: Region, name: str) -> int:
    """The number that a switch has for the host that is launched now, 0 where it has none."""
    told = read(region, name)
    if not told:
        return 0
    first, _, rest = told.partition(",")
    if rest:
        write(region, name, rest)
    else:
        delete(region, name)
    return int(first)


def lacks_capacity(region: Region, instance_type: str, market: str) -> bool:
    """Whether EC2 has no instance of this type to give in this market."""
    lacking = (read(region, "no-capacity") or "").split(",")
    return instance_type in lacking or f"{instance_type}:{market}" in lacking
