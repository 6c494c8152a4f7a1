"""A catalogue that another program wrote has possible values, or its file is refused."""

from __future__ import annotations

from copy import deepcopy
from math import inf, nan
from typing import Any

import pytest

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.facts.records import DATA, parsed, require_values


def changed(part: str, field: str, value: object) -> Any:
    content: Any = deepcopy(parsed(DATA / "accelerated.json"))
    row = content["instance_types"]["g6.xlarge"]
    (row[part] if part else row)[field] = value
    return content


@pytest.mark.parametrize("name", ["accelerated", "general", "prices", "image_releases"])
def test_the_files_of_the_package_have_possible_values(name: str) -> None:
    require_values(name, parsed(DATA / f"{name}.json"))


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("", "vcpus", -4),
        ("", "vcpus", 0),
        ("", "vcpus", "4"),
        ("", "vcpus", nan),
        ("", "memory_mib", inf),
        ("", "memory_mib", 10**30),
        ("", "memory_mib", True),
        ("", "regions", "us-east-1"),
        ("", "local_disks", [["a", "b"]]),
        ("", "local_disks", [[1]]),
        ("accelerators", "count", -1),
        ("accelerators", "count", 1.5),
        ("accelerators", "memory_mib", "22888"),
        ("accelerators", "model", 5),
        ("accelerators", "partition", nan),
        ("accelerators", "partition", 0),
        ("accelerators", "compute_capability", [8]),
        ("accelerators", "compute_capability", "8.9"),
        ("network", "efa_cards", [-1]),
        ("network", "max_interfaces", None),
    ],
)
def test_a_value_that_no_type_has_is_refused_by_its_name(part: str, field: str, value: object) -> None:
    with pytest.raises(InvalidValueError, match="accelerated.json: g6.xlarge has ") as caught:
        require_values("accelerated", changed(part, field, value))
    assert f"{part}.{field}".lstrip(".") in str(caught.value)


@pytest.mark.parametrize("usd", [nan, inf, -3, 0, "0.8", True, None, [1]])
def test_a_price_that_cannot_be_is_refused(usd: object) -> None:
    content = {"lists": {}, "regions": {"us-east-1": {"2026-08": {"g6.xlarge": usd}}}}
    with pytest.raises(InvalidValueError, match=r"prices.json: g6.xlarge has the price in us-east-1 .*; allowed: US"):
        require_values("prices", content)
