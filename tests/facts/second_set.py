"""Facts about instance types that others have recorded, to hold the catalogue against.

A file of ``second_sets`` is one source: where it is from, the day on which it was read, and a line for each family with
the values of each size in the order of ``columns``, or the value itself where there is one column. null is what the
source does not say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from cfnlint.data.schemas.extensions import aws_ec2_instance

from gpu_constructs.facts import InstanceType

from .dumps import instance_types

Value: TypeAlias = "int | float | str | None"
Stated: TypeAlias = "frozenset[Value] | None"

_FOLDER = Path(__file__).with_name("second_sets")

_REVIEWED = "differences"

SETS = tuple(sorted(file.stem for file in _FOLDER.glob("*.json") if file.stem != _REVIEWED))


@dataclass(frozen=True, slots=True)
class Statement:
    """What one source says about one field of one type."""

    source: str
    name: str
    field: str
    value: Value


def _sold_device_memory(each: InstanceType) -> Stated:
    """What is sold as so many GB is either GB or GiB: 24 GB of an L4 are 22.4 GiB, 16 GB of a T4 are GiB."""
    memory = None if each.accelerators is None else each.accelerators.total_memory_mib
    return None if memory is None else frozenset({round(memory / 1024), round(memory * 1.048576 / 1000)})


def _pods(each: InstanceType) -> Stated:
    """The catalogue does not have the addresses of an interface, so they are those of the dump."""
    if each.name not in instance_types() or each.network.max_interfaces_card_0 is None:
        return None
    addresses = instance_types()[each.name]["NetworkInfo"]["Ipv4AddressesPerInterface"]
    return frozenset({each.network.max_interfaces_card_0 * (addresses - 1) + 2})


def _known(value: Value) -> Stated:
    return None if value is None else frozenset({value})


FIELDS: Mapping[str, Callable[[InstanceType], Stated]] = {
    "devices": lambda each: frozenset({each.accelerators.count if each.accelerators else 0}),
    "model": lambda each: _known(each.accelerators.model.lower().replace(" ", "-") if each.accelerators else None),
    "device_memory_mib": lambda each: _known(each.accelerators.memory_mib if each.accelerators else None),
    "sold_device_memory_gb": _sold_device_memory,
    "vcpus": lambda each: frozenset({each.vcpus}),
    "memory_mib": lambda each: frozenset({each.memory_mib}),
    "memory_gib": lambda each: frozenset({each.memory_mib / 1024}),
    "architecture": lambda each: frozenset({each.architecture.value}),
    "local_storage_gb": lambda each: frozenset({each.local_storage_gb}) if each.regions else None,
    "disks": lambda each: frozenset({sum(disk.count for disk in each.local_disks)}) if each.regions else None,
    "disk_gb": lambda each: frozenset(disk.size_gb for disk in each.local_disks) if each.regions else None,
    "efa_interfaces": lambda each: _known(each.network.max_efa_interfaces),
    "interfaces_card_0": lambda each: _known(each.network.max_interfaces_card_0),
    "interfaces": lambda each: _known(each.network.max_interfaces),
    "cards": lambda each: _known(each.network.cards),
    "pods": _pods,
}
"""What the catalogue says of a field that a source has: any of these is the same; None if it says nothing."""


@cache
def statements(source: str) -> tuple[Statement, ...]:
    """Everything that one source says."""
    return tuple(_read(source))


def header(source: str) -> dict[str, Any]:
    """Where a source is from."""
    return {key: value for key, value in _content(source).items() if key != "families"}


def _content(source: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((_FOLDER / f"{source}.json").read_text(encoding="utf-8"))
    return content


def _read(source: str) -> Iterator[Statement]:
    content = _content(source)
    for family, sizes in content["families"].items():
        for size, row in sizes.items():
            values = row if isinstance(row, list) else [row]
            for field, value in zip(content["columns"], values, strict=True):
                if value is not None:
                    yield Statement(source, f"{family}.{size}", field, value)


def reviewed() -> dict[str, Any]:
    """The differences that somebody looked at, with who is right and why."""
    return _content(_REVIEWED)


@cache
def priced_regions() -> Mapping[str, frozenset[str]]:
    """Types with an on-demand price, by region: cfn-lint has them from the Price List of AWS."""
    file = Path(aws_ec2_instance.__file__).with_name("instancetype_enum.json")
    content = json.loads(file.read_text(encoding="utf-8"))
    return {region: frozenset(of["enum"]) for region, of in content.items() if isinstance(of, dict)}
