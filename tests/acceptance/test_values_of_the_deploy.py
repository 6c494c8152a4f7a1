"""Values of Parameter Store and Secrets Manager are unknown wherever they stand, and bring no false error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # PyYAML has no types

from gpu_constructs.check.report import check_files
from gpu_constructs.facts import image
from gpu_constructs.rules import Severity
from tests.acceptance.stored_values import AMI, REF, STORED, WRITTEN, changed, errors, part

OF_SECRETS_MANAGER = "{{resolve:secretsmanager:mine:SecretString:key}}"
LOOKED_UP = "dummy-value-for-/my/text"


def joined(*pieces: Any) -> dict[str, Any]:
    return {"Fn::Join": ["", list(pieces)]}


# Two hosts of one GPU, a service on them, a batch environment and its job.
CLUSTER = """
Cluster: {Type: AWS::ECS::Cluster, Properties: {ClusterName: gpu}}
Template:
  Type: AWS::EC2::LaunchTemplate
  Properties:
    LaunchTemplateData:
      IamInstanceProfile: {Arn: "arn:aws:iam::123456789012:instance-profile/ecsInstanceRole"}
      ImageId: "{{resolve:ssm:%s}}"
      InstanceType: g6.xlarge
      UserData: {Fn::Base64: "#!/bin/bash\\necho ECS_CLUSTER=gpu >> /etc/ecs/ecs.config\\n"}
      NetworkInterfaces: [{DeviceIndex: 0, InterfaceType: interface, Groups: [sg-1]}]
      InstanceMarketOptions: {MarketType: spot}
      Placement: {Tenancy: default}
Group:
  Type: AWS::AutoScaling::AutoScalingGroup
  Properties:
    MinSize: "0"
    MaxSize: "2"
    VPCZoneIdentifier: [subnet-1]
    LaunchTemplate:
      LaunchTemplateId: {Ref: Template}
      Version: {Fn::GetAtt: [Template, LatestVersionNumber]}
Provider:
  Type: AWS::ECS::CapacityProvider
  Properties:
    Name: l4
    AutoScalingGroupProvider:
      AutoScalingGroupArn: {Ref: Group}
      ManagedScaling: {Status: ENABLED, TargetCapacity: 100}
      ManagedTerminationProtection: DISABLED
Association:
  Type: AWS::ECS::ClusterCapacityProviderAssociations
  Properties:
    Cluster: {Ref: Cluster}
    CapacityProviders: [{Ref: Provider}]
    DefaultCapacityProviderStrategy: []
Task:
  Type: AWS::ECS::TaskDefinition
  Properties:
    Family: work
    NetworkMode: awsvpc
    RequiresCompatibilities: [EC2]
    PlacementConstraints:
      - {Type: memberOf, Expression: "attribute:ecs.instance-type in [g6.xlarge]"}
    ContainerDefinitions:
      - Name: work
        Image: work
        Cpu: 1024
        Memory: 4096
        Environment: [{Name: MODE, Value: fast}]
        PortMappings: [{ContainerPort: 80}]
        ResourceRequirements: [{Type: GPU, Value: "1"}]
Service:
  Type: AWS::ECS::Service
  Properties:
    Cluster: {Ref: Cluster}
    TaskDefinition: {Ref: Task}
    DesiredCount: 1
    CapacityProviderStrategy: [{CapacityProvider: {Ref: Provider}, Weight: 1}]
    NetworkConfiguration: {AwsvpcConfiguration: {Subnets: [subnet-1]}}
    DeploymentConfiguration: {MinimumHealthyPercent: 0, MaximumPercent: 100}
Environment:
  Type: AWS::Batch::ComputeEnvironment
  Properties:
    Type: MANAGED
    ComputeResources:
      Type: EC2
      MaxvCpus: 16
      MinvCpus: 0
      InstanceTypes: [g6]
      AllocationStrategy: BEST_FIT_PROGRESSIVE
      Ec2Configuration: [{ImageType: ECS_AL2023_NVIDIA}]
      Subnets: [subnet-1]
      InstanceRole: hosts
Queue:
  Type: AWS::Batch::JobQueue
  Properties:
    Priority: 1
    ComputeEnvironmentOrder: [{Order: 1, ComputeEnvironment: {Ref: Environment}}]
Job:
  Type: AWS::Batch::JobDefinition
  Properties:
    Type: container
    ContainerProperties:
      Image: work
      ResourceRequirements:
        - {Type: VCPU, Value: "1"}
        - {Type: MEMORY, Value: "2048"}
        - {Type: GPU, Value: "1"}
