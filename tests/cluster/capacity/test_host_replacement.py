"""Running hosts that a deploy replaces: the update policy of their group, within the hosts there are."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs import GpuConstructsError, HostReplacement, HostScaling, Purchase
from gpu_constructs.fleet import HostUpdate, UpdateMethod
from tests.synthesis import Ground, Site

_GROUP = "AWS::AutoScaling::AutoScalingGroup"


def _policy(site: Site) -> dict[str, Any]:
    policy: dict[str, Any] = site.resource(_GROUP)["UpdatePolicy"]
    return policy


def _preferences(site: Site, replacement: HostReplacement, **arguments: Any) -> dict[str, Any]:
    site.capacity("g6.xlarge", **{"scaling": HostScaling(replacement=replacement), **arguments})
    refresh = _policy(site)["AutoScalingInstanceRefresh"]
    assert refresh["Strategy"] == "Rolling"
    return dict(refresh["Preferences"])


def test_by_default_running_hosts_stay_as_they_are(site: Site) -> None:
    assert site.capacity("g6.xlarge").pool.group.update is None
    assert _policy(site) == {"AutoScalingScheduledAction": {"IgnoreUnmodifiedGroupSizeProperties": True}}


def test_a_new_host_comes_before_an_old_one_goes(site: Site) -> None:
    assert _preferences(site, HostReplacement(), min_instances=2) == {
        "InstanceWarmup": 600,
        "MinHealthyPercentage": 100,
        "MaxHealthyPercentage": 110,
    }
    assert "AutoScalingScheduledAction" in _policy(site)
    assert site.warnings(unchanged=True) == []


def test_protected_hosts_are_replaced_too(site: Site) -> None:
    scaling = HostScaling(
        replacement=HostReplacement(percent_at_once=50), managed_termination_protection=True, instance_warmup_seconds=60
    )
    assert _preferences(site, HostReplacement(), scaling=scaling) == {
        "InstanceWarmup": 60,
        "MinHealthyPercentage": 100,
        "MaxHealthyPercentage": 150,
        "ScaleInProtectedInstances": "Refresh",
    }
    assert site.findings("GPU222") == []


@pytest.mark.parametrize(("hosts", "stay"), [(1, 0), (2, 50), (3, 66), (4, 75), (10, 90), (100, 90)])
def test_within_the_hosts_there_are_one_goes_first_and_the_checks_see_it(ground: Ground, hosts: int, stay: int) -> None:
    scaling = HostScaling(replacement=HostReplacement(launch_first=False))
    made = ground.capacity("g6.xlarge", scaling=scaling, max_instances=hosts)
    assert made.pool.group.update == HostUpdate(
        method=UpdateMethod.INSTANCE_REFRESH, min_healthy_percent=stay, max_healthy_percent=100
    )


def test_reserved_hosts_are_ended_first(ground: Ground) -> None:
    reserved = Purchase.reservations(reservation_id="cr-0123456789abcdef0", only=True, instances=4)
    with pytest.raises(GpuConstructsError, match=r"all 4 reserved hosts may be in use.*launch_first=False") as raised:
        ground.capacity("g6.xlarge", purchase=reserved, scaling=HostScaling(replacement=HostReplacement()))
    assert (raised.value.argument, raised.value.rule) == ("replacement", "GPU222")
    ground.capacity(
        "g6.xlarge", purchase=reserved, scaling=HostScaling(replacement=HostReplacement(launch_first=False))
    )
