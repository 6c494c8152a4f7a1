"""A price never goes without its date and its region."""

from __future__ import annotations

import csv

import pytest

from gpu_constructs.hardware import accelerated, instance_type, on_demand_price
from gpu_constructs.hardware.prices import dollars
from gpu_constructs.hardware.records import DATA
from tools import build_prices
from tools.build_prices import CURATED


def test_the_list_is_what_its_tool_writes() -> None:
    assert (DATA / "prices.json").read_text(encoding="utf-8") == build_prices.build()


def test_every_row_of_the_table_is_found_again() -> None:
    with (CURATED / "prices.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1042
    for row in rows:
        price = on_demand_price(row["instance_type"], row["region"])
        assert price is not None
        assert (price.usd_per_hour, price.region) == (float(row["on_demand_usd_per_hour"]), row["region"])


def test_every_priced_type_is_in_the_catalogue() -> None:
    with (CURATED / "prices.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            assert instance_type(row["instance_type"]).name == row["instance_type"]


@pytest.mark.parametrize(
    ("name", "region", "usd", "priced_in", "day"),
    [
        ("p5.48xlarge", None, 55.04, "us-east-1", "2026-07-20"),
        ("f2.6xlarge", None, 1.98, "us-east-1", "2026-01-19"),
        ("g4dn.xlarge", "eu-west-1", 0.587, "eu-west-1", "an undated list read on 2026-11-22"),
        pytest.param("g6.xlarge", "us-gov-west-1", 0.8048, "us-east-1", "2026-07-20", id="a region without list"),
        pytest.param("g6.xlarge", "eu-west-1", 0.8048, "us-east-1", "2026-07-20", id="a list without the type"),
    ],
)
def test_where_a_region_has_no_price_that_of_us_east_1_stands_in_and_says_so(
    name: str, region: str | None, usd: float, priced_in: str, day: str
) -> None:
    price = on_demand_price(name, region)
    assert price is not None
    assert (price.usd_per_hour, price.region, price.day) == (usd, priced_in, day)
    assert str(price).endswith(f", {priced_in}, {day})")
    assert price.source


def test_what_no_list_prices_has_no_price() -> None:
    without = {each.name for each in accelerated() if on_demand_price(each.name) is None}
    assert without == {"dl2q.24xlarge", "p5e.48xlarge", "p6e-gb200.36xlarge", "trn2.3xlarge", "trn2.48xlarge"}
    assert on_demand_price("x9.large") is None


@pytest.mark.parametrize(("amount", "text"), [(0.8048, "$0.80"), (1234.5, "$1,234.50")])
def test_an_amount_has_two_digits(amount: float, text: str) -> None:
    assert dollars(amount) == text