"""


def cluster() -> dict[str, Any]:
    return {"Parameters": STORED, "Resources": yaml.safe_load(CLUSTER % AMI)}


DATA = "Resources.Template.Properties.LaunchTemplateData."
TASK = "Resources.Task.Properties."
CONTAINER = TASK + "ContainerDefinitions.0."
SERVICE = "Resources.Service.Properties."
PROVIDER = "Resources.Provider.Properties."
BATCH = "Resources.Environment.Properties.ComputeResources."
JOB = "Resources.Job.Properties.ContainerProperties."

POSITIONS: list[tuple[str, Any]] = [
    (DATA + "InstanceType", REF),
    (DATA + "InstanceType", WRITTEN),
    (DATA + "InstanceType", part("g6.${StoredText}")),
    (DATA + "InstanceType", joined(REF, ".xlarge")),
    (DATA + "InstanceType", "g6.{{resolve:ssm:/my/size}}"),
    (DATA + "InstanceType", LOOKED_UP),
    (DATA + "ImageId", {"Ref": "StoredAmi"}),
    (DATA + "ImageId", REF),
    (DATA + "ImageId", "{{resolve:ssm-secure:/my/text:3}}"),
    (DATA + "ImageId", part("{{resolve:ssm:/images/${AWS::Region}/gpu}}")),
    (DATA + "UserData", REF),
    (DATA + "UserData", {"Fn::Base64": part("#!/bin/bash\necho ECS_CLUSTER=${StoredText} >> /etc/ecs/ecs.config\n")}),
    (DATA + "UserData", {"Fn::Base64": f"#!/bin/bash\necho ECS_CLUSTER={WRITTEN} >> /etc/ecs/ecs.config\n"}),
    (
        DATA + "UserData",
        {"Fn::Base64": f"#cloud-config\nruncmd: ['echo ECS_CLUSTER={WRITTEN} >> /etc/ecs/ecs.config']"},
    ),
    (DATA + "NetworkInterfaces.0.InterfaceType", WRITTEN),
    (DATA + "NetworkInterfaces.0.DeviceIndex", WRITTEN),
    (DATA + "InstanceMarketOptions.MarketType", WRITTEN),
    (DATA + "Placement.Tenancy", REF),
    ("Resources.Group.Properties.MaxSize", WRITTEN),
    ("Resources.Group.Properties.MinSize", REF),
    ("Resources.Group.Properties.VPCZoneIdentifier", {"Ref": "StoredTexts"}),
    ("Resources.Group.Properties.LaunchTemplate.LaunchTemplateId", WRITTEN),
    ("Resources.Cluster.Properties.ClusterName", WRITTEN),
    (PROVIDER + "Name", REF),
    (PROVIDER + "Name", OF_SECRETS_MANAGER),
    (PROVIDER + "Name", part("aws ${StoredText}")),
    (PROVIDER + "AutoScalingGroupProvider.ManagedScaling.Status", WRITTEN),
    (PROVIDER + "AutoScalingGroupProvider.ManagedScaling.TargetCapacity", WRITTEN),
    (PROVIDER + "AutoScalingGroupProvider.ManagedTerminationProtection", REF),
    (PROVIDER + "AutoScalingGroupProvider.AutoScalingGroupArn", WRITTEN),
    ("Resources.Association.Properties.CapacityProviders", {"Ref": "StoredTexts"}),
    ("Resources.Association.Properties.Cluster", WRITTEN),
    (TASK + "Family", REF),
    (TASK + "Family", "a family of {{resolve:ssm:/my/text}}"),
    (TASK + "NetworkMode", WRITTEN),
    (TASK + "RequiresCompatibilities.0", REF),
    (TASK + "PlacementConstraints.0.Expression", WRITTEN),
    (TASK + "PlacementConstraints.0.Expression", part("attribute:ecs.instance-type == ${StoredText}")),
    (TASK + "PlacementConstraints.0.Type", WRITTEN),
    (CONTAINER + "Name", WRITTEN),
    (CONTAINER + "Cpu", WRITTEN),
    (CONTAINER + "Memory", REF),
    (CONTAINER + "Environment.0.Name", WRITTEN),
    (CONTAINER + "Environment.0.Value", OF_SECRETS_MANAGER),
    (CONTAINER + "PortMappings.0.ContainerPort", REF),
    (CONTAINER + "ResourceRequirements.0.Value", REF),
    (CONTAINER + "ResourceRequirements.0.Value", WRITTEN),
    (CONTAINER + "ResourceRequirements.0.Type", WRITTEN),
    (SERVICE + "Cluster", WRITTEN),
    (SERVICE + "DesiredCount", WRITTEN),
    (SERVICE + "CapacityProviderStrategy.0.CapacityProvider", REF),
    (SERVICE + "CapacityProviderStrategy.0.Weight", WRITTEN),
    (SERVICE + "DeploymentConfiguration.MaximumPercent", WRITTEN),
    (BATCH + "InstanceTypes", {"Ref": "StoredTexts"}),
    (BATCH + "InstanceTypes.0", WRITTEN),
    (BATCH + "Type", REF),
    (BATCH + "AllocationStrategy", WRITTEN),
    (BATCH + "MaxvCpus", WRITTEN),
    (BATCH + "Ec2Configuration.0.ImageType", WRITTEN),
    (BATCH + "Ec2Configuration.0.ImageIdOverride", {"Ref": "StoredAmi"}),
    (JOB + "ResourceRequirements.2.Value", REF),
    (JOB + "ResourceRequirements.2.Type", WRITTEN),
    (JOB + "ResourceRequirements.0.Value", WRITTEN),
]


def steps(path: str) -> tuple[str | int, ...]:
    return tuple(int(each) if each.isdecimal() else each for each in path.split("."))


def test_the_cluster_has_no_error() -> None:
    assert errors(cluster()) == set()


def test_a_value_of_the_deploy_brings_no_error() -> None:
    template = cluster()
    wrong = {
        f"{path}: {value}": found
        for path, value in POSITIONS
        if (found := errors(changed(template, steps(path), value)))
    }
    assert not wrong


ARM = image("al2023-arm64").ssm_parameter


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (DATA + "ImageId", f"{{{{resolve:ssm:{ARM}}}}}"),
        (DATA + "ImageId", part(f"{{{{resolve:ssm:{ARM}}}}}")),
        (DATA + "ImageId", {"Ref": "ArmAmi"}),
        (DATA + "ImageId", part("${ArmAmi}")),
        (BATCH + "ImageId", {"Ref": "ArmAmi"}),
        (BATCH + "Ec2Configuration.0.ImageIdOverride", f"{{{{resolve:ssm:{ARM}}}}}"),
    ],
    ids=str,
)
def test_where_an_image_is_wanted_its_parameter_is_judged(path: str, value: Any) -> None:
    template = changed(cluster(), ("Parameters", "ArmAmi"), {**STORED["StoredAmi"], "Default": ARM})
    assert errors(changed(template, steps(path), value)) == {"GPU052"}


@pytest.mark.parametrize(
    "condition",
    [
        {"Fn::Equals": [REF, "gpu"]},
        {"Fn::Equals": [WRITTEN, "gpu"]},
        {"Fn::Equals": [part("${StoredText}-x"), "gpu-x"]},
        {"Fn::Not": [{"Fn::Equals": [REF, "/my/text"]}]},
        {"Fn::And": [{"Fn::Equals": ["a", "a"]}, {"Fn::Equals": ["gpu", REF]}]},
        {"Fn::Or": [{"Fn::Equals": ["a", "b"]}, {"Fn::Equals": [OF_SECRETS_MANAGER, ""]}]},
        {"Fn::Equals": [LOOKED_UP, "gpu"]},
    ],
    ids=str,
)
def test_what_exists_under_an_undecided_condition_is_checked(condition: Any, tmp_path: Path) -> None:
    """As under a condition on a parameter without a default, which nobody can decide either."""
    asked = {"Fn::Equals": [{"Ref": "Asked"}, "gpu"]}

    def template(when: Any) -> dict[str, Any]:
        written: dict[str, Any] = changed(
            cluster(), ("Conditions",), {"When": when, "Otherwise": {"Fn::Not": [{"Condition": "When"}]}}
        )
        written["Parameters"] = {**STORED, "Asked": {"Type": "String"}}
        resources = written["Resources"]
        broken = changed(
            resources["Task"], steps("Properties.ContainerDefinitions.0.ResourceRequirements.0.Value"), "0"
        )
        resources |= {"Broken": {**broken, "Condition": "When"}, "Odd": {**broken, "Condition": "Otherwise"}}
        return written

    def found(when: Any) -> list[tuple[str, str, Severity]]:
        file = tmp_path / "template.json"
        file.write_text(json.dumps(template(when)))
        return [(each.rule, each.subject, each.severity) for each in check_files([file]).findings]

    told = found(condition)
    assert {("GPU020", "Broken", Severity.ERROR), ("GPU020", "Odd", Severity.ERROR)} <= set(told)
    assert told == found(asked)
