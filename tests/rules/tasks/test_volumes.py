"""Volumes of a task: settings that ECS takes together, and hosts that can mount them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.fleet import EfsVolume, Fleet
from gpu_constructs.rules.tasks.platform import mountable
from tests.rules.given import a_pool, container, gpu, managed_pool, of_image, only, running_on, said, task_of
from tools.rule_examples import example_of

_POINT = EfsVolume(name="models", access_point="fsap-1", transit_encryption="ENABLED")


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


_PLUGIN = """  Task:
    Properties: {Volumes: [{Name: models, DockerVolumeConfiguration: {Driver: %s}}]}
"""
_REXRAY = _PLUGIN % "rexray/ebs"
_DAEMON = """  Installs:
    Type: AWS::ECS::Service
    Properties: {Cluster: !Ref Cluster, TaskDefinition: installs, SchedulingStrategy: DAEMON}
"""


@pytest.mark.parametrize(
    ("part", "severities"),
    [
        (_REXRAY, ["error"]),
        (_REXRAY + "  Service: null\n", ["error"]),
        (_REXRAY + "  Template: {Properties: {LaunchTemplateData: {ImageId: ami-0123456789abcdef0}}}\n", []),
        (_REXRAY + "  Runs: {Type: AWS::SSM::Association, Properties: {Name: AWS-RunShellScript}}\n", []),
        (_REXRAY + _DAEMON, []),
    ],
)
def test_a_plugin_that_nothing_installs_is_named(part: str, severities: list[str]) -> None:
    text = example_of("GPU317").file(f"Parameters: {{Driver: {{Type: String}}}}\nResources:\n{part}")
    found = [each for each in check_files(["-"], stdin=text.encode()).findings if each.rule == "GPU317"]
    assert [str(each.severity) for each in found] == severities
