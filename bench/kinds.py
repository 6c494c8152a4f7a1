"""One app for each kind of capacity and of container, as plain data that both variants are built from.

`bench.kinds_library` and `bench.kinds_plain` hold, under the same names, how each is written. Every app has four
capacities of its kind in one cluster, each with a task of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from fractions import Fraction
from types import MappingProxyType

from bench.sizes import hosts_of
from bench.workloads import Hosts, Share, Workload
from gpu_constructs.facts import InstanceType, instance_type
from gpu_constructs.placement.pool_profile import cpu_units, planned_memory_mib

__all__ = [
    "BLOCK",
    "CERTIFICATE",
    "GPU_PART",
    "GPU_SHARE_MIB",
    "JOB_HOURS",
    "KINDS",
    "MESSAGES_PER_TASK",
    "MODEL",
    "PORT",
    "RESERVATION",
    "TRAINING_HOSTS",
]

_CAPACITIES = 4

RESERVATION = "cr-0123456789abcdef0"
"""A capacity reservation, and the reservation of a Capacity Block."""

GPU_SHARE_MIB = 4096
"""Memory of the share of a GPU."""

CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/00000000-0000-0000-0000-000000000000"
"""The certificate of load balancers."""

MODEL = "Qwen/Qwen2.5-7B-Instruct"
"""What model servers serve."""

MESSAGES_PER_TASK = 5
"""Messages of a queue for which one task is enough."""

JOB_HOURS = 6
"""The time limit of jobs."""

TRAINING_HOSTS = 2
"""Hosts of a training."""

PORT = 8000
"""Where services listen."""

GPU_PART = 0.25
"""The part of a GPU that a host of the kind ``part of a GPU`` has."""


@dataclass(frozen=True, slots=True)
class Block:
    """A Capacity Block.

    Attributes:
        starts: When it starts.
        ends: When it ends.
        drains: What both become in a template: when hosts are asked to leave, in UTC.
    """

    starts: datetime
    ends: datetime
    drains: str


BLOCK = Block(
    starts=datetime(2030, 1, 1, 11, 30, tzinfo=timezone.utc),
    ends=datetime(2030, 1, 8, 11, 30, tzinfo=timezone.utc),
    drains="2030-01-08T10:45:00Z",
)


def _part(types: Sequence[InstanceType], part: Fraction) -> Share:
    cpu = min(int(cpu_units(each) * part) for each in types)
    memory = min(int(planned_memory_mib(each) * part) for each in types)
    return Share(cpu=cpu, memory_mib=memory, shared_memory_mib=min(memory // 2, 65536))


def _hosts(*names: str, part: Fraction = Fraction(1)) -> Hosts:
    """Hosts whose one kind of container gets this part of them."""
    return hosts_of(*names, shares=(_part([instance_type(each) for each in names], part),))


_G6 = _hosts("g6.xlarge")
_TWO_TYPES = _hosts("g6.xlarge", "g6.2xlarge")
_SHARED = _hosts("g6.xlarge", part=Fraction(GPU_SHARE_MIB, 22888))

_HOSTS: Mapping[str, Hosts] = {
    "spot": _TWO_TYPES,
    "spot above a base": _TWO_TYPES,
    "reservation": _G6,
    "Capacity Block": hosts_of("p5.48xlarge"),
    "warm hosts": _G6,
    "local disks": _G6,
    "EFA": hosts_of("p5.48xlarge"),
    "share of a GPU": _SHARED,
    "all GPUs": _hosts("g6.12xlarge"),
    "part of a GPU": _hosts("g6f.2xlarge"),
    "Neuron": _hosts("inf2.xlarge"),
    "Managed Instances": _G6,
    "Neuron on Managed Instances": _hosts("inf2.xlarge"),
    "a task for both": _G6,
    "load-balanced service": _G6,
    "model server with cache": _G6,
    "scaled service": _G6,
    "queue of AWS Batch": _G6,
    "training on several hosts": _G6,
    "job": _G6,
}

KINDS: Mapping[str, Workload] = MappingProxyType(
    {name: Workload(name, clusters=((_CAPACITIES,),), hosts=(hosts,), kind=name) for name, hosts in _HOSTS.items()}
)
"""By name."""
