"""Make the instance-type catalogue: ``gpu_constructs/facts/data/accelerated.json`` and ``general.json``.

The facts are moto's recorded answers of DescribeInstanceTypes and DescribeInstanceTypeOfferings; what no API gives
(compute capability, interconnect, quota codes, types that the dump lacks) is kept by hand in ``tools/curated``, each
entry with its source and date. ``make catalogue`` writes the files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TypedDict, TypeVar, cast

from tools import answers, changes, ec2_dump, gaps
from tools.answers import (
    CorrectionRow,
    DevicesRow,
    FamilyRow,
    InstanceTypeInfo,
    NetworkRow,
    QuotaRow,
    TypeRow,
)
from tools.changes import family_of
from tools.gaps import Gap

__all__ = ["CURATED", "Built", "build"]

CURATED = Path(__file__).with_name("curated")

RECORDED_FROM = (
    "date of the newest ECS AMI in the SSM dump of the same moto release; the dumps carry no date of their own"
)


class _Model(TypedDict):
    generation: str
    compute_capability: list[int]


class _Interconnect(TypedDict):
    interconnect: str


class _QuotaGroup(QuotaRow):
    families: list[str]


class _LegacyRequired(TypedDict):
    vcpus: int
    memory_mib: int
    architecture: str
    vendor: str
    model: str
    count: int
    device_memory_mib: int | None
    source: str
    date: str


class _Legacy(_LegacyRequired, total=False):
    efa_supported: bool
    network: NetworkRow


class _Family(FamilyRow, total=False):
    device_rdma: bool
    without_device_rdma: list[str]


class _Column(TypedDict):
    meaning: str
    source: str
    date: str


class _Remark(TypedDict, total=False):
    note: str
    replaced_by: str


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What was made of the answers and the curated tables.

    Attributes:
        files: Text of each file by its name; a fact that is missing is unknown in it.
        gaps: Facts that are missing.
        stale: What the curated tables say and the answers do not bear out, and types that no row can hold.
    """

    files: Mapping[str, str]
    gaps: frozenset[Gap]
    stale: tuple[str, ...]


def build() -> Built:
    """Make both files from the installed moto and the curated tables."""
    dump = ec2_dump.instance_types()
    offered = ec2_dump.offerings()
    left_out = _curated("left_out", "families", dict[str, object])
    described = {name: _described(info) for name, info in dump.items()}
    rows = {name: row for name, row in described.items() if not isinstance(row, answers.UndescribedError)}
    stale = [f"{name} is left out: {described[name]}" for name in dump if name not in rows]
    networks = _curated("legacy", "network", str)
    curated = _curated("legacy", "instance_types", _Legacy)
    legacy = {name: _legacy_row(entry, networks) for name, entry in curated.items()}
    stale += [f"legacy.json: {name} is among the recorded answers now" for name in sorted(legacy.keys() & dump.keys())]
    accelerators = legacy | {name: row for name, row in rows.items() if "accelerators" in row}
    others = {name: rows[name] for name in rows if name not in accelerators and family_of(name) not in left_out}
    _complete(accelerators)
    stale += _corrected(accelerators)
    families, missing = _families(accelerators)
    quotas = _curated("quotas", "quotas", _QuotaGroup)
    group_of = {family: key for key, group in quotas.items() for family in group["families"]}
    for name, row in (accelerators | others).items():
        group = group_of.get(family_of(name)) or answers.standard_quota(name, row)
        if group is not None:
            row["quota"] = group
    stale += _of_nothing(accelerators, {family_of(name) for name in (*dump, *legacy)})
    codes = {key: _quota_row(group) for key, group in quotas.items()}
    with_some = _header("Accelerated EC2 instance types.")
    without = {**_header("EC2 instance types without accelerators."), "left_out": sorted(left_out)}
    files = {
        "accelerated.json": changes.text(with_some, accelerators, offered=offered, quotas=codes, families=families),
        "general.json": changes.text(without, others, offered=offered, quotas=codes, families={}),
    }
    return Built(files=files, gaps=missing | gaps.gaps(accelerators | others, families), stale=tuple(stale))


def _curated(name: str, key: str, _kind: type[T]) -> dict[str, T]:
    content = json.loads((CURATED / f"{name}.json").read_text(encoding="utf-8"))
    return cast("dict[str, T]", content[key])


def _described(info: InstanceTypeInfo) -> TypeRow | answers.UndescribedError:
    try:
        return answers.row(info)
    except answers.UndescribedError as problem:
        return problem


def _legacy_row(entry: _Legacy, networks: Mapping[str, str]) -> TypeRow:
    devices = DevicesRow(vendor=entry["vendor"], model=entry["model"], count=entry["count"])
    if (memory := entry["device_memory_mib"]) is not None:
        devices["memory_mib"] = memory
    row = TypeRow(
        vcpus=entry["vcpus"],
        memory_mib=entry["memory_mib"],
        architecture=entry["architecture"],
        accelerators=devices,
        source=f"{entry['source']} (as of {entry['date']})",
    )
    if "efa_supported" in entry:
        row["network"] = NetworkRow(efa_supported=entry["efa_supported"])
    if "network" in entry:
        row["network"] = entry["network"]
        row["source"] += f"; network: {networks['source']} (as of {networks['date']})"
    return row


