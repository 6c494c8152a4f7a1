"""``make catalogue``: write every generated file of data anew, and say what changed and what is not curated yet.

The recorded answers of AWS are those of the installed moto: a newer one is what brings newer facts (``make lock``).
Fails where a fact is missing, which is unknown in the files then, or where a curated line is no longer about anything.
"""

# ruff: noqa: T201 - what it prints is for its caller

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gpu_constructs.facts.records
from gpu_constructs.facts.image_table import IMAGES
from gpu_constructs.facts.releases import recorded_number, release_number
from tools import build_catalogue, build_prices, ec2_dump
from tools.changes import changes
from tools.gaps import in_words, release_gaps

__all__ = ["main"]

_PRICED = ("accelerated", "prices")


def main(folder: Path = Path(gpu_constructs.facts.records.DATA)) -> int:
    """Write the files.

    Args:
        folder: Where they are.

    Returns:
        0 if all facts are there, else 1.
    """
    built = build_catalogue.build()
    for name, text in {**built.files, "prices.json": build_prices.build()}.items():
        file = folder / name
        print("\n".join(_report(name, file.read_text(encoding="utf-8"), text)))
        file.write_text(text, encoding="utf-8")
    releases = json.loads((folder / "image_releases.json").read_text(encoding="utf-8"))
    open_points = [*in_words(built.gaps), *built.stale, *_without_a_row(releases)]
    for line in (*open_points, *in_words(release_gaps(releases)), *_unpriced(folder)):
        print(line)
    return 1 if open_points else 0


def _without_a_row(file: Mapping[str, Any]) -> Iterator[str]:
    """Releases that the recorded parameters have and the table lacks, which is kept by hand."""
    for image in IMAGES:
        known = {recorded_number(name) for name in file["lines"][image.line]["releases"]} if image.line else set()
        numbers = {release_number(image, each) for each in ec2_dump.releases(image)} if image.line else set()
        for number in sorted(each for each in numbers - known if each is not None and each > min(known)):
            yield f"{image.name}: release {'.'.join(map(str, number))} is not in image_releases.json"


def _unpriced(folder: Path) -> Iterator[str]:
    """Types that are sold on demand and that no list prices, which is a fact of the lists and not a failure."""
    types, regions = (json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in _PRICED)
    priced = {name for lists in regions["regions"].values() for prices in lists.values() for name in prices}
    sold = (name for name, row in types["instance_types"].items() if "on-demand" in row.get("purchase_classes", ()))
    if unpriced := sorted({*sold} - priced):
        yield f"without a price: {', '.join(unpriced)} (tools/curated/prices.csv)"


def _report(name: str, before: str, after: str) -> Iterator[str]:
    if before == after:
        yield f"{name}: unchanged"
    else:
        yield f"{name}:"
        yield from (f"  {line}" for line in changes(json.loads(before), json.loads(after)) or ["  only its layout"])


if __name__ == "__main__":
    sys.exit(main())
