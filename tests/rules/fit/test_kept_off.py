"""Services without GPUs that start hosts with GPUs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import Fleet, Pool, Task, Workload
from gpu_constructs.rules.fit.whole_fleet import starts_its_own_kind
from tests.rules.given import GPU_TASK, a_pool, a_task, said, service

HOSTS = a_pool("p5.48xlarge")
WEB = a_task(name="web")


def _fleet(*pools: Pool, task: Task = WEB, **changes: Any) -> Fleet:
    web: Workload = replace(service(task, *pools), name="web-service", **changes)
    return Fleet(
        pools=tuple({each.name: each for each in (HOSTS, *pools)}.values()),
        tasks=(GPU_TASK, task),
        workloads=(service(GPU_TASK, HOSTS), web),
    )


@pytest.mark.parametrize(
    "fleet",
    [_fleet(a_pool("m7i.large", name="cpu")), _fleet(HOSTS, desired_count=0)],
)
def test_others_are_silent(fleet: Fleet) -> None:
    assert said(starts_its_own_kind, fleet) == []
