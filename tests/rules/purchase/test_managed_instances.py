"""ECS Managed Instances: types that they launch, and reservations."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Pool, PoolKind, PurchaseOption, Reservation
from gpu_constructs.rules import Severity
from gpu_constructs.rules.purchase.availability import launched
from gpu_constructs.rules.purchase.reservations import reservations_are_used
from tests.rules.given import a_pool, asked, only

RULES = (launched, reservations_are_used)

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
    assert set(asked(RULES, pool(purchase=RESERVED, reservation=avoided))) == {"GPU166"}
