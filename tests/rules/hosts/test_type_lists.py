"""Lists of instance types in instance requirements."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import InstanceRequirements, PoolKind
from gpu_constructs.rules import Severity
from gpu_constructs.rules.hosts import instance_requirements
from tests.rules.given import a_pool, only, said

RULES = (instance_requirements.one_list, instance_requirements.one_list_managed)

BOTH = InstanceRequirements(allowed_instance_types=("g6.*",), excluded_instance_types=("g6.48xlarge",))


def test_both_lists_are_refused() -> None:
    finding = only(RULES, a_pool(requirements=BOTH))
    assert (finding.rule, finding.severity) == ("GPU135", Severity.ERROR)
    assert "allow g6.* and exclude g6.48xlarge" in finding.message
    assert "AllowedInstanceTypes alone" in finding.fix


def test_both_lists_of_managed_instances_are_doubtful() -> None:
    finding = only(RULES, a_pool(requirements=BOTH, kind=PoolKind.MANAGED_INSTANCES))
    assert (finding.rule, finding.severity) == ("GPU189", Severity.WARNING)
    assert "allow g6.* and exclude g6.48xlarge" in finding.message


@pytest.mark.parametrize("kind", [PoolKind.AUTO_SCALING_GROUP, PoolKind.MANAGED_INSTANCES])
@pytest.mark.parametrize(
    "requirements",
    [
        None,
        InstanceRequirements(allowed_instance_types=("g6.*",)),
        InstanceRequirements(excluded_instance_types=("p2.*",)),
    ],
)
def test_one_list_is_silent(requirements: InstanceRequirements | None, kind: PoolKind) -> None:
    assert said(RULES, a_pool(requirements=requirements, kind=kind)) == []
