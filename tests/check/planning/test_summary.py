"""The lines at synth."""

from __future__ import annotations

from gpu_constructs.check.planning.in_words import summary
from gpu_constructs.fleet import UNKNOWN, Pool, PoolKind, PurchaseOption
from tests.check.planning.given import planned, pool, service

MANAGED = pool(name="Managed", kind=PoolKind.MANAGED_INSTANCES, max_instances=UNKNOWN)
BLOCK = pool("p5.48xlarge", name="Block", purchase=PurchaseOption.CAPACITY_BLOCK, max_instances=2)


def lines(*pools: Pool) -> list[str]:
    return summary(planned(service(pool(), copies=9), pools=pools), start="gpu: ").splitlines()


def test_each_line_is_short_and_says_one_thing() -> None:
    assert lines() == [
        "gpu: 3 hosts and 12 GPUs at the desired counts, $13.80 an hour",
        "  10 hosts and 40 GPUs at MaxSize, $46.02 an hour",
        "  quotas, in vCPUs: L-DB2E81BA 480",
    ]


def test_what_is_not_known_hides_nothing_that_is() -> None:
    assert lines(MANAGED)[1:] == [
        "  10 hosts and 40 GPUs at MaxSize, $46.02 an hour",
        "  not counted: Managed (how many hosts there are is not known before the deploy)",
        "  quotas, in vCPUs: L-DB2E81BA 480 and more",
    ]


def test_a_pool_without_a_price_is_in_the_hosts() -> None:
    assert lines(pool(name="Odd", unknown_type_names=("g9.xlarge",)))[1] == (
        "  20 hosts and 40 or more GPUs at MaxSize, $46.02 an hour"
    )


def test_a_capacity_block_is_paid() -> None:
    assert lines(BLOCK)[1] == "  12 hosts and 56 GPUs at MaxSize, $46.02 an hour"
    assert summary(planned(pools=(BLOCK,))).splitlines()[1] == "  2 hosts and 16 GPUs at MaxSize, paid in advance"


def test_where_nothing_is_known_nothing_is_counted() -> None:
    found = summary(planned(pools=(pool(max_instances=UNKNOWN),))).splitlines()
    assert found[:3] == [
        "0 hosts and 0 GPUs at the desired counts, $0.00 an hour",
        "  an unknown number of hosts at MaxSize",
        "  not counted at MaxSize: L4 (how many hosts there are is not known before the",
    ]


def test_a_service_that_fits_nowhere_is_said() -> None:
    found = summary(planned(service(pool(), gpus=9, name="large")), start="gpu: ").splitlines()
    assert found[0] == "gpu: an unknown number of hosts at the desired counts"
    assert "  not counted at the desired counts: L4 (large does not fit on its hosts)" in found
