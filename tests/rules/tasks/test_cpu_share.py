"""A CPU limit of the whole task against its GPUs."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.rules import Severity
from tests.rules.given import FIT_RULES, a_pool, a_task, found, only, running_on


@pytest.mark.parametrize("value", ["8", "ALL"])
def test_one_vcpu_for_eight_gpus_is_a_warning_with_the_share_that_goes_with_them(value: str) -> None:
    finding = only(
        FIT_RULES,
        running_on(a_pool("p5.48xlarge"), a_pool("p5en.48xlarge", name="B"), task=a_task(value, cpu_limit=1024)),
    )
    assert (finding.rule, finding.severity, finding.subject) == ("GPU074", Severity.WARNING, "train")
    assert "1024 CPU units, 1 vCPU, for all containers with 8 GPUs together" in finding.message
    assert "p5.48xlarge has 24 vCPUs for each GPU" in finding.message
    assert finding.fix == "Cpu of 196608, the share of 8 GPUs, or no Cpu of the task"


def test_a_number_of_gpus_that_only_the_deploy_knows_is_not_judged() -> None:
    assert [rule for rule, _, _ in found(running_on(a_pool(), task=a_task(UNKNOWN, cpu_limit=256)))] == ["GPU014"]
