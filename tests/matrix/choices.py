"""What a capacity may be asked to be, one choice of each dimension at a time, and what AWS says of each choice.

The traits are from DescribeInstanceTypes (moto 5.2.5's recording of 2026-09-29: EfaInfo, InstanceStorageSupported,
SupportedUsageClasses) and from the pages of the EC2 guide about accelerated types and Capacity Blocks, not from this
library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from hashlib import sha256
from itertools import product
from types import MappingProxyType

from aws_cdk import aws_ec2 as ec2

from gpu_constructs import GpuMachineImage, HostNetwork, HostScaling, HostStorage, Purchase, WarmHosts

__all__ = [
    "BLOCK_ENDS",
    "BLOCK_STARTS",
    "CAPACITY",
    "DIMENSIONS",
    "GROUP",
    "MAX_INSTANCES",
    "Choice",
    "Combination",
    "every_combination",
    "reservation_id",
]

MAX_INSTANCES = 2
"""Of every capacity; a reservation with room for fewer contradicts it."""

BLOCK_STARTS = datetime(2026, 12, 1, 11, 30, tzinfo=timezone.utc)
BLOCK_ENDS = datetime(2026, 12, 8, 11, 30, tzinfo=timezone.utc)

GROUP = "matrix"
"""The resource group of all on-demand capacity reservations."""

_OWN_AMI = dict.fromkeys(("us-east-1", "us-west-2", "eu-west-1"), "ami-0123456789abcdef0")
_GROUP_ARN = f"arn:aws:resource-groups:us-east-1:123456789012:group/{GROUP}"


def reservation_id(kind: str, instance_type: str) -> str:
    """The on-demand capacity reservation (``odcr``) or Capacity Block (``block``) of a type."""
    return f"cr-{sha256(f'{kind} {instance_type}'.encode()).hexdigest()[:17]}"


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One choice of one dimension; there is one object of each.

    Args:
        name: What it is called in reports.
        traits: What AWS says of it, in the words of `contradictions`.
        arguments: What `GpuCluster.add_capacity` gets for it.
        purchase: The purchase, where it depends on the first instance type.
    """

    name: str
    traits: frozenset[str]
    arguments: Mapping[str, object] = field(default_factory=dict)
    purchase: Callable[[str], Purchase] | None = None


@dataclass(frozen=True, slots=True)
class Combination:
    """A choice of every dimension, in the order of `DIMENSIONS`."""

    choices: tuple[Choice, ...]

    @property
    def name(self) -> str:
        """Names of its choices."""
        return ", ".join(each.name for each in self.choices)

    @property
    def traits(self) -> frozenset[str]:
        """What AWS says of any of its choices."""
        return frozenset().union(*(each.traits for each in self.choices))

    @property
    def arguments(self) -> dict[str, object]:
        """What `GpuCluster.add_capacity` gets, apart from its subnets."""
        merged: dict[str, object] = {"max_instances": MAX_INSTANCES}
        for each in self.choices:
            merged.update(each.arguments)
            if each.purchase:
                merged["purchase"] = each.purchase(self.instance_types[0])
        return merged

    @property
    def instance_types(self) -> tuple[str, ...]:
        """The types that it may launch."""
        return tuple(str(each) for each in self.choices[0].arguments["instance_types"])  # type: ignore[attr-defined]


def _hardware(name: str, types: str, traits: str, image: GpuMachineImage | None = None) -> Choice:
    names = types.split()
    several = ("several types",) if len(names) > 1 else ()
    return Choice(
        name,
        frozenset(traits.split(", ")).union(several),
        MappingProxyType({"instance_types": names} | ({"image": image} if image else {})),
    )


def _choice(name: str, *traits: str, **arguments: object) -> Choice:
    return Choice(name, frozenset(traits), MappingProxyType(arguments))


_BOTTLEROCKET = GpuMachineImage.newest("bottlerocket-ecs-3-nvidia-x86_64")


@cache
def _one_reservation_first(instance_type: str) -> Purchase:
    return Purchase.reservations(reservation_id=reservation_id("odcr", instance_type))


@cache
def _one_reservation_only(instance_type: str) -> Purchase:
    name = reservation_id("odcr", instance_type)
    return Purchase.reservations(reservation_id=name, only=True, instances=MAX_INSTANCES)


@cache
def _block(instance_type: str) -> Purchase:
    name = reservation_id("block", instance_type)
    return Purchase.capacity_block(name, instances=MAX_INSTANCES, starts=BLOCK_STARTS, ends=BLOCK_ENDS)


CAPACITY = "hardware", "purchase", "warm hosts", "network", "zones", "storage"
"""Names of the dimensions."""

