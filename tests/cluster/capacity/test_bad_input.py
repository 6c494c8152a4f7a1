"""What would reach the template as something else than its user wrote, or a host as a command, is refused."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import aws_ecs as ecs

from gpu_constructs import (
    GpuCluster,
    GpuMachineImage,
    HostScaling,
    InvalidValueError,
    Purchase,
    UnknownNameError,
)
from tests.synthesis import Site


@pytest.mark.parametrize("name", ["x; reboot", "$(reboot)", "x\nreboot", '"\n[settings.host-containers.admin]'])
def test_the_name_of_a_cluster_runs_nothing_on_a_host(site: Site, name: str) -> None:
    given = ecs.Cluster.from_cluster_attributes(site.stack, "Given", cluster_name=name, vpc=site.vpc)
    with pytest.raises(InvalidValueError, match="is not a name that ECS takes"):
        GpuCluster(site.stack, "Gpu", cluster=given)


@pytest.mark.parametrize(
    ("call", "argument", "nearest"),
    [
        (HostScaling, "target", "target_capacity_percent"),
        (Purchase.spot, "percentage", "on_demand_percentage"),
        (GpuMachineImage.custom, "driver", "driver_branch"),
    ],
)
def test_a_name_that_a_value_does_not_have_is_answered_with_the_nearest(call: Any, argument: str, nearest: str) -> None:
    with pytest.raises(UnknownNameError, match=f"{argument}: {call.__qualname__} has no such argument") as refused:
        call(**{argument: 1})
    assert nearest in str(refused.value)
