"""Machine images as a user names them."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from gpu_constructs import (
    GpuMachineImage,
    GpuShare,
    GpuTaskDefinition,
    IncompatibleError,
    InvalidValueError,
    UnknownNameError,
)
from gpu_constructs.check.report import check_files
from gpu_constructs.facts import (
    Architecture,
    OperatingSystem,
    Vendor,
    accelerated,
)
from gpu_constructs.fleet import HostImage
from tests.facts.test_image_choice import CHOICE
from tests.synthesis import Ground, Site, user_data


@pytest.mark.parametrize("make", [GpuMachineImage.pinned, GpuMachineImage.newest])
def test_an_unknown_image_names_the_nearest(make: Any) -> None:
    with pytest.raises(UnknownNameError, match="did you mean .*al2023-gpu"):
        make("al2023-gpus")


AMI = ec2.MachineImage.generic_linux({"us-east-1": "ami-00000000000000000"})
AMI_OF_NAME = ec2.MachineImage.from_ssm_parameter("/golden/gpu")
ROCKET: dict[str, Any] = {"operating_system": OperatingSystem.BOTTLEROCKET, "architecture": Architecture.ARM64}


@pytest.mark.parametrize(
    ("declared", "type_name", "words", "fix"),
    [
        ({"driver_branch": 580}, "p2.xlarge", "custom has driver branch 580, 470 is the last", "g6.4xlarge"),
        ({"driver_branch": 590}, "p3.2xlarge", "580 is the last that drives Volta", "image al2023-gpu"),
        (
            {"driver_branch": 550},
            "p6-b300.48xlarge",
            "580.82.07 is the first that drives Blackwell Ultra",
            "image al2023-gpu",
        ),
        (
            {"driver_version": "580.65.06"},
            "p6-b300.48xlarge",
            "driver 580.65.06, 580.82.07 is the first",
            "image al2023-gpu",
        ),
        ({"driver_branch": 570}, "g7e.2xlarge", "575.57.08 is the first", "image al2023-gpu"),
        ({"driver_version": "570.195.03"}, "g7.2xlarge", "580.142 is the first", "image al2023-gpu"),
        ({"driver_branch": 580}, "g5g.xlarge", "built for x86_64", "bottlerocket-ecs-2-nvidia-arm64"),
        ({"driver_branch": 580}, "p6e-gb200.36xlarge", "built for x86_64", "p6-b200.48xlarge"),
        ({"driver_branch": 580}, "g4ad.xlarge", "no ECS image has a driver for AMD GPUs", "g6.xlarge"),
        ({"accelerator": Vendor.AMD}, "g6.xlarge", "no driver for the L4", "image al2023-gpu"),
        ({"accelerator": None}, "inf2.xlarge", "no driver for the Inferentia2", "image al2023-neuron"),
        ({"accelerator": Vendor.NEURON}, "m7i.large", "no Neuron device", "image al2023"),
    ],
)
def test_an_image_of_ones_own_is_held_to_its_declaration(
    ground: Ground, declared: dict[str, Any], type_name: str, words: str, fix: str
) -> None:
    with pytest.raises(IncompatibleError, match=f"image: image custom .* {type_name}: ") as refused:
        ground.capacity(type_name, image=GpuMachineImage.custom(AMI, **declared))
    assert words in str(refused.value)
    assert fix in (refused.value.fix or "")
    assert refused.value.rule in {"GPU052", "GPU099"}


PATHS = {
    "al2023-gpu": "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/al2023-ami-ecs-gpu-hvm-",
    "al2023-neuron": "/aws/service/ecs/optimized-ami/amazon-linux-2023/neuron/al2023-ami-ecs-neuron-hvm-",
    "bottlerocket-ecs-2-nvidia-arm64": "/aws/service/bottlerocket/aws-ecs-2-nvidia/arm64/",
}


def test_every_family_reaches_the_template_with_its_image_and_user_data_in_its_form(site: Site) -> None:
    smallest = {family: min(names(family)) for family in CHOICE}
    for family, name in smallest.items():
        site.capacity(name, name=f"Of{family}".replace("-", ""))
    template = site.template()
    found = {
        data["InstanceType"]: (template["Parameters"][data["ImageId"]["Ref"]]["Default"], user_data(data))
        for data in (each["LaunchTemplateData"] for each in site.properties("AWS::EC2::LaunchTemplate"))
    }
    assert found.keys() == set(smallest.values())
    for family, name in smallest.items():
        parameter, text = found[name]
        assert parameter.startswith(PATHS[CHOICE[family]]), family
        assert parameter.endswith("/image_id"), family
        assert text.lstrip().startswith("[settings.ecs]\n" if family == "g5g" else "#!/bin/bash\n"), family


def names(family: str) -> list[str]:
    return [each.name for each in accelerated() if each.family == family]


def test_bottlerocket_is_a_choice_on_x86(site: Site) -> None:
    for variant in (2, 3, 4):
        image = GpuMachineImage.pinned(f"bottlerocket-ecs-{variant}-nvidia-x86_64")
        capacity = site.capacity("g6.xlarge", "g6.2xlarge", name=f"C{variant}", image=image)
        assert capacity.gpus == 1
    templates = [each["LaunchTemplateData"] for each in site.properties("AWS::EC2::LaunchTemplate")]
    assert [site.template()["Parameters"][each["ImageId"]["Ref"]]["Default"] for each in templates] == [
        f"/aws/service/bottlerocket/aws-ecs-{variant}-nvidia/x86_64/1.66.0/image_id" for variant in (2, 3, 4)
    ]
    for each in templates:
        assert user_data(each).strip().startswith("[settings.ecs]\n")


def test_the_type_that_needs_memory_overcommit_gets_it(site: Site) -> None:
    wanted = {"g6f.large": 2, "g6f.xlarge": 0, "g6.xlarge": 0}
    for number, type_name in enumerate(wanted):
        site.capacity(type_name, name=f"C{number}")
    for each in site.properties("AWS::EC2::LaunchTemplate"):
        text = user_data(each["LaunchTemplateData"])
        lines = wanted.pop(each["LaunchTemplateData"]["InstanceType"])
        assert len([line for line in text.splitlines() if "/etc/sysctl.d/60-nvidia.conf" in line]) == lines
        assert ("echo vm.overcommit_memory=1 > " in text) is bool(lines)
    assert not wanted


def test_a_deep_learning_ami_has_its_own_root_device_and_a_script(site: Site) -> None:
    image = GpuMachineImage.custom(AMI, driver_branch=580, root_device="/dev/sda1")
    site.capacity("p5.48xlarge", image=image)
    data = site.launch_template()
    assert [each["DeviceName"] for each in data["BlockDeviceMappings"]] == ["/dev/sda1"]
    assert user_data(data).startswith("#!/bin/bash\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"driver_version": "580"}, "got '580'; allowed: a version of the NVIDIA driver, such as 580.95.05"),
        ({"driver_version": 580}, "got 580; allowed: a version of the NVIDIA driver"),
        ({"driver_version": "580.95.05", "driver_branch": 570}, "driver 580.95.05 is of branch 580, not 570"),
    ],
)
def test_a_driver_version_is_whole_and_of_its_branch(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words) as refused:
        GpuMachineImage.custom(AMI, **arguments)
    assert refused.value.argument == "driver_version"


SHARING = {"driver_version": "580.95.05", "agent_version": "1.107.0", "has_mps_service": True}


def _container(cuda: str) -> ecs.ContainerImage:
    return ecs.ContainerImage.from_registry(f"nvidia/cuda:{cuda}-base-ubuntu24.04")


@pytest.mark.parametrize(
    ("type_name", "declared", "work", "found"),
    [
        ("g6.xlarge", SHARING, {"gpus": GpuShare(memory_mib=4096)}, ()),
        ("g6.xlarge", {"driver_branch": 580}, {"gpus": GpuShare(memory_mib=4096)}, ("GPU030",)),
        ("g6.xlarge", {"driver_branch": 550}, {}, ()),
        ("g6.xlarge", {"driver_branch": 550}, {"image": _container("13.0.1")}, ("GPU234",)),
        ("p6-b200.48xlarge", {}, {}, ("GPU004",)),
        ("p6-b200.48xlarge", {"driver_branch": 570}, {}, ("GPU004",)),
        ("p6-b200.48xlarge", {"driver_branch": 580}, {}, ()),
    ],
)
def test_what_is_declared_of_an_image_is_known_to_whoever_reads_the_template(
    site: Site, type_name: str, declared: dict[str, Any], work: dict[str, Any], found: tuple[str, ...]
) -> None:
    hosts = site.capacity(type_name, image=GpuMachineImage.custom(AMI_OF_NAME, **declared))
    task = GpuTaskDefinition(site.stack, "Task", capacity=[hosts])
    task.add_gpu_container("work", **{"image": _container("12.8.1"), **work})
    report = check_files([site.template()])
    assert report.fleet.remarks == ()
    assert [each.image for each in report.fleet.pools] == [hosts.pool.image]
    about_images = {"GPU004", "GPU030", "GPU117", "GPU234"}
    assert tuple(each.rule for each in report.findings if each.rule in about_images) == found
    assert "\nECS_ENABLE_GPU_SUPPORT=true\n" in user_data(site.launch_template())


def test_only_an_nvidia_image_of_ones_own_is_told_to_look_for_gpus(site: Site) -> None:
    site.capacity("g6.xlarge", name="Aws")
    site.capacity("g5g.xlarge", name="Rocket", image=GpuMachineImage.custom(AMI_OF_NAME, driver_branch=580, **ROCKET))
    site.capacity("m7i.large", name="Plain", image=GpuMachineImage.custom(AMI_OF_NAME, accelerator=None))
    for each in site.properties("AWS::EC2::LaunchTemplate"):
        assert "GPU_SUPPORT" not in user_data(each["LaunchTemplateData"])
    declared = [each.image for each in check_files([site.template()], rules=()).fleet.pools]
    assert [isinstance(each, HostImage) and each.is_own for each in declared] == [False, True, True]


def test_an_image_of_windows_is_refused(ground: Ground) -> None:
    windows = ec2.MachineImage.latest_windows(ec2.WindowsVersion.WINDOWS_SERVER_2022_ENGLISH_FULL_BASE)
    with pytest.raises(IncompatibleError, match="image: the image is of Windows"):
        ground.capacity("g6.xlarge", image=GpuMachineImage.custom(windows, driver_branch=580))
