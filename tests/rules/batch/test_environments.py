"""Compute environments and queues of AWS Batch: whether they can run GPU jobs at all, and whether Batch takes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import (
    UNKNOWN,
    ComputeEnvironment,
    Fleet,
    Pool,
    PoolKind,
    PurchaseOption,
    Task,
    Unknown,
    UserData,
    UserDataFormat,
)
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.batch import environments
from gpu_constructs.rules.batch.environments import has_accelerators, has_room
from gpu_constructs.rules.batch.jobs import nodes_stay
from gpu_constructs.rules.fit.unchecked import UNCHECKED
from gpu_constructs.rules.hosts import images, user_data
from tests.reports import about_batch, all_of_part, of_part
from tests.rules.changed import ON_CPU
from tests.rules.given import GPU_JOB, a_pool, asked, gpu, job, of_image, only, said
from tools.rule_examples import example_of

OF_BATCH = (
    *rules_of(environments),
    *(each for each in (*rules_of(images), *rules_of(user_data)) if each.id in {"GPU003", "GPU107"}),
)

NODES = replace(GPU_JOB, nodes=2)
ON_FARGATE = ComputeEnvironment(name="jobs", lacks_accelerators="is on Fargate, which has none")


def _hosts(vcpus: int | Unknown | None = 64, purchase: PurchaseOption = PurchaseOption.ON_DEMAND) -> Pool:
    return a_pool("g6.xlarge", purchase=purchase, kind=PoolKind.BATCH, max_vcpus=vcpus)


def _fleet(task: Task, *pools: Pool) -> Fleet:
    return Fleet(pools=pools, tasks=(task,), is_whole=True)


SPOT = _hosts(purchase=PurchaseOption.SPOT)


@pytest.mark.parametrize(
    "fleet",
    [_fleet(GPU_JOB, SPOT), _fleet(NODES, SPOT, replace(_hosts(), name="more"))],
)
def test_other_jobs_and_other_hosts_are_silent(fleet: Fleet) -> None:
    assert said(nodes_stay, fleet) == []


def test_a_gpu_job_needs_a_compute_environment_with_gpus() -> None:
    fleet = replace(_fleet(GPU_JOB), environments=(ON_FARGATE,))
    assert "jobs is on Fargate" in only(has_accelerators, fleet).message
    assert said(has_accelerators, replace(fleet, environments=(ON_FARGATE, ComputeEnvironment(name="other")))) == []
    assert said(has_accelerators, replace(fleet, pools=(_hosts(),))) == []
    assert said(has_accelerators, replace(fleet, tasks=(job(gpu("0"), cpu=4096),))) == []
    assert said(has_accelerators, replace(fleet, is_whole=False)) == []


def test_one_job_may_not_ask_for_more_than_the_maximum() -> None:
    finding = only(has_room, _fleet(GPU_JOB, _hosts(3)))
    assert (finding.value, finding.fix) == (3, "a MaxvCpus of 4")
    for enough in (4, UNKNOWN, None):
        assert said(has_room, _fleet(GPU_JOB, _hosts(enough))) == []
    assert said(has_room, replace(_fleet(GPU_JOB, _hosts(3)), is_whole=False)) == []


_RESERVED = (
    example_of("GPU310").wrong.replace("Template:", "Template:\n    Type: AWS::EC2::LaunchTemplate", 1)
    + """
  Environment:
    Properties:
      ComputeResources:
        LaunchTemplate: {LaunchTemplateId: !Ref Template}
"""
)
_ISOLATED = """
Resources:
  Vpc: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}
  Subnet: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Vpc, CidrBlock: 10.0.0.0/24}}
  Routes: {Type: AWS::EC2::RouteTable, Properties: {VpcId: !Ref Vpc}}
  Joined:
    Type: AWS::EC2::SubnetRouteTableAssociation
    Properties: {SubnetId: !Ref Subnet, RouteTableId: !Ref Routes}
  Environment:
    Properties:
      ComputeResources:
        Subnets: [!Ref Subnet]
"""


@pytest.mark.parametrize(
    ("part", "rule", "property_name"),
    [
        (_RESERVED, "GPU310", "ComputeResources.InstanceTypes"),
        (_ISOLATED, "GPU228", "ComputeResources.Subnets"),
    ],
)
def test_hosts_that_never_start_or_register_are_an_error(part: str, rule: str, property_name: str) -> None:
    (finding,) = of_part(rule, part, of="GPU296")
    assert (finding.severity, finding.subject) == (Severity.ERROR, "Environment")
    assert finding.property_name == property_name
    assert finding.origin is not None
    assert property_name.split(".")[1] in finding.origin.path


_BLOCK = """
Resources:
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        InstanceMarketOptions: {MarketType: capacity-block}
        CapacityReservationSpecification: {CapacityReservationTarget: {CapacityReservationId: ''}}
  Environment:
    Properties:
      ComputeResources:
        InstanceTypes: [p5.48xlarge]
        MaxvCpus: 192
        LaunchTemplate: {LaunchTemplateId: !Ref Template}
