"""Make the price list ``gpu_constructs/facts/data/prices.json``.

The prices are kept by hand in ``tools/curated/prices.csv``; where each is from and how old it is stands in
``price_lists.json`` there. ``make catalogue`` writes the file.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

__all__ = ["CURATED", "build"]

CURATED = Path(__file__).with_name("curated")

ABOUT = (
    "List prices of Linux on-demand instances in USD per hour by region and list, without taxes, disks and traffic. "
    "Snapshots, shown with their dates; of a list that is not dated, with the day on which it was read. Spot prices "
    "change all the time and are not in it. Written by make catalogue; do not edit."
)


def build() -> str:
    """The text of the price list.

    Raises:
        ValueError: A price is not a positive number, or is listed twice.
    """
    prices: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    seen = set()
    with (CURATED / "prices.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, region, price = row["instance_type"], row["region"], float(row["on_demand_usd_per_hour"])
            if not 0 < price < 10_000 or (name, region) in seen:  # noqa: PLR2004 - dearer than any instance there is
                raise ValueError(f"{name} in {region}: {price} is not a price, or the second one")
            seen.add((name, region))
            prices[region][row["list"]][name] = price
    lists = json.loads((CURATED / "price_lists.json").read_text(encoding="utf-8"))["lists"]
    return json.dumps({"about": ABOUT, "lists": lists, "regions": _sorted(prices)}, indent=1) + "\n"


def _sorted(table: object) -> object:
    return {key: _sorted(table[key]) for key in sorted(table)} if isinstance(table, dict) else table
