"""A newer catalogue: what changed is said."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from gpu_constructs.facts.records import read
from tools.changes import changes


def test_what_differs_is_said_in_a_line_for_types_that_differ_alike() -> None:
    before: Any = read("accelerated")
    assert changes(before, before) == []
    after = deepcopy(before)
    types = after["instance_types"]
    types["g9.xlarge"] = types["g6.xlarge"]
    after["regions"]["g9"] = ["us-east-1"]
    del types["p2.xlarge"]
    for name in ("g5.xlarge", "g5.2xlarge"):
        types[name]["accelerators"]["memory_mib"] = 23028
    after["regions"]["p6-b300"] = ["us-west-2", "us-moon-1"]
    after["quotas"]["G/VT"]["spot_code"] = None
    said = changes(before, after)
    assert "g9.xlarge: new" in said
    assert "p2.xlarge: gone" in said
    assert "g5.xlarge, g5.2xlarge: accelerators.memory_mib 22888 -> 23028" in said
    assert "quota G/VT: spot_code L-3819A6DF -> unknown" in said
    assert any(line.startswith("p6-b300.48xlarge: regions +us-moon-1 -") for line in said)


def test_what_differs_of_prices_and_releases_is_said() -> None:
    prices: Any = deepcopy(read("prices"))
    prices["regions"]["us-east-1"]["2026-07"]["g6.xlarge"] = 0.9
    assert changes(read("prices"), prices) == ["us-east-1: g6.xlarge 0.8048 -> 0.9"]
    releases: Any = deepcopy(read("image_releases"))
    releases["lines"]["al2023-gpu"]["releases"]["20261201"] = {}
    assert changes(read("image_releases"), releases) == ["al2023-gpu 20261201: new"]
