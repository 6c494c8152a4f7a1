"""Files of the catalogue as text, which read well as a diff, and what differs between two of them, in words."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from gpu_constructs.facts.records import Row
from tools.answers import FamilyRow, QuotaRow, TypeRow

_SHOWN = 6
"""Names in one line, before the others are only counted."""

_Facts = Mapping[str, Mapping[str, object]]


def changes(before: Row, after: Row) -> list[str]:
    """What differs, in lines; types of a family that differ in the same way share one."""
    old, new = _facts(before), _facts(after)
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for subject in {**old, **new}:
        if subject not in new:
            alike[family_of(subject), "gone"].append(subject)
        elif subject not in old:
            alike[family_of(subject), "new"].append(subject)
        else:
            for change in _changed(old[subject], new[subject]):
                alike[family_of(subject), change].append(subject)
    return [f"{_named(subjects)}: {change}" for (_, change), subjects in sorted(alike.items())]


def _facts(file: Row) -> _Facts:
    """The facts of each subject, flat; what types share is given to each of them."""
    if "lines" in file:
        releases = {
            f"{line} {name}": each for line, row in file["lines"].items() for name, each in row["releases"].items()
        }
        return {"the file": {"recorded": file["recorded"]}, **releases}
    if "instance_types" not in file:
        listed = {f"list {name}": row for name, row in file["lists"].items()}
        return listed | {region: _of_all(lists.values()) for region, lists in file["regions"].items()}
    whole = {key: file[key] for key in ("recorded", "sources", "doubts") if key in file}
    shared = {f"quota {key}": row for key, row in file["quotas"].items()}
    families = {f"family {key}": row for key, row in file["families"].items()}
    types = {
        name: dict(_flat({"regions": file["regions"].get(family_of(name), []), **row}))
        for name, row in file["instance_types"].items()
    }
    return {"the file": dict(_flat(whole)), **shared, **families, **types}


def _of_all(rows: Iterable[Mapping[str, object]]) -> dict[str, object]:
    return {key: value for row in rows for key, value in row.items()}


def _flat(row: Mapping[str, object], *above: str) -> Iterator[tuple[str, object]]:
    for key, value in row.items():
        if isinstance(value, dict):
            yield from _flat(value, *above, key)
        else:
            yield ".".join((*above, key)), value


def _changed(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[str]:
    for fact in {**old, **new}:
        before, after = old.get(fact), new.get(fact)
        if before == after:
            continue
        if fact == "regions" and isinstance(before, list) and isinstance(after, list):
            more, less = sorted({*after} - {*before}), sorted({*before} - {*after})
            yield f"regions {' '.join((*(f'+{each}' for each in more), *(f'-{each}' for each in less)))}"
        else:
            yield f"{fact} {_shown(before)} -> {_shown(after)}"


def _shown(value: object) -> str:
    return "unknown" if value is None else str(value)


def _named(subjects: list[str]) -> str:
    names = ", ".join(subjects[:_SHOWN])
    return names if len(subjects) <= _SHOWN else f"{names} and {len(subjects) - _SHOWN} more"


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
