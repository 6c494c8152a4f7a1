"""User data that prepares disks which the hosts do not have."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import LocalDiskUse, UserData
from gpu_constructs.rules.hosts import user_data
from tests.rules.given import a_pool, asked

RULES = (user_data.has_local_disks,)

PREPARES = UserData(local_disks=LocalDiskUse.SCRATCH)


@pytest.mark.parametrize("changes", [{"has_unknown_types": True}, {"unknown_type_names": ("g9.xlarge",)}])
def test_types_that_are_not_known_are_said(changes: dict[str, object]) -> None:
    found = asked(RULES, a_pool("g6.xlarge", user_data=UserData(local_disks=LocalDiskUse.IMAGES), **changes))
    assert "local disks for container images, and whether the hosts have any is not known" in found["GPU174"].message


def test_disks_of_a_type_that_no_region_offers_are_not_known() -> None:
    found = asked(RULES, a_pool("p3.2xlarge", "g3.4xlarge", "g6.xlarge", user_data=PREPARES))
    assert "whether p3.2xlarge or g3.4xlarge has any is not in the recorded data" in found["GPU174"].message
