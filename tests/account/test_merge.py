"""A newer catalogue is what AWS answers with what is known here, and nothing that it answers breaks it."""

from __future__ import annotations

import datetime as dt
import json
from copy import deepcopy
from functools import cache
from typing import Any, cast

import pytest

from gpu_constructs.account.changes import changes
from gpu_constructs.account.refresh import Answers, Refreshed, in_words, refreshed, release_gaps
from gpu_constructs.facts.records import decode, read
from tools import ec2_dump

KNOWN = {name: read(name) for name in ("accelerated", "general", "prices", "image_releases")}
DAY = dt.date(2026, 12, 1)


def dump() -> dict[str, Any]:
    return cast("dict[str, Any]", ec2_dump.instance_types())


@cache
def offered_in(region: str) -> frozenset[str]:
    return frozenset(name for name, regions in ec2_dump.offerings().items() if region in regions)


def described(like: str, **gpu: object) -> Any:
    info = deepcopy(dump()[like])
    for each in info.get("GpuInfo", {}).get("Gpus", ()):
        each.update(gpu)
    return info


def answered(types: dict[str, Any], *regions: str, **more: Any) -> Answers:
    """Answers of regions that offer these types and all that they offered before."""
    offered = {region: frozenset({*types, *offered_in(region)}) for region in regions}
    return Answers(**{"day": DAY, "described": types, "offered": offered, "prices": {}, "releases": {}, **more})


def file(made: Refreshed, name: str) -> Any:
    return json.loads(made.files[f"{name}.json"])


def types_of(made: Refreshed) -> Any:
    return {**decode(file(made, "accelerated")), **decode(file(made, "general"))}


def test_the_recorded_answers_of_a_region_change_nothing() -> None:
    made = refreshed(KNOWN, answered({name: dump()[name] for name in offered_in("us-east-1")}, "us-east-1"))
    assert not made.gaps
    assert not made.left_out
    for name in ("accelerated", "general"):
        assert changes(KNOWN[name], file(made, name)) == ["the file: recorded 2026-09-29 -> 2026-12-01"]
        assert "us-east-1; other regions as of 2026-09-29" in file(made, name)["recorded_from"]
    assert file(made, "prices") == KNOWN["prices"]


def test_what_aws_does_not_say_of_a_new_type_is_unknown_and_said() -> None:
    made = refreshed(KNOWN, answered({"g9.xlarge": described("g6e.xlarge", Name="R200")}, "us-moon-1"))
    found = types_of(made)["g9.xlarge"]
    assert (found.gpus, found.regions, found.quota) == (1, ("us-moon-1",), None)
    assert found.accelerators.compute_capability is None
    assert found.traits.managed_instances is None
    assert [line.partition(" are not")[0] for line in in_words(made.gaps)] == [
        "R200: architecture, compute capability, first driver",
        "g9: ECS Managed Instances, device RDMA, interconnect, quota, release before or after 2022",
    ]


def test_a_new_size_has_what_is_known_of_its_family_and_its_gpu() -> None:
    made = refreshed(KNOWN, answered({"g6.96xlarge": described("g6.48xlarge")}, "us-east-1"))
    types = types_of(made)
    found, like = types["g6.96xlarge"], types["g6.48xlarge"]
    assert (found.quota, found.traits, found.accelerators) == (like.quota, like.traits, like.accelerators)
    assert not made.gaps


@pytest.mark.parametrize(
    ("name", "quota"), [("c9x.large", "Standard"), ("x8g.3xlarge", "X"), ("x9.large", None), ("u9.large", None)]
)
def test_a_type_without_accelerators_gets_no_quota_by_default(name: str, quota: str | None) -> None:
    made = refreshed(KNOWN, answered({name: described("m7i.large")}, "us-east-1"))
    found = types_of(made)[name]
    assert (found.quota.group if found.quota else None) == quota
    assert len(made.gaps) == (quota is None)


