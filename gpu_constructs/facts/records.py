"""The catalogue's files on disk and how a line of them becomes an `InstanceType`.

``data/accelerated.json`` and ``data/general.json`` hold one instance type a line and what many lines share once: the
quotas, and per family the regions of most of its types. ``make catalogue`` writes them; they are not edited.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias, cast

from gpu_constructs.facts.model import (
    Accelerators,
    Architecture,
    FamilyTraits,
    InstanceType,
    LocalDisk,
    Network,
    PurchaseClass,
    Quota,
    Vendor,
)

DATA = os.path.join(os.path.dirname(__file__), "data")
"""Where the files of this package are."""

Row: TypeAlias = "Mapping[str, Any]"
"""A row of a file: fields of the class that it becomes by their names; a missing one is empty or unknown."""


@cache
def read(name: str) -> Row:
    """One file of the data, which is read once."""
    with open(os.path.join(DATA, f"{name}.json"), encoding="utf-8") as opened:
        return cast("Row", json.load(opened))


class InstanceTypes(Mapping[str, InstanceType]):
    """The types of a file by name, in the file's order, each of them made when it is first asked for."""

    def __init__(self, file: Row) -> None:
        self._rows: Row = file["instance_types"]
        self._made: dict[str, InstanceType] = {}
        self._traits = {family: FamilyTraits(**row) for family, row in file["families"].items()}
        self._quotas = {key: Quota(**row) for key, row in file["quotas"].items()}
        self._regions = {family: tuple(names) for family, names in file["regions"].items()}

    def __getitem__(self, name: str) -> InstanceType:
        if name not in self._made:
            self._made[name] = self._type(name, self._rows[name])
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def _type(self, name: str, row: Row) -> InstanceType:
        family, devices = name.partition(".")[0], row.get("accelerators")
        return InstanceType(
            name=name,
            vcpus=row["vcpus"],
            memory_mib=row["memory_mib"],
            architecture=Architecture(row["architecture"]),
            accelerators=devices
            and Accelerators(
                **{"logical_count": devices["count"], **frozen(devices), "vendor": Vendor(devices["vendor"])}
            ),
            network=_network(row.get("network", {})),
            local_disks=tuple(LocalDisk(count=count, size_gb=size) for count, size in row.get("local_disks", ())),
            purchase_classes=tuple(PurchaseClass(value) for value in row.get("purchase_classes", ())),
            regions=tuple(row["regions"]) if "regions" in row else self._regions[family],
            quota=self._quotas[row["quota"]] if "quota" in row else None,
            current_generation=row.get("current_generation"),
            bare_metal=row.get("bare_metal", False),
            burstable=row.get("burstable", False),
            traits=self._traits.get(family, _NO_TRAITS),
            note=row.get("note"),
            replaced_by=row.get("replaced_by"),
        )


_NO_TRAITS = FamilyTraits()


def _network(row: Row) -> Network:
    # Where something of a network is recorded and nothing of Elastic Fabric Adapters, it takes none.
    takes_efa = row.get("efa_supported", False if row else None)
    return Network(
        **{"efa_supported": takes_efa, "max_efa_interfaces": 0 if takes_efa is False else None, **frozen(row)}
    )


def frozen(row: Row) -> dict[str, Any]:
    """The values of a row, where lists are tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
