"""Names that ECS accepts, and names that it refuses."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import Fleet, Pool
from gpu_constructs.rules.clusters.cluster_membership import accepted
from tests.rules.given import a_pool, only, said


@pytest.mark.parametrize(
    ("name", "words", "fix"),
    [
        ("FARGATE", "does not begin with aws, ecs or fargate", "gpu-FARGATE"),
        ("my gpu", "letters, digits, hyphens and underscores", "my-gpu"),
        ("", "1 to 255", "no name"),
    ],
)
def test_a_name_of_a_provider_that_ecs_refuses_is_an_error(name: str, words: str, fix: str) -> None:
    finding = only(accepted, Fleet(pools=(a_pool(provider=name),)))
    assert finding.rule == "GPU046"
    assert words in finding.message
    assert fix in finding.fix
    assert len(finding.message) < 400


@pytest.mark.parametrize(
    "pool",
    [a_pool(), a_pool(provider="gpu-L4_1"), a_pool(provider="aws", has_provider=False)],
)
def test_a_name_of_a_provider_that_ecs_takes_is_silent(pool: Pool) -> None:
    assert said(accepted, Fleet(pools=(pool,))) == []