def test_a_correction_holds_until_aws_answers_something_else() -> None:
    name = "trn2.48xlarge"

    def row(made: Refreshed) -> Any:
        return json.loads(made.files["accelerated.json"])["instance_types"][name]

    assert "corrections" in row(refreshed(KNOWN, answered({name: dump()[name]}, "us-east-1")))
    mended = deepcopy(dump()[name])
    mended["NeuronInfo"]["NeuronDevices"][0]["MemoryInfo"]["SizeInMiB"] = 98304
    assert "corrections" not in row(refreshed(KNOWN, answered({name: mended}, "us-east-1")))


def test_a_type_that_is_offered_again_loses_the_note_that_it_is_not() -> None:
    made = refreshed(KNOWN, answered({"p3.2xlarge": described("g6.xlarge", Name="V100")}, "us-east-1"))
    types = types_of(made)
    assert types["p3.2xlarge"].note is None
    assert types["p3.8xlarge"].note


def without(info: Any, key: str) -> Any:
    return {each: value for each, value in info.items() if each != key}


def test_prices_that_were_asked_for_take_the_place_of_older_ones() -> None:
    prices = {"us-east-1": {"g6.xlarge": 0.9, "g9.xlarge": 2.0}, "us-moon-1": {"g6.xlarge": 1.5}}
    made = file(refreshed(KNOWN, answered({}, "us-east-1", prices=prices)), "prices")
    assert made["lists"]["2026-12-01"] == {
        "recorded": "2026-12-01",
        "dated": True,
        "source": "AWS Price List (GetProducts)",
    }
    assert made["regions"]["us-east-1"]["2026-12-01"] == prices["us-east-1"]
    assert "g6.xlarge" not in made["regions"]["us-east-1"]["2026-07"]
    assert made["regions"]["us-east-1"]["2026-07"]["g6.2xlarge"] == 0.9776
    assert changes(KNOWN["prices"], made)[-2:] == ["us-east-1: g9.xlarge unknown -> 2.0", "us-moon-1: new"]


def test_releases_that_were_published_since_are_added_in_order() -> None:
    amazon_linux = {
        "al2023-ami-ecs-gpu-hvm-2023.0.20261120-kernel-6.1-x86_64-ebs": "1.109.0",
        "al2023-ami-ecs-gpu-hvm-2023.0.20200101-kernel-6.1-x86_64-ebs": "1.1.0",
        "recommended": "1.109.0",
    }
    releases = {"al2023-gpu": amazon_linux, "bottlerocket-ecs-2-nvidia-arm64": {"1.99.0": None, "latest": None}}
    lines = file(refreshed(KNOWN, answered({}, "us-east-1", releases=releases)), "image_releases")["lines"]
    before = KNOWN["image_releases"]["lines"]
    assert list(lines["al2023-gpu"]["releases"]) == [*before["al2023-gpu"]["releases"], "20261120"]
    assert lines["al2023-gpu"]["releases"]["20261120"] == {"agent": "1.109.0"}
    assert list(lines["bottlerocket-ecs-2-nvidia"]["releases"])[-1] == "1.99.0"


def test_a_release_whose_driver_no_release_around_it_settles_is_said() -> None:
    newer = {f"al2023-ami-ecs-gpu-hvm-2023.0.{day}-kernel-6.1-x86_64-ebs": None for day in ("20261120", "20261201")}
    made = file(refreshed(KNOWN, answered({}, "us-east-1", releases={"al2023-gpu": newer})), "image_releases")
    before, after = (in_words(release_gaps(each)) for each in (KNOWN["image_releases"], made))
    (said,) = set(after) - set(before)
    assert said.startswith("al2023-gpu: driver of 20250224 to 20250909, ")
    assert "driver of 20261120 to 20261201 are not curated" in said
    # 20260615 is between two releases with the same driver.
    assert "20260615" not in said
    assert "al2023-gpu 20261201: new" in changes(KNOWN["image_releases"], made)
