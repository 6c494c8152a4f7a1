"""A newer catalogue: what AWS answers, with the facts that it does not say from the catalogue of the library."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Any, cast, get_args, get_origin, get_type_hints, is_typeddict

from gpu_constructs.account import answers, changes
from gpu_constructs.account.answers import DevicesRow, FamilyRow, QuotaRow, TypeRow
from gpu_constructs.account.changes import family_of
from gpu_constructs.facts.drivers import driver_support
from gpu_constructs.facts.image_table import IMAGES
from gpu_constructs.facts.model import Accelerators, Architecture, Vendor
from gpu_constructs.facts.records import Row
from gpu_constructs.facts.releases import line_of, recorded_number, release_number
from gpu_constructs.facts.values import dataclass

RDMA = "device RDMA"
"""The fact of a family of which a row does not show that it is missing: without it, a row has no RDMA."""

_TRAITS = {"released_after_2022": "release before or after 2022", "managed_instances": "ECS Managed Instances"}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Gap:
    """A fact that is missing.

    Attributes:
        subject: What it is about: a model of accelerators, or a family.
        fact: What is not known.
        place: The file of this project's repository that would hold it.
    """

    subject: str
    fact: str
    place: str


def gaps(rows: Mapping[str, TypeRow], families: Mapping[str, FamilyRow]) -> frozenset[Gap]:
    """Everything that is missing in rows of a catalogue."""
    return frozenset(
        gap for name, row in rows.items() for gap in _of_type(family_of(name), row, families.get(family_of(name), {}))
    )


def release_gaps(file: Row) -> frozenset[Gap]:
    """The releases of images whose driver is not known, and not settled by the releases around them."""
    place = "gpu_constructs/facts/data/image_releases.json"
    return frozenset(
        Gap(subject=name, fact=fact, place=place) for name, row in file["lines"].items() for fact in _drivers_of(row)
    )


def _drivers_of(line_row: Row) -> Iterator[str]:
    line = line_of(line_row)
    found = ((each.name, line.drivers(number)) for number, each in line.releases.items() if each.driver is None)
    for drivers, releases in groupby(found, lambda each: each[1]):
        (first, _), *_, (last, _) = (*releases,) * 2
        if drivers.lowest != drivers.highest:
            yield f"driver of {first}" if first == last else f"driver of {first} to {last}"


def in_words(found: Iterable[Gap]) -> list[str]:
    """Gaps as they are shown, a line for each subject: ``R200: memory, first driver are not curated (FILE)``."""
    groups = ((subject, list(group)) for subject, group in groupby(sorted(found), attrgetter("subject")))
    return [
        f"{subject}: {', '.join(each.fact for each in group)} {'is' if len(group) == 1 else 'are'} not curated "
        f"({', '.join(dict.fromkeys(each.place for each in group))})"
        for subject, group in groups
    ]


def _of_type(family: str, row: TypeRow, traits: FamilyRow) -> Iterator[Gap]:
    if "quota" not in row:
        yield Gap(subject=family, fact="quota", place="tools/curated/quotas.json")
    devices = row.get("accelerators")
    if devices is None:
        return
    for trait, fact in _TRAITS.items():
        if trait not in traits:
            yield Gap(subject=family, fact=fact, place="tools/curated/families.json")
    if devices["vendor"] == Vendor.NVIDIA.value:
        if "interconnect" not in devices:
            yield Gap(subject=family, fact="interconnect", place="tools/curated/interconnects.json")
        yield from _of_gpu(devices)
        # A line that is kept by hand leaves the memory out on purpose.
        if "memory_mib" not in devices and "source" not in row:
            yield Gap(subject=devices["model"], fact="memory", place="tools/curated/corrections.json")


def _of_gpu(devices: DevicesRow) -> Iterator[Gap]:
    model = devices["model"]
    known = devices.get("compute_capability")
    if known is None:
        for fact in ("architecture", "compute capability"):
            yield Gap(subject=model, fact=fact, place="tools/curated/models.json")
    capability = None if known is None else (known[0], known[1])
    gpu = Accelerators(vendor=Vendor.NVIDIA, model=model, count=1, logical_count=1, compute_capability=capability)
    if driver_support(gpu) is None:
        yield Gap(subject=model, fact="first driver", place="gpu_constructs/facts/drivers.py")


_MOST = 1 << 40
_LONGEST = 200
"""What no number, text or list of an instance type exceeds."""

_KEPT = ("note", "replaced_by")
_AT_LEAST_ONE = ("vcpus", "memory_mib")
_ARCHITECTURES = frozenset(each.value for each in Architecture)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What AWS answered.

    Attributes:
        day: The day of the answers.
        described: InstanceTypeInfo of each type by its name.
        offered: Types that a region offers, by region.
        prices: List prices in US dollars an hour, by region and type; empty where they were not asked for.
        releases: Releases of each image that has drivers, by its name, each with its agent.
    """

    day: dt.date
    described: Mapping[str, answers.InstanceTypeInfo]
    offered: Mapping[str, frozenset[str]]
    prices: Mapping[str, Mapping[str, float]]
    releases: Mapping[str, Mapping[str, str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """A newer catalogue.

    Attributes:
        files: Text of each file by its name.
        gaps: Facts about new types that AWS does not say, unknown in the files.
        left_out: Types that no row can hold, each with the reason.
    """

    files: Mapping[str, str]
    gaps: frozenset[Gap]
    left_out: tuple[str, ...]


def refreshed(known: Mapping[str, Row], found: Answers) -> Refreshed:
    """A newer catalogue; what was not asked about is as it was."""
    old: dict[str, Any] = {**known["accelerated"]["instance_types"], **known["general"]["instance_types"]}
    families = cast("Mapping[str, FamilyRow]", known["accelerated"]["families"])
    left = frozenset(known["general"]["left_out"])
    regions = {name: _regions(name, row, known, found) for name, row in old.items()}
    facts = _Facts.of(old)
    rows: dict[str, TypeRow] = {
        name: cast("TypeRow", {key: value for key, value in row.items() if key != "regions"})
        for name, row in old.items()
    }
    problems = []
    for name, info in sorted(found.described.items()):
        row = None if family_of(name) in left else _row(info)
        if isinstance(row, answers.UndescribedError):
            problems.append(f"{name} is left out: {row}")
        elif row is not None:
            rows[name] = facts.added(name, row, was_nowhere=not _shared(name, old.get(name, {}), known))
            regions.setdefault(name, _regions(name, {}, known, found))
    missing = {
        Gap(subject=family_of(name), fact=RDMA, place="tools/curated/families.json")
        for name, row in rows.items()
        if "accelerators" in row and family_of(name) not in families
    }
    quotas = cast("Mapping[str, QuotaRow]", {**known["general"]["quotas"], **known["accelerated"]["quotas"]})
    files = {
        f"{name}.json": changes.text(
            _header(known[name], found),
            {each: row for each, row in rows.items() if ("accelerators" in row) is (name == "accelerated")},
            offered=regions,
            quotas=quotas,
            families=families if name == "accelerated" else {},
        )
        for name in ("accelerated", "general")
    }
    return Refreshed(
        files={**files, "prices.json": _prices(known["prices"], found), "image_releases.json": _releases(known, found)},
        gaps=gaps(rows, families) | missing,
        left_out=tuple(problems),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What the catalogue knows and AWS does not say, by what it belongs to."""

    rows: Mapping[str, Any]
    models: Mapping[str, DevicesRow]
    families: Mapping[str, list[TypeRow]]

    @classmethod
    def of(cls, rows: Mapping[str, Any]) -> _Facts:
        families: dict[str, list[TypeRow]] = {}
        for name, row in rows.items():
            families.setdefault(family_of(name), []).append(row)
        devices = (row["accelerators"] for row in rows.values() if "accelerators" in row)
        return cls(rows=rows, models={each["model"]: each for each in devices}, families=families)

    def added(self, name: str, row: TypeRow, *, was_nowhere: bool) -> TypeRow:
        """A row of answers with what is known."""
        own: Any = self.rows.get(name, {})
        relatives = self.families.get(family_of(name), [])
        quotas = {each["quota"] for each in relatives if "quota" in each}
        quota = own.get("quota") or (quotas.pop() if len(quotas) == 1 else answers.standard_quota(name, row))
        if quota is not None:
            row["quota"] = quota
        if "accelerators" in row:
            self._add_devices(row["accelerators"], own.get("accelerators", {}), relatives)
        if own.get("network", {}).get("device_rdma"):
            row["network"]["device_rdma"] = True
        for correction in own.get("corrections", ()):
            if row.get("accelerators", {}).get("memory_mib") == correction["reported"]:
                row["accelerators"]["memory_mib"] = correction["corrected"]
                row["corrections"] = own["corrections"]
        kept = {key: own[key] for key in _KEPT if key in own and not was_nowhere}
        return cast("TypeRow", {**row, **kept})

    def _add_devices(self, devices: DevicesRow, own: DevicesRow, relatives: list[TypeRow]) -> None:
        same = self.models.get(devices["model"])
        if same is not None and "compute_capability" in same:
            devices["generation"], devices["compute_capability"] = same["generation"], same["compute_capability"]
        joined = {each["accelerators"].get("interconnect") for each in relatives if "accelerators" in each}
        interconnect = own.get("interconnect") or (joined.pop() if len(joined) == 1 else None)
        if interconnect is not None:
            devices["interconnect"] = interconnect


def _row(info: answers.InstanceTypeInfo) -> TypeRow | answers.UndescribedError:
    try:
        row = answers.row(info)
    except answers.UndescribedError as problem:
        return problem
    except (AttributeError, IndexError, KeyError, StopIteration, TypeError) as problem:
        return answers.UndescribedError(f"it is described in an unknown form: {problem!r:.{_LONGEST}}")
    hints = get_type_hints(TypeRow)
    odd = next(((key, value) for key, value in row.items() if not _is_usual(key, value, hints[key])), None)
    return row if odd is None else answers.UndescribedError(f"its {odd[0]} is {odd[1]!r:.{_LONGEST}}")


def _is_usual(key: str, value: object, wanted: Any) -> bool:  # noqa: ANN401 - a type
    """Whether a type can have a value in a field of its row, and this version of the library knows what it means."""
    if key == "architecture" and value not in _ARCHITECTURES:
        return False
    return _fits(value, wanted) and not (key in _AT_LEAST_ONE and value == 0)


def _fits(value: object, wanted: Any) -> bool:  # noqa: ANN401 - a type
    """Whether a value is of the type that a row has there, and of a usual size."""
    if is_typeddict(wanted):
        hints = get_type_hints(wanted)
        return isinstance(value, dict) and all(_fits(each, hints[key]) for key, each in value.items())
    if get_origin(wanted) is list:
        (of,) = get_args(wanted)
        return isinstance(value, list) and len(value) <= _LONGEST and all(_fits(each, of) for each in value)
    if isinstance(value, str):
        return wanted is str and len(value) <= _LONGEST and value.isprintable()
    if isinstance(value, bool):
        return wanted is bool
    numbers_like = (int, float) if wanted is float else wanted
    return wanted in (int, float) and isinstance(value, numbers_like) and 0 <= value < _MOST


def _shared(name: str, row: Mapping[str, Any], known: Mapping[str, Row]) -> list[str]:
    """The regions of a row of the catalogue."""
    files = (known[each]["regions"] for each in ("accelerated", "general"))
    of_family: list[str] = next((regions[family_of(name)] for regions in files if family_of(name) in regions), [])
    return list(row.get("regions", of_family)) if row else []


def _regions(name: str, row: Mapping[str, Any], known: Mapping[str, Row], found: Answers) -> list[str]:
    before = {each for each in _shared(name, row, known) if each not in found.offered}
    return sorted(before | {region for region, names in found.offered.items() if name in names})


def _header(file: Row, found: Answers) -> dict[str, object]:
    asked = f"DescribeInstanceTypes and DescribeInstanceTypeOfferings of an account, in {', '.join(found.offered)}"
    tables = {"recorded_regions", "quotas", "regions", "families", "instance_types"}
    kept = {key: value for key, value in file.items() if key not in tables}
    return {**kept, "recorded": str(found.day), "recorded_from": f"{asked}; other regions as of {file['recorded']}"}


def _prices(file: Row, found: Answers) -> str:
    """The price list, in which what AWS answered comes first."""
    if not found.prices:
        return f"{json.dumps(file, indent=1)}\n"
    key = f"{found.day}"
    listed = {"recorded": key, "dated": True, "source": "AWS Price List (GetProducts)"}
    regions: dict[str, Any] = {
        region: {
            name: {each: usd for each, usd in prices.items() if each not in found.prices.get(region, {})}
            for name, prices in lists.items()
        }
        for region, lists in file["regions"].items()
    }
    for region, prices in found.prices.items():
        # An earlier refresh of the same day has a list of this name as well.
        lists = regions.get(region, {})
        regions[region] = {key: {}} | lists | {key: dict(sorted({**lists.get(key, {}), **prices}.items()))}
    return json.dumps({**file, "lists": {**file["lists"], key: listed}, "regions": regions}, indent=1) + "\n"


def _releases(known: Mapping[str, Row], found: Answers) -> str:
    """The releases of images, with those that are newer than the first recorded one added."""
    file = known["image_releases"]
    lines: dict[str, Any] = {name: {**line, "releases": dict(line["releases"])} for name, line in file["lines"].items()}
    for image in IMAGES:
        releases = lines[image.line]["releases"] if image.line in lines else {}
        have = {recorded_number(name) for name in releases}
        for release, agent in found.releases.get(image.name, {}).items():
            number = release_number(image, release)
            if number is not None and have and number > min(have) and number not in have:
                releases[".".join(map(str, number))] = {} if agent is None else {"agent": agent}
    for line in lines.values():
        line["releases"] = dict(sorted(line["releases"].items(), key=lambda item: recorded_number(item[0])))
    return json.dumps({**file, "recorded": str(found.day), "lines": lines}, indent=1) + "\n"
