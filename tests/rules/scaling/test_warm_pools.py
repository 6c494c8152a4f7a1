"""Hosts that are kept prepared where they cannot be, join too early, or are never used."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import (
    UNKNOWN,
    Distribution,
    Pool,
    PurchaseOption,
    UserData,
    UserDataFormat,
    WarmPool,
)
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.scaling import groups
from tests.rules.given import a_pool, asked, of_image

RULES = rules_of(groups)

WAITS = UserData(format=UserDataFormat.SHELL, agent=(("ECS_CLUSTER", "gpu"), ("ECS_WARM_POOLS_CHECK", "true")))
BOTTLEROCKET = of_image("bottlerocket-ecs-2-nvidia-x86_64")


def _warm(*types: str, warm: WarmPool | None = None, **changes: Any) -> Pool:
    """A pool with a good warm pool."""
    return a_pool(*types, **{"warm_pool": warm or WarmPool(min_size=1, max_prepared=1), "user_data": WAITS, **changes})


def _agent(*settings: tuple[str, Any], **changes: Any) -> UserData:
    return replace(WAITS, agent=settings, **changes)


def test_spot_that_the_policy_does_not_want_is_told_once() -> None:
    spot = PurchaseOption.SPOT
    assert asked(RULES, _warm(purchase=spot, distribution=Distribution(template_option=spot))) == {}
    wanted = Distribution(on_demand_percentage=0)
    assert list(asked(RULES, _warm(purchase=spot, distribution=wanted))) == ["GPU170"]


@pytest.mark.parametrize(
    ("user_data", "image", "words"),
    [
        (_agent(("ECS_WARM_POOLS_CHECK", "false")), None, "ECS_WARM_POOLS_CHECK is 'false'"),
        (UserData(format=UserDataFormat.TOML), BOTTLEROCKET, "Bottlerocket has no setting"),
    ],
)
def test_hosts_that_join_while_they_are_prepared_are_a_warning(user_data: UserData, image: Any, words: str) -> None:
    found = asked(RULES, _warm(user_data=user_data, image=image or of_image()))
    assert list(found) == ["GPU171"]
    assert found["GPU171"].severity is Severity.WARNING
    assert words in found["GPU171"].message


@pytest.mark.parametrize(
    ("user_data", "image"),
    [(_agent(complete=False), of_image()), (_agent(), of_image(release="custom")), (_agent(), UNKNOWN)],
)
def test_what_may_wait_is_silent(user_data: UserData, image: Any) -> None:
    assert asked(RULES, _warm(user_data=user_data, image=image)) == {}


def test_hosts_that_go_back_are_a_warning() -> None:
    found = asked(RULES, _warm(warm=WarmPool(min_size=1, reuse_on_scale_in=True)))
    assert (list(found), found["GPU170"].severity) == (["GPU170"], Severity.WARNING)
    assert "ECS does not support" in found["GPU170"].message


def test_hosts_with_accelerators_do_not_hibernate() -> None:
    found = asked(RULES, _warm(warm=WarmPool(state="Hibernated", min_size=1)))
    assert (list(found), found["GPU170"].severity) == (["GPU170"], Severity.ERROR)
    assert "EC2 does not hibernate g6.xlarge" in found["GPU170"].message


def test_hosts_without_accelerators_may_hibernate() -> None:
    assert asked(RULES, _warm("m7i.large", warm=WarmPool(state="Hibernated", min_size=1))) == {}