DIMENSIONS: tuple[tuple[Choice, ...], ...] = (
    (
        _hardware("one GPU", "g6.xlarge", "nvidia, local disks"),
        _hardware("several types of one GPU", "g5.xlarge g5.2xlarge g5.4xlarge", "nvidia, local disks"),
        _hardware("four GPUs", "g6.12xlarge", "nvidia, local disks, efa"),
        _hardware("several types with one layout of EFA", "g6.12xlarge g6.24xlarge", "nvidia, local disks, efa"),
        _hardware(
            "several types with two layouts of EFA",
            "g6e.12xlarge g6e.24xlarge",
            "nvidia, local disks, efa, two layouts of efa",
        ),
        _hardware("part of a GPU", "g6f.2xlarge", "nvidia, local disks"),
        _hardware("eight H100", "p5.48xlarge", "nvidia, local disks, efa, sold in blocks"),
        _hardware("eight B300", "p6-b300.48xlarge", "nvidia, local disks, efa, sold in blocks"),
        _hardware("one H100", "p5.4xlarge", "nvidia, local disks, efa, sold in blocks"),
        _hardware("arm64 on Bottlerocket", "g5g.xlarge", "nvidia, bottlerocket"),
        _hardware("x86 on Bottlerocket", "g6.xlarge", "nvidia, local disks, bottlerocket", _BOTTLEROCKET),
        _hardware("Inferentia2", "inf2.xlarge", "neuron"),
        _hardware("Trainium", "trn1.32xlarge", "neuron, local disks, efa, sold in blocks"),
        _hardware(
            "an AMI of its own",
            "g5.xlarge",
            "nvidia, local disks",
            GpuMachineImage.custom(ec2.MachineImage.generic_linux(_OWN_AMI), driver_branch=580),
        ),
        _hardware("no accelerator", "c7i.2xlarge", "cpu"),
        # What no other choice can make work.
        _hardware("types of two shapes", "g6.xlarge g6.12xlarge", "nvidia, local disks, two shapes"),
        _hardware("types of two architectures", "g5.xlarge g5g.xlarge", "nvidia, two architectures"),
        _hardware("AMD", "g4ad.xlarge", "local disks, amd"),
        _hardware("Kepler", "p2.xlarge", "nvidia, no driver"),
        _hardware("GB200", "p6e-gb200.36xlarge", "nvidia, sold in blocks, no image"),
        _hardware("arm64 with an x86 image", "g5g.xlarge", "nvidia, other image", GpuMachineImage.newest("al2023-gpu")),
        _hardware(
            "GPUs without a driver", "g6.xlarge", "nvidia, local disks, other image", GpuMachineImage.newest("al2023")
        ),
    ),
    (
        _choice("on demand", purchase=Purchase.on_demand()),
        _choice("spot", "spot", purchase=Purchase.spot()),
        _choice("spot above a base", "spot", purchase=Purchase.spot(on_demand_base=1)),
        _choice("reservations first", purchase=Purchase.reservations()),
        Choice("one reservation first", frozenset(), purchase=_one_reservation_first),
        Choice("one reservation only", frozenset({"one reservation"}), purchase=_one_reservation_only),
        _choice(
            "a resource group only",
            purchase=Purchase.reservations(resource_group_arn=_GROUP_ARN, only=True, instances=MAX_INSTANCES),
        ),
        _choice(
            "a resource group with less than that only",
            "too few reserved",
            purchase=Purchase.reservations(resource_group_arn=_GROUP_ARN, only=True, instances=MAX_INSTANCES - 1),
        ),
        Choice("a Capacity Block", frozenset({"one reservation", "block"}), purchase=_block),
    ),
    (
        _choice("none warm"),
        _choice("stopped hosts", "warm", scaling=HostScaling(warm_hosts=WarmHosts(hosts=1))),
        _choice(
            "running hosts",
            "warm",
            "warm and running",
            scaling=HostScaling(warm_hosts=WarmHosts(hosts=1, state="Running")),
        ),
    ),
    (
        _choice("plain network"),
        _choice("EFA", "wants efa", network=HostNetwork.efa()),
        _choice("placement group", "wants group", network=HostNetwork(placement_group=True)),
    ),
    (
        _choice("one zone"),
        _choice("two zones", "two zones"),
    ),
    (
        _choice("root volume", storage=HostStorage(root_volume_gib=200)),
        _choice("images on local disks", "wants local disks", storage=HostStorage(images_on_local_disks=True)),
        _choice("scratch", "wants local disks", "wants scratch", storage=HostStorage(scratch_on_local_disks=True)),
    ),
)
"""Every dimension, in the order of `CAPACITY`."""


def every_combination() -> Iterator[Combination]:
    """Every combination of one choice of each dimension."""
    yield from map(Combination, product(*DIMENSIONS))
