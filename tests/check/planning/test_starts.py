"""What one start of a job or a training takes, and what that costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.check.planning import plan
from gpu_constructs.check.planning.host_price import Start
from gpu_constructs.check.planning.in_words import job_start
from gpu_constructs.fleet import UNKNOWN, Gang, GangMember, Step
from tests.check.planning.given import fleet, job, pool, usd

P5 = 55.04  # p5.48xlarge, us-east-1
HOURS = 3600.0


def started(
    limits: dict[str, float], *, others: Any = 3, gpus: int = 8, at_once: int | None = None
) -> tuple[Start, ...]:
    """The starts of a training: a main task and some others on one pool."""
    on = pool("p5.48xlarge", name="H100", max_instances=4)
    gang = Gang(
        name="Train[Run]",
        members=(
            GangMember(workload="Train[Main]"),
            GangMember(workload="Train[Other]", count=others, at_once=at_once),
        ),
    )
    steps = tuple(Step(name=f"Train[{name}]", task=None, limit_seconds=value) for name, value in limits.items())
    jobs = [job(on, name=f"Train[{name}]", gpus=gpus) for name in ("Main", "Other")]
    read = replace(fleet(*jobs), gangs=(gang,), steps=steps)
    (found,) = plan(read).pools
    assert {each.hosts for each in found.tasks} == {each.hosts for each in found.starts}
    return found.starts


def test_a_training_takes_the_hosts_of_all_its_tasks_together() -> None:
    (start,) = started({"Main": 12 * HOURS, "Other": 12 * HOURS})
    assert (start.name, start.workloads, start.hosts) == ("Train[Run]", ("Train[Main]", "Train[Other]"), 4)
    assert usd(start.usd_per_hour) == (4 * P5, 4 * P5)
    assert usd(start.usd_until_limit) == (48 * P5, 48 * P5)
    assert job_start(start) == (
        "one start takes 4 hosts together, $220.16 an hour, at most $2,641.92 in one attempt of 12 hours"
    )


@pytest.mark.parametrize(
    ("changes", "hosts"), [({"gpus": 2}, 1), ({"others": 7, "at_once": 2}, 3), ({"others": UNKNOWN}, UNKNOWN)]
)
def test_tasks_share_hosts_where_they_have_room(changes: dict[str, Any], hosts: object) -> None:
    (start,) = started({}, **changes)
    assert start.hosts == hosts


def test_the_most_that_a_start_costs_is_known_with_a_limit_alone() -> None:
    (start,) = started({"Main": HOURS})
    assert start.usd_until_limit is None
    assert job_start(start) == "one start takes 4 hosts together, $220.16 an hour"


@pytest.mark.parametrize(
    ("seconds", "words"), [(90 * 60, "1.5 hours"), (3600, "1 hour"), (1800, "30 minutes"), (45, "45 seconds")]
)
def test_a_limit_is_in_the_largest_unit(seconds: float, words: str) -> None:
    (start,) = started({"Main": seconds, "Other": seconds})
    assert job_start(start).endswith(f"in one attempt of {words}")
