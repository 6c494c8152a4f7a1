"""What runs a job and on what: one choice of each dimension, and what AWS says of each choice.

The types are from DescribeInstanceTypes (moto 5.2.5's recording of 2026-09-29): a p5.4xlarge has one H100 and an
Elastic Fabric Adapter and is sold in Capacity Blocks, a g6f.2xlarge has a quarter of an L4 and neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import Any

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from gpu_constructs import CapacityChoice, GpuCluster, GpuShare, HostNetwork, HostScaling, Purchase, WarmHosts
from gpu_constructs.tasks.task_target import Capacity
from tests.matrix.choices import BLOCK_ENDS, BLOCK_STARTS, Choice, Combination, reservation_id

__all__ = [
    "GANG",
    "HARDWARE",
    "HOSTS",
    "KINDS",
    "MAX_INSTANCES",
    "MODES",
    "Hardware",
    "Hosts",
    "JobCombination",
    "every_job",
]

GANG = 2
"""Hosts of a training."""
MAX_INSTANCES = 10 + GANG
"""Of every capacity: hosts for all jobs that are started in one of its stacks at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """What a container asks of hosts, and the hosts that have it.

    Args:
        instance_type: The hosts.
        family: Their family.
        shapes: Types of the family, for each number of GPUs.
        size: What `add_family` calls those of its hosts that have it; None for all.
        asked: What its container is given.
        network: How the hosts are connected.
    """

    instance_type: str
    family: str
    shapes: tuple[str, ...]
    size: float | None = None
    asked: Mapping[str, Any]
    network: HostNetwork | None = None

    def choice(self, name: str, subnets: ec2.SubnetSelection, **given: Any) -> CapacityChoice:
        """The hosts as one capacity."""
        common: dict[str, Any] = {"max_instances": MAX_INSTANCES, "network": self.network, "vpc_subnets": subnets}
        return CapacityChoice(name, **{"instance_types": [self.instance_type], **common, **given})


@dataclass(frozen=True, slots=True)
class Hosts:
    """One kind of capacity, for ECS and for AWS Batch.

    Args:
        join: Adds it to a cluster, under construct ids that begin with a name.
        environments: What a queue of AWS Batch is given for it.
    """

    join: Callable[[GpuCluster, str, Hardware, ec2.SubnetSelection], Sequence[Capacity]]
    environments: Callable[[GpuCluster, str, Hardware, ec2.SubnetSelection], Sequence[object]]


Given = Mapping[str, Any]


def _groups(*each_given: Callable[[str], Given]) -> Hosts:
    """One Auto Scaling group, or several in an order; each is asked for by what its instance type is."""

    def order(hardware: Hardware, subnets: ec2.SubnetSelection, name: str) -> list[CapacityChoice]:
        given = [each(hardware.instance_type) for each in each_given]
        return [hardware.choice(f"{name}{number}", subnets, **each) for number, each in enumerate(given)]

    def join(cluster: GpuCluster, name: str, hardware: Hardware, subnets: ec2.SubnetSelection) -> Sequence[Capacity]:
        choices = order(hardware, subnets, "" if len(each_given) == 1 else "Choice")
        if len(choices) > 1:
            return cluster.add_fallback(name, order=choices)
        (one,) = choices
        types, most = one.instance_types, one.max_instances
        return [cluster.add_capacity(name, instance_types=types, max_instances=most, **one.options)]

    return Hosts(join, lambda _cluster, name, hardware, subnets: order(hardware, subnets, name))


def _family(cluster: GpuCluster, name: str, hardware: Hardware, subnets: ec2.SubnetSelection) -> list[Capacity]:
    # Its construct ids are its own, so that a cluster has a family once.
    del name
    found = cluster.add_family(
        hardware.family, max_instances=MAX_INSTANCES, network=hardware.network, vpc_subnets=subnets
    )
    return list(found.values()) if hardware.size is None else [found[hardware.size]]


def _family_in_batch(
    _cluster: GpuCluster, name: str, hardware: Hardware, subnets: ec2.SubnetSelection
) -> list[CapacityChoice]:
    """An environment for each shape."""
    return [
        hardware.choice(f"{name}{number}", subnets, instance_types=types.split())
        for number, types in enumerate(hardware.shapes)
    ]


def _managed(asked: Callable[[Hardware], Given]) -> Hosts:
    def join(cluster: GpuCluster, name: str, hardware: Hardware, subnets: ec2.SubnetSelection) -> list[Capacity]:
        return [cluster.add_managed_capacity(name, vpc_subnets=subnets, **asked(hardware))]

    return Hosts(join, join)


