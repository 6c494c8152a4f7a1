"""Multi-node jobs: those that cannot start, and those that may never end."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.rules import Severity
from gpu_constructs.rules.batch.jobs import has_one_type
from tests.reports import all_of_part, of_part
from tests.rules.given import GPU_JOB, fleet_of, only, said
from tests.template.resources.declared import fleet
from tools.rule_examples import example_of

_DEFAULT = "!GetAtt Vpc.DefaultSecurityGroup"
_OPEN = f'{{Type: "AWS::EC2::SecurityGroupIngress", Properties: {{GroupId: {_DEFAULT}, IpProtocol: "-1"}}}}'
_NEAR = """
  SubnetA: {Type: AWS::EC2::Subnet, Properties: {VpcId: vpc-1, AvailabilityZone: us-east-1a, CidrBlock: 10.0.0.0/24}}
  SubnetB: {Type: AWS::EC2::Subnet, Properties: {VpcId: vpc-1, AvailabilityZone: us-east-1b, CidrBlock: 10.0.1.0/24}}
"""
GANG = replace(GPU_JOB, nodes=4)
_SUBMIT = {"JobName": "x", "JobQueue": "${Queue}", "JobDefinition": "${Job}"}


def found(rule: str, part: str) -> list[str]:
    """What a rule says of a part of the template that all examples of gangs start from."""
    return [each.message for each in of_part(rule, part, of="GPU294")]


def errors_in(part: str) -> list[str]:
    """Ids of the errors in the same."""
    return [each.rule for each in all_of_part("GPU294", part) if each.severity is Severity.ERROR]


@pytest.mark.parametrize(
    ("vcpus", "nodes", "is_found"),
    [(12, 4, True), (12, 3, False), ("!Ref Most", 4, False), (12, "!Ref Most", False)],
)
def test_a_gang_is_held_against_the_hosts_that_maxvcpus_come_to(vcpus: object, nodes: object, is_found: bool) -> None:
    resources = f"ComputeResources: {{InstanceTypes: [g6.xlarge], MaxvCpus: {vcpus}}}"
    part = example_of("GPU294").right.replace("ComputeResources: {Type: EC2}", resources).replace("0:1", "0:")
    part = part.replace("NumNodes: 2", f"NumNodes: {nodes}") + "Parameters: {Most: {Type: Number}}\n"
    said = found("GPU296", part)
    assert [f"{nodes} hosts at once, and Environment has {int(str(vcpus)) // 4} at most" in each for each in said] == (
        [True] * is_found
    )


def test_what_is_not_known_is_not_called_a_missing_limit() -> None:
    part = example_of("GPU342").right
    assert "86400" in part
    assert found("GPU342", part.replace("86400", "!Ref Limit")) == []


@pytest.mark.parametrize(
    ("subnets", "is_found"),
    [
        ("[!Ref SubnetA, !Ref SubnetB]", True),
        ("[!Ref SubnetA, subnet-12345678]", False),
        ("[!Ref SubnetA]", False),
    ],
)
def test_the_nodes_of_a_gang_are_near_each_other(subnets: str, is_found: bool) -> None:
    part = example_of("GPU294").right.replace("{Type: EC2}", f"{{Subnets: {subnets}}}") + _NEAR
    words = "Job runs on 2 hosts at once, and those of Environment may be in 2 Availability Zones"
    assert found("GPU095", part) == [words] * is_found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Custom::VpcRestrictDefaultSG", "Custom::Other"),
        ("NumNodes: 2", "NumNodes: 1"),
        ("  Restricted:", f"  Open: {_OPEN}\n  Restricted:"),
    ],
)
def test_a_default_group_that_may_let_nodes_in_is_fine(old: str, new: str) -> None:
    example = example_of("GPU347")
    assert old in example.wrong
    assert found("GPU347", example.wrong.replace(old, new)) == []


@pytest.mark.parametrize(
    ("groups", "rule", "is_found"),
    [
        ("!Ref Own", "GroupId: !Ref Own, SourceSecurityGroupId: !Ref Other", True),
        ("!Ref Own", "GroupId: !Ref Own, SourceSecurityGroupId: !Ref Own", False),
        ("!Ref Own", "GroupId: !Ref Own, CidrIp: 10.0.0.0/16", False),
        ("!Ref Own", "GroupId: sg-12345678, SourceSecurityGroupId: !Ref Own", False),
        ("!Ref Own, !Ref Other", "GroupId: !Ref Own, SourceSecurityGroupId: !Ref Other", False),
        ("!Ref Own, sg-12345678", "", False),
        ("!Ref Closed", "GroupId: !Ref Closed, SourceSecurityGroupId: !Ref Closed", True),
        ("!Ref Open", "GroupId: !Ref Open, SourceSecurityGroupId: !Ref Open", False),
    ],
)
def test_groups_of_the_environment_let_nodes_in_and_out(groups: str, rule: str, is_found: bool) -> None:
    part = example_of("GPU294").right.replace("{Type: EC2}", f"{{SecurityGroupIds: [{groups}]}}")
    for name, last in (("Own", 0), ("Other", 0), ("Closed", 443), ("Open", 65535)):
        out = f", SecurityGroupEgress: [{{IpProtocol: tcp, FromPort: 443, ToPort: {last}, CidrIp: 0.0.0.0/0}}]"
        given = f"GroupDescription: x, VpcId: vpc-1{out if last else ''}"
        part += f"\n  {name}: {{Type: AWS::EC2::SecurityGroup, Properties: {{{given}}}}}"
    if rule:
        part += f'\n  In: {{Type: "AWS::EC2::SecurityGroupIngress", Properties: {{IpProtocol: "-1", {rule}}}}}'
    assert len(found("GPU347", part)) == is_found


def test_managed_instances_run_no_gang() -> None:
    part = example_of("GPU294").right.replace(
        "ComputeResources: {Type: EC2}",
        "ComputeResources: {Type: ECS_MANAGED_INSTANCES, ManagedInstancesProvider: {InstanceLaunchTemplate: "
        "{InstanceRequirements: {AllowedInstanceTypes: [g6.xlarge]}}}}",
    )
    assert any("of ECS Managed Instances, where AWS Batch does not run" in each for each in found("GPU294", part))


@pytest.mark.parametrize(
    ("other", "is_found"),
    [("InstanceType: g6.2xlarge", True), ("InstanceType: g6.xlarge", False)],
)
def test_all_ranges_of_nodes_have_one_type(other: str, is_found: bool) -> None:
    whole = '- TargetNodes: "0:"'
    part = example_of("GPU362").right
    assert whole in part
    both = f'- {{TargetNodes: "1:", Container: {{Image: x, {other}}}}}\n          - TargetNodes: "0:0"'
    messages = found("GPU362", part.replace(whole, both) + "Parameters: {Type: {Type: String}}\n")
    assert ["the nodes of Job[0:0] name g6.2xlarge and g6.xlarge" in each for each in messages] == [True] * is_found


def test_the_fix_is_one_type_for_all_ranges() -> None:
    finding = only(has_one_type, fleet_of(replace(GANG, node_types=("g6.xlarge", "g6.2xlarge"))))
    assert "g6.xlarge in all ranges" in finding.fix
    assert said(has_one_type, fleet_of(replace(GANG, node_types=("g6.xlarge", UNKNOWN)))) == []


@pytest.mark.parametrize(
    ("types", "named", "is_found"),
    [
        ("[g6.xlarge]", "g5.xlarge", True),
        ("[g4dn]", "g4dn.metal", False),  # a family may have its bare metal type
        ("[!Ref Type, g6.xlarge]", "g5.xlarge", False),
    ],
)
def test_the_type_that_nodes_name_is_one_of_a_compute_environment(types: str, named: str, is_found: bool) -> None:
    right = example_of("GPU362").right.removeprefix("Resources:\n")
    part = right.replace("InstanceType: g6.xlarge", f"InstanceType: {named}")
    there = f"Resources:\n  Environment: {{Properties: {{ComputeResources: {{InstanceTypes: {types}}}}}}}\n{part}"
    part = f"{there}Parameters: {{Type: {{Type: String}}}}\n"
    messages = found("GPU362", part)
    assert ["nodes of Job are to be g5.xlarge, and Environment has" in each for each in messages] == [True] * is_found
    assert errors_in(part) == ["GPU362"] * is_found


_P4D = (("Environment", "[p4d.24xlarge]", 192), ("Blackwell", "[p6-b200.48xlarge]", 1920))


def _gang(nodes: int, memory: int, *environments: tuple[str, str, int]) -> str:
    part = example_of("GPU362").right.replace("g6.xlarge", "p4d.24xlarge").replace("14000", str(memory))
    assert "NumNodes: 2" in part
    return part.replace("NumNodes: 2", f"NumNodes: {nodes}") + "".join(
        f"\n  {name}: {{Type: 'AWS::Batch::ComputeEnvironment', Properties: {{Type: MANAGED, ComputeResources: "
        f"{{Type: EC2, InstanceTypes: {types}, MaxvCpus: {vcpus}}}}}}}"
        for name, types, vcpus in environments
    )


@pytest.mark.parametrize(
    ("part", "errors"),
    [
        (_gang(2, 14000, *_P4D), []),
        (_gang(3, 14000, *_P4D), ["GPU296"]),  # ten of the other type do not help
        (_gang(2, 1_500_000, *_P4D), ["GPU061"]),  # nor does their memory
        (_gang(2, 14000, ("Environment", "[p4d.24xlarge, p6-b200.48xlarge]", 192)), []),
        (_gang(2, 14000, _P4D[1]), ["GPU362"]),
    ],
)
def test_a_gang_goes_where_its_type_is(part: str, errors: list[str]) -> None:
    assert errors_in(part) == errors


def test_devices_of_a_gang_are_those_of_its_type() -> None:
    both = _gang(2, 14000, ("Environment", "[p4d.24xlarge, p6-b200.48xlarge]", 192)).replace(
        "Image: nvidia",
        "LinuxParameters: {Devices: [{HostPath: /dev/infiniband/uverbs0}]}\n              Image: nvidia",
    )
    assert found("GPU132", both) == []
    assert any("NVLink" in each for each in found("GPU132", both.replace("InstanceType: p4d.24xlarge", "User: root")))


def errors_of(**overrides: Any) -> list[tuple[str, str]]:
    """Errors about a gang of four nodes of one GPU each that a state submits."""
    parameters = {**_SUBMIT, "NodeOverrides": overrides}
    state = {"Type": "Task", "Resource": "arn:aws:states:::batch:submitJob", "Parameters": parameters, "End": True}
    definition = {"Fn::Sub": json.dumps({"States": {"Train": state}})}
    example = example_of("GPU342")
    template = json.loads(example.file(example.right.replace("NumNodes: 2", "NumNodes: 4")))
    properties = {"RoleArn": "x", "DefinitionString": definition}
    template["Resources"]["Machine"] = {"Type": "AWS::StepFunctions::StateMachine", "Properties": properties}
    findings = check_files(["-"], stdin=json.dumps(template).encode()).findings
    return [(each.rule, each.subject) for each in findings if each.severity.value == "error"]


def test_a_gang_is_judged_as_it_is_submitted() -> None:
    assert errors_of(NumNodes=100) == [("GPU296", "Machine[Train]")]
    asked = {"ResourceRequirements": [{"Type": "GPU", "Value": "4"}]}
    # What a part of the nodes asks for is not judged.
    assert errors_of(NodePropertyOverrides=[{"TargetNodes": "1:", "ContainerOverrides": asked}]) == []


def test_types_that_a_submission_changes_are_not_judged() -> None:
    overrides = {"NodePropertyOverrides": [{"TargetNodes": "0:", "InstanceTypes": ["g6.xlarge"]}]}
    parameters = {"JobName": "x", "JobQueue": "queue", "JobDefinition": "Job", "NodeOverrides": overrides}
    state = {"Type": "Task", "Resource": "arn:aws:states:::batch:submitJob", "Parameters": parameters, "End": True}
    one = {"TargetNodes": "0:", "Container": {"Image": "x", "InstanceType": "g5.xlarge"}}
    nodes = {"NumNodes": 2, "MainNode": 0, "NodeRangeProperties": [one]}
    definition = {"DefinitionString": json.dumps({"StartAt": "Train", "States": {"Train": state}})}
    read = fleet(
        {
            "Job": {
                "Type": "AWS::Batch::JobDefinition",
                "Properties": {"JobDefinitionName": "Job", "NodeProperties": nodes},
            },
            "Machine": {"Type": "AWS::StepFunctions::StateMachine", "Properties": definition},
        }
    )
    (task,) = read.tasks
    assert task.node_types == ("g5.xlarge",)
    assert [each.node_types for each in task.submissions] == [()]


_PLAIN = "Template: {Type: AWS::EC2::LaunchTemplate, Properties: {LaunchTemplateData: %s}}"


@pytest.mark.parametrize(
    ("template", "data", "is_found"),
    [
        ("{LaunchTemplateId: !Ref Template}", '{UserData: !Base64 "#!/bin/bash\\nunknown"}', True),
        ("null", "{}", True),
        ("{LaunchTemplateId: lt-0123456789abcdef0}", "{}", False),
        ("{LaunchTemplateId: !Ref Template}", "!Ref Profile", False),
        ("{LaunchTemplateId: !Ref Template}", "{NetworkInterfaces: !Ref Profile}", False),
        ("{LaunchTemplateId: !Ref Template}", "{NetworkInterfaces: [{InterfaceType: efa}]}", False),
        ("{LaunchTemplateId: !Ref Template, Overrides: [{LaunchTemplateId: lt-1}]}", "{}", False),
    ],
)
def test_hosts_that_ask_for_no_adapter_have_no_device_of_one(template: str, data: str, is_found: bool) -> None:
    written = f"{{InstanceTypes: [g6.8xlarge], LaunchTemplate: {template}}}"
    given = r"\1\2\n\1LinuxParameters: {Devices: [{HostPath: /dev/infiniband/uverbs0}]}"
    part = re.sub("( *)(Image: .*)", given, example_of("GPU294").right.replace("{Type: EC2}", written))
    assert len(found("GPU132", part + "\n  " + _PLAIN % data)) == is_found