"""


def test_a_compute_environment_in_a_capacity_block_names_the_block() -> None:
    for named, severities in {"''": ["warning"], "cr-1": [], "null": ["error"]}.items():
        found = all_of_part("GPU296", _BLOCK.replace("''", named))
        assert [each.severity.value for each in found if each.rule == "GPU163"] == severities


@pytest.mark.parametrize(
    ("environment", "of_gpu_job"),
    [
        ("ComputeResources: {InstanceTypes: [optimal]}", ["GPU295"]),
        ("{Type: UNMANAGED, ComputeResources: null}", [UNCHECKED]),
    ],
)
def test_a_job_without_gpus_is_checked_where_its_environment_is_in_the_file(
    environment: str, of_gpu_job: list[str]
) -> None:
    part = f"Resources:\n  Environment:\n    Properties:\n      {environment}\n"
    assert about_batch(part) == of_gpu_job
    assert about_batch(part + ON_CPU) == []


def _environment(*types: str, image: str = "al2023-gpu", release: str | None = None, form: object = None) -> Pool:
    data = UserData(format=form or UserDataFormat.NONE)  # type: ignore[arg-type]
    return a_pool(*types, kind=PoolKind.BATCH, image=of_image(image, release=release), user_data=data)


@pytest.mark.parametrize(("image", "fix"), [("al2-gpu", "ECS_AL2023_NVIDIA"), ("al2", "ECS_AL2023")])
def test_a_new_environment_on_amazon_linux_2_is_refused(image: str, fix: str) -> None:
    found = asked(OF_BATCH, _environment("g5.xlarge", image=image))
    assert list(found) == ["GPU003"]
    assert f"refuses new compute environments on {image} since 2026-06-30" in found["GPU003"].message
    assert found["GPU003"].fix == f"ImageType {fix}"
    assert found["GPU003"].severity is Severity.ERROR


def test_an_image_of_ones_own_is_old_and_not_refused() -> None:
    old = _environment("g5.xlarge", image="al2-gpu")
    for each in (
        _environment("g5.xlarge", image="al2-gpu", release="custom"),
        replace(old, names_image=True),
    ):
        finding = asked(OF_BATCH, each)["GPU003"]
        assert "is past its end of life" in finding.message
        assert finding.severity is Severity.WARNING
    assert finding.fix.startswith("image al2023-gpu")
    assert asked(OF_BATCH, a_pool("g5.xlarge", kind=PoolKind.BATCH, image=UNKNOWN)) == {}


@pytest.mark.parametrize(
    ("types", "changes", "severity"),
    [
        (("p3.2xlarge", "p3.8xlarge"), {}, Severity.ERROR),
        (("p3.2xlarge", "g5.xlarge"), {}, Severity.WARNING),
        (("p3.2xlarge",), {"has_unknown_types": True}, Severity.WARNING),
        (("p3.2xlarge",), {"names_image": True}, Severity.WARNING),
    ],
)
def test_an_environment_whose_image_supports_none_of_its_types_cannot_work(
    types: tuple[str, ...], changes: dict[str, Any], severity: Severity
) -> None:
    assert asked(OF_BATCH, replace(_environment(*types), **changes))["GPU106"].severity is severity


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{Fn::Base64: "#cloud-config"}', ["GPU107"]),
        ("{Fn::Base64: echo hello}", ["GPU107"]),  # neither a script nor an archive
        ("H4sIAAAAAAAAA8svyk0sAgBn9ZF9BQAAAA==", []),  # what is packed may be one
        ("!Sub '${Script}'\nParameters: {Script: {Type: String}}", []),
    ],
)
def test_user_data_that_is_no_archive_is_refused_where_it_is_known(text: str, found: list[str]) -> None:
    value, _, parameters = text.partition("\n")
    part = _BLOCK.replace("InstanceMarketOptions: {MarketType: capacity-block}", f"UserData: {value}")
    assert about_batch(f"{part}{parameters}\n") == found


_HOSTS = """
Resources:
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Statement: [{Effect: Allow, Action: "sts:AssumeRole", Principal: {Service: ec2.amazonaws.com}}]
      ManagedPolicyArns: ["arn:aws:iam::aws:policy/service-role/AmazonEC2ContainerServiceforEC2Role"]
  Profile: {Type: AWS::IAM::InstanceProfile, Properties: {Roles: [!Ref Role]}}
  OfBatch:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Statement: [{Effect: Allow, Action: "sts:AssumeRole", Principal: {Service: batch.amazonaws.com}}]
      ManagedPolicyArns: ["arn:aws:iam::aws:policy/service-role/AWSBatchServiceRole"]
  Closed:
    Type: AWS::EC2::SecurityGroup
    Properties:
      GroupDescription: hosts
      VpcId: vpc-1
      SecurityGroupEgress: [{IpProtocol: icmp, FromPort: 252, ToPort: 86, CidrIp: 255.255.255.255/32}]
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData: {IamInstanceProfile: {Arn: !GetAtt Role.Arn}, MetadataOptions: {HttpTokens: required}}
  Environment:
    Properties:
      ServiceRole: !GetAtt OfBatch.Arn
      ComputeResources:
        InstanceRole: !GetAtt Profile.Arn
        SecurityGroupIds: [sg-1]
        LaunchTemplate: {LaunchTemplateId: !Ref Template}
