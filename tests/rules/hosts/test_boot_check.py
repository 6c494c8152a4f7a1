"""Hosts that count their GPUs at boot."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.facts import image, instance_type
from gpu_constructs.fleet import UNKNOWN, HostImage, WarmPool
from gpu_constructs.rules import Severity
from gpu_constructs.rules.hosts.user_data import can_count
from tests.rules.given import a_pool, only, said

CPU = (instance_type("m7i.large"),)
NEURON = (instance_type("inf2.xlarge"),)


def of(name: str) -> HostImage:
    return HostImage(image=image(name))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"instance_types": CPU, "image": of("al2023")}, "no GPUs"),
        ({"instance_types": NEURON, "image": of("al2023-neuron")}, "which nvidia-smi does not count"),
    ],
)
def test_hosts_that_cannot_count_would_all_be_abandoned(changes: dict[str, Any], words: str) -> None:
    finding = only(can_count, a_pool(checks_gpus=True, **changes))
    assert (finding.rule, finding.severity) == ("GPU193", Severity.ERROR)
    assert words in finding.message
    assert "leave the count of GPUs at boot out" in finding.fix
    assert said(can_count, a_pool(checks_gpus=False, **changes)) == []


@pytest.mark.parametrize("changes", [{"image": UNKNOWN}, {"instance_types": ()}])
def test_hosts_that_can_count_or_of_which_nothing_is_known_are_silent(changes: dict[str, Any]) -> None:
    assert said(can_count, a_pool(checks_gpus=True, **changes)) == []


@pytest.mark.parametrize("state", ["Running", "Hibernated"])
def test_a_host_that_leaves_the_warm_pool_without_a_boot_never_answers(state: str) -> None:
    pool = a_pool(checks_gpus=True, warm_pool=WarmPool(state=state))
    finding = only(can_count, pool)
    assert (finding.rule, finding.severity) == ("GPU193", Severity.ERROR)
    assert f"warm pool of state {state}" in finding.message


@pytest.mark.parametrize(
    "changes",
    [{"checks_gpus": True}, {"checks_gpus": True, "warm_pool": WarmPool(state=UNKNOWN)}],
)
def test_a_host_that_can_count_or_may_is_silent(changes: dict[str, Any]) -> None:
    assert said(can_count, a_pool(**changes)) == []
