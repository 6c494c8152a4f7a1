from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from gpu_constructs.fleet import STEPS_IN_PERCENT, UNKNOWN, ServiceScaling, Workload
from tests.template.resources.declared import fleet, joined, only_workload, resource

CLUSTER = {"Type": "AWS::ECS::Cluster", "Properties": {"ClusterName": "prod"}}
TASK = {"Type": "AWS::ECS::TaskDefinition", "Properties": {"Family": "train"}}
GPU = {"Type": "AWS::ECS::CapacityProvider", "Properties": {"AutoScalingGroupProvider": {}}}
NAMED = {"Type": "AWS::ECS::CapacityProvider", "Properties": {"Name": "spot", "AutoScalingGroupProvider": {}}}


service = partial(resource, "ECS::Service")


def workload(others: dict[str, Any] | None = None, **properties: Any) -> Workload:
    return only_workload(
        {
            "Cluster": CLUSTER,
            "Task": TASK,
            "Gpu": GPU,
            "Spot": NAMED,
            **(others or {}),
            "Service": service(Cluster={"Ref": "Cluster"}, **properties),
        }
    )


def test_the_task_is_found_by_the_arn_of_its_family() -> None:
    task = workload(TaskDefinition="arn:aws:ecs:us-east-1:1:task-definition/train:7").task
    assert task is not None
    assert task.name == "Task"


@pytest.mark.parametrize(
    ("written", "cluster"),
    [
        (None, None),
        ("default", None),
        ("arn:aws:ecs:us-east-1:1:cluster/elsewhere", "elsewhere"),
        ({"Ref": "Parameter"}, UNKNOWN),
    ],
)
def test_a_cluster_is_named_as_pools_name_it(written: Any, cluster: Any) -> None:
    assert only_workload({"Cluster": CLUSTER, "Service": service(Cluster=written)}).cluster == cluster


def items(found: Workload) -> list[tuple[Any, str | None, Any, Any]]:
    return [(each.provider, each.pool.name if each.pool else None, each.weight, each.base) for each in found.strategy]


DEFAULT = [{"CapacityProvider": {"Ref": "Gpu"}, "Weight": 1}]
OWN = resource("ECS::Cluster", DefaultCapacityProviderStrategy=DEFAULT)
LISTING = resource(
    "ECS::ClusterCapacityProviderAssociations",
    Cluster={"Ref": "Cluster"},
    CapacityProviders=[{"Ref": "Gpu"}],
    DefaultCapacityProviderStrategy=DEFAULT,
)


def test_the_strategy_of_the_cluster_holds_where_the_service_has_none() -> None:
    assert items(workload({"Listing": LISTING})) == [("Gpu", "Gpu", 1, 0)]
    assert items(workload({"Cluster": OWN})) == [("Gpu", "Gpu", 1, 0)]


def test_associations_replace_the_strategy_that_the_cluster_has_itself() -> None:
    empty = {"Type": LISTING["Type"], "Properties": {"Cluster": {"Ref": "Cluster"}, "CapacityProviders": []}}
    assert workload({"Cluster": OWN, "Listing": empty}).strategy == ()


@pytest.mark.parametrize("own", [{"LaunchType": "EC2"}, {"LaunchType": {"Ref": "P"}}, {"SchedulingStrategy": "DAEMON"}])
def test_a_launch_type_and_a_daemon_have_no_strategy(own: dict[str, Any]) -> None:
    assert workload({"Listing": LISTING}, **own).strategy == ()


def target(resource_id: Any, most: Any = 8) -> dict[str, Any]:
    return resource(
        "ApplicationAutoScaling::ScalableTarget",
        ResourceId=resource_id,
        MaxCapacity=most,
        ScalableDimension="ecs:service:DesiredCount",
        ServiceNamespace="ecs",
    )


@pytest.mark.parametrize(
    "resource_id",
    [
        joined("service/", {"Ref": "Cluster"}, "/", {"Fn::GetAtt": ["Service", "Name"]}),
        joined("service/", {"Ref": "Cluster"}, "/chat"),
        "service/prod/chat",
    ],
)
def test_what_scales_a_service_says_how_many_there_may_be(resource_id: Any) -> None:
    found = workload({"Target": target(resource_id)}, ServiceName="chat")
    assert (found.max_count, found.desired_count) == (8, UNKNOWN)


def test_a_count_that_was_written_stays_where_something_scales_the_service() -> None:
    found = workload(
        {"A": target("service/prod/chat", 4), "B": target("service/prod/chat", 6)}, ServiceName="chat", DesiredCount=2
    )
    assert (found.max_count, found.desired_count) == (6, 2)


policy = partial(resource, "ApplicationAutoScaling::ScalingPolicy")


REQUESTS = {"PredefinedMetricSpecification": {"PredefinedMetricType": "ALBRequestCountPerTarget"}}


def test_what_the_count_follows_is_read_from_the_policies_of_the_target() -> None:
    scaled = target("service/prod/chat")
    scaled["Properties"]["MinCapacity"] = 2
    found = workload(
        {
            "Target": scaled,
            "Steps": policy(PolicyType="StepScaling", ScalingTargetId={"Ref": "Target"}),
            "Requests": policy(
                ResourceId="service/prod/chat",
                ScalableDimension="ecs:service:DesiredCount",
                PolicyType="TargetTrackingScaling",
                TargetTrackingScalingPolicyConfiguration=REQUESTS,
            ),
            "ByText": policy(PolicyType={"Ref": "P"}, ScalingTargetId="service/prod/chat|ecs:service:DesiredCount|ecs"),
            "Other": policy(
                PolicyType="StepScaling", ScalingTargetId="service/prod/other|ecs:service:DesiredCount|ecs"
            ),
        },
        ServiceName="chat",
    )
    assert found.scaling == ServiceScaling(most=8, least=2, by=("ALBRequestCountPerTarget", "StepScaling", UNKNOWN))


def test_steps_in_percent_and_scheduled_actions_are_read() -> None:
    scaled = target("service/prod/chat")
    scaled["Properties"]["ScheduledActions"] = [
        {"ScheduledActionName": "night", "Schedule": "rate(1 day)", "ScalableTargetAction": {"MaxCapacity": 0}}
    ]
    in_percent = {"AdjustmentType": "PercentChangeInCapacity"}
    by = {"PolicyType": "StepScaling", "ScalingTargetId": {"Ref": "Target"}}
    found = workload(
        {
            "Target": scaled,
            "Some": policy(**by, StepScalingPolicyConfiguration=in_percent),
            "Least": policy(**by, StepScalingPolicyConfiguration={**in_percent, "MinAdjustmentMagnitude": 1}),
        },
        ServiceName="chat",
    )
    assert found.scaling is not None
    assert found.scaling.by == ("ScheduledScaling", "StepScaling", STEPS_IN_PERCENT)


def test_the_default_strategy_of_a_cluster_is_read_once_for_all_of_its_services() -> None:
    many = {"DefaultCapacityProviderStrategy": [{"CapacityProvider": {"Ref": "Gpu"}, "Weight": "many"}] * 50}
    association = {**LISTING, "Properties": {**LISTING["Properties"], **many}}
    services = {f"Service{index}": service(Cluster={"Ref": "Cluster"}) for index in range(50)}
    read = fleet({"Cluster": CLUSTER, "Gpu": GPU, "Association": association, **services})
    assert len({id(each.strategy) for each in read.workloads}) == 1
    assert [len(each.strategy) for each in read.workloads] == [50] * 50
    assert len(read.remarks) == 50
