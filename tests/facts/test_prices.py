"""A price never goes without its date and its region."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest

from gpu_constructs.facts import PurchaseClass, accelerated, instance_type, on_demand_price
from gpu_constructs.facts.prices import dollars
from gpu_constructs.facts.records import DATA
from tools import build_prices
from tools.build_prices import CURATED


def test_the_list_is_what_its_tool_writes() -> None:
    assert Path(DATA, "prices.json").read_text(encoding="utf-8") == build_prices.build()


def test_every_row_of_the_table_is_found_again() -> None:
    assert len(_rows()) == 1215
    for (name, region), usd in _rows().items():
        price = on_demand_price(name, region)
        assert price is not None
        assert (price.usd_per_hour, price.region) == (usd, region)


def test_a_price_is_of_a_region_that_has_the_type() -> None:
    without = [
        (name, region)
        for name, region in _rows()
        if region not in instance_type(name).regions and instance_type(name).is_offered_anywhere
    ]
    assert without == []


def test_nearly_every_type_that_is_sold_on_demand_has_a_price_in_each_of_its_regions() -> None:
    prices = _rows()
    sold = [each for each in accelerated() if PurchaseClass.ON_DEMAND in each.purchase_classes]
    without = {
        each.name: missing for each in sold if (missing := {r for r in each.regions if (each.name, r) not in prices})
    }
    assert sum(len(regions) for regions in without.values()) == 40
    families = {each.partition(".")[0] for each in without}
    assert families == {"g7", "g7e", "p5", "p5e", "p6-b200", "p6-b300", "trn1", "trn2"}


def test_a_type_without_a_price_in_us_east_1_is_not_offered_there() -> None:
    # That price stands in for regions that have none.
    prices = _rows()
    without = {name for name, _ in prices if (name, "us-east-1") not in prices}
    assert without == {"dl2q.24xlarge"}
    assert "us-east-1" not in instance_type("dl2q.24xlarge").regions


def test_the_sizes_of_a_family_cost_as_many_times_more_in_a_region_as_in_us_east_1() -> None:
    # A price that was typed wrongly, or stands in the wrong row, is not in proportion to the others of its family.
    prices = _rows()
    families: defaultdict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for (name, region), usd in prices.items():
        if (name, "us-east-1") in prices:
            families[instance_type(name).family, region][name] = usd
    for (family, region), sizes in families.items():
        largest = max(sizes, key=lambda each: sizes[each])
        times = sizes[largest] / prices[largest, "us-east-1"]
        for name, usd in sizes.items():
            assert usd == pytest.approx(times * prices[name, "us-east-1"], rel=0, abs=0.001), (family, region, name)


@pytest.mark.parametrize(
    ("name", "region", "usd", "priced_in", "day"),
    [
        ("p5.48xlarge", None, 55.04, "us-east-1", "2026-07-20"),
        ("f2.6xlarge", None, 1.98, "us-east-1", "2026-01-19"),
        ("g4dn.xlarge", "eu-west-1", 0.587, "eu-west-1", "2026-08-26"),
        ("vt1.3xlarge", "eu-west-1", 0.73412, "eu-west-1", "an undated list read on 2026-11-22"),
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


def _rows() -> dict[tuple[str, str], float]:
    with (CURATED / "prices.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["instance_type"], row["region"]): float(row["on_demand_usd_per_hour"]) for row in csv.DictReader(file)
        }


@pytest.mark.parametrize(("amount", "text"), [(0.8048, "$0.80"), (1234.5, "$1,234.50")])
def test_an_amount_has_two_digits(amount: float, text: str) -> None:
    assert dollars(amount) == text
