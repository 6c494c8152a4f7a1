"""Tasks without GPUs stay off the hosts that GPU tasks wait for."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import Fleet, Task, Workload
from gpu_constructs.rules.fit.kept_off import kept_off
from tests.rules.given import GPU_TASK, a_pool, container, of_image, only, said, service, task_of

_GPU = a_pool("g6.xlarge", name="gpu")
_CPU = a_pool("m7i.large", name="cpu", image=of_image("al2023"))
_WEB = task_of(container(), name="web")


def _fleet(web: Workload, *pools: Any, waiting: Task = GPU_TASK) -> Fleet:
    chat = service(waiting, _GPU, name="chat")
    return Fleet(pools=pools or (_GPU, _CPU), tasks=(waiting, _WEB), workloads=(chat, web))


def test_a_service_without_a_strategy_may_take_a_gpu_host() -> None:
    finding = only(kept_off, _fleet(service(_WEB, launch_type="EC2", name="web")))
    assert "web asks for no GPU and may be placed on hosts of gpu" in finding.message
    assert finding.fix == "a CapacityProviderStrategy with cpu"


@pytest.mark.parametrize(
    "fleet",
    [
        _fleet(service(_WEB, _CPU, name="web")),
        _fleet(service(_WEB, _GPU, name="web")),
        _fleet(service(_WEB, launch_type="EC2", daemon=True, name="web")),
        _fleet(service(_WEB, launch_type="EC2", name="web"), _GPU),
        _fleet(service(_WEB, launch_type="EC2", name="web"), waiting=task_of(container(), name="api")),
    ],
)
def test_by_choice_or_without_another_place_it_is_silent(fleet: Fleet) -> None:
    assert not said(kept_off, fleet)
