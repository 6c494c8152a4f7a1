"""Tasks go to hosts that have the Docker plugins of their volumes."""

from __future__ import annotations

import pytest

from gpu_constructs.checking.report import check_files
from tests.rules.changed import USER_DATA
from tools.rule_examples import example_of

_TASK = """  Task:
    Properties: {Volumes: [{Name: models, DockerVolumeConfiguration: {Driver: %s}}]}
"""
_REXRAY = _TASK % "rexray/ebs"
_TWO_POOLS = """  Service:
    Properties:
      CapacityProviderStrategy: [{CapacityProvider: !Ref Provider, Weight: 1}, {CapacityProvider: other, Weight: 1}]
"""
_DAEMON = """  Installs:
    Type: AWS::ECS::Service
    Properties: {Cluster: !Ref Cluster, TaskDefinition: installs, SchedulingStrategy: DAEMON}
"""


@pytest.mark.parametrize(
    ("part", "severities"),
    [
        (_REXRAY, ["error"]),
        (_TASK % "nfs", ["error"]),
        (_REXRAY + _TWO_POOLS, ["error"]),
        (_REXRAY + USER_DATA % "echo ECS_ENABLE_SPOT_INSTANCE_DRAINING=true >> /etc/ecs/ecs.config", ["error"]),
        (_REXRAY + "  Service: null\n", ["error"]),
        (_TASK % "local", []),
        (_TASK % "amazon-ecs-volume-plugin", []),
        (_TASK % "!Ref Driver", []),
        (_REXRAY + USER_DATA % "docker plugin install rexray/ebs --grant-all-permissions", []),
        (_REXRAY + USER_DATA % "yum install -y docker-volume-netshare", []),
        (_REXRAY + "  Template: {Properties: {LaunchTemplateData: {ImageId: ami-0123456789abcdef0}}}\n", []),
        (_REXRAY + "  Runs: {Type: AWS::SSM::Association, Properties: {Name: AWS-RunShellScript}}\n", []),
        (_REXRAY + _DAEMON, []),
    ],
)
def test_a_plugin_that_nothing_installs_is_named(part: str, severities: list[str]) -> None:
    text = example_of("GPU317").file(f"Parameters: {{Driver: {{Type: String}}}}\nResources:\n{part}")
    found = [each for each in check_files(["-"], stdin=text.encode()).findings if each.rule == "GPU317"]
    assert [str(each.severity) for each in found] == severities
