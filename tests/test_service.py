"""A service is placed by a strategy, is deployable when its fleet is full, and leaves before its provider does."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs

from gpu_constructs import GpuCapacity, GpuCluster, GpuService, GpuTaskDefinition, IncompatibleError, InvalidValueError
from tests.synthesis import Ground, Properties, Site


def chat(site: Site, max_instances: int = 8, gpus: int = 1, name: str = "") -> GpuTaskDefinition:
    hosts = site.capacity("g6.12xlarge", max_instances=max_instances, name=f"Capacity{name}")
    task = site.task(hosts, name=f"Task{name}")
    task.add_gpu_container("vllm", image=site.image, gpus=gpus)
    return task


# Hosts, GPUs of a task, what the service is told, and the percentages that it gets.
DEPLOYED: dict[str, tuple[int, int, dict[str, Any], tuple[int, int]]] = {
    "room for all of them twice": (8, 1, {"desired_count": 2}, (100, 200)),
    "room for one more": (1, 1, {"desired_count": 3}, (100, 134)),
    "the only host is full": (1, 4, {"desired_count": 1}, (0, 100)),
    "every host is full": (2, 4, {"desired_count": 2}, (50, 100)),
    "at most all of them": (8, 1, {"desired_count": 2, "max_healthy_percent": 100}, (50, 100)),
    "at most half more": (8, 1, {"desired_count": 2, "max_healthy_percent": 150}, (100, 150)),
    "none at least": (8, 1, {"desired_count": 2, "min_healthy_percent": 0}, (0, 200)),
    "both are given": (8, 1, {"desired_count": 2, "min_healthy_percent": 50, "max_healthy_percent": 100}, (50, 100)),
}


@pytest.fixture(scope="module")
def services(shared_site: Site) -> list[Properties]:
    """All of them in one app, as their template has them."""
    for number, (hosts, gpus, given, _) in enumerate(DEPLOYED.values()):
        task = chat(shared_site, hosts, gpus, name=f"Of{number}")
        GpuService(shared_site.stack, f"Service{number}", cluster=shared_site.cluster, task_definition=task, **given)
    return shared_site.properties("AWS::ECS::Service")


@pytest.mark.parametrize(("number", "name"), list(enumerate(DEPLOYED)))
def test_a_deployment_can_always_go_on_with_the_percentages_that_are_given(
    services: list[Properties], number: int, name: str
) -> None:
    made = services[number]["DeploymentConfiguration"]
    assert (made["MinimumHealthyPercent"], made["MaximumPercent"]) == DEPLOYED[name][-1]


def test_a_failed_deployment_rolls_back_and_tasks_are_packed_and_left_where_they_are(
    services: list[Properties],
) -> None:
    service = services[0]
    assert service["DeploymentConfiguration"]["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": True}
    assert service["AvailabilityZoneRebalancing"] == "DISABLED"
    assert service["PlacementStrategies"] == [{"Field": "memory", "Type": "binpack"}]


def test_on_a_cluster_of_another_stack_it_waits_for_the_list_there_is(site: Site) -> None:
    elsewhere = cdk.Stack(site.app, "Elsewhere")
    gpu = GpuCluster(elsewhere, "Gpu", cluster=site.cluster.cluster)
    task = GpuTaskDefinition(
        elsewhere, "Task", capacity=[gpu.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)]
    )
    task.add_gpu_container("vllm", image=site.image)
    GpuService(elsewhere, "Service", cluster=gpu, task_definition=task)
    resources = site.template(elsewhere)["Resources"]
    (service,) = site.resources("AWS::ECS::Service", elsewhere).values()
    types = {resources[logical_id]["Type"] for logical_id in service["DependsOn"]}
    assert "AWS::ECS::ClusterCapacityProviderAssociations" in types


def test_it_can_leave_a_capacity_of_another_stack(site: Site) -> None:
    """CloudFormation drops no export in use, so that what one deploy no longer imports has to stay for that deploy."""
    elsewhere = cdk.Stack(site.app, "Elsewhere")
    old, new, cpu = (site.capacity("g6.xlarge", name=each) for each in ("Old", "New", "Cpu"))

    def serve(capacity: GpuCapacity, name: str, stack: cdk.Stack) -> list[str]:
        task = GpuTaskDefinition(stack, f"{name}Task", capacity=[capacity])
        task.add_gpu_container("vllm", image=site.image)
        GpuService(stack, name, cluster=site.cluster, task_definition=task)
        site.app.synth(force=True)
        outputs = site.template().get("Outputs", {})
        return [each["Value"]["Ref"] for each in outputs.values() if "Provider" in str(each["Value"])]

    inside = cdk.NestedStack(site.stack, "Inside")
    assert serve(cpu, "Within", site.stack) == serve(cpu, "Nested", inside) == []
    exported = [site.stack.resolve(each.capacity_provider_name)["Ref"] for each in (old, new, cpu)]
    assert serve(old, "Moving", elsewhere) == exported
    assert len(serve(site.capacity("g6.xlarge", name="Later"), "Next", elsewhere)) == 4


def test_capacity_of_another_cluster_is_refused(site: Site) -> None:
    other = GpuCluster(site.stack, "Other", vpc=site.vpc)
    with pytest.raises(
        IncompatibleError,
        match=r"capacity: .* names Capacity, a capacity provider of the cluster Stack/Cluster/.*GPU217",
    ):
        GpuService(site.stack, "Service", cluster=other, task_definition=chat(site))


@pytest.mark.parametrize(
    "given",
    [
        {"min_healthy_percent": -5},
        {"min_healthy_percent": 33.3},
        {"min_healthy_percent": True},
        {"max_healthy_percent": "50"},
        {"min_healthy_percent": 100, "max_healthy_percent": 100},
        {"min_healthy_percent": 500},
        {"max_healthy_percent": 99},
    ],
)
def test_a_percentage_that_cannot_be_is_refused_and_nothing_goes_with_it(ground: Ground, given: dict[str, Any]) -> None:
    task = chat(ground)
    GpuService(ground.stack, "Service", cluster=ground.cluster, task_definition=task)
    with ground.refuses(InvalidValueError, match="percent"):
        GpuService(ground.stack, "Service", cluster=ground.cluster, task_definition=task, **given)


def test_percentages_and_counts_that_are_tokens_pass_and_are_marked(site: Site) -> None:
    GpuService(
        site.stack,
        "Service",
        cluster=site.cluster,
        task_definition=chat(site),
        desired_count=site.number("Count"),
        min_healthy_percent=site.number("Least"),
        max_healthy_percent=site.number("Most"),
    )
    (warning,) = site.warnings()
    assert "GPU012" in warning
    service = site.only("AWS::ECS::Service")
    assert service["DesiredCount"] == {"Ref": "Count"}
    assert service["DeploymentConfiguration"]["MinimumHealthyPercent"] == {"Ref": "Least"}
    assert service["DeploymentConfiguration"]["MaximumPercent"] == {"Ref": "Most"}


def test_awsvpc_tasks_count_the_interfaces_of_the_host_and_run_in_its_subnets(site: Site) -> None:
    site.make_vpc()
    # g5.48xlarge: 8 GPUs and 7 interfaces, one of which is its own.
    task = site.task(site.capacity("g5.48xlarge", max_instances=1), network_mode=ecs.NetworkMode.AWS_VPC)
    task.add_gpu_container("chat", image=site.image)
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task, desired_count=8)
    of_copies, of_gpus = sorted(site.warnings())
    assert "8 tasks are wanted, and " in of_copies
    assert "holds 6" in of_copies
    assert "2 of 8 GPUs of each of 1 g5.48xlarge stay idle" in of_gpus
    network = site.only("AWS::ECS::Service")["NetworkConfiguration"]["AwsvpcConfiguration"]
    assert all("PrivateSubnet" in each["Ref"] for each in network["Subnets"])


def test_tags_reach_the_tasks_and_the_rest_of_the_service_is_open(site: Site) -> None:
    GpuService(
        site.stack,
        "Service",
        cluster=site.cluster,
        task_definition=chat(site),
        service_name="chat",
        health_check_grace_period=cdk.Duration.minutes(10),
        enable_execute_command=True,
    )
    service = site.only("AWS::ECS::Service")
    assert (service["EnableECSManagedTags"], service["PropagateTags"]) == (True, "SERVICE")
    assert (service["ServiceName"], service["EnableExecuteCommand"]) == ("chat", True)
    assert service["HealthCheckGracePeriodSeconds"] == 600
