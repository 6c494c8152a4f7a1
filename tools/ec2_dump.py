"""moto's recorded answers of DescribeInstanceTypes and DescribeInstanceTypeOfferings, read and typed."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from importlib import resources
from typing import TypedDict, cast

__all__ = ["Device", "InstanceTypeInfo", "NetworkInfo", "accelerator", "instance_types", "offerings"]


class Size(TypedDict):
    SizeInMiB: int


class Cores(TypedDict):
    Count: int


class Device(TypedDict, total=False):
    """Accelerators of one kind, as any of the blocks of InstanceTypeInfo describes them."""

    Name: str
    Manufacturer: str
    Count: int
    LogicalGpuCount: int
    GpuPartitionSize: float
    MemoryInfo: Size
    CoreInfo: Cores


class Gpus(TypedDict):
    Gpus: list[Device]


class Neuron(TypedDict):
    NeuronDevices: list[Device]


class Fpgas(TypedDict):
    Fpgas: list[Device]


class OtherDevices(TypedDict):
    Accelerators: list[Device]


class Card(TypedDict):
    NetworkCardIndex: int
    MaximumNetworkInterfaces: int
    InterfaceTypes: list[str]


class Efa(TypedDict):
    MaximumEfaInterfaces: int


class _NetworkRequired(TypedDict):
    NetworkPerformance: str
    NetworkCards: list[Card]
    MaximumNetworkCards: int
    MaximumNetworkInterfaces: int
    EfaSupported: bool


class NetworkInfo(_NetworkRequired, total=False):
    """The part of NetworkInfo that the catalogue reads."""

    EfaInfo: Efa


class Processor(TypedDict):
    SupportedArchitectures: list[str]


class VCpus(TypedDict):
    DefaultVCpus: int


class Disk(TypedDict):
    Count: int
    SizeInGB: int


class Storage(TypedDict):
    Disks: list[Disk]


class _InfoRequired(TypedDict):
    VCpuInfo: VCpus
    MemoryInfo: Size
    ProcessorInfo: Processor
    NetworkInfo: NetworkInfo
    SupportedUsageClasses: list[str]
    CurrentGeneration: bool
    BareMetal: bool
    BurstablePerformanceSupported: bool


class InstanceTypeInfo(_InfoRequired, total=False):
    """The part of InstanceTypeInfo that the catalogue reads."""

    GpuInfo: Gpus
    NeuronInfo: Neuron
    FpgaInfo: Fpgas
    InferenceAcceleratorInfo: OtherDevices
    MediaAcceleratorInfo: OtherDevices
    InstanceStorageInfo: Storage


class Offering(TypedDict):
    InstanceType: str
    Location: str


_RESOURCES = resources.files("moto") / "ec2" / "resources"


def instance_types() -> dict[str, InstanceTypeInfo]:
    """DescribeInstanceTypes of all regions together, by name."""
    file = _RESOURCES / "instance_types.json.gz"
    return cast("dict[str, InstanceTypeInfo]", json.loads(gzip.decompress(file.read_bytes())))


def offerings() -> dict[str, list[str]]:
    """Regions that offer a type, sorted, by name."""
    regions: dict[str, list[str]] = defaultdict(list)
    folder = _RESOURCES / "instance_type_offerings" / "region"
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        for offering in cast("list[Offering]", json.loads(gzip.decompress(file.read_bytes()))):
            regions[offering["InstanceType"]].append(offering["Location"])
    return regions


def accelerator(info: InstanceTypeInfo) -> Device | None:
    """The one kind of accelerator of a type, None without.

    AWS describes the Inferentia of Inf1 twice, in NeuronInfo and in InferenceAcceleratorInfo; the first counts.

    Raises:
        ValueError: If a type has several kinds, which no catalogue row can hold.
    """
    groups: list[list[Device]] = []
    if "GpuInfo" in info:
        groups.append(info["GpuInfo"]["Gpus"])
    if "NeuronInfo" in info:
        groups.append(info["NeuronInfo"]["NeuronDevices"])
    if "FpgaInfo" in info:
        groups.append(info["FpgaInfo"]["Fpgas"])
    if "InferenceAcceleratorInfo" in info:
        groups.append(info["InferenceAcceleratorInfo"]["Accelerators"])
    if "MediaAcceleratorInfo" in info:
        groups.append(info["MediaAcceleratorInfo"]["Accelerators"])
    if not groups:
        return None
    if len(groups[0]) != 1:
        raise ValueError(f"the catalogue holds one kind of accelerator for a type, the dump has {groups[0]}")
    return groups[0][0]
