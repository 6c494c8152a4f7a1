"""File systems of EFS are mounted with settings that ECS takes together."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.checking.report import check_files
from gpu_constructs.fleet import UNKNOWN, EfsVolume, Fleet, Relations
from gpu_constructs.rules.tasks.volumes import declared, mountable, together
from tests.rules.given import a_pool, container, fleet_of, gpu, managed_pool, of_image, only, running_on, said, task_of

_POINT = EfsVolume(name="models", access_point="fsap-1", transit_encryption="ENABLED")


def _fleet(volume: EfsVolume) -> Fleet:
    return fleet_of(replace(task_of(container(gpu())), efs_volumes=(volume,)))


@pytest.mark.parametrize(
    ("volume", "property_name"),
    [
        (replace(_POINT, root_directory="/models"), "RootDirectory"),
        (replace(_POINT, transit_encryption=None), "TransitEncryption"),
        (replace(_POINT, access_point=UNKNOWN, transit_encryption="DISABLED"), "TransitEncryption"),
        (EfsVolume(name="models", iam="ENABLED"), "TransitEncryption"),
    ],
)
def test_settings_that_ecs_refuses_are_errors(volume: EfsVolume, property_name: str) -> None:
    (finding,) = said(together, _fleet(volume))
    assert finding.property_name == f"EFSVolumeConfiguration.{property_name}"


@pytest.mark.parametrize(
    "volume",
    [
        _POINT,
        replace(_POINT, root_directory="/"),
        replace(_POINT, root_directory=UNKNOWN, transit_encryption=UNKNOWN),
        EfsVolume(name="models", root_directory="/models"),
        EfsVolume(name="models", iam="DISABLED"),
        EfsVolume(name="models", iam=UNKNOWN),
    ],
)
def test_others_are_not(volume: EfsVolume) -> None:
    assert not said(together, _fleet(volume))


_BOTTLEROCKET = a_pool("g6.xlarge", image=of_image("bottlerocket-ecs-2-nvidia-x86_64", release="1.66.0"))
_TASK = replace(task_of(container(gpu())), efs_volumes=(_POINT,))


def test_bottlerocket_mounts_no_file_system_with_encryption() -> None:
    assert (
        "which Bottlerocket, the system of Hosts, does not mount"
        in only(mountable, running_on(_BOTTLEROCKET, task=_TASK)).message
    )


@pytest.mark.parametrize(
    "fleet",
    [
        running_on(a_pool("g6.xlarge"), task=_TASK),
        running_on(managed_pool("g6.xlarge"), task=_TASK),
        running_on(_BOTTLEROCKET, task=replace(_TASK, efs_volumes=(EfsVolume(name="models"),))),
    ],
    ids=["Amazon Linux", "Managed Instances", "without encryption"],
)
def test_other_hosts_and_other_volumes_are_mounted(fleet: Fleet) -> None:
    assert not said(mountable, fleet)


@pytest.mark.parametrize(
    ("volumes", "words"),
    [((), "mounts volume models, and the task has no volumes"), (("model",), "and the task has model")],
)
def test_a_volume_that_the_task_does_not_have_is_an_error(volumes: tuple[str, ...], words: str) -> None:
    mounting = replace(container(gpu()), relations=Relations(mounts=("models", "models")))
    (finding,) = said(declared, fleet_of(replace(task_of(mounting), volumes=volumes)))
    assert words in finding.message


@pytest.mark.parametrize("volumes", [("models", "other"), UNKNOWN])
def test_a_volume_that_may_be_there_is_none(volumes: Any) -> None:
    mounting = replace(container(gpu()), relations=Relations(mounts=("models",)))
    assert not said(declared, fleet_of(replace(task_of(mounting), volumes=volumes)))


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"volumes": [{"name": "a"}]}, {"GPU233"}),
        ({"volumes": [{"name": "models"}]}, set()),
        ({"volumes": [{"name": "${name}"}]}, set()),
        ({}, {"GPU233"}),
    ],
)
def test_the_volumes_of_a_file_are_read(properties: dict[str, Any], expected: set[str]) -> None:
    one = {"name": "a", "image": "x", "memory": 512, "mountPoints": [{"sourceVolume": "models", "containerPath": "/m"}]}
    for content in ({"family": "t", **properties, "containerDefinitions": [one]}, [one]):
        found = {each.rule for each in check_files(["-"], stdin=json.dumps(content).encode()).findings}
        assert found & {"GPU233"} == (expected if isinstance(content, dict) else set())
