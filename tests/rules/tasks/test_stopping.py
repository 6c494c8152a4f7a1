"""Containers stop within the notice that Spot hosts get."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, PurchaseOption
from gpu_constructs.rules.tasks.stopping import stop_in_time
from tests.rules.given import a_pool, container, gpu, only, running_on, said, task_of


def _fleet(seconds: Any, purchase: PurchaseOption = PurchaseOption.SPOT) -> Fleet:
    task = task_of(replace(container(gpu()), stop_timeout_seconds=seconds))
    return running_on(a_pool("g6.xlarge", purchase=purchase), task=task)


def test_more_time_than_the_notice_is_a_warning() -> None:
    finding = only(stop_in_time, _fleet(121))
    assert finding.property_name == "StopTimeout"
    assert "has 121 seconds to stop, and Spot hosts of Hosts are gone 120 seconds after the notice" in finding.message


@pytest.mark.parametrize("fleet", [_fleet(120), _fleet(None), _fleet(UNKNOWN), _fleet(600, PurchaseOption.ON_DEMAND)])
def test_other_containers_are_silent(fleet: Fleet) -> None:
    assert not said(stop_in_time, fleet)
