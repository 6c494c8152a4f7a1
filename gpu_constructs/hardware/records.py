"""The catalogue's files on disk and how a line of them becomes an `InstanceType`.

``data/accelerated.json`` and ``data/general.json`` hold one instance type a line and what many lines share once: the
quotas, and per family the regions of most of its types. ``tools/build_catalogue.py`` writes them; nobody edits them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict, cast

from gpu_constructs.hardware.model import (
    Accelerators,
    Architecture,
    Correction,
    FamilyTraits,
    InstanceType,
    LocalDisk,
    Network,
    PurchaseClass,
    Quota,
    Vendor,
)

__all__ = [
    "DATA",
    "CatalogueFile",
    "CorrectionRow",
    "DevicesRow",
    "FamilyRow",
    "NetworkRow",
    "QuotaRow",
    "TypeRow",
    "decode",
    "read",
]


DATA = Path(__file__).with_name("data")
"""Where the files are; a test that changes the facts points it to a copy before the first look-up."""


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
    quota: str


class TypeRow(_TypeRequired, total=False):
    """One line: fields of `InstanceType`, where a missing one is empty or unknown.

    ``regions`` is the family's list when missing. ``source`` is where the line is from if not from the dump.
    """

    accelerators: DevicesRow
    network: NetworkRow
    local_disks: list[list[int]]
    purchase_classes: list[str]
    regions: list[str]
    current_generation: bool
    bare_metal: bool
    burstable: bool
    note: str
    replaced_by: str
    source: str
    corrections: list[CorrectionRow]


class CatalogueFile(TypedDict):
    """One of the two files."""

    about: str
    recorded: str
    recorded_from: str
    versions: dict[str, str]
    sources: dict[str, str]
    doubts: list[str]
    recorded_regions: list[str]
    quotas: dict[str, QuotaRow]
    regions: dict[str, list[str]]
    families: dict[str, FamilyRow]
    instance_types: dict[str, TypeRow]


def read(name: str) -> CatalogueFile:
    """Read one file of the package's data."""
    return cast("CatalogueFile", json.loads((DATA / f"{name}.json").read_text(encoding="utf-8")))


def decode(file: CatalogueFile) -> dict[str, InstanceType]:
    """Turn a file into frozen values, by name and in the file's order."""
    no_traits = FamilyTraits()
    traits = {family: FamilyTraits(**row) for family, row in file["families"].items()}
    quotas = {key: Quota(**row) for key, row in file["quotas"].items()}
    regions = {family: tuple(names) for family, names in file["regions"].items()}
    return {
        name: InstanceType(
            name=name,
            vcpus=row["vcpus"],
            memory_mib=row["memory_mib"],
            architecture=Architecture(row["architecture"]),
            accelerators=_devices(row["accelerators"]) if "accelerators" in row else None,
            network=_network(row.get("network", {})),
            local_disks=tuple(LocalDisk(count=count, size_gb=size) for count, size in row.get("local_disks", ())),
            purchase_classes=tuple(PurchaseClass(value) for value in row.get("purchase_classes", ())),
            regions=tuple(row["regions"]) if "regions" in row else regions[name.partition(".")[0]],
            quota=quotas[row["quota"]],
            current_generation=row.get("current_generation"),
            bare_metal=row.get("bare_metal", False),
            burstable=row.get("burstable", False),
            traits=traits.get(name.partition(".")[0], no_traits),
            note=row.get("note"),
            replaced_by=row.get("replaced_by"),
            sources=_sources(row, file["families"].get(name.partition(".")[0], {}), file["sources"]),
            corrections=tuple(Correction(**correction) for correction in row.get("corrections", ())),
        )
        for name, row in file["instance_types"].items()
    }


def _devices(row: DevicesRow) -> Accelerators:
    capability = row.get("compute_capability")
    return Accelerators(
        vendor=Vendor(row["vendor"]),
        model=row["model"],
        count=row["count"],
        logical_count=row.get("logical_count", row["count"]),
        partition=row.get("partition", 1.0),
        memory_mib=row.get("memory_mib"),
        generation=row.get("generation"),
        compute_capability=(capability[0], capability[1]) if capability else None,
        interconnect=row.get("interconnect"),
        cores=row.get("cores"),
    )


def _network(row: NetworkRow) -> Network:
    return Network(
        performance=row.get("performance"),
        cards=row.get("cards"),
        max_interfaces=row.get("max_interfaces"),
        max_interfaces_card_0=row.get("max_interfaces_card_0"),
        efa_supported=row.get("efa_supported", False if row else None),
        max_efa_interfaces=row.get("max_efa_interfaces", None if row.get("efa_supported", not row) else 0),
        efa_cards=tuple(row.get("efa_cards", ())),
        efa_only_cards=tuple(row.get("efa_only_cards", ())),
        device_rdma=row.get("device_rdma", False),
    )


def _sources(row: TypeRow, family: FamilyRow, shared: dict[str, str]) -> dict[str, str]:
    parts = {"accelerators": row.get("accelerators", {}), "network": row.get("network", {}), "traits": family}
    known = {"quota", *row, *(f"{part}.{field}" for part, fields in parts.items() for field in fields)}
    sources = {field: source for field, source in shared.items() if field in known}
    if "source" in row:
        own = ("vcpus", "memory_mib", "architecture", "accelerators", *(["network"] if "network" in row else ()))
        sources.update(dict.fromkeys(own, row["source"]))
    return sources
