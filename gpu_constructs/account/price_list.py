"""An entry of the AWS Price List, read."""

from __future__ import annotations

import json
from typing import Any, cast

_DEAREST = 10_000
"""US dollars an hour that no instance costs."""


def price_in(entry: str) -> tuple[str, float] | None:
    """The instance type of an entry and its on-demand price in US dollars an hour.

    Returns:
        None where it is not one price an hour, such as that of a reservation.
    """
    try:
        product = cast("Any", json.loads(entry))
        name = product["product"]["attributes"]["instanceType"]
        (term,) = product["terms"]["OnDemand"].values()
        (dimension,) = term["priceDimensions"].values()
        price = float(dimension["pricePerUnit"]["USD"])
        hourly = dimension["unit"] in {"Hrs", "Hours"}
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None
    return (name, price) if hourly and isinstance(name, str) and 0 < price < _DEAREST else None
