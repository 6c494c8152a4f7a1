"""What a capacity refuses before it defines anything."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from gpu_constructs import (
    GpuBudget,
    GpuCluster,
    GpuConstructsError,
    GpuMachineImage,
    HostScaling,
    HostStorage,
    IncompatibleError,
    InvalidValueError,
    ModelServer,
    Purchase,
    ScaleBy,
    UnknownNameError,
)
from tests.synthesis import Ground, Site

REFUSED: list[Any] = [
    pytest.param({"instance_types": ["g6.gigantic"]}, UnknownNameError, r"did you mean g6\.xlarge", id="no such size"),
    pytest.param({"instance_types": ["g5"]}, UnknownNameError, r"family", id="a family instead of a type"),
    pytest.param({"instance_types": "g6.xlarge"}, InvalidValueError, r"\['g6\.xlarge'\]", id="text, not a list"),
    pytest.param({"instance_types": []}, InvalidValueError, r"at least one", id="an empty list"),
    pytest.param(
        {"instance_types": ["g5g.xlarge", "g5.xlarge"]}, IncompatibleError, r"arm64: g5g\.xlarge", id="arm and x86"
    ),
    pytest.param(
        {"instance_types": ["g6.xlarge", "c7i.large"]},
        IncompatibleError,
        r"no accelerator.*one add_capacity for each shape, or add_family",
        id="GPU and CPU",
    ),
    pytest.param({"instance_types": ["p2.xlarge"]}, IncompatibleError, r"Kepler", id="no driver"),
    pytest.param({"instance_types": ["g4ad.xlarge"]}, IncompatibleError, r"AMD", id="AMD"),
    pytest.param({"instance_types": ["p6e-gb200.36xlarge"]}, IncompatibleError, r"arm64", id="no arm64 AMI"),
    pytest.param({"instance_types": ["dl1.24xlarge"]}, IncompatibleError, r"Gaudi", id="Gaudi"),
    pytest.param({"max_instances": -1}, InvalidValueError, r"0 or more", id="fewer hosts than none"),
    pytest.param({"min_instances": -1}, InvalidValueError, r"0 or more", id="less than none"),
    pytest.param({"min_instances": 5}, InvalidValueError, r"max_instances is 4", id="more at least than at most"),
    pytest.param({"scaling": {"warm_hosts": 1}}, InvalidValueError, r"HostScaling\(warm_hosts=1\)", id="a mapping"),
    pytest.param({"capacity_provider_name": "aws-gpu"}, InvalidValueError, r"aws, ecs or fargate", id="reserved name"),
    pytest.param({"capacity_provider_name": "my gpu"}, InvalidValueError, r"letters", id="a blank in the name"),
    pytest.param(
        {"instance_types": '["g6.xlarge", "g6.2xlarge"]'}, InvalidValueError, r" 'g6\.2xlarge'\]", id="two in one"
    ),
    pytest.param(
        {"instance_types": [ec2.InstanceType("g6.xlarge")]}, InvalidValueError, r"fix: 'g6\.xlarge'", id="CDK's type"
    ),
    pytest.param({"capacity_provider_name": "aws-${Token[TOKEN.0]}"}, InvalidValueError, r"aws, ecs", id="half known"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSED)
def test_it_refuses_and_leaves_nothing_behind(
    untouched: Site, arguments: dict[str, Any], error: type[GpuConstructsError], message: str
) -> None:
    cluster = untouched.cluster
    with untouched.refuses(error, match=message) as refused:
        cluster.add_capacity("Refused", **{"instance_types": ["g6.xlarge"], "max_instances": 4, **arguments})
    assert refused.value.argument in arguments
    assert not str(refused.value).endswith(".")
    assert cluster.capacities == ()


@pytest.mark.parametrize("name", ["al2-gpu", "al2023", "al2023-neuron", "bottlerocket-ecs-2-nvidia-arm64"])
def test_an_image_that_cannot_drive_the_types_is_refused_with_both_sides(untouched: Site, name: str) -> None:
    with pytest.raises(
        IncompatibleError,
        match=rf"image: image {name} .* g7e\.2xlarge.*image (al2023-gpu|bottlerocket-ecs-2-nvidia-x86_64) ",
    ) as refused:
        untouched.capacity("g7e.2xlarge", image=GpuMachineImage.newest(name))
    assert refused.value.argument == "image"


@pytest.mark.parametrize("name", ["x; reboot", "$(reboot)", "x\nreboot", '"\n[settings.host-containers.admin]'])
def test_the_name_of_a_cluster_runs_nothing_on_a_host(ground: Ground, name: str) -> None:
    given = ecs.Cluster.from_cluster_attributes(ground.stack, "Given", cluster_name=name, vpc=ground.vpc)
    with pytest.raises(InvalidValueError, match="is not a name that ECS takes"):
        GpuCluster(ground.stack, "Gpu", cluster=given)


@pytest.mark.parametrize(
    ("call", "argument", "nearest"),
    [
        (HostScaling, "target", "target_capacity_percent"),
        (Purchase.spot, "percentage", "on_demand_percentage"),
        (Purchase.on_demand, "on_demand_base", ""),
        (GpuBudget.add_to, "budget", ""),
        (ModelServer, "health", "health_path"),
        (ScaleBy.gpu_memory, "percents", "percent"),
        (GpuMachineImage.custom, "driver", "driver_branch"),
        (GpuCluster.add_capacity, "max_instance", "did you mean max_instances?"),
        (GpuCluster.add_capacity, "spot", "did you mean purchase=Purchase.spot()?"),
        (GpuCluster.add_capacity, "disk_gib", "did you mean storage=HostStorage(root_volume_gib=…)?"),
        (HostStorage, "size_gib", "did you mean root_volume_gib?"),
    ],
)
def test_a_name_that_a_value_does_not_have_is_answered_with_the_nearest(call: Any, argument: str, nearest: str) -> None:
    with pytest.raises(UnknownNameError, match=f"{argument}: {call.__qualname__} has no such argument") as refused:
        call(**{argument: 1})
    assert nearest in str(refused.value)
