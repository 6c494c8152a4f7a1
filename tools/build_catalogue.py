"""Write the instance-type catalogue: ``gpu_constructs/hardware/data/accelerated.json`` and ``general.json``.

The facts are moto's recorded answers of DescribeInstanceTypes and DescribeInstanceTypeOfferings; what no API gives
(compute capability, interconnect, quota codes, types that the dump lacks) is kept by hand in ``tools/curated``, each
entry with its source and date. The output is sorted and has one instance type a line, so that a refresh reads as a
diff. Run it from the project's root: ``python -m tools.build_catalogue``.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import TypedDict, TypeVar, cast

from tools import ec2_dump
from tools.catalogue_rows import CorrectionRow, DevicesRow, FamilyRow, NetworkRow, QuotaRow, TypeRow
from tools.ec2_dump import Device, InstanceTypeInfo, NetworkInfo

__all__ = ["build", "main"]

CURATED = Path(__file__).with_name("curated")
DATA = Path(__file__).parents[1] / "gpu_constructs" / "hardware" / "data"

# moto does not date its dumps. The newest AMI in the SSM dump of the same release is of 2026-09-29
# (al2023-ami-ecs-gpu-hvm-2023.0.20260929); the instance types are taken for as old as that.
RECORDED = "2026-09-29"
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

_REQUIRED_TRAITS = ("released_after_2022", "managed_instances", "device_rdma")

# "Standard (A, C, D, H, I, M, R, T, Z)" of the EC2 quotas, and the letters that EC2 writes for their storage variants.
_STANDARD = frozenset({"a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"})

# Manufacturer of the API to `Vendor`; AWS's own devices are told by their Neuron cores.
VENDORS = {"NVIDIA": "nvidia", "AMD": "amd", "Qualcomm": "qualcomm", "Xilinx": "xilinx", "Habana": "gaudi"}


def build() -> dict[str, str]:
    """Make both files from the installed moto and the curated tables.

    Returns:
        File name to text.

    Raises:
        ValueError: If a curated entry no longer agrees with the dump or names a type that is in neither.
    """
    dump = ec2_dump.instance_types()
    offered = ec2_dump.offerings()
    accelerated = {name for name, info in dump.items() if ec2_dump.accelerator(info) is not None}
    left_out = _curated("left_out", "families", dict[str, object])
    rows = {name: _row(info) for name, info in dump.items()}
    legacy = {name: _legacy_row(entry) for name, entry in _curated("legacy", "instance_types", _Legacy).items()}
    if clash := legacy.keys() & dump.keys():
        raise ValueError(f"no longer legacy, the dump has them: {sorted(clash)}")
    accelerators = legacy | {name: rows[name] for name in accelerated}
    _complete(accelerators)
    families = _families(accelerators)
    quotas = _curated("quotas", "quotas", _QuotaGroup)
    group_of = {family: key for key, group in quotas.items() for family in group["families"]}
    for name in accelerators:
        if _family(name) not in group_of:
            raise ValueError(f"{name}: no quota group names its family, add it to tools/curated/quotas.json")
    others = {name: rows[name] for name in rows if name not in accelerated and _family(name) not in left_out}
    for name, row in (accelerators | others).items():
        row["quota"] = group_of.get(_family(name)) or _standard(name)
    return {
        "accelerated.json": _text("Accelerated EC2 instance types.", accelerators, offered, quotas, families),
        "general.json": _text("EC2 instance types without accelerators.", others, offered, quotas, {}),
    }


def main() -> None:
    """Write both files into the package."""
    for name, text in build().items():
        (DATA / name).write_text(text, encoding="utf-8")


def _curated(name: str, key: str, _kind: type[T]) -> dict[str, T]:
    content = json.loads((CURATED / f"{name}.json").read_text(encoding="utf-8"))
    return cast("dict[str, T]", content[key])


def _family(name: str) -> str:
    return name.partition(".")[0]


def _row(info: InstanceTypeInfo) -> TypeRow:
    # The 32-bit i386 of t2 and its like is dropped: ECS images are 64-bit.
    architecture = next(a for a in info["ProcessorInfo"]["SupportedArchitectures"] if a != "i386")
    row = TypeRow(
        vcpus=info["VCpuInfo"]["DefaultVCpus"],
        memory_mib=info["MemoryInfo"]["SizeInMiB"],
        architecture=architecture,
        quota="Standard",
    )
    if (device := ec2_dump.accelerator(info)) is not None:
        row["accelerators"] = _devices_row(device)
    row["network"] = _network_row(info["NetworkInfo"])
    if "InstanceStorageInfo" in info:
        row["local_disks"] = [[disk["Count"], disk["SizeInGB"]] for disk in info["InstanceStorageInfo"]["Disks"]]
    row["purchase_classes"] = sorted(info["SupportedUsageClasses"])
    row["current_generation"] = info["CurrentGeneration"]
    if info["BareMetal"]:
        row["bare_metal"] = True
    if info["BurstablePerformanceSupported"]:
        row["burstable"] = True
    return row


def _devices_row(device: Device) -> DevicesRow:
    vendor = "neuron" if "CoreInfo" in device else VENDORS[device["Manufacturer"]]
    row = DevicesRow(vendor=vendor, model=device["Name"], count=device["Count"])
    if device.get("LogicalGpuCount", device["Count"]) != device["Count"]:
        row["logical_count"] = device["LogicalGpuCount"]
        row["partition"] = device["GpuPartitionSize"]
    row["memory_mib"] = device["MemoryInfo"]["SizeInMiB"]
    if "CoreInfo" in device:
        row["cores"] = device["CoreInfo"]["Count"]
    return row


def _network_row(network: NetworkInfo) -> NetworkRow:
    cards = sorted(network["NetworkCards"], key=lambda card: card["NetworkCardIndex"])
    row = NetworkRow(
        performance=network["NetworkPerformance"],
        cards=network["MaximumNetworkCards"],
        max_interfaces=network["MaximumNetworkInterfaces"],
        max_interfaces_card_0=cards[0]["MaximumNetworkInterfaces"],
    )
    if network["EfaSupported"]:
        row["efa_supported"] = True
        row["max_efa_interfaces"] = network["EfaInfo"]["MaximumEfaInterfaces"]
        row["efa_cards"] = [card["NetworkCardIndex"] for card in cards if "efa" in card["InterfaceTypes"]]
        row["efa_only_cards"] = [card["NetworkCardIndex"] for card in cards if "efa-only" in card["InterfaceTypes"]]
    return row


def _legacy_row(entry: _Legacy) -> TypeRow:
    devices = DevicesRow(vendor=entry["vendor"], model=entry["model"], count=entry["count"])
    if (memory := entry["device_memory_mib"]) is not None:
        devices["memory_mib"] = memory
    row = TypeRow(
        vcpus=entry["vcpus"],
        memory_mib=entry["memory_mib"],
        architecture=entry["architecture"],
        quota="Standard",
        accelerators=devices,
        source=f"{entry['source']} (as of {entry['date']})",
    )
    if "efa_supported" in entry:
        row["network"] = NetworkRow(efa_supported=entry["efa_supported"])
    return row


def _complete(rows: Mapping[str, TypeRow]) -> None:
    """Add the curated facts to the accelerated rows."""
    models = _curated("models", "models", _Model)
    joined = _curated("interconnects", "interconnects", _Interconnect)
    for name, row in rows.items():
        devices = row["accelerators"]
        if devices["vendor"] == "nvidia":
            model = devices["model"]
            if model not in models:
                raise ValueError(
                    f"{name}: the compute capability of {model} is not known, add a line to tools/curated/models.json"
                )
            devices["generation"] = models[model]["generation"]
            devices["compute_capability"] = models[model]["compute_capability"]
        if found := joined.get(name) or joined.get(_family(name)):
            devices["interconnect"] = found["interconnect"]
    for name, correction in _curated("corrections", "instance_types", CorrectionRow).items():
        _correct(name, rows[name], correction)
    for name, remark in _curated("remarks", "instance_types", _Remark).items():
        rows[name].update(cast("TypeRow", remark))


def _families(rows: Mapping[str, TypeRow]) -> dict[str, FamilyRow]:
    """Traits of every accelerated family; what differs within one goes into the rows."""
    curated = _curated("families", "families", _Family)
    found: dict[str, FamilyRow] = {}
    for name, row in rows.items():
        family = _family(name)
        traits = dict(curated.get(family, {}))
        if missing := [each for each in _REQUIRED_TRAITS if each not in traits]:
            raise ValueError(f"{name}: {', '.join(missing)} not known, add the family to tools/curated/families.json")
        has_rdma = traits.pop("device_rdma") and name not in cast("list[str]", traits.pop("without_device_rdma", []))
        if has_rdma and "network" in row and row["network"].get("efa_supported"):
            row["network"]["device_rdma"] = True
        found[family] = cast("FamilyRow", traits)
    if gone := curated.keys() - found.keys():
        raise ValueError(f"no type has the family, take it out of tools/curated/families.json: {sorted(gone)}")
    return found


def _standard(name: str) -> str:
    """The quota of a type without accelerators whose family no line names."""
    letters = re.match(r"[a-z]+", name)
    if letters is None or letters[0] not in _STANDARD:
        raise ValueError(f"{name}: not a Standard instance by its name, add its family to tools/curated/quotas.json")
    return "Standard"


def _correct(name: str, row: TypeRow, correction: CorrectionRow) -> None:
    if correction["field"] != "accelerators.memory_mib" or not isinstance(correction["corrected"], int):
        raise ValueError(f"{name}: cannot correct {correction['field']}")
    reported = row["accelerators"].get("memory_mib")
    if reported != correction["reported"]:
        raise ValueError(f"{name}: the dump now reports {reported}, look at the correction again")
    row["accelerators"]["memory_mib"] = correction["corrected"]
    row["corrections"] = [
        CorrectionRow(
            field=correction["field"],
            reported=correction["reported"],
            corrected=correction["corrected"],
            reason=correction["reason"],
            source=correction["source"],
        )
    ]


def _sort_key(name: str, row: TypeRow) -> tuple[str, int, float, int, int, str]:
    devices = row.get("accelerators")
    count, partition = (devices["count"], devices.get("partition", 1.0)) if devices else (0, 1.0)
    return _family(name), count, partition, row["vcpus"], row["memory_mib"], name


def _text(
    about: str,
    rows: Mapping[str, TypeRow],
    offered: Mapping[str, list[str]],
    quotas: Mapping[str, _QuotaGroup],
    families: Mapping[str, FamilyRow],
) -> str:
    names = sorted(rows, key=lambda name: _sort_key(name, rows[name]))
    shared = _family_regions(names, offered)
    for name in names:
        if (regions := offered.get(name, [])) != shared[_family(name)]:
            rows[name]["regions"] = regions
    used = {row["quota"] for row in rows.values()}
    doubts = json.loads((CURATED / "doubts.json").read_text(encoding="utf-8"))["doubts"]
    parts = {
        "about": f"{about} Written by tools/build_catalogue.py; do not edit.",
        "recorded": RECORDED,
        "recorded_from": RECORDED_FROM,
        "versions": {name: metadata.version(name) for name in ("moto",)},
        "sources": _sources(),
        "doubts": doubts,
    }
    everywhere = sorted({region for regions in offered.values() for region in regions})
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False, indent=1)}" for key, value in parts.items()]
    lines.append(f'"recorded_regions": {json.dumps(everywhere)}')
    lines.append(f'"quotas": {_block((key, _quota_row(quotas[key])) for key in sorted(used))}')
    lines.append(f'"regions": {_block((family, shared[family]) for family in sorted(shared))}')
    lines.append(f'"families": {_block((family, families[family]) for family in sorted(families))}')
    lines.append(f'"instance_types": {_block((name, rows[name]) for name in names)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _family_regions(names: Iterable[str], offered: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The regions that most types of a family share; the longer list wins a tie."""
    counts: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for name in names:
        counts[_family(name)][tuple(offered.get(name, ()))] += 1
    shared = {}
    for family, counter in counts.items():
        _, _, regions = max((count, len(regions), regions) for regions, count in counter.items())
        shared[family] = list(regions)
    return shared


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


def _block(items: Iterable[tuple[str, object]]) -> str:
    lines = (
        f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}" for key, value in items
    )
    return "{\n" + ",\n".join(lines) + "\n}"


if __name__ == "__main__":
    main()
