"""Machine images as a user names them."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2

from gpu_constructs import GpuMachineImage, IncompatibleError, InvalidValueError, UnknownNameError
from gpu_constructs.hardware import Architecture, OperatingSystem, Vendor, Verdict, compatibility, instance_type


def test_a_pin_is_a_release_in_the_parameter_name() -> None:
    pinned = GpuMachineImage.pinned("bottlerocket-ecs-2-nvidia-arm64", release="1.60.0")
    assert pinned.host_image.ssm_parameter == "/aws/service/bottlerocket/aws-ecs-2-nvidia/arm64/1.60.0/image_id"


def test_a_pin_without_a_release_takes_the_newest_known() -> None:
    assert GpuMachineImage.pinned("al2023-gpu").host_image.release == (
        "al2023-ami-ecs-gpu-hvm-2023.0.20260922-kernel-6.1-x86_64-ebs"
    )


@pytest.mark.parametrize(
    "release",
    [
        "",
        " ",
        "a/b",
        "{release}",
        "al2023-ami-ecs-gpu-hvm-\n1",
        7,
        "recommended",
        "1.66.0",
        "al2023-ami-ecs-hvm-2023",
        "é",
    ],
)
def test_a_release_is_the_name_of_this_images_ami(release: Any) -> None:
    with pytest.raises(InvalidValueError, match="is no release of al2023-gpu"):
        GpuMachineImage.pinned("al2023-gpu", release=release)


@pytest.mark.parametrize("release", ["latest", "1.66", "al2023-ami-ecs-gpu-hvm-2023"])
def test_a_release_of_bottlerocket_is_a_version(release: str) -> None:
    with pytest.raises(InvalidValueError, match="allowed: a version such as"):
        GpuMachineImage.pinned("bottlerocket-ecs-2-nvidia-x86_64", release=release)


def test_a_release_must_be_known_at_synth() -> None:
    with pytest.raises(InvalidValueError, match="only known at deploy time"):
        GpuMachineImage.pinned("al2023-gpu", release=cdk.Fn.import_value("Release"))


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("operating_system", "AL2"),
        ("operating_system", None),
        ("architecture", "arm"),
        ("accelerator", "NVIDIA"),
        ("driver_branch", "580"),
        ("driver_branch", 580.1),
        ("driver_branch", -5),
        ("driver_branch", True),
        ("driver_branch", float("nan")),
        ("driver_branch", float("-inf")),
        ("root_device", "xvda"),
        ("image_device", "xvda"),
        ("image_device", 7),
    ],
)
def test_a_declaration_is_checked(argument: str, value: Any) -> None:
    ami = ec2.MachineImage.generic_linux({"us-east-1": "ami-00000000000000000"})
    with pytest.raises(InvalidValueError) as refused:
        GpuMachineImage.custom(ami, **{argument: value})
    assert refused.value.argument == argument


def test_text_names_a_declaration_too() -> None:
    ami = ec2.MachineImage.generic_linux({"us-east-1": "ami-00000000000000000"})
    own = GpuMachineImage.custom(ami, operating_system="bottlerocket", architecture="arm64")  # type: ignore[arg-type]
    assert own.host_image.image.operating_system is OperatingSystem.BOTTLEROCKET
    assert own.host_image.image.architecture is Architecture.ARM64


def test_an_image_is_made_by_its_class_methods() -> None:
    with pytest.raises(InvalidValueError, match="GpuMachineImage.pinned"):
        GpuMachineImage("al2023-gpu")  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [GpuMachineImage.pinned, GpuMachineImage.newest])
def test_an_unknown_image_names_the_nearest(make: Any) -> None:
    with pytest.raises(UnknownNameError, match="did you mean .*al2023-gpu"):
        make("al2023-gpus")


def test_types_that_need_different_images_are_told_apart() -> None:
    with pytest.raises(IncompatibleError, match="no single image drives all of these types"):
        GpuMachineImage.for_types([instance_type("g6.xlarge"), instance_type("g5g.xlarge")])


def test_a_custom_image_is_an_image() -> None:
    with pytest.raises(InvalidValueError, match="machine_image: expects an ec2.IMachineImage, got 'ami-123'"):
        GpuMachineImage.custom("ami-123")  # type: ignore[arg-type]


def test_a_custom_image_declares_its_side() -> None:
    ami = ec2.MachineImage.generic_linux({"us-east-1": "ami-00000000000000000"})
    arm = GpuMachineImage.custom(ami, architecture=Architecture.ARM64, driver_branch=580)
    arm.require_drives([instance_type("g5g.xlarge")])
    with pytest.raises(IncompatibleError, match="arm64"):
        arm.require_drives([instance_type("g6.xlarge")])
    plain = GpuMachineImage.custom(ami, accelerator=None)
    with pytest.raises(IncompatibleError, match="no driver"):
        plain.require_drives([instance_type("g6.xlarge")])
    silent = GpuMachineImage.custom(ami).host_image.image
    assert compatibility(silent, instance_type("g6.xlarge")).verdict is Verdict.UNCONFIRMED
    neuron = GpuMachineImage.custom(ami, accelerator=Vendor.NEURON)
    neuron.require_drives([instance_type("inf2.xlarge")])
    assert not neuron.host_image.is_floating


def test_the_volumes_of_a_custom_image_are_its_own() -> None:
    ami = ec2.MachineImage.generic_linux({"us-east-1": "ami-00000000000000000"})
    ubuntu = GpuMachineImage.custom(ami, root_device="/dev/sda1").host_image.image
    assert (ubuntu.root_device, ubuntu.image_device) == ("/dev/sda1", "/dev/sda1")
    rocket = GpuMachineImage.custom(ami, operating_system=OperatingSystem.BOTTLEROCKET).host_image.image
    assert (rocket.root_device, rocket.image_device) == ("/dev/xvda", "/dev/xvdb")
