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


def test_a_service_that_fits_nowhere_is_said() -> None:
    found = summary(planned(service(pool(), gpus=9, name="large")), start="gpu: ").splitlines()
    assert found[0] == "gpu: an unknown number of hosts at the desired counts"
    assert "  not counted at the desired counts: L4 (large does not fit on its hosts)" in found