Parameters: {Profile: null}
"""


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", []),  # Batch ignores the profile of a launch template
        ("InstanceRole: !GetAtt Profile.Arn", "InstanceRole: !GetAtt Role.Arn", [("GPU264", "InstanceRole")]),
        ("InstanceRole: !GetAtt Profile.Arn", "InstanceRole: null", []),  # which the API says
        ("Service: ec2.amazonaws.com", "Service: ecs-tasks.amazonaws.com", [("GPU264", "InstanceRole")]),
        ("service-role/AmazonEC2ContainerServiceforEC2Role", "AmazonS3ReadOnlyAccess", [("GPU264", "InstanceRole")]),
        ("[sg-1]", "[!Ref Closed]", [("GPU277", "SecurityGroupIds")]),
        ("HttpTokens: required", "HttpEndpoint: disabled", [("GPU264", "HttpEndpoint")]),
        ("Service: batch.amazonaws.com", "Service: ec2.amazonaws.com", [("GPU190", "ServiceRole")]),
        ("service-role/AWSBatchServiceRole", "AmazonS3ReadOnlyAccess", [("GPU190", "ServiceRole")]),
        ("service-role/AWSBatchServiceRole", "AmazonECS_FullAccess", []),
        ('/AWSBatchServiceRole"]', '/Own"]', []),  # what it allows is not known
    ],
)
def test_hosts_of_batch_register_as_others_do(old: str, new: str, found: list[tuple[str, str]]) -> None:
    assert old in _HOSTS
    part = _HOSTS.replace(old, new) if old else _HOSTS
    errors = [each for each in all_of_part("GPU296", part) if each.severity is Severity.ERROR]
    assert [(each.rule, each.property_name.rpartition(".")[2]) for each in errors] == found
    assert all(each.origin is not None and each.origin.line for each in errors)


@pytest.mark.parametrize("name", ["RoleName: hosts", "RoleName: null", "InstanceProfileName: !Ref Role"])
def test_an_instance_profile_may_have_the_name_of_its_role(name: str) -> None:
    where = "{Roles: [!Ref Role]" if "Profile" in name else "Role:\n    Type: AWS::IAM::Role\n    Properties:"
    put = f"{where}, {name}" if "Profile" in name else f"{where}\n      {name}"
    assert where in _HOSTS
    part = _HOSTS.replace("InstanceRole: !GetAtt Profile.Arn", "InstanceRole: !Ref Role").replace(where, put, 1)
    found = [each.rule for each in all_of_part("GPU296", part) if each.severity is Severity.ERROR]
    assert found == ["GPU264"] * (name == "RoleName: null")


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("systemctl restart ecs", [("GPU273", "error")]),
        ("amazon-linux-extras install -y lustre", [("GPU273", "warning")]),  # Batch names the cluster in its own part
        ("echo ECS_ENABLE_GPU_SUPPORT=false >> /etc/ecs/ecs.config", [("GPU058", "error")]),
        ("echo ECS_RESERVED_MEMORY=8000 >> /etc/ecs/ecs.config", [("GPU061", "error")]),
        # which Batch writes itself as well: https://github.com/aws/aws-cdk/issues/9900
        ("echo ECS_CLUSTER=mine >> /etc/ecs/ecs.config", []),
        ("echo HTTP_PROXY=10.0.0.1:3128 >> /etc/ecs/ecs.config", []),
    ],
)
def test_scripts_in_an_archive_are_judged(command: str, found: list[tuple[str, str]]) -> None:
    example = example_of("GPU107")
    assert "echo ECS_LOGLEVEL=warn >> /etc/ecs/ecs.config" in example.right
    part = example.right.replace("echo ECS_LOGLEVEL=warn >> /etc/ecs/ecs.config", command)
    findings = all_of_part("GPU107", part)
    assert [(each.rule, each.severity.value) for each in findings if each.severity is not Severity.INFO] == found
