"""What differs between two files of the catalogue, or between two price lists, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from gpu_constructs.account.layout import family_of
from gpu_constructs.hardware.records import Row

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
