"""Every kind of job on every kind of hosts that can be: built, linted, deployed, run once to its end and destroyed.

By default every kind of job with every choice that it may meet; ``make matrix`` takes every legal combination.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ecs_emulator.local import Local, local

from tests.matrix.building import REGIONS, Built, build, deploy_and_destroy, findings, lint
from tests.matrix.choices import BLOCK_ENDS, BLOCK_STARTS, Choice, reservation_id
from tests.matrix.job_choices import HARDWARE, JobCombination
from tests.matrix.job_contradictions import legal
from tests.matrix.jobs import KIND_OF, case_of
from tests.matrix.tasks import EVERYTHING

Record = Callable[[str, object], None]

_EPOCH = "2026-01-01T00:00:00Z"
_IN_THE_BLOCK = f"{BLOCK_STARTS + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
_MINUTES = 60
"""More than any of these jobs takes; no attempt but the first has the time."""

_REMARKS: Mapping[str, str] = {
    "GPU150": "the address of a container in mode bridge, with EFA, exists on its own host only",
    "gpu-constructs::no-checkpoints": "a job of AWS Batch here may run on Spot for a day, and keeps nothing",
}
"""What this library warns of, and some of these jobs deserve."""

_REDUNDANT = "W3005"
"""A state machine depends on the cluster, and refers to it too: CDK writes both, which does no harm."""


@cache
def built_ones() -> tuple[tuple[JobCombination, ...], ...]:
    """What is built, by hosts and hardware."""
    places: defaultdict[tuple[Choice, Choice], list[JobCombination]] = defaultdict(list)
    for each in legal() if EVERYTHING else _with_every_kind():
        places[each.place].append(each)
    return tuple(tuple(each) for each in places.values())


def _with_every_kind() -> Iterator[JobCombination]:
    """Few combinations with every choice that each kind of job can meet, many of one task."""
    missing = {pair for each in legal() for pair in _met(each)}
    places: set[tuple[Choice, Choice]] = set()
    tasks: set[tuple[Choice, ...]] = set()
    while missing:
        best = max(
            (each for each in legal() if not missing.isdisjoint(_met(each))),
            key=lambda its: len(missing & _met(its)) + (its.place in places) / 2 + (its.choices[1:] in tasks) / 4,
        )
        missing -= _met(best)
        places.add(best.place)
        tasks.add(best.choices[1:])
        yield best


@cache
def _met(its: JobCombination) -> frozenset[tuple[Choice, Choice]]:
    """Its kind with every choice that it meets."""
    return frozenset((its.kind, each) for each in its.choices[1:])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = Path(tmp_path_factory.mktemp("jobs"))
    # With every combination, a place has hundreds of resources.
    return build(folder, [case_of(each, providers=20 if EVERYTHING else 5) for each in built_ones()], nagged=False)


def test_every_kind_meets_every_choice_that_it_can(record_property: Record) -> None:
    every = [each for several in built_ones() for each in several]
    pairs = {pair for each in every for pair in _met(each)}
    assert pairs == {pair for each in legal() for pair in _met(each)}
    record_property("built", f"{len(every)} on {len(built_ones())} capacities, with all {len(pairs)} legal pairs")


def test_our_own_check_finds_nothing_that_is_not_known(built: Built) -> None:
    assert [each for each in findings(built) if not any(remark in each for remark in _REMARKS)] == []


def test_cfn_lint_finds_nothing(built: Built, record_property: Record) -> None:
    # The first has every kind, and the resources of a job are the same on all hosts, which have matrices of their own.
    some = built if EVERYTHING else replace(built, stacks=built.stacks[:1])
    assert [each for each in lint(some, REGIONS[:1]) if each.split()[1] != _REDUNDANT] == []
    record_property("linted", f"{len(some.stacks)} stacks in {REGIONS[0]}")


def test_every_job_runs_once_to_its_end_and_everything_can_be_destroyed(built: Built, record_property: Record) -> None:
    ended: Counter[str] = Counter()
    wrong: list[str] = []

    def watch(cluster: str) -> None:
        cloud.switch("now", _IN_THE_BLOCK)
        outputs = _outputs(cloud)
        here = {name: its for name, its in _named() if name in outputs}
        started = {KIND_OF[its.kind].start(cloud, outputs[name]): its.name for name, its in here.items()}
        # What an event starts begins with the next minute.
        cloud.minutes(cluster)
        for what, name in started.items():
            wrong.extend(f"{name}: {each}" for each in _failures(cloud, what))
        tasks = sum(KIND_OF[its.kind].tasks for its in here.values())
        ran = cloud.account.client("ecs").list_tasks(cluster=cluster, desiredStatus="STOPPED")["taskArns"]
        if len(ran) != tasks:
            wrong.append(f"{len(ran)} tasks ran for {tasks} jobs of {sorted(set(started.values()))}")
        ended.update(its.kind.name for its in here.values())
        cloud.switch("now", _EPOCH)

    with local() as cloud:
        _prepare(cloud)
        deploy_and_destroy(cloud, built, watch)
    assert not wrong, "\n".join(wrong)
    assert ended.total() == sum(map(len, built_ones()))
    record_property("run", f"{dict(ended)} in {len(built.deployed)} stacks")


def _named() -> Iterator[tuple[str, JobCombination]]:
    """Every combination, by the name of its output."""
    for number, several in enumerate(built_ones()):
        for place, each in enumerate(several, start=1):
            yield f"Case{number}Start{place}Output", each


def _outputs(cloud: Local) -> dict[str, str]:
    (stack,) = cloud.account.client("cloudformation").describe_stacks()["Stacks"]
    return {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}


def _failures(cloud: Local, started: str) -> list[str]:
    """What is wrong with the ends of all executions of a state machine, or of a job of AWS Batch."""
    client = cloud.account.client
    if ":stateMachine:" not in started:
        job = _ended(lambda: client("batch").describe_jobs(jobs=[started])["jobs"][0])
        attempts = len(job["attempts"])
        is_well = (job["status"], attempts) == ("SUCCEEDED", 1)
        return [] if is_well else [f"{job['status']} after {attempts} attempts: {job.get('statusReason')}"]
    step_functions = client("stepfunctions")
    ends = [
        _ended(lambda arn=each["executionArn"]: step_functions.describe_execution(executionArn=arn))  # type: ignore[misc]
        for each in step_functions.list_executions(stateMachineArn=started)["executions"]
    ]
    return [f"{each['status']} {each.get('cause')}" for each in ends if each["status"] != "SUCCEEDED"]


def _ended(look: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What is seen when it is over; each look takes a minute."""
    for _ in range(_MINUTES):
        seen = look()
        if seen["status"] in {"SUCCEEDED", "FAILED"}:
            break
    return seen


def _prepare(cloud: Local) -> None:
    """The reservation and the block of every type, with room for all, and tasks that end well."""
    for name in {each.instance_type for each in HARDWARE.values()}:
        held: dict[str, Any] = {
            "InstanceType": name,
            "AvailabilityZone": "us-east-1a",
            "TotalInstanceCount": 1000,
            "InstanceMatchCriteria": "targeted",
        }
        block = {
            **held,
            "ReservationType": "capacity-block",
            "StartDate": BLOCK_STARTS.isoformat(),
            "EndDate": BLOCK_ENDS.isoformat(),
        }
        cloud.switch(f"reservations/{reservation_id('odcr', name)}", json.dumps(held))
        cloud.switch(f"reservations/{reservation_id('block', name)}", json.dumps(block))
    for name, _ in _named():
        cloud.switch(f"ends/{name.replace('Start', 'Task').removesuffix('Output')}", "0")
