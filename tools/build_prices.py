"""Make the price list ``gpu_constructs/hardware/data/prices.json`` of ``tools/curated/prices.csv``.

The prices are kept by hand as a table; where they are from and how old they are stands here, per region.
``make catalogue`` writes the file.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

__all__ = ["CURATED", "build"]

CURATED = Path(__file__).with_name("curated") / "prices.csv"

ABOUT = (
    "List prices of Linux on-demand instances in USD per hour, without taxes, disks and traffic. A snapshot, shown "
    "with its date. Written by make catalogue; do not edit."
)

_CATALOG = "skypilot-catalog v9 (https://github.com/skypilot-org/skypilot-catalog)"

_PRICE_LIST = (
    "AWS Price List API as recorded in karpenter-provider-aws (https://github.com/aws/karpenter-provider-aws, "
    f"zz_generated.pricing_aws.go), the types that it lacks from {_CATALOG}, which is undated and says the same where "
    "both list a type"
)

SOURCES = {"us-east-1": ("2026-07-20", _PRICE_LIST)}
"""Region to the day its prices are of, and where they are from."""

OTHER = ("2026-11-21", f"{_CATALOG}, which carries no date: the day it was read; not every type is listed")


def build() -> str:
    """The text of the price list.

    Raises:
        ValueError: A price is not a positive number, or is listed twice.
    """
    prices: dict[str, dict[str, float]] = defaultdict(dict)
    with CURATED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, region, price = row["instance_type"], row["region"], float(row["on_demand_usd_per_hour"])
            if not 0 < price < 10_000 or name in prices[region]:  # noqa: PLR2004 - dearer than any instance there is
                raise ValueError(f"{name} in {region}: {price} is not a price, or the second one")
            prices[region][name] = price
    regions = {
        region: dict(zip(("recorded", "source"), SOURCES.get(region, OTHER), strict=True))
        | {"usd_per_hour": dict(sorted(prices[region].items()))}
        for region in sorted(prices)
    }
    return json.dumps({"about": ABOUT, "regions": regions}, indent=1) + "\n"
