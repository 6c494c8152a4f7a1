"""What a group of hosts has to say before any of them starts, and the volumes that EBS makes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, LaunchDetails, Origin, Volume
from gpu_constructs.rules.hosts.launches import launch_template, room_for_images, volumes_exist
from tests.rules.changed import severities
from tests.rules.given import GPU_TASK, a_pool, of_image, only, running_on, said


@pytest.mark.parametrize(
    ("properties", "expected"),
    [({}, ["warning"]), ({"Hosts": {"MaxSize": 1}}, [])],
)
def test_a_cluster_placement_group_is_in_one_zone(properties: dict[str, Any], expected: list[str]) -> None:
    near = {"VPCZoneIdentifier": ["subnet-0a1", "subnet-0b2"], "PlacementGroup": {"Ref": "Near"}}
    without_efa = {"Template": {"LaunchTemplateData": {"NetworkInterfaces": None}}}
    changed = {**without_efa, **properties, "Hosts": {**near, **properties.get("Hosts", {})}}
    assert severities("GPU095", changed) == expected


@pytest.mark.parametrize(("path", "names_flag"), [("App/Stack/Asg", True), (None, False)])
def test_the_flag_of_cdk_is_for_templates_of_cdk(path: str | None, names_flag: bool) -> None:
    origin = Origin(resource="Asg", construct_path=path)
    fix = only(launch_template, a_pool("g6.xlarge", launch_configuration=True, origin=origin)).fix
    assert fix.startswith("a launch template")
    assert ("generateLaunchTemplateInsteadOfLaunchConfig" in fix) is names_flag


_VOLUME = Volume(device="/dev/xvda", size_gib=200, type="gp3")
_BOTTLEROCKET = "bottlerocket-ecs-2-nvidia-x86_64"
_VLLM = "vllm/vllm-openai:v0.11.0"


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"size_gib": 65537}, ["VolumeSize"]),
        ({"iops": 2999}, ["Iops"]),
        ({"throughput_mib_per_second": 124}, ["Throughput"]),
        ({"throughput_mib_per_second": 2001}, ["Throughput"]),
        ({"type": "io2", "iops": 100}, []),
    ],
)
def test_a_volume_has_the_size_and_speed_of_its_type(changes: dict[str, Any], names: list[str]) -> None:
    pool = a_pool(details=LaunchDetails(volumes=(replace(_VOLUME, **changes),)))
    assert [each.property_name for each in said(volumes_exist, pool)] == [f"BlockDeviceMappings.Ebs.{n}" for n in names]


def _fleet(*volumes: Volume, container_image: str = "example.com/own:1", image: str = "al2023-gpu") -> Fleet:
    is_unknown = image.startswith("/")
    pool = a_pool(
        "g6.xlarge",
        details=LaunchDetails(names_image=True, volumes=volumes),
        image=UNKNOWN if is_unknown else of_image(image),
        image_written=image if is_unknown else None,
    )
    containers = (replace(GPU_TASK.containers[0], image=container_image),)
    return running_on(pool, task=replace(GPU_TASK, containers=containers))


@pytest.mark.parametrize(
    ("fleet", "sizes"),
    [
        (_fleet(replace(_VOLUME, size_gib=30)), [30]),
        (_fleet(replace(_VOLUME, size_gib=UNKNOWN)), []),
        (_fleet(replace(_VOLUME, size_gib=30, device=UNKNOWN)), []),
        (_fleet(container_image=_VLLM, image="/aws/service/bottlerocket/aws-ecs-1-nvidia/x86_64/1.0/image_id"), [20]),
        (_fleet(replace(_VOLUME, size_gib=4), image=_BOTTLEROCKET), ["/dev/xvda"]),
    ],
)
def test_the_volume_that_images_are_on_has_room(fleet: Fleet, sizes: list[Any]) -> None:
    assert [each.value for each in said(room_for_images, fleet)] == sizes


@pytest.mark.parametrize(
    ("image", "devices", "names"),
    [
        ("al2023-gpu", ["/dev/sda1"], "/dev/xvda, which keeps 30 GiB"),
        ("al2023-gpu", ["/dev/sda1", UNKNOWN], ""),
        (_BOTTLEROCKET, ["/dev/xvda"], "/dev/xvdb, which keeps 20 GiB"),
    ],
)
def test_the_volume_with_a_size_is_that_of_the_images(image: str, devices: list[Any], names: str) -> None:
    volumes = tuple(replace(_VOLUME, device=each) for each in devices)
    found = said(room_for_images, a_pool(image=of_image(image), details=LaunchDetails(volumes=volumes)))
    assert [names in each.message for each in found] == ([True] if names else [])
