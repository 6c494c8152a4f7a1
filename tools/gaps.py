"""Facts of the catalogue that AWS does not say and that nobody has curated yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from gpu_constructs.facts.drivers import driver_support
from gpu_constructs.facts.model import Accelerators, Vendor
from gpu_constructs.facts.records import Row
from gpu_constructs.facts.releases import line_of
from tools.answers import DevicesRow, FamilyRow, TypeRow
from tools.changes import family_of

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
