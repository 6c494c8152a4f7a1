"""The releases of the ECS images with NVIDIA drivers: which driver and agent each has, and what it changed for GPUs.

``data/image_releases.json`` holds them by line: images that share their releases and drivers, such as one variant of
Bottlerocket for both architectures. It is read when a release that is not the newest known one is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from functools import cache

from gpu_constructs.facts.drivers import Drivers
from gpu_constructs.facts.image_table import Image, OperatingSystem, Verdict
from gpu_constructs.facts.names import AMI_ID
from gpu_constructs.facts.records import Row, read
from gpu_constructs.facts.values import dataclass

_DAY = r"[a-z0-9.-]{1,60}-2(?:023)?\.0\.(20[0-9]{6})-[a-z0-9_.-]{1,60}"
_NUMBER = r"(0|[1-9][0-9]{0,3})"
_BOTTLEROCKET = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-[0-9a-f]{{1,40}})?"

Number = tuple[int, ...]
"""A release as numbers that are in order: (20260922,) or (1, 66, 0)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One published release.

    Attributes:
        name: Its day on Amazon Linux, such as ``20260922``, its version on Bottlerocket.
        published: Its day; None if no source says it.
        agent_version: Version of its ECS agent; None if unknown.
        driver: Its driver, or the branch of that; None where its notes were not found.
        source: Source of the driver; empty if there is none.
    """

    name: str
    published: date | None = None
    agent_version: str | None = None
    driver: Drivers | None = None
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseChange:
    """What a release brought for GPUs.

    Attributes:
        families: Instance families that need it; empty where none depends on it.
        without: What an image without it is on them.
        after: The release from which on they need it; empty for all before `since`.
    """

    since: str
    what: str
    source: str
    families: frozenset[str] = frozenset()
    without: Verdict = Verdict.DRIVES
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseLine:
    """The releases of images that are made together, oldest first.

    Attributes:
        releases: The recorded ones, by their numbers.
        changes: What they brought, oldest first.
        first: Number of the first that there was; None if the records do not go back to it.
        least: The oldest driver that any of them can have.
    """

    releases: Mapping[Number, Release]
    changes: tuple[ReleaseChange, ...]
    first: Number | None
    least: Drivers

    def drivers(self, number: Number) -> Drivers:
        """The driver that a release has, as far as its neighbours say it: an image never gets an older one."""
        known = self._with_driver()
        return Drivers(
            lowest=max([driver.lowest for each, driver in known if each <= number], default=self.least.lowest),
            highest=min([driver.highest for each, driver in known if each >= number], default=Drivers().highest),
        )

    def is_after_the_known(self, number: Number) -> bool:
        """Whether a release came after the last one whose driver is known."""
        return number > max((each for each, _ in self._with_driver()), default=())

    def _with_driver(self) -> list[tuple[Number, Drivers]]:
        return [(each, release.driver) for each, release in self.releases.items() if release.driver is not None]

    def missing(self, number: Number, family: str) -> ReleaseChange | None:
        """The first change that a release lacks though a family needs it."""
        return next(
            (
                each
                for each in self.changes
                if family in each.families and recorded_number(each.after) <= number < recorded_number(each.since)
            ),
            None,
        )


def release_line(image: Image) -> ReleaseLine | None:
    """The releases of an image; None for images without an NVIDIA driver and for those of a user."""
    return _line(image.line)


def release_number(image: Image, release: str) -> Number | None:
    """The number of a release, which says whether it is before another one; None where its name does not say it."""
    if image.operating_system is OperatingSystem.BOTTLEROCKET:
        version = re.fullmatch(_BOTTLEROCKET, release)
        return version and tuple(map(int, version.groups()))
    found = re.fullmatch(_DAY, release)
    return None if found is None or _day(found[1]) is None else (int(found[1]),)


def release_problem(image: Image, release: str) -> str | None:
    """Why an image of the table cannot have a release, in words that come after its name; None if it can."""
    number = release_number(image, release)
    is_of_amazon_linux = image.operating_system is not OperatingSystem.BOTTLEROCKET
    if is_of_amazon_linux and not _is_named_as(image.known_release or "", release):
        number = None
    # The parameters of Amazon Linux have a folder for each AMI id as well.
    if number is None and AMI_ID.fullmatch(release) is None:
        return f"is not a release of {image}, whose releases are like {image.known_release}"
    line = release_line(image)
    if line is not None and line.first is not None and number is not None and number < line.first:
        return f"is from before the first release of {image}, {'.'.join(map(str, line.first))}"
    return None


def _is_named_as(known: str, release: str) -> bool:
    """Whether an AMI is named as a known one is, but for the day and the number of the kernel after it."""
    day = re.fullmatch(_DAY, known)
    if day is None:
        return False
    before, after = known[: day.start(1)], known[day.end(1) :]
    others = r"-kernel-[0-9]{1,2}\.[0-9]{1,3}-".join(map(re.escape, re.split(r"-kernel-[0-9.]{1,8}-", after)))
    return re.fullmatch(f"{re.escape(before)}20[0-9]{{6}}{others}", release) is not None


def recorded_number(name: str) -> Number:
    """The number of a release that the data files name; an empty one for an empty name."""
    return tuple(map(int, name.split("."))) if name else ()


@cache
def _line(name: str) -> ReleaseLine | None:
    row = read("image_releases")["lines"].get(name)
    return None if row is None else line_of(row)


def line_of(row: Row) -> ReleaseLine:
    """The releases of a line, as ``image_releases.json`` has them."""
    return ReleaseLine(
        releases={recorded_number(name): _release(name, each) for name, each in row["releases"].items()},
        changes=tuple(map(_change, row["changes"])),
        first=recorded_number(row["first"]) if "first" in row else None,
        least=Drivers.of(row["least"]["driver"]) if "least" in row else Drivers(),
    )


def _change(row: Row) -> ReleaseChange:
    families, without = frozenset(row.get("families", ())), Verdict(row.get("without", Verdict.DRIVES.value))
    return ReleaseChange(**{**row, "families": families, "without": without})


def _release(name: str, row: Row) -> Release:
    day = _day(name) if "." not in name else date.fromisoformat(row["published"]) if "published" in row else None
    return Release(
        name=name,
        published=day,
        agent_version=row.get("agent"),
        driver=Drivers.of(row["driver"]) if "driver" in row else None,
        source=row.get("source", ""),
    )


def _day(text: str) -> date | None:
    try:
        return date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError:
        return None
