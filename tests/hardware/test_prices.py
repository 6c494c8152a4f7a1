"""A price never goes without its date and its region."""

from __future__ import annotations

import csv
import datetime as dt

import pytest

from gpu_constructs.hardware import instance_type, on_demand_price
from gpu_constructs.hardware.prices import dollars
from gpu_constructs.hardware.records import DATA
from tools import build_prices
from tools.build_prices import CURATED


def test_the_list_is_what_its_tool_writes() -> None:
    assert (DATA / "prices.json").read_text(encoding="utf-8") == build_prices.build()


def test_every_row_of_the_table_is_found_again() -> None:
    with CURATED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 179
    for row in rows:
        price = on_demand_price(row["instance_type"], row["region"])
        assert price is not None
        assert (price.usd_per_hour, price.region) == (float(row["on_demand_usd_per_hour"]), row["region"])


def test_every_priced_type_is_in_the_catalogue() -> None:
    with CURATED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            assert instance_type(row["instance_type"]).name == row["instance_type"]


@pytest.mark.parametrize(
    ("name", "region", "usd", "priced_in", "recorded"),
    [
        ("p5.48xlarge", None, 55.04, "us-east-1", dt.date(2026, 7, 20)),
        ("g4dn.xlarge", "eu-west-1", 0.587, "eu-west-1", dt.date(2026, 11, 21)),
        pytest.param(
            "g6.xlarge", "eu-central-1", 0.8048, "us-east-1", dt.date(2026, 7, 20), id="a region without list"
        ),
        pytest.param("g6.xlarge", "eu-west-1", 0.8048, "us-east-1", dt.date(2026, 7, 20), id="a list without the type"),
    ],
)
def test_where_a_region_has_no_price_that_of_us_east_1_stands_in_and_says_so(
    name: str, region: str | None, usd: float, priced_in: str, recorded: dt.date
) -> None:
    price = on_demand_price(name, region)
    assert price is not None
    assert (price.usd_per_hour, price.region, price.recorded) == (usd, priced_in, recorded)
    assert f"{priced_in}, {recorded}" in str(price)
    assert price.source


@pytest.mark.parametrize("name", ["p5e.48xlarge", "trn2.48xlarge", "p6e-gb200.36xlarge", "x9.large"])
def test_what_no_list_prices_has_no_price(name: str) -> None:
    assert on_demand_price(name) is None


@pytest.mark.parametrize(("amount", "text"), [(0.8048, "$0.80"), (1234.5, "$1,234.50")])
def test_an_amount_has_two_digits(amount: float, text: str) -> None:
    assert dollars(amount) == text
