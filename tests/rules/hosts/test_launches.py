"""What a group of hosts has to say before any of them starts, and the volumes that EBS makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import Origin
from gpu_constructs.rules.hosts.launches import launch_template
from tests.rules.changed import changed, severities
from tests.rules.given import a_pool, only


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


def _with_volume(image: str | None = None, **volume: Any) -> dict[str, Any]:
    """The launch template of an example with another image, and with a volume of these settings."""
    mapped = {
        "DeviceName": volume.pop("device", "/dev/xvda"),
        "Ebs": {"VolumeSize": 200, "VolumeType": "gp3", **volume},
    }
    data = {"BlockDeviceMappings": [mapped], **({} if image is None else {"ImageId": f"resolve:ssm:{image}"})}
    return {"Template": {"LaunchTemplateData": data}}


def _with_line(line: str) -> dict[str, Any]:
    volume = _with_volume(VolumeSize=30)
    volume["Template"]["LaunchTemplateData"]["UserData"] = {"Fn::Base64": f"#!/bin/bash\n{line}\n"}
    return volume


_BOTTLEROCKET = "/aws/service/bottlerocket/aws-ecs-2-nvidia/x86_64/latest/image_id"
_OLDER = "resolve:ssm:/aws/service/bottlerocket/aws-ecs-1-nvidia/x86_64/1.0/image_id"
_OF_DEPLOY = {"Ref": "AWS::StackName"}


@pytest.mark.parametrize(
    ("volume", "wrong"),
    [
        ({"VolumeSize": 65537}, ["VolumeSize"]),
        ({"Iops": 2999}, ["Iops"]),
        ({"Throughput": 124}, ["Throughput"]),
        ({"Throughput": 2001}, ["Throughput"]),
        ({"VolumeType": "io2", "Iops": 100}, []),
        ({"VolumeType": "io2"}, ["Iops"]),
    ],
)
def test_a_volume_has_the_size_and_speed_of_its_type(volume: dict[str, Any], wrong: list[str]) -> None:
    found = changed("GPU267", _with_volume(**volume))
    assert [each.property_name for each in found] == [f"BlockDeviceMappings.Ebs.{each}" for each in wrong]


@pytest.mark.parametrize(
    ("properties", "values"),
    [
        (_with_volume(VolumeSize=30), [30]),
        (_with_volume(VolumeSize=_OF_DEPLOY), []),
        (_with_volume(VolumeSize=30, device=_OF_DEPLOY), []),
        ({"Template": {"LaunchTemplateData": {"ImageId": _OLDER}}}, [20]),
        (_with_volume(_BOTTLEROCKET, VolumeSize=4), ["/dev/xvda"]),
        (_with_volume(device="/dev/sda1"), ["/dev/sda1"]),
        (_with_line("""echo '{"data-root": "/data"}' > /etc/docker/daemon.json"""), []),
        (_with_line("echo /dev/sdb /var/lib/docker/ xfs defaults 0 0 >> /etc/fstab"), []),
        (_with_line("mount /dev/sdb /var/lib/docker/volumes\ndu -s /var/lib/docker > /dev/null"), [30]),
        (_with_line("# mount /dev/sdb /var/lib/docker"), [30]),
    ],
)
def test_the_volume_that_images_are_on_has_room(properties: dict[str, Any], values: list[Any]) -> None:
    assert [each.value for each in changed("GPU268", properties)] == values


def test_batch_takes_the_volumes_of_its_launch_template() -> None:
    assert severities("GPU267", _with_volume(Throughput=100), of="GPU107") == ["error"]
    assert severities("GPU268", _with_volume(VolumeSize=40), of="GPU107") == ["warning"]
    assert severities("GPU268", _with_volume(), of="GPU107") == []
