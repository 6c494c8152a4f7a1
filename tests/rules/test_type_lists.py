"""Lists of instance types in instance requirements."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import InstanceRequirements, Pool, PoolKind
from gpu_constructs.rules import Severity
from gpu_constructs.rules.type_lists import one_list
from tests.rules.given import a_pool, only, said

BOTH = InstanceRequirements(allowed_instance_types=("g6.*",), excluded_instance_types=("g6.48xlarge",))


def test_both_lists_are_refused() -> None:
    finding = only(one_list, a_pool(requirements=BOTH))
    assert (finding.rule, finding.severity) == ("GPU135", Severity.ERROR)
    assert "allow g6.* and exclude g6.48xlarge" in finding.message
    assert "AllowedInstanceTypes alone" in finding.fix


@pytest.mark.parametrize(
    "pool",
    [
        a_pool(),
        a_pool(requirements=InstanceRequirements(allowed_instance_types=("g6.*",))),
        a_pool(requirements=InstanceRequirements(excluded_instance_types=("p2.*",))),
        a_pool(requirements=BOTH, kind=PoolKind.MANAGED_INSTANCES),
    ],
)
def test_one_list_and_managed_instances_are_silent(pool: Pool) -> None:
    assert said(one_list, pool) == []
