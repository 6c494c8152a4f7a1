"""What the reference stacks cost, read from what they synthesize, against sums that were worked out by hand.

Prices of us-east-1 of 2026-07-20, in US dollars an hour: g4dn.12xlarge 3.912, g6.xlarge 0.8048, g6.2xlarge 0.9776,
g6.16xlarge 3.3968, g6.12xlarge 4.6016, g6.24xlarge 6.6752, g6.48xlarge 13.3504, p5.48xlarge 55.04.
"""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
import pytest

from gpu_constructs.checking.report import check_files
from gpu_constructs.planning import FleetPlan, plan
from tests.planning.given import usd
from tests.stacks.stories import STORIES

BY_HAND = {
    # One type for all hosts of the pool, the cheapest or the dearest: 4 * 0.8048 and 4 * 0.9776; one host at first.
    "chat": ((0.8048, 0.9776), (3.2192, 3.9104), {"L-DB2E81BA": (8, 32)}),
    "image-queue": ((0.0, 0.0), (3.2192, 3.2192), {"L-DB2E81BA": (0, 16)}),  # no copies while the queue is empty
    # 3.912 + 0.8048 + 4.6016 + 13.3504, and with the dearest types 3.912 + 3.3968 + 6.6752 + 13.3504.
    "nvidia-smi": ((0.0, 0.0), (22.6688, 27.3344), {"L-DB2E81BA": (0, 48 + 64 + 96 + 192)}),
    # The same without the T4.
    "benchmark-jobs": ((0.0, 0.0), (18.7568, 23.4224), {"L-DB2E81BA": (0, 64 + 96 + 192)}),
    # Spot: p5.48xlarge at most.
    "fine-tuning": ((0.0, 0.0), (None, 55.04), {"L-7212CCBC": (0, 96), "L-C4BD4855": (0, 192)}),
    # A Capacity Block is paid in advance, and counts against no quota of running instances.
    "pre-training": ((0.0, 0.0), None, {}),
}


def planned(name: str, folder: Path) -> FleetPlan:
    app = cdk.App(outdir=str(folder))
    STORIES[name](app)
    return plan(check_files([app.synth().directory], rules=()).fleet)


@pytest.mark.parametrize("name", BY_HAND)
def test_a_reference_stack_costs_what_a_hand_calculation_says(name: str, tmp_path: Path) -> None:
    desired, maximum, quotas = BY_HAND[name]
    found = planned(name, tmp_path)
    assert usd(found.minimum.usd_per_hour) == (0.0, 0.0)
    assert usd(found.desired.usd_per_hour) == desired
    assert usd(found.maximum.usd_per_hour) == maximum
    assert {each.quota.code: (each.desired, each.maximum) for each in found.quotas} == quotas
