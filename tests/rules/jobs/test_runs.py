"""Runs of GPU tasks that end: their states, their overrides, and their checkpoints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs

from gpu_constructs import GpuJob, JobData, Purchase
from gpu_constructs.check.report import report_in
from gpu_constructs.fleet import UNKNOWN, Bought, Fleet, PurchaseOption, Relations, Starter, Step
from gpu_constructs.rules.jobs.runs import ends_at_some_time, mounts_its_checkpoints
from tests.rules.given import GPU_TASK, a_pool, container, gpu, only, running_on, said, task_of
from tests.synthesis import Site


def _fleet(**changes: Any) -> Fleet:
    return Fleet(steps=(Step(**{"name": "Machine[Train]", "task": GPU_TASK, "waits": True, **changes}),))


@pytest.mark.parametrize("changes", [{}, {"is_limited": True, "way_back": ("Pause",)}])
def test_only_a_state_that_waits_for_a_gpu_task_is_meant(changes: dict[str, Any]) -> None:
    fleet = _fleet(**changes)
    only(ends_at_some_time, fleet)
    (step,) = fleet.steps
    for other in ({"task": None}, {"task": task_of(container())}, {"waits": False}):
        assert said(ends_at_some_time, replace(fleet, steps=(replace(step, **other),))) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"way_back": ()}, "each time that chat fails, Machine[Train] starts it again, and nothing counts how often"),
        ({"way_back": ("A", "B")}, "by way of A, B"),
        ({"attempts": 102}, "again up to 101 times when it fails"),
    ],
)
def test_what_never_stops_is_said_with_the_way(changes: dict[str, Any], words: str) -> None:
    assert words in only(ends_at_some_time, _fleet(is_limited=True, **changes)).message


@pytest.mark.parametrize("limit", [True, UNKNOWN])
@pytest.mark.parametrize("attempts", [1, 101, UNKNOWN])
def test_what_ends_or_may_end_is_fine(limit: Any, attempts: Any) -> None:
    assert said(ends_at_some_time, _fleet(is_limited=limit, attempts=attempts)) == []


SPOT = a_pool(bought=Bought(option=PurchaseOption.SPOT))
HERE = (("JOB_CHECKPOINTS", "/checkpoints/"),)


def _run(*paths: Any, environment: Any = HERE, pool: Any = SPOT, others: bool = False, **changes: Any) -> Fleet:
    relations = Relations(mount_paths=paths, has_volumes_of_others=others)
    main = replace(container(gpu("1")), environment=environment, relations=relations)
    return running_on(pool, task=task_of(main), **{"starter": Starter.STATE_MACHINE, **changes})


@pytest.mark.parametrize(
    "fleet",
    [_run("/checkpoints"), _run(UNKNOWN), _run(environment=(("JOB_CHECKPOINTS", "s3://bucket/run/"),))],
)
def test_what_is_kept_or_may_be_is_fine(fleet: Fleet) -> None:
    assert said(mounts_its_checkpoints, fleet) == []


@pytest.mark.parametrize("is_mounted", [True, False])
def test_a_job_with_a_directory_of_its_own_is_warned_at_synth(site: Site, *, is_mounted: bool) -> None:
    capacity = site.capacity("g6.xlarge", purchase=Purchase.spot())
    task = site.task(capacity)
    main = task.add_gpu_container("main", image=site.image)
    if is_mounted:
        task.add_volume(name="kept", efs_volume_configuration=ecs.EfsVolumeConfiguration(file_system_id="fs-12345678"))
        main.add_mount_points(ecs.MountPoint(container_path="/checkpoints", source_volume="kept", read_only=False))
    GpuJob(
        site.stack,
        "Job",
        cluster=site.cluster,
        task_definition=task,
        timeout=cdk.Duration.hours(1),
        checkpoints=JobData.directory("/checkpoints"),
    )
    found = [each.rule for each in report_in([site.app.synth().directory]).findings]
    assert ("GPU370" in found) is not is_mounted