def _block(instance_type: str) -> Given:
    name = reservation_id("block", instance_type)
    block = Purchase.capacity_block(name, instances=MAX_INSTANCES, starts=BLOCK_STARTS, ends=BLOCK_ENDS)
    return {"purchase": block}


def _reservation(instance_type: str) -> Given:
    name = reservation_id("odcr", instance_type)
    return {"purchase": Purchase.reservations(reservation_id=name, only=True, instances=MAX_INSTANCES)}


def _always(**given: Any) -> Callable[[str], Given]:
    return lambda _: given


def _choice(name: str, *traits: str) -> Choice:
    return Choice(name, frozenset(traits))


_ON_DEMAND = _always(purchase=Purchase.on_demand())
_SPOT = _always(purchase=Purchase.spot())

KINDS: tuple[Choice, ...] = (
    _choice("started by hand", "task"),
    _choice("on a schedule", "task"),
    _choice("from a queue", "task"),
    _choice("on an object", "task"),
    _choice("as a step", "task"),
    _choice("AWS Batch", "batch"),
    _choice("several hosts of AWS Batch", "batch", "nodes"),
)
"""Kinds of jobs; how each is defined and started is in `jobs`."""

HOSTS: Mapping[Choice, Hosts] = MappingProxyType(
    {
        _choice("on demand"): _groups(_ON_DEMAND),
        _choice("spot", "spot"): _groups(_SPOT),
        _choice("spot above a base", "mixed"): _groups(_always(purchase=Purchase.spot(on_demand_base=1))),
        _choice("a Capacity Block", "block"): _groups(_block),
        _choice("a reservation"): _groups(_reservation),
        _choice("warm hosts", "warm"): _groups(_always(scaling=HostScaling(warm_hosts=WarmHosts(hosts=1)))),
        _choice("Managed Instances by type", "managed"): _managed(lambda its: {"instance_types": [its.instance_type]}),
        _choice("a fallback of two", "spot", "two capacities"): _groups(_SPOT, _ON_DEMAND),
        _choice("a family", "family"): Hosts(_family, _family_in_batch),
    }
)

_H100 = Hardware(instance_type="p5.4xlarge", family="p5", shapes=("p5.4xlarge", "p5.48xlarge"), asked={"gpus": 1})
_G6F = Hardware(
    instance_type="g6f.2xlarge",
    family="g6f",
    shapes=("g6f.large g6f.xlarge", "g6f.2xlarge", "g6f.4xlarge"),
    size=0.25,
    asked={"gpus": 0.25},
)

HARDWARE: Mapping[Choice, Hardware] = MappingProxyType(
    {
        _choice("a whole GPU", "sold in blocks"): _H100,
        _choice("a part of a GPU", "part"): _G6F,
        _choice("a share by MPS", "sold in blocks", "share"): replace(_H100, asked={"gpus": GpuShare(memory_mib=4096)}),
        _choice("EFA", "sold in blocks", "efa"): replace(
            _H100, asked={"gpus": 1, "efa": True}, network=HostNetwork.efa()
        ),
    }
)

MODES: Mapping[Choice, ecs.NetworkMode | None] = MappingProxyType(
    {
        _choice("default mode"): None,
        _choice("bridge", "a mode", "bridge"): ecs.NetworkMode.BRIDGE,
        _choice("host", "a mode"): ecs.NetworkMode.HOST,
        _choice("awsvpc", "a mode"): ecs.NetworkMode.AWS_VPC,
    }
)

_CONTAINERS = (_choice("one container"), _choice("with a sidecar", "several containers"))


@dataclass(frozen=True, slots=True)
class JobCombination(Combination):
    """A choice of kind, hosts, hardware, network mode and containers."""

    @property
    def kind(self) -> Choice:
        return self.choices[0]

    @property
    def place(self) -> tuple[Choice, Choice]:
        """Hosts and hardware."""
        return self.choices[1], self.choices[2]

    @property
    def task(self) -> tuple[Choice, Choice]:
        """Network mode and containers."""
        return self.choices[3], self.choices[4]


def every_job() -> Iterator[JobCombination]:
    """Every combination of one choice of each dimension."""
    yield from map(JobCombination, product(KINDS, HOSTS, HARDWARE, MODES, _CONTAINERS))
