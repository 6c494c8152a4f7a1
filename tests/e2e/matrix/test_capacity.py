"""Every kind of capacity: what AWS allows is built, linted, deployed and destroyed.

By default one of every legal pair of choices is built; ``make matrix`` builds one of every legal combination of
hardware, purchase, warm hosts and network, in which the other choices take turns.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import aws_ec2 as ec2
from ecs_emulator.local import Local, local
from gpu_constructs import GpuCluster

from tests.matrix.building import REGIONS, Built, build, deploy_and_destroy, findings, lint
from tests.matrix.case import Case
from tests.matrix.choices import (
    BLOCK_ENDS,
    BLOCK_STARTS,
    GROUP,
    MAX_INSTANCES,
    Combination,
    reservation_id,
)
from tests.matrix.contradictions import legal
from tests.matrix.covering import covering, one_of_each, pairs_of
from tests.matrix.known import KNOWN_WARNINGS

EVERYTHING = os.environ.get("MATRIX") == "all"
_EPOCH = "2026-01-01T00:00:00Z"

Record = Callable[[str, object], None]


@cache
def built_ones() -> tuple[Combination, ...]:
    return tuple(one_of_each(legal(), 4) if EVERYTHING else covering(legal()))


def _case(combination: Combination) -> Case:
    return Case(combination.name, partial(_add, combination))


def _add(combination: Combination, cluster: GpuCluster, name: str) -> None:
    zones = 2 if "two zones" in combination.traits else 1
    arguments: dict[str, Any] = combination.arguments
    cluster.add_capacity(
        name,
        vpc_subnets=ec2.SubnetSelection(subnets=cluster.hosts.vpc.private_subnets[:zones]),
        # A Capacity Block has no hosts before it starts.
        min_instances=0 if "block" in combination.traits else 1,
        **arguments,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(Path(tmp_path_factory.mktemp("capacity")), [_case(each) for each in built_ones()])


def test_every_legal_pair_of_choices_is_built(record_property: Record) -> None:
    assert pairs_of(built_ones()) == pairs_of(legal())
    if EVERYTHING:
        assert {each.choices[:4] for each in built_ones()} == {each.choices[:4] for each in legal()}
    record_property("built", f"{len(built_ones())}, with all {len(pairs_of(legal()))} legal pairs of choices")


def test_cdk_nag_and_our_own_check_find_nothing_that_is_not_known(built: Built) -> None:
    assert findings(built) == []


def test_what_is_known_is_found(built: Built) -> None:
    report = (built.folder / "validation-report.json").read_text()
    assert [rule for rule in KNOWN_WARNINGS if rule not in report] == []


def test_cfn_lint_finds_nothing_in_three_regions(built: Built, record_property: Record) -> None:
    # The first have most pairs, see `covering`.
    some = built if EVERYTHING else replace(built, stacks=built.stacks[: len(REGIONS)])
    assert lint(some, in_turn=not EVERYTHING) == []
    record_property("linted", f"{len(some.stacks)} stacks in {', '.join(REGIONS)}")


def test_all_are_deployed_with_hosts_and_destroyed_in_one_process(built: Built, record_property: Record) -> None:
    case_of = {f"Case{number}": each for number, each in enumerate(built_ones())}
    started: Counter[str] = Counter()
    wrong: list[str] = []

    def watch(cluster: str) -> None:
        first = _hosts(cloud, cluster, _EPOCH)
        then = _hosts(cloud, cluster, f"{BLOCK_STARTS + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}")
        cloud.switch("now", _EPOCH)
        for name in then:
            case = case_of[name]
            expected = (0, MAX_INSTANCES) if "block" in case.traits else (1, 1)
            if (first[name], then[name]) != expected:
                wrong.append(f"{case.name}: {first[name]}, then {then[name]} hosts, expected {expected}")
        started.update(then)

    with local() as cloud:
        _reserve(cloud)
        deploy_and_destroy(cloud, built, watch)
    assert wrong == []
    assert set(started) == set(case_of)
    record_property(
        "deployed", f"{len(started)} in {len(built.deployed)} stacks with {started.total()} hosts, and destroyed"
    )


def _hosts(cloud: Local, cluster: str, time: str) -> dict[str, int]:
    """Hosts in service of each case, a minute after a time."""
    cloud.switch("now", time)
    cloud.minutes(cluster)
    pages = cloud.account.client("autoscaling").get_paginator("describe_auto_scaling_groups").paginate()
    return {
        found[0]: sum(host["LifecycleState"] == "InService" for host in group["Instances"])
        for page in pages
        for group in page["AutoScalingGroups"]
        if (found := re.search(r"Case\d+", group["AutoScalingGroupName"]))
    }


def _reserve(cloud: Local) -> None:
    """Every reservation that a combination names, with room for all of them."""
    zone = "us-east-1a"
    held = []
    for instance_type in {each.instance_types[0] for each in built_ones()}:
        reserved = {"InstanceType": instance_type, "AvailabilityZone": zone, "TotalInstanceCount": 1000}
        targeted = {**reserved, "InstanceMatchCriteria": "targeted"}
        block = {
            **targeted,
            "ReservationType": "capacity-block",
            "StartDate": BLOCK_STARTS.isoformat(),
            "EndDate": BLOCK_ENDS.isoformat(),
        }
        held.append(reservation_id("odcr", instance_type))
        cloud.switch(f"reservations/{held[-1]}", json.dumps(targeted))
        cloud.switch(f"reservations/{reservation_id('block', instance_type)}", json.dumps(block))
    cloud.switch(f"reservation-groups/{GROUP}", ",".join(held))
