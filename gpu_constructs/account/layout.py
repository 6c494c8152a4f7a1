"""How a file of the catalogue is laid out: sorted, with one instance type a line, so that a refresh reads as a diff."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from gpu_constructs.account.rows import FamilyRow, QuotaRow, TypeRow


def family_of(name: str) -> str:
    """The family of a type: ``g6`` of ``g6.xlarge``."""
    return name.partition(".")[0]


def text(
    header: Mapping[str, object],
    rows: Mapping[str, TypeRow],
    *,
    offered: Mapping[str, list[str]],
    quotas: Mapping[str, QuotaRow],
    families: Mapping[str, FamilyRow],
) -> str:
    """A file of the catalogue; what many types share is written once.

    Args:
        header: What stands before the types: what it is, of which day, from where.
        rows: The types by name.
        offered: Regions that offer a type, by its name.
        quotas: The quotas that rows name.
        families: Traits of the accelerated families.
    """
    names = sorted(rows, key=lambda name: _sort_key(name, rows[name]))
    shared = _family_regions(names, offered)
    own = {name: offered.get(name, []) for name in names if offered.get(name, []) != shared[family_of(name)]}
    used = sorted({row["quota"] for row in rows.values() if "quota" in row})
    everywhere = sorted({region for regions in offered.values() for region in regions})
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False, indent=1)}" for key, value in header.items()]
    lines.append(f'"recorded_regions": {json.dumps(everywhere)}')
    lines.append(f'"quotas": {_block((key, quotas[key]) for key in used)}')
    lines.append(f'"regions": {_block(sorted(shared.items()))}')
    lines.append(f'"families": {_block(sorted(families.items()))}')
    types = ((name, _ordered({**rows[name], **({"regions": own[name]} if name in own else {})})) for name in names)
    lines.append(f'"instance_types": {_block(types)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _ordered(row: Mapping[str, object]) -> dict[str, object]:
    return {key: row[key] for key in TypeRow.__annotations__ if key in row}


def _sort_key(name: str, row: TypeRow) -> tuple[str, int, float, int, int, str]:
    devices = row.get("accelerators")
    count, partition = (devices["count"], devices.get("partition", 1.0)) if devices else (0, 1.0)
    return family_of(name), count, partition, row["vcpus"], row["memory_mib"], name


def _family_regions(names: Iterable[str], offered: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The regions that most types of a family share; the longer list wins a tie."""
    counts: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for name in names:
        counts[family_of(name)][tuple(offered.get(name, ()))] += 1
    shared = {}
    for family, counter in counts.items():
        _, _, regions = max((count, len(regions), regions) for regions, count in counter.items())
        shared[family] = list(regions)
    return shared


def _block(items: Iterable[tuple[str, object]]) -> str:
    lines = (
        f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}" for key, value in items
    )
    return "{\n" + ",\n".join(lines) + "\n}"
