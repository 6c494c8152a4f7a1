"""An app and two commands that use an instance family which only the data names; run by `test_new_family`.

Takes the folder of the data as its argument. A process of its own, because the catalogue is read once.
"""

# ruff: noqa: T201 - the test reads what is printed
from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from gpu_constructs import GpuCluster, GpuTaskDefinition, HostNetwork
from gpu_constructs.cli import main
from gpu_constructs.facts import drivers, records

# What was right for older families: a launch configuration, and the driver of the Amazon Linux 2 image.
WRONG = {
    "Launch": {
        "Type": "AWS::AutoScaling::LaunchConfiguration",
        "Properties": {
            "InstanceType": "g9.xlarge",
            "ImageId": "{{resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2/gpu/recommended/image_id}}",
        },
    },
    "Group": {
        "Type": "AWS::AutoScaling::AutoScalingGroup",
        "Properties": {"LaunchConfigurationName": {"Ref": "Launch"}, "MinSize": "0", "MaxSize": "1"},
    },
    "Provider": {
        "Type": "AWS::ECS::CapacityProvider",
        "Properties": {"AutoScalingGroupProvider": {"AutoScalingGroupArn": {"Ref": "Group"}}},
    },
}


def synthesize() -> Mapping[str, object]:
    """The template of a stack with all kinds of capacity of the family and a GPU task on it."""
    stack = cdk.Stack(cdk.App(), "New")
    cluster = GpuCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=1))
    big = cluster.add_capacity("Big", instance_types=["g9.48xlarge"], max_instances=2, network=HostNetwork.efa())
    family = cluster.add_family("g9", max_instances=2)
    cluster.add_managed_capacity("Managed", instance_types=["g9.xlarge"])
    image = ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")
    train = GpuTaskDefinition(stack, "Train", capacity=[big], network_mode=ecs.NetworkMode.HOST)
    train.add_gpu_container("main", image=image, gpus=8, gpu_memory_gib=250, efa=True)
    serve = GpuTaskDefinition(stack, "Serve", capacity=[family[1]])
    serve.add_gpu_container("main", image=image, gpus=1)
    return assertions.Template.from_stack(stack).to_json()


def run(folder: Path) -> None:
    """Prints the template and what both commands say about it, about `WRONG` and about the family."""
    records.DATA = str(folder)
    records.read.cache_clear()
    drivers.DRIVER_SUPPORT = (
        *drivers.DRIVER_SUPPORT,
        drivers.DriverSupport(
            architecture="Rubin", lowest=(13, 0), highest=(13, 0), since=((580, 65, 6),), source="invented"
        ),
    )
    good, wrong = folder / "good.json", folder / "wrong.json"
    good.write_text(json.dumps(synthesize()), encoding="utf-8")
    wrong.write_text(json.dumps({"Resources": WRONG}), encoding="utf-8")
    print(good.read_text(encoding="utf-8"))
    for arguments in (["check", str(good), "-v"], ["check", str(wrong)], ["instances", "--family", "g9"]):
        print("---", *arguments, flush=True)
        print("exit", main(arguments), flush=True)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
