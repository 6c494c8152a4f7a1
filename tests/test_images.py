"""Machine images as a user names them."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import aws_ec2 as ec2

from gpu_constructs import GpuMachineImage, IncompatibleError, InvalidValueError, UnknownNameError
from gpu_constructs.hardware import Architecture, Vendor, instance_type


def test_a_pin_is_a_release_in_the_parameter_name() -> None:
    pinned = GpuMachineImage.pinned("bottlerocket-ecs-2-nvidia-arm64", release="1.60.0")
    assert pinned.host_image.ssm_parameter == "/aws/service/bottlerocket/aws-ecs-2-nvidia/arm64/1.60.0/image_id"


def test_a_pin_without_a_release_takes_the_newest_known() -> None:
    assert GpuMachineImage.pinned("al2023-gpu").host_image.release == (
        "al2023-ami-ecs-gpu-hvm-2023.0.20260922-kernel-6.1-x86_64-ebs"
    )


@pytest.mark.parametrize("release", ["", " ", "a/b", "{release}", "a b", 7])
def test_a_release_is_a_name(release: Any) -> None:
    with pytest.raises(InvalidValueError, match="not the name of a release"):
        GpuMachineImage.pinned("al2023-gpu", release=release)


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
    neuron = GpuMachineImage.custom(ami, accelerator=Vendor.NEURON)
    neuron.require_drives([instance_type("inf2.xlarge")])
    assert not neuron.host_image.is_floating
