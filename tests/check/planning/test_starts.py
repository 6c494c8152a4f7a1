"""What one start of a job takes, and what that costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.check.planning import plan
from gpu_constructs.check.planning.host_price import Start
from gpu_constructs.check.planning.in_words import job_start
from gpu_constructs.fleet import UNKNOWN, Step
from tests.check.planning.given import fleet, job, pool, usd

P5 = 55.04  # p5.48xlarge, us-east-1
HOURS = 3600.0


def started(limit: float | None, *, copies: Any = 4, gpus: int = 8) -> Start:
    """One start of a job on a pool."""
    on = pool("p5.48xlarge", name="H100", max_instances=4)
    steps = (Step(name="Train[Run]", task=None, limit_seconds=limit),)
    read = replace(fleet(job(on, name="Train[Run]", gpus=gpus, copies=copies)), steps=steps)
    (found,) = plan(read).pools
    (start,) = found.starts
    assert [each.hosts for each in found.tasks] == [start.hosts]
    return start


def test_a_start_takes_the_hosts_of_all_its_copies_together() -> None:
    start = started(12 * HOURS)
    assert (start.name, start.hosts) == ("Train[Run]", 4)
    assert usd(start.usd_per_hour) == (4 * P5, 4 * P5)
    assert usd(start.usd_until_limit) == (48 * P5, 48 * P5)
    assert job_start(start) == (
        "one start takes 4 hosts together, $220.16 an hour, at most $2,641.92 in one attempt of 12 hours"
    )


@pytest.mark.parametrize(("changes", "hosts"), [({"gpus": 2}, 1), ({"copies": UNKNOWN}, UNKNOWN)])
def test_copies_share_hosts_where_they_have_room(changes: dict[str, Any], hosts: object) -> None:
    assert started(None, **changes).hosts == hosts


def test_the_most_that_a_start_costs_is_known_with_a_limit_alone() -> None:
    start = started(None)
    assert start.usd_until_limit is None
    assert job_start(start) == "one start takes 4 hosts together, $220.16 an hour"


@pytest.mark.parametrize(
    ("seconds", "words"), [(90 * 60, "1.5 hours"), (3600, "1 hour"), (1800, "30 minutes"), (45, "45 seconds")]
)
def test_a_limit_is_in_the_largest_unit(seconds: float, words: str) -> None:
    assert job_start(started(seconds)).endswith(f"in one attempt of {words}")