def _complete(rows: Mapping[str, TypeRow]) -> None:
    """Add the curated facts to the accelerated rows."""
    models = _curated("models", "models", _Model)
    joined = _curated("interconnects", "interconnects", _Interconnect)
    remarks = _curated("remarks", "instance_types", _Remark)
    for name, row in rows.items():
        devices = row["accelerators"]
        if devices["vendor"] == "nvidia" and (model := models.get(devices["model"])):
            devices["generation"] = model["generation"]
            devices["compute_capability"] = model["compute_capability"]
        if found := joined.get(name) or joined.get(family_of(name)):
            devices["interconnect"] = found["interconnect"]
        row.update(cast("TypeRow", remarks.get(name, {})))


def _corrected(rows: Mapping[str, TypeRow]) -> Iterator[str]:
    """Put corrected values in the place of those that the dump reports; yields the corrections that no longer hold."""
    for name, correction in _curated("corrections", "instance_types", CorrectionRow).items():
        reported = rows[name]["accelerators"].get("memory_mib") if name in rows else None
        corrected = correction["corrected"]
        if correction["field"] != "accelerators.memory_mib" or not isinstance(corrected, int):
            yield f"corrections.json: {correction['field']} of {name} cannot be corrected"
        elif reported != correction["reported"]:
            yield f"corrections.json: {name} is reported with {reported}, not with {correction['reported']}"
        else:
            rows[name]["accelerators"]["memory_mib"] = corrected
            kept = {key: value for key, value in correction.items() if key in CorrectionRow.__annotations__}
            rows[name]["corrections"] = [cast("CorrectionRow", kept)]


def _families(rows: Mapping[str, TypeRow]) -> tuple[dict[str, FamilyRow], frozenset[Gap]]:
    """Traits of every accelerated family, and of which RDMA is not curated; what differs within one goes into rows."""
    curated = _curated("families", "families", _Family)
    found: dict[str, FamilyRow] = {}
    missing = set()
    for name, row in rows.items():
        family = family_of(name)
        traits = dict(curated.get(family, {}))
        if "device_rdma" not in traits:
            missing.add(Gap(subject=family, fact=gaps.RDMA, place="tools/curated/families.json"))
        without = cast("list[str]", traits.pop("without_device_rdma", []))
        if traits.pop("device_rdma", False) and name not in without and row.get("network", {}).get("efa_supported"):
            row["network"]["device_rdma"] = True
        found[family] = cast("FamilyRow", traits)
    return found, frozenset(missing)


def _of_nothing(rows: Mapping[str, TypeRow], families: set[str]) -> Iterator[str]:
    """Lines of the curated tables for families and types that do not exist."""
    tables = {
        "families": _curated("families", "families", object),
        "left_out": _curated("left_out", "families", object),
        "interconnects": _curated("interconnects", "interconnects", object),
        "remarks": _curated("remarks", "instance_types", object),
        "quotas": [each for group in _curated("quotas", "quotas", _QuotaGroup).values() for each in group["families"]],
    }
    for table, names in tables.items():
        for name in names:
            if name not in rows and name not in families:
                yield f"{table}.json: there is no {name} any more"


def _header(about: str) -> dict[str, object]:
    doubts = json.loads((CURATED / "doubts.json").read_text(encoding="utf-8"))["doubts"]
    return {
        "about": f"{about} Written by make catalogue; do not edit.",
        "recorded": ec2_dump.recorded(),
        "recorded_from": RECORDED_FROM,
        "versions": {name: metadata.version(name) for name in ("moto",)},
        "sources": _sources(),
        "doubts": doubts,
    }


def _quota_row(group: _QuotaGroup) -> QuotaRow:
    row = QuotaRow(group=group["group"], on_demand_code=group["on_demand_code"], spot_code=group["spot_code"])
    if "spot_note" in group:
        row["spot_note"] = group["spot_note"]
    return row


def _sources() -> dict[str, str]:
    """Where the fields are from that DescribeInstanceTypes does not give."""
    columns = _curated("families", "columns", _Column)
    of_families = {name: f"{each['source']}, as of {each['date']}" for name, each in columns.items()}
    models = "https://developer.nvidia.com/cuda-gpus, as of 2026-11-21 (tools/curated/models.json)"
    return {
        "accelerators.generation": models,
        "accelerators.compute_capability": models,
        "accelerators.interconnect": "AWS product pages, as of 2026-11-21 (tools/curated/interconnects.json)",
        "quota": "EC2 quota names and codes, as of 2026-11-21 (tools/curated/quotas.json)",
        "replaced_by": "choice of this project (tools/curated/remarks.json)",
        "network.device_rdma": of_families["device_rdma"],
        **{f"traits.{name}": of_families[name] for name in FamilyRow.__annotations__},
    }
