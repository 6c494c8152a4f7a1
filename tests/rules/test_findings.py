"""Warnings name the rule, the value and the way out; a good configuration has none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet import UNKNOWN, Container, HostImage, Pool, Task
from gpu_constructs.hardware import accelerated, default_image, image, instance_type
from gpu_constructs.rules import pool_findings, task_findings

GOOD = Pool(
    name="L4",
    instance_types=(instance_type("g6.xlarge"),),
    image=HostImage(image=image("al2023-gpu"), release="pinned"),
    min_instances=0,
    max_instances=4,
)


def test_a_good_pool_has_no_finding() -> None:
    assert pool_findings(GOOD) == ()


@pytest.mark.parametrize(
    ("pool", "rule", "words"),
    [
        (replace(GOOD, instance_types=(instance_type("p3.2xlarge"),)), "GPU001", "only the account can say"),
        (replace(GOOD, image=HostImage(image=image("al2023-gpu"))), "GPU002", "pin a release, such as al2023-ami-ecs"),
        (
            replace(
                GOOD,
                instance_types=(instance_type("g5.xlarge"),),
                image=HostImage(image=image("al2-gpu"), release="pinned"),
            ),
            "GPU003",
            "2026-06-30",
        ),
        (replace(GOOD, instance_types=(instance_type("g7.2xlarge"),)), "GPU004", "nobody confirms"),
        (replace(GOOD, has_unknown_types=True), "GPU005", "only known at deploy time"),
        (replace(GOOD, managed_termination_protection=True), "GPU007", "2862"),
    ],
)
def test_each_rule_finds_its_case_and_nothing_else(pool: Pool, rule: str, words: str) -> None:
    (finding,) = pool_findings(pool)
    assert finding.rule == rule
    assert words in finding.message


def test_a_task_that_may_not_fit_is_said_for_each_pool() -> None:
    vague = Task(name="train", containers=(Container(name="c", gpus=UNKNOWN),))
    findings = task_findings(vague, [GOOD, replace(GOOD, name="Other")])
    assert [finding.rule for finding in findings] == ["GPU006", "GPU006"]
    assert ["L4" in findings[0].message, "Other" in findings[1].message] == [True, True]
    assert task_findings(Task(name="train", containers=(Container(name="c", gpus=1),)), [GOOD]) == ()


def test_defaults_for_every_type_that_is_offered_are_silent_but_for_what_nobody_confirms() -> None:
    loud = set()
    for each in accelerated():
        try:
            row = default_image(each)
        except IncompatibleError:
            continue
        pool = replace(GOOD, instance_types=(each,), image=HostImage(image=row, release="pinned"))
        if each.is_offered_anywhere:
            loud |= {(finding.rule, each.family) for finding in pool_findings(pool)}
    assert loud == {("GPU004", "g7")}
