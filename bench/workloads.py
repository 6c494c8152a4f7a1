"""What is measured: apps as plain data that both variants are built from.

Knows neither the library nor CDK, so that a process which builds the plain variant loads no more than that needs.
`bench.sizes` has the apps themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

__all__ = ["CONTAINER_IMAGE", "Hosts", "Pair", "Reference", "Share", "Workload"]

CONTAINER_IMAGE = "nvidia/cuda:12.8.1-base-ubuntu24.04"


@dataclass(frozen=True, slots=True)
class Share:
    """What a container gets of a host, in CPU units and MiB."""

    cpu: int
    memory_mib: int
    shared_memory_mib: int


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts of one capacity, with what a person would look up about them and type.

    Attributes:
        instance_types: Names of one or more instance types.
        gpus: GPUs of one host.
        image_parameter: The SSM parameter that holds the AMI id.
        device: The device that holds container images.
        attributes: What hosts say about their accelerators, in JSON.
        shares: What goes with 1, 2, … GPUs of a host, in this order, or what the one container of a host gets.
    """

    instance_types: tuple[str, ...]
    gpus: int
    image_parameter: str
    device: str
    attributes: str
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """The reference stack `tensorflow-benchmark` on some hosts."""

    cpu_hosts: Hosts
    gpu_hosts: Hosts


@dataclass(frozen=True, slots=True)
class Pair:
    """One capacity, and one task that runs on it with all GPUs of a host.

    Attributes:
        number: Which one of the app it is, from 0.
        hosts: The hosts of the capacity.
    """

    number: int
    hosts: Hosts


@dataclass(frozen=True, slots=True)
class Workload:
    """One app to synthesize.

    Attributes:
        name: What it is called in the tables.
        reference: The reference stack, None for an app of `clusters`.
        clusters: How many pairs are in each cluster of each stack. A single stack has its own VPC, several share that
            of a stack before them.
        hosts: What the capacities of `clusters` take turns at.
        kind: How capacities and tasks are written, by a name of `bench.kinds`; None for the usual ones.
    """

    name: str
    reference: Reference | None = None
    clusters: tuple[tuple[int, ...], ...] = ()
    hosts: tuple[Hosts, ...] = ()
    kind: str | None = None

    @property
    def capacities(self) -> int:
        """Pairs of the whole app; 0 for the reference stack, whose cost is not one per capacity."""
        return sum(map(sum, self.clusters))

    def without_capacity(self) -> Workload:
        """The same stacks, network and clusters with nothing in them: what the first capacity comes on top of."""
        return replace(self, clusters=tuple(tuple(0 for _ in stack) for stack in self.clusters))

    def stacks(self) -> Iterator[list[list[Pair]]]:
        """The pairs of each cluster of each stack."""
        first = 0
        for stack in self.clusters:
            clusters = []
            for count in stack:
                clusters.append(
                    [Pair(each, self.hosts[each % len(self.hosts)]) for each in range(first, first + count)]
                )
                first += count
            yield clusters
