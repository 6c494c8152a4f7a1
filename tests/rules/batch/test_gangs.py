"""Multi-node jobs: those that cannot start, and those that may never end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.checking.report import check_files
from gpu_constructs.rules.batch.gangs import names_one_type
from tests.rules.batch.test_jobs import job
from tests.rules.given import fleet_of, gpu, only, said
from tools.rule_examples import example_of

_DEFAULT = "!GetAtt Vpc.DefaultSecurityGroup"
_OPEN = f'{{Type: "AWS::EC2::SecurityGroupIngress", Properties: {{GroupId: {_DEFAULT}, IpProtocol: "-1"}}}}'
GANG = replace(job(gpu("1"), cpu=4096), nodes=4)


def found(rule: str, part: str) -> list[str]:
    """What the rules of this file say of its right example with a part that is changed."""
    example = example_of(rule)
    findings = check_files(["-"], stdin=example.file(part).encode()).findings
    return [each.message for each in findings if each.rule == rule]


def right(rule: str, *changes: tuple[str, str]) -> list[str]:
    part = example_of(rule).right
    for old, new in changes:
        assert old in part
        part = part.replace(old, new)
    return found(rule, part)


@pytest.mark.parametrize(
    ("vcpus", "nodes", "is_found"),
    [
        (16, 4, False),
        (13, 4, False),  # AWS Batch goes above by one host
        (12, 4, True),
        (12, 3, False),
        ("!Ref Most", 4, False),
        (12, "!Ref Most", False),
    ],
)
def test_a_gang_is_held_against_the_hosts_that_maxvcpus_come_to(vcpus: object, nodes: object, is_found: bool) -> None:
    part = example_of("GPU340").right.replace("MaxvCpus: 8", f"MaxvCpus: {vcpus}")
    part = part.replace("NumNodes: 2", f"NumNodes: {nodes}") + "Parameters: {Most: {Type: Number}}\n"
    said = found("GPU340", part)
    assert [f"{nodes} hosts at once, and Environment has {int(str(vcpus)) // 4} at most" in each for each in said] == (
        [True] * is_found
    )


def test_what_is_not_known_is_not_called_several_types_a_missing_limit_or_far_hosts() -> None:
    assert right("GPU342", ("86400", "!Ref Limit")) == []
    unknown = ("[!Ref SubnetA], PlacementGroup: !Ref Near", "[!Ref SubnetA, subnet-12345678]")
    assert right("GPU343", unknown) == []
    assert right("GPU343", (", PlacementGroup: !Ref Near", "")) == []  # in one zone


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SecurityGroupIds: null", "SecurityGroupIds: [sg-12345678]"),
        ("{VpcId: !Ref Vpc,", "{VpcId: vpc-12345678,"),
        ("[!Ref Subnet]", "[subnet-12345678]"),
        ("Custom::VpcRestrictDefaultSG", "Custom::Other"),
        ("NumNodes: 2", "NumNodes: 1"),
        ("  Restricted:", f"  Open: {_OPEN}\n  Restricted:"),
    ],
)
def test_a_default_group_that_may_let_nodes_in_is_fine(old: str, new: str) -> None:
    example = example_of("GPU347")
    assert old in example.wrong
    assert found("GPU347", example.wrong.replace(old, new)) == []


def test_managed_instances_run_no_gang() -> None:
    part = example_of("GPU294").right.replace(
        "ComputeResources: {Type: EC2}",
        "ComputeResources: {Type: ECS_MANAGED_INSTANCES, ManagedInstancesProvider: {InstanceLaunchTemplate: "
        "{InstanceRequirements: {AllowedInstanceTypes: [g6.xlarge]}}}}",
    )
    assert any("of ECS Managed Instances, where AWS Batch does not run" in each for each in found("GPU294", part))


@pytest.mark.parametrize(
    ("other", "is_found"),
    [
        ("InstanceTypes: [g6.2xlarge]", True),
        ("Container: {InstanceType: g6.2xlarge}", True),
        ("InstanceTypes: [g6.xlarge]", False),
        ("InstanceTypes: [!Ref Type]", False),
        ("Container: {}", False),
    ],
)
def test_all_ranges_of_nodes_have_one_type(other: str, is_found: bool) -> None:
    whole = '- TargetNodes: "0:"'
    part = example_of("GPU341").right
    assert whole in part
    image = "" if "Container" in other else ", Container: {Image: x}"
    both = f'- {{TargetNodes: "1:", {other}{image}}}\n          - TargetNodes: "0:0"'
    messages = found("GPU341", part.replace(whole, both) + "Parameters: {Type: {Type: String}}\n")
    words = "Job[0:0] and the other ranges of its nodes name g6.2xlarge and g6.xlarge"
    assert [words in each for each in messages] == [True] * is_found


def test_the_fix_is_one_type_for_all_ranges() -> None:
    ranges = (("g6.xlarge",), ("g6.2xlarge",))
    assert "g6.xlarge in all ranges" in only(names_one_type, fleet_of(replace(GANG, node_groups=ranges))).fix
    assert said(names_one_type, fleet_of(replace(GANG, node_groups=(*ranges[:1], ())))) == []


@pytest.mark.parametrize(
    ("types", "named", "is_found"),
    [
        ("[g6.xlarge]", "g5.xlarge", True),
        ("[g6]", "g5.xlarge", True),
        ("[g6]", "g6.48xlarge", False),
        ("[g5g]", "g5g.metal", False),  # a family may have its bare metal type
        ("[!Ref Type, g6.xlarge]", "g5.xlarge", False),
        ("[g6.xlarge]", "!Ref Type", False),
    ],
)
def test_the_type_that_nodes_name_is_one_of_a_compute_environment(types: str, named: str, is_found: bool) -> None:
    part = example_of("GPU362").right.replace("[g6.xlarge]", f"[{named}]").removeprefix("Resources:\n")
    there = f"Resources:\n  Environment: {{Properties: {{ComputeResources: {{InstanceTypes: {types}}}}}}}\n{part}"
    messages = found("GPU362", f"{there}Parameters: {{Type: {{Type: String}}}}\n")
    assert ["nodes of Job are to be g5.xlarge, and Environment has" in each for each in messages] == [True] * is_found
