"""Launch configurations: refused for new types, and for new accounts."""

from __future__ import annotations

import pytest

from gpu_constructs.rules import rules_of
from gpu_constructs.rules.hosts import launches
from tests.rules.given import a_pool, asked

RULES = rules_of(launches)


@pytest.mark.parametrize("name", ["g6.xlarge", "p5.48xlarge", "inf2.xlarge", "p6-b200.48xlarge", "g6f.large"])
def test_a_type_that_is_newer_than_2022_is_refused(name: str) -> None:
    found = asked(RULES, a_pool(name, "g5.xlarge", launch_configuration=True))
    assert list(found) == ["GPU055"]
    assert f"cannot launch {name}: types that were released after 2022-12-31" in found["GPU055"].message
    assert "launch template" in found["GPU055"].fix
    assert "generateLaunchTemplateInsteadOfLaunchConfig" in found["GPU055"].fix


@pytest.mark.parametrize("name", ["g5.xlarge", "g4dn.xlarge", "p4d.24xlarge", "trn1.2xlarge", "c7i.large"])
def test_an_older_type_depends_on_the_age_of_the_account(name: str) -> None:
    found = asked(RULES, a_pool(name, launch_configuration=True))
    assert list(found) == ["GPU056"]
    assert "2024-10-01" in found["GPU056"].message


def test_a_launch_template_takes_every_type() -> None:
    assert asked(RULES, a_pool("g6.xlarge", "g5.xlarge")) == {}
