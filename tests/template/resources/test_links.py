"""What ties providers, groups and clusters to each other, and what a service says about its network."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Pool, Workload
from gpu_constructs.template.model import Placeholder, Text
from tests.template.resources.declared import files, fleet, joined, only_pool, only_workload, resource

CLUSTER = resource("ECS::Cluster", ClusterName="prod")
OTHER = resource("ECS::Cluster", ClusterName="test")
OPEN = resource("ECS::Cluster", ClusterName={"Unknown": 0})


def provider(group: str = "Group", **named: Any) -> dict[str, Any]:
    return resource("ECS::CapacityProvider", AutoScalingGroupProvider={"AutoScalingGroupArn": {"Ref": group}}, **named)


def listing(providers: Any, cluster: Any = None) -> dict[str, Any]:
    properties = {"Cluster": cluster or {"Ref": "Cluster"}, "CapacityProviders": providers}
    return {"Type": "AWS::ECS::ClusterCapacityProviderAssociations", "Properties": properties}


def hosts(cluster: str = "prod", **group: Any) -> dict[str, Any]:
    data = {
        "InstanceType": "g6.xlarge",
        "UserData": f"#!/bin/bash\necho ECS_CLUSTER={cluster} >> /etc/ecs/ecs.config\n",
    }
    launched = {"LaunchTemplate": {"LaunchTemplateId": {"Ref": "Template"}}, **group}
    return {
        "Template": resource("EC2::LaunchTemplate", LaunchTemplateData=data),
        "Group": resource("AutoScaling::AutoScalingGroup", **launched),
    }


def pool(cluster: str = "prod", others: dict[str, Any] | None = None, **group: Any) -> Pool:
    return only_pool({"Cluster": CLUSTER, **hosts(cluster, **group), "Provider": provider(), **(others or {})})


@pytest.mark.parametrize(
    ("others", "associated"),
    [
        ({}, UNKNOWN),
        ({"List": listing([{"Ref": "Provider"}])}, True),
        ({"List": listing(["FARGATE"])}, False),
        (
            {"List": listing(["FARGATE"]), "Own": {"Type": "Custom::X", "Properties": {"Of": {"Ref": "Cluster"}}}},
            UNKNOWN,
        ),
    ],
)
def test_a_provider_is_associated_where_a_list_names_it(others: dict[str, Any], associated: object) -> None:
    assert pool(others=others).associated is associated


def test_managed_instances_that_no_list_names_may_be_associated_all_the_same() -> None:
    launches: dict[str, Any] = {"InstanceLaunchTemplate": {}}
    managed = resource("ECS::CapacityProvider", ClusterName="prod", ManagedInstancesProvider=launches)
    assert only_pool({"Managed": managed, "List": listing(["FARGATE"], cluster="prod")}).associated is UNKNOWN
    assert only_pool({"Managed": managed, "List": listing([{"Ref": "Managed"}], cluster="prod")}).associated is True


@pytest.mark.parametrize(
    ("told", "others", "found"),
    [
        ("test", {"Other": OTHER}, "Other"),
        ("default", {}, "default"),
        ("$(name)", {}, UNKNOWN),
        ("prdo", {"Cluster": OPEN}, UNKNOWN),
    ],
)
def test_a_cluster_that_only_user_data_names_is_kept(told: str, others: dict[str, Any], found: object) -> None:
    assert pool(told, {"List": listing([{"Ref": "Provider"}]), **others}).told_cluster == found


@pytest.mark.parametrize(("written", "protected"), [({}, False), ({"Unknown": 0}, UNKNOWN), ("true", True)])
def test_protection_from_scale_in_is_that_of_the_group(written: Any, protected: object) -> None:
    group = {"NewInstancesProtectedFromScaleIn": written} if written != {} else {}
    assert pool(**group).group.scale_in_protection is protected


def test_a_group_of_another_file_has_nothing_known() -> None:
    found = only_pool({"Provider": provider("Missing")})
    assert (found.group.name, found.group.scale_in_protection, found.group.desired_instances) == (None, UNKNOWN, None)


def test_two_providers_of_one_group_have_the_same_group() -> None:
    found = fleet({**hosts(), "One": provider(), "Two": provider()}).pools
    assert [each.group.name for each in found] == ["Group", "Group"]


@pytest.mark.parametrize(
    ("properties", "written"),
    [
        ({}, False),
        ({"NetworkConfiguration": {"Unknown": 0}}, UNKNOWN),
        ({"NetworkConfiguration": {"AwsvpcConfiguration": {"Subnets": ["subnet-1"]}}}, True),
    ],
)
def test_whether_a_service_has_a_network_of_its_own_is_read(properties: dict[str, Any], written: object) -> None:
    service = {"Type": "AWS::ECS::Service", "Properties": properties}
    assert only_workload({"Service": service}).network_configuration is written


def service(provider_name: Any = None, cluster: Any = None) -> dict[str, Any]:
    strategy = [{"CapacityProvider": provider_name or {"Ref": "Provider"}}]
    properties = {"Cluster": cluster or {"Ref": "Cluster"}, "CapacityProviderStrategy": strategy}
    return {"Type": "AWS::ECS::Service", "Properties": properties}


def missing_providers(others: dict[str, Any] | None = None, provider_name: Any = None) -> tuple[str, ...]:
    found = {"Cluster": CLUSTER, **hosts(), "Provider": provider(), "Service": service(provider_name)}
    read = files({**found, **(others or {})})
    return read.missing_providers(read.fleet.workloads[0])


def custom(**properties: Any) -> dict[str, Any]:
    return {"Type": "Custom::Association", "Properties": properties}


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({"List": listing({"Unknown": 0})}, ()),
        ({"List": listing([{"Ref": "Provider"}], cluster={"Unknown": 0})}, ()),
        ({"Own": custom(Create='{"service":"ECS","action":"putClusterCapacityProviders"}')}, ()),
        ({"Own": custom(Bucket="models")}, ("Provider",)),
    ],
)
def test_a_cluster_lacks_a_provider_that_nothing_here_may_give_it(
    others: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert missing_providers(others) == expected


@pytest.mark.parametrize(
    ("named", "expected"),
    [("gpu-14", ("gpu-14",)), ({"Fn::GetAtt": ["Group", "Arn"]}, ())],
)
def test_a_name_that_no_list_has_is_lacking(named: Any, expected: tuple[str, ...]) -> None:
    assert missing_providers({"List": listing([{"Ref": "Provider"}])}, named) == expected


STACK_NAME = Placeholder("Stack", "AWS::StackName")


def on(provider_name: Any, named: Any, **others: Any) -> Workload:
    """A service on a provider of some name, which its strategy names in some way."""
    found = {"Cluster": CLUSTER, **hosts(), "Provider": provider(Name=provider_name), "Service": service(named)}
    return only_workload({**found, **others})


STORED = {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/gpu/provider", "Value": {"Ref": "Provider"}}}


@pytest.mark.parametrize(
    ("provider_name", "named", "others"),
    [
        pytest.param("prod-gpu", joined({"Ref": "Cluster"}, "-gpu"), {}, id="the name of a named cluster"),
        pytest.param(
            "prod-gpu",
            joined("arn:aws:ecs:eu-west-1:111122223333:capacity-provider/", {"Ref": "Cluster"}, "-gpu"),
            {},
            id="in an ARN",
        ),
        pytest.param(None, {"Fn::GetAtt": ["Stored", "Value"]}, {"Stored": STORED}, id="by attribute"),
    ],
)
def test_a_name_is_found_by_whatever_comes_to_it(provider_name: Any, named: Any, others: dict[str, Any]) -> None:
    (item,) = on(provider_name, named, **others).strategy
    assert item.pool is not None
    assert item.pool.name == "Provider"


def test_names_that_are_made_of_each_other_are_not_followed_for_ever() -> None:
    one = {"Type": "AWS::ECS::Cluster", "Properties": {"ClusterName": joined({"Ref": "Other"}, "-a")}}
    other = {"Type": "AWS::ECS::Cluster", "Properties": {"ClusterName": joined({"Ref": "Cluster"}, "-b")}}
    assert on("gpu", joined({"Ref": "Cluster"}, "-gpu"), Cluster=one, Other=other).strategy[0].pool is None


@pytest.mark.parametrize("line", ["ECS_CLUSTER={}-gpu", 'ECS_CLUSTER="{}-gpu"', "ECS_CLUSTER='{}-gpu'"])
def test_user_data_names_a_cluster_as_its_name_is_made(line: str) -> None:
    before, after = f"#!/bin/bash\necho {line} >> /etc/ecs/ecs.config\n".split("{}")
    named = {"Type": "AWS::ECS::Cluster", "Properties": {"ClusterName": Text((STACK_NAME, "-gpu"))}}
    found = hosts()
    found["Template"]["Properties"]["LaunchTemplateData"]["UserData"] = Text((before, STACK_NAME, after))
    assert only_pool({"Cluster": named, **found, "Provider": provider()}).cluster == "Cluster"


WITHOUT_STRATEGY = {"Type": "AWS::ECS::Service", "Properties": {"Cluster": {"Ref": "Cluster"}}}


@pytest.mark.parametrize(
    ("other", "may_start"),
    [
        (resource("AutoScaling::ScheduledAction", AutoScalingGroupName={"Ref": "Group"}, MinSize=1), True),
        (resource("AutoScaling::ScheduledAction", AutoScalingGroupName={"Ref": "Group"}, MaxSize=0), False),
        (resource("AutoScaling::ScheduledAction", AutoScalingGroupName="elsewhere", MinSize=1), True),
        (resource("AutoScaling::ScalingPolicy", AutoScalingGroupName={"Ref": "Group"}), True),
        (resource("IAM::Policy", PolicyDocument={"Statement": [{"Action": "autoscaling:*"}]}), True),
        (resource("Lambda::Function", Code={"ZipFile": "  # later: set_desired_capacity"}), False),
        (resource("Lambda::Function", Code={"ZipFile": "  #setDesiredCapacity(hosts) {}"}), True),
    ],
)
def test_hosts_may_be_started_by_others_than_ecs(other: dict[str, Any], may_start: bool) -> None:
    assert pool(others={"Service": WITHOUT_STRATEGY, "Other": other}).group.may_be_started_by_others is may_start
