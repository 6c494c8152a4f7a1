"""What the catalogue reads of the answers of EC2 to DescribeInstanceTypes, and how it becomes rows of a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias, TypedDict

from gpu_constructs.facts.model import PurchaseClass

Device: TypeAlias = "Mapping[str, Any]"
"""Accelerators of one kind, as any of the blocks of InstanceTypeInfo describes them."""

InstanceTypeInfo: TypeAlias = "Mapping[str, Any]"
"""As DescribeInstanceTypes answers it
(https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html)."""

# Manufacturer of the API to `Vendor`; AWS's own devices are told apart by their Neuron cores.
VENDORS = {"NVIDIA": "nvidia", "AMD": "amd", "Qualcomm": "qualcomm", "Xilinx": "xilinx", "Habana": "gaudi"}

_PURCHASE_CLASSES = frozenset(each.value for each in PurchaseClass)

# "Standard (A, C, D, H, I, M, R, T, Z)" of the EC2 quotas, and the letters that EC2 writes for their storage variants.
_STANDARD = frozenset({"a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"})


class UndescribedError(ValueError):
    """An answer describes accelerators that a row of the catalogue cannot hold."""


def devices(info: InstanceTypeInfo) -> list[Device]:
    """The accelerators of a type, one entry for each kind.

    AWS describes the Inferentia of Inf1 twice, in NeuronInfo and in InferenceAcceleratorInfo; the first counts.
    """
    if "GpuInfo" in info:
        return list(info["GpuInfo"]["Gpus"])
    if "NeuronInfo" in info:
        return list(info["NeuronInfo"]["NeuronDevices"])
    if "FpgaInfo" in info:
        return list(info["FpgaInfo"]["Fpgas"])
    if "InferenceAcceleratorInfo" in info:
        return list(info["InferenceAcceleratorInfo"]["Accelerators"])
    if "MediaAcceleratorInfo" in info:
        return list(info["MediaAcceleratorInfo"]["Accelerators"])
    return []


def row(info: InstanceTypeInfo) -> TypeRow:
    """What an answer says of a type, as a row of the catalogue.

    Raises:
        UndescribedError: If the catalogue has no words for its accelerators.
    """
    # The 32-bit i386 of t2 and its like is dropped: ECS images are 64-bit.
    architecture = next(a for a in info["ProcessorInfo"]["SupportedArchitectures"] if a != "i386")
    found = TypeRow(
        vcpus=info["VCpuInfo"]["DefaultVCpus"],
        memory_mib=info["MemoryInfo"]["SizeInMiB"],
        architecture=architecture,
    )
    if kinds := devices(info):
        found["accelerators"] = _devices_row(kinds)
    found["network"] = _network_row(info["NetworkInfo"])
    if "InstanceStorageInfo" in info:
        found["local_disks"] = [[disk["Count"], disk["SizeInGB"]] for disk in info["InstanceStorageInfo"]["Disks"]]
    # A class that is newer than this library has no place in its rules.
    found["purchase_classes"] = sorted(each for each in info["SupportedUsageClasses"] if each in _PURCHASE_CLASSES)
    found["current_generation"] = info["CurrentGeneration"]
    if info["BareMetal"]:
        found["bare_metal"] = True
    if info["BurstablePerformanceSupported"]:
        found["burstable"] = True
    return found


def standard_quota(name: str, described: TypeRow) -> str | None:
    """The quota of a type whose family no table names; None if that is not Standard, or not known."""
    letters = re.match(r"[a-z]+", name)
    return "Standard" if "accelerators" not in described and letters and letters[0] in _STANDARD else None


def _devices_row(kinds: list[Device]) -> DevicesRow:
    if len(kinds) != 1:
        raise UndescribedError(f"it has {len(kinds)} kinds of accelerators")
    (device,) = kinds
    vendor = "neuron" if "CoreInfo" in device else VENDORS.get(device["Manufacturer"])
    if vendor is None:
        raise UndescribedError(f"the manufacturer {device['Manufacturer']!r} is not known")
    found = DevicesRow(vendor=vendor, model=device["Name"], count=device["Count"])
    if device.get("LogicalGpuCount", device["Count"]) != device["Count"]:
        found["logical_count"] = device["LogicalGpuCount"]
        found["partition"] = device["GpuPartitionSize"]
    if "MemoryInfo" in device:
        found["memory_mib"] = device["MemoryInfo"]["SizeInMiB"]
    if "CoreInfo" in device:
        found["cores"] = device["CoreInfo"]["Count"]
    return found


def _network_row(network: Mapping[str, Any]) -> NetworkRow:
    cards = sorted(network["NetworkCards"], key=lambda card: card["NetworkCardIndex"])
    found = NetworkRow(
        performance=network["NetworkPerformance"],
        cards=network["MaximumNetworkCards"],
        max_interfaces=network["MaximumNetworkInterfaces"],
        max_interfaces_card_0=cards[0]["MaximumNetworkInterfaces"],
    )
    if network["EfaSupported"]:
        found["efa_supported"] = True
        found["max_efa_interfaces"] = network["EfaInfo"]["MaximumEfaInterfaces"]
        found["efa_cards"] = [card["NetworkCardIndex"] for card in cards if "efa" in card["InterfaceTypes"]]
        found["efa_only_cards"] = [card["NetworkCardIndex"] for card in cards if "efa-only" in card["InterfaceTypes"]]
    return found


class _DevicesRequired(TypedDict):
    vendor: str
    model: str
    count: int


class DevicesRow(_DevicesRequired, total=False):
    """Fields of `Accelerators`; a missing ``logical_count`` is ``count``, a missing ``partition`` is 1."""

    logical_count: int
    partition: float
    memory_mib: int
    generation: str
    compute_capability: list[int]
    interconnect: str
    cores: int


class NetworkRow(TypedDict, total=False):
    """Fields of `Network`; missing is unknown, except ``efa_supported``, which is False if other fields are there."""

    performance: str
    cards: int
    max_interfaces: int
    max_interfaces_card_0: int
    efa_supported: bool
    max_efa_interfaces: int
    efa_cards: list[int]
    efa_only_cards: list[int]
    device_rdma: bool


class _QuotaRequired(TypedDict):
    group: str
    on_demand_code: str
    spot_code: str | None


class QuotaRow(_QuotaRequired, total=False):
    """Fields of `Quota`."""

    spot_note: str


class FamilyRow(TypedDict, total=False):
    """Fields of `FamilyTraits`."""

    released_after_2022: bool
    managed_instances: bool
    managed_doubt: str
    unsupported_by_batch: bool
    offering_doubt: str
    driven_instead: str


class CorrectionRow(TypedDict):
    """Fields of `Correction`."""

    field: str
    reported: int | float | str | None
    corrected: int | float | str | None
    reason: str
    source: str


class _TypeRequired(TypedDict):
    vcpus: int
    memory_mib: int
    architecture: str


class TypeRow(_TypeRequired, total=False):
    """One line: fields of `InstanceType`, where a missing one is empty or unknown.

    ``regions`` is the family's list when missing. ``source`` is where the line is from if not from the dump.
    """

    quota: str
    accelerators: DevicesRow
    source: str
    network: NetworkRow
    local_disks: list[list[int]]
    purchase_classes: list[str]
    current_generation: bool
    bare_metal: bool
    burstable: bool
    corrections: list[CorrectionRow]
    replaced_by: str
    note: str
    regions: list[str]
