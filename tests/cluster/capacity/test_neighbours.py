"""A changed capacity leaves its neighbours alone: their resources, ids and properties stay as they were."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs

from gpu_constructs import GpuMachineImage, GpuService, HostScaling, HostStorage, Purchase
from tests.synthesis import Properties, Site, app_in

# What CloudFormation makes anew when it changes, in the resources that a capacity has beside its own kind of purchase
# ("Update requires: Replacement" in the resource reference of AWS::ECS::CapacityProvider and
# AWS::AutoScaling::AutoScalingGroup; a launch template gets a new version).
_REPLACED_BY: dict[str, Callable[[Properties], object]] = {
    "AWS::ECS::CapacityProvider": lambda properties: (
        properties.get("Name"),
        properties["AutoScalingGroupProvider"]["AutoScalingGroupArn"],
    ),
    "AWS::AutoScaling::AutoScalingGroup": lambda properties: properties.get("AutoScalingGroupName"),
    "AWS::EC2::LaunchTemplate": lambda properties: properties.get("LaunchTemplateName"),
}

CHANGES: dict[str, dict[str, Any]] = {
    "another size": {"instance_types": ["g6.4xlarge"]},
    "another family": {"instance_types": ["g5.xlarge"]},
    "a second type": {"instance_types": ["g6.xlarge", "g6.2xlarge"]},
    "an image that floats": {"image": GpuMachineImage.newest("al2023-gpu")},
    "Bottlerocket": {"image": GpuMachineImage.pinned("bottlerocket-ecs-3-nvidia-x86_64", "1.66.0")},
    "more hosts": {"max_instances": 9},
    "spot": {"purchase": Purchase.spot()},
    "spot above a base": {"purchase": Purchase.spot(on_demand_base=1)},
    "a larger disk": {"storage": HostStorage(root_volume_gib=300)},
    "protection": {"scaling": HostScaling(managed_termination_protection=True)},
}


def _define(site: Site, changes: dict[str, Any]) -> None:
    before = site.capacity("g5.xlarge", name="Before")
    site.cluster.add_capacity("Changed", **{"instance_types": ["g6.xlarge"], "max_instances": 2, **changes})
    site.capacity("g6e.xlarge", name="After")
    task = site.task(before, family="main")
    task.add_gpu_container("main", image=ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04"))
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)


@pytest.fixture(scope="module")
def resources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Properties]]:
    """Those of the same stack after each change, and with none: all in one app, each in a stage of its own."""
    app = app_in(tmp_path_factory.mktemp("neighbours"))
    sites = {name: Site(app, cdk.Stage(app, f"Stage{number:02}")) for number, name in enumerate(["none", *CHANGES])}
    for name, site in sites.items():
        _define(site, CHANGES.get(name, {}))
    app.synth()
    texts = {
        name: next(Path(app.outdir).glob(f"*/{site.stack.template_file}")).read_text() for name, site in sites.items()
    }
    # The name of the stage is in the paths of constructs.
    return {name: json.loads(re.sub(r"Stage\d\d", "Stage", text))["Resources"] for name, text in texts.items()}


@pytest.mark.parametrize("change", CHANGES)
def test_only_the_changed_capacity_changes_and_in_place(
    resources: dict[str, dict[str, Properties]], change: str
) -> None:
    unchanged, changed = resources["none"], resources[change]
    different = {name for name in unchanged.keys() | changed.keys() if unchanged.get(name) != changed.get(name)}
    assert different
    assert [name for name in different if not name.startswith("ClusterChanged")] == []
    held = {name: each for name, each in unchanged.items() if each["Type"] in _REPLACED_BY}
    assert len(held) == 9
    for name, each in held.items():
        key = _REPLACED_BY[each["Type"]]
        assert key(changed[name]["Properties"]) == key(each["Properties"])
