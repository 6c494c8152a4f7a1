"""ECS Managed Instances: types, reservations, and constraints that they do not know."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, PoolKind, PurchaseOption, Reservation
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.clusters import managed_instances
from tests.rules.given import GPU_TASK, a_pool, asked, member_of, only, running_on

RULES = rules_of(managed_instances)

GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/gpus"
RESERVED = PurchaseOption.RESERVED


def pool(*types: str, **changes: Any) -> Pool:
    return a_pool(*types, **{"kind": PoolKind.MANAGED_INSTANCES, **changes})


def test_a_family_that_managed_instances_do_not_launch() -> None:
    finding = only(RULES, pool("p5e.48xlarge", "p5.48xlarge"))
    assert finding.rule == "GPU185"
    assert "p5e is not among the families of Managed Instances, which may never launch p5e.48xlarge" in finding.message
    assert finding.fix == "leave out p5e.48xlarge"


def test_a_family_of_which_it_is_in_doubt_whether_managed_instances_launch_it() -> None:
    finding = only(RULES, pool("inf1.xlarge", "inf1.2xlarge"))
    assert (finding.rule, finding.severity) == ("GPU185", Severity.WARNING)
    assert finding.message == (
        "whether Managed Instances launch inf1.xlarge or inf1.2xlarge is in doubt: "
        "a copy of AWS's page of 2026 lists it, and nothing else confirms that"
    )
    assert asked(RULES, pool("inf1.xlarge", "inf2.xlarge")) == {}


@pytest.mark.parametrize("name", ["t3.micro", "m7g.medium"])
def test_a_type_that_is_too_small(name: str) -> None:
    assert asked(RULES, pool(name))["GPU185"].fix == "use an Auto Scaling group, or another family"


@pytest.mark.parametrize(
    "good",
    [
        pool("p5.48xlarge", "p5en.48xlarge"),
        pool("m7i.large"),
        pool(purchase=UNKNOWN, reservation=Reservation(group=GROUP)),
    ],
)
def test_what_managed_instances_do(good: Pool) -> None:
    assert asked(RULES, good) == {}


@pytest.mark.parametrize("group", [GROUP, None])
def test_reservations_that_are_avoided(group: str | None) -> None:
    avoided = Reservation(group=group, preference="RESERVATIONS_EXCLUDED")
    assert set(asked(RULES, pool(purchase=RESERVED, reservation=avoided))) == {"GPU187"}


def placed(expression: str, *pools: Pool) -> Fleet:
    return running_on(*pools, task=GPU_TASK, constraints=(member_of(expression),))


@pytest.mark.parametrize(
    ("expression", "where"),
    [
        ("attribute:ecs.instance-type in [g6.xlarge] and attribute:ecs.subnet-id exists", pool()),
        ("attribute:rack == a", a_pool()),
        ("attribute: ==", pool()),
        ("task:group == service:a", pool()),
    ],
)
def test_constraints_that_are_supported(expression: str, where: Pool) -> None:
    assert asked(RULES, placed(expression, where)) == {}
