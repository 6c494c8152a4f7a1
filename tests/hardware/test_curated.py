"""What is kept by hand says where it is from and of which day, and none of the data grow too old."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from gpu_constructs.hardware import RECORDED
from gpu_constructs.hardware.records import read
from tools.build_catalogue import CURATED

MOST_DAYS = 120
# The day that the data are judged by is that of the commit, which `make test` sets, and not of a clock.
TODAY = dt.date.fromisoformat(os.environ.get("DAY_OF_COMMIT") or str(RECORDED))


def lines(table: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The lines of a table, each with the source and the day that the whole table gives."""
    whole = {key: table[key] for key in ("source", "date") if key in table}
    # The traits of families have a source for each column.
    rows = (
        table["columns"] if "columns" in table else next(each for each in table.values() if not isinstance(each, str))
    )
    for name, row in rows.items() if isinstance(rows, dict) else enumerate(rows):
        yield str(name), {**whole, **(row if isinstance(row, dict) else {})}


@pytest.mark.parametrize("file", sorted(CURATED.glob("*.json")), ids=lambda file: file.stem)
def test_every_line_has_its_source_and_its_day(file: Any) -> None:
    table = json.loads(file.read_text(encoding="utf-8"))
    assert table["about"]
    for name, row in lines(table):
        assert row["source"], name
        assert dt.date.fromisoformat(row.get("date") or row["recorded"]) > dt.date(2026, 1, 1), name


def too_old(recorded: str, today: dt.date) -> str | None:
    """What to do about a file of data on a day; None if it is new enough."""
    days = (today - dt.date.fromisoformat(recorded)).days
    if days <= MOST_DAYS:
        return None
    return f"{days} days old on {today}: install a newer moto (pyproject.toml, make lock), then run make catalogue"


@pytest.mark.parametrize("file", ["accelerated", "general", "image_releases"])
def test_the_shipped_data_are_not_too_old(file: str) -> None:
    problem = too_old(read(file)["recorded"], TODAY)
    assert problem is None, f"{file}.json is {problem}"


@pytest.mark.parametrize(("today", "old"), [("2027-01-27", False), ("2027-01-28", True), ("2026-01-01", False)])
def test_data_are_too_old_after_120_days(today: str, old: bool) -> None:
    problem = too_old("2026-09-29", dt.date.fromisoformat(today))
    assert (problem is not None) is old
    assert problem is None or problem.endswith("run make catalogue")
