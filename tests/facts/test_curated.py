"""What is kept by hand says where it is from and of which day, and none of the data grow too old."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from gpu_constructs.facts import RECORDED
from gpu_constructs.facts.records import read
from tools.build_catalogue import CURATED

MOST_DAYS = 120
MENDED_BY = {
    "accelerated": "install a newer moto (pyproject.toml, make lock), then run make catalogue",
    "general": "install a newer moto (pyproject.toml, make lock), then run make catalogue",
    "image_releases": "add the releases that AWS has published since, from the sources that it names",
}
# The day that the data are judged by is that of the commit, which `make test` sets, and not of a clock.
TODAY = dt.date.fromisoformat(os.environ.get("DAY_OF_COMMIT") or str(RECORDED))


def lines(table: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The lines of a table, each with the source and the day that the whole table gives."""
    whole = {key: table[key] for key in ("source", "date") if key in table}
    # The traits of families have a source for each column.
    rows = table.get("columns") or next(each for each in table.values() if not isinstance(each, str))
    for name, row in rows.items() if isinstance(rows, dict) else enumerate(rows):
        yield str(name), {**whole, **(row if isinstance(row, dict) else {})}


@pytest.mark.parametrize("file", sorted(CURATED.glob("*.json")), ids=lambda file: file.stem)
def test_every_line_has_its_source_and_its_day(file: Any) -> None:
    table = json.loads(file.read_text(encoding="utf-8"))
    assert table["about"]
    for name, row in lines(table):
        assert row["source"], name
        assert dt.date.fromisoformat(row.get("date") or row["recorded"]) > dt.date(2026, 1, 1), name


def too_old(recorded: str, today: dt.date) -> bool:
    return today - dt.date.fromisoformat(recorded) > dt.timedelta(days=MOST_DAYS)


@pytest.mark.parametrize("file", MENDED_BY)
def test_the_shipped_data_are_not_too_old(file: str) -> None:
    recorded = read(file)["recorded"]
    assert not too_old(recorded, TODAY), f"{file}.json is of {recorded}: {MENDED_BY[file]}"


@pytest.mark.parametrize(("today", "old"), [("2027-01-27", False), ("2027-01-28", True), ("2026-01-01", False)])
def test_data_are_too_old_after_120_days(today: str, old: bool) -> None:
    assert too_old("2026-09-29", dt.date.fromisoformat(today)) is old
