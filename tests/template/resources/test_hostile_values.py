"""Whatever a template says: a fleet comes out, and what could not be read is remarked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_constructs import rules
from gpu_constructs.fleet import UNKNOWN, Fleet, Origin
from gpu_constructs.rules.files.metrics import hosts_have_gpu_metrics
from gpu_constructs.template.model import Reference, Resource, Stack, Text
from gpu_constructs.template.resources.fleet import files_of, fleet_of
from tests.examples import times
from tests.pace import paces
from tests.template.large import large_template
from tests.template.resources.declared import fleet
from tests.template.written import read_stacks

TYPES = [
    "AWS::ApplicationAutoScaling::ScalableTarget",
    "AWS::AutoScaling::AutoScalingGroup",
    "AWS::AutoScaling::LaunchConfiguration",
    "AWS::Batch::ComputeEnvironment",
    "AWS::Batch::JobDefinition",
    "AWS::CDK::Metadata",
    "AWS::EC2::Instance",
    "AWS::EC2::LaunchTemplate",
    "AWS::EC2::PlacementGroup",
    "AWS::EC2::Subnet",
    "AWS::ECS::CapacityProvider",
    "AWS::ECS::Cluster",
    "AWS::ECS::ClusterCapacityProviderAssociations",
    "AWS::ECS::Service",
    "AWS::ECS::TaskDefinition",
]

# Every key that any reader looks for, so that values of the wrong kind reach all of them.
KEYS = [
    *("AcceleratorCount", "AllowedInstanceTypes", "AutoScalingGroupArn", "AutoScalingGroupProvider"),
    *("AvailabilityZone", "AvailabilityZones", "CapacityOptionType", "CapacityProvider", "CapacityProviders"),
    *("CapacityProviderStrategy", "CapacityReservationSpecification", "Cluster", "ClusterName", "ComputeResources"),
    *("Container", "ContainerDefinitions", "ContainerPort", "ContainerProperties", "Containers", "Cpu"),
    *("CpuArchitecture", "DefaultCapacityProviderStrategy", "DeploymentConfiguration", "DesiredCount", "Devices"),
    *("DistributionSegments", "Ec2Configuration", "EcsProperties", "Environment", "Essential", "Expression"),
    *("Family", "GroupName", "HostPath", "HostPort", "ImageId", "ImageType", "InstanceLaunchTemplate"),
    *("InstanceMarketOptions", "InstanceRequirements", "InstanceType", "InstanceTypes", "InstancesDistribution"),
    *("LaunchConfigurationName", "LaunchTemplate", "LaunchTemplateData", "LaunchTemplateId", "LaunchTemplateName"),
    *("LaunchTemplateSpecification", "LaunchType", "LinuxParameters", "LogConfiguration", "ManagedInstancesProvider"),
    *("ManagedScaling", "MaxCapacity", "MaxSize", "MaxvCpus", "Memory", "MinSize", "MinvCpus", "MixedInstancesPolicy"),
    *("Name", "NetworkInterfaces", "NetworkMode", "NodeProperties", "NodeRangeProperties", "NvidiaMps", "Options"),
    *("Overrides", "Placement", "PlacementConstraints", "PlatformCapabilities", "PortMappings", "Protocol"),
    *("RequiresCompatibilities", "ResourceId", "ResourceRequirements", "RuntimePlatform", "SchedulingStrategy"),
    *("Secrets", "SharingStrategy", "Status", "Strategy", "SubnetId", "Subnets", "TargetCapacityTypes"),
    *("TargetNodes", "TaskDefinition", "TaskProperties", "Type", "UserData", "VCpuCount", "VPCZoneIdentifier"),
    *("Value", "Vcpus", "Volumes", "Weight", "awslogs-region", "strange key"),
]
IDS = [f"R{number}" for number in range(6)]

REFERENCES = st.builds(Reference, st.just("S"), st.sampled_from([*IDS, "Missing"]), st.sampled_from([None, "Arn"]))
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["1", "g6.xlarge", "g6", "optimal", "host", "GPU", "ENABLED", "arn:x/y", "ECS_AL2", "-1", "9" * 5000]
    ),
    st.sampled_from(["#!/bin/sh\necho ECS_CLUSTER=a", "[settings.ecs]\ncluster=1", "resolve:ssm:/a", "vcpu"]),
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, REFERENCES, st.just(UNKNOWN))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(SCALARS, st.lists(st.one_of(TEXTS, REFERENCES, st.just(UNKNOWN)), max_size=4).map(tuple).map(Text)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)),
    max_leaves=25,
)
PROPERTIES = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=10)
METADATA = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"gpu-constructs": VALUES}),
    st.fixed_dictionaries({"aws:cdk:path": VALUES, "AWS::CloudFormation::Init": VALUES}),
)


@st.composite
def stacks(draw: st.DrawFn) -> Stack:
    return Stack(
        name="S",
        resources={
            logical_id: Resource(
                logical_id=logical_id,
                type=draw(st.sampled_from(TYPES)),
                stack="S",
                properties=draw(PROPERTIES),
                metadata=draw(METADATA),
                origin=Origin(resource=logical_id),
            )
            for logical_id in IDS
        },
    )


def check(stack: Stack) -> None:
    files = files_of([stack])
    found = files.fleet
    assert rules.check(Fleet(), rules=[hosts_have_gpu_metrics], files=files) is not None
    assert all(isinstance(each.min_instances, int) or each.min_instances is UNKNOWN for each in found.pools)
    assert all(hash(each) is not None for each in (*found.pools, *found.tasks, *found.workloads))
    assert all(len(str(remark.text)) < 1000 for remark in found.remarks)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=times(8))
@given(stacks())
def test_any_values_make_a_fleet(stack: Stack) -> None:
    check(stack)


@pytest.mark.parametrize("key", ["Cpu", "Image", "Privileged"])
def test_a_number_too_long_to_print_is_unknown(key: str) -> None:
    properties = {"ContainerDefinitions": [{"Name": "c", key: 10**5000}]}
    found = fleet({"Task": {"Type": "AWS::ECS::TaskDefinition", "Properties": properties}})
    value: object = getattr(found.tasks[0].containers[0], key.lower())
    assert value is UNKNOWN
    assert "a very large number" in found.remarks[0].text


def test_what_has_the_wrong_type_is_remarked_with_its_place() -> None:
    found = fleet(
        {"Task": {"Type": "AWS::ECS::TaskDefinition", "Properties": {"ContainerDefinitions": [{"Cpu": "much"}]}}}
    )
    (remark,) = found.remarks
    assert remark.text == "Properties.ContainerDefinitions.0.Cpu: expects a whole number, got 'much'"
    assert remark.origin.path == ("Resources", "Task", "Properties", "ContainerDefinitions", 0, "Cpu")


HIDDEN = "hf_ABCDEF"


@pytest.mark.parametrize(
    ("path", "value", "got"),
    [
        (("Environment",), {"HF_TOKEN": HIDDEN}, "a list, got an object"),
        (("Environment",), [f"HF_TOKEN={HIDDEN}"], "an object, got a text"),
        (("Environment",), [{"Name": "HF_TOKEN", "Value": [HIDDEN]}], "a text, got a list"),
        (("Environment",), [{"Name": "HF_TOKEN", "Value": {"x": HIDDEN}}], "a text, got an object"),
        (("ResourceRequirements",), [HIDDEN], "an object, got a text"),
    ],
)
def test_what_may_be_a_secret_is_never_quoted(path: tuple[str, ...], value: Any, got: str) -> None:
    container = {"Name": "c", **dict.fromkeys(path, value)}
    found = fleet({"Task": {"Type": "AWS::ECS::TaskDefinition", "Properties": {"ContainerDefinitions": [container]}}})
    assert any(f"expects {got}" in each.text for each in found.remarks)
    assert not [each for each in rules.check(found) if HIDDEN in f"{each.message} {each.fix} {each.allowed}"]


def test_five_hundred_resources_are_read_in_no_time() -> None:
    (stack,) = read_stacks([large_template()]).stacks
    # Twenty times what it takes, so that only work that grows with the square of it fails here.
    assert paces(lambda: fleet_of([stack])) < 115
    assert len(fleet_of([stack]).workloads) == 125
