"""What `add_monitoring` defines."""

from __future__ import annotations

import pytest

from gpu_constructs import InvalidValueError
from tests.synthesis import Site


def test_a_daemon_runs_on_every_host_with_nvidia_gpus_and_takes_none(site: Site) -> None:
    site.cluster.add_monitoring("Monitoring")
    assert site.only("AWS::ECS::Service")["SchedulingStrategy"] == "DAEMON"
    task = site.only("AWS::ECS::TaskDefinition")
    assert task["PlacementConstraints"] == [{"Type": "memberOf", "Expression": "attribute:accelerator == nvidia"}]
    assert "ResourceRequirements" not in site.container()


def test_a_cluster_is_monitored_once(site: Site) -> None:
    site.cluster.add_monitoring("Monitoring")
    with pytest.raises(InvalidValueError, match="has monitoring already"):
        site.cluster.add_monitoring("Again")
    assert not any("Again" in each for each in site.children())
