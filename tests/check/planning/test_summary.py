"""The lines at synth."""

from __future__ import annotations

from gpu_constructs.check.planning.in_words import summary
from gpu_constructs.fleet import UNKNOWN, Pool, PoolKind
from tests.check.planning.given import planned, pool, service

WHY = (
    "ECS chooses the hosts, one g6.12xlarge from $4.60 an hour (on-demand list price, us-east-1, 2026-07-20) without "
    "the management fee of AWS, which no price list here has"
)
MANAGED = pool(name="Managed", kind=PoolKind.MANAGED_INSTANCES, max_instances=UNKNOWN)


def lines(*pools: Pool) -> tuple[str, ...]:
    return summary(planned(service(pool(), copies=9), pools=pools))


def test_each_line_says_one_thing() -> None:
    assert lines() == (
        "hosts 3, GPUs 12, an hour $13.80 at the desired counts",
        "hosts 10, GPUs 40, an hour $46.02 at MaxSize",
        "quotas, in vCPUs: L-DB2E81BA (on-demand G/VT) 480",
    )


def test_what_is_not_known_hides_nothing_that_is() -> None:
    assert lines(MANAGED)[1:] == (
        "hosts 10 and more, GPUs 40 and more, an hour $46.02 and more at MaxSize",
        f"not counted: Managed ({WHY})",
        "quotas, in vCPUs: L-DB2E81BA (on-demand G/VT) 480 and more",
    )


def test_a_service_that_fits_nowhere_is_said() -> None:
    found = summary(planned(service(pool(), gpus=9, name="large")))
    assert found[0] == "hosts not known, GPUs not known, an hour not known at the desired counts"
    assert "not counted: L4 (large does not fit on its hosts)" in found
