"""Services and tasks without GPUs beside those with: what they wait for, and which hosts they stay off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from gpu_constructs import CpuService, GpuCapacity, GpuCluster, GpuConstructsError, GpuMachineImage
from gpu_constructs.cluster.capacity.user_data import OFF_ACCELERATORS
from gpu_constructs.fleet import Pool
from gpu_constructs.placement.pool_profile import profile_of
from gpu_constructs.placement.query.evaluate import evaluate
from gpu_constructs.placement.query.parser import parse
from tests.synthesis import Ground, Site

SERVICE = "AWS::ECS::Service"


@pytest.fixture
def cpu(site: Site) -> GpuCapacity:
    return site.capacity("c7i.large", name="Cpu", min_instances=1)


@pytest.fixture
def web(site: Site) -> ecs.Ec2TaskDefinition:
    return site.plain_cpu_task()


def test_it_starts_hosts_of_its_capacity_and_goes_before_them(
    site: Site, cpu: GpuCapacity, web: ecs.Ec2TaskDefinition
) -> None:
    CpuService(site.stack, "Service", cluster=site.cluster, task_definition=web, capacity=[cpu], desired_count=2)
    made = site.resource(SERVICE)
    (item,) = made["Properties"]["CapacityProviderStrategy"]
    assert item["Weight"] == 1
    assert any(site.template()["Resources"][each]["Type"].endswith("Associations") for each in made["DependsOn"])
    assert "DeploymentController" not in made["Properties"]
    assert made["Properties"]["DeploymentConfiguration"]["DeploymentCircuitBreaker"] == {
        "Enable": True,
        "Rollback": True,
    }
    assert "PlacementConstraints" not in made["Properties"]
    assert site.warnings(unchanged=True) == []


def test_without_capacity_it_stays_off_hosts_with_accelerators(
    site: Site, cpu: GpuCapacity, web: ecs.Ec2TaskDefinition
) -> None:
    assert cpu.gpus == site.l4.gpus - 1
    CpuService(site.stack, "Service", cluster=site.cluster, task_definition=web, min_healthy_percent=50)
    made = site.resource(SERVICE)["Properties"]
    assert made["PlacementConstraints"] == [{"Type": "memberOf", "Expression": OFF_ACCELERATORS}]
    assert made["LaunchType"] == "EC2"
    assert made["DeploymentConfiguration"]["MinimumHealthyPercent"] == 50


def test_it_may_use_every_host_and_a_provider_that_the_cluster_keeps(site: Site, web: ecs.Ec2TaskDefinition) -> None:
    theirs = ecs.Cluster.from_cluster_attributes(site.stack, "Theirs", cluster_name="theirs", vpc=site.vpc)
    gpu = GpuCluster(site.stack, "Gpu", cluster=theirs, keep_capacity_providers=["cpu"], default_strategy=[])
    kept = ecs.CapacityProviderStrategy(capacity_provider="cpu", weight=1)
    CpuService(
        site.stack,
        "Service",
        cluster=gpu,
        task_definition=web,
        off_gpu_hosts=False,
        daemon=False,
        capacity_provider_strategies=[kept],
    )
    made = site.resource(SERVICE)
    assert made["Properties"]["CapacityProviderStrategy"] == [{"CapacityProvider": "cpu", "Weight": 1}]
    assert any("Association" in each for each in made["DependsOn"])


def _holds(pool: Pool) -> set[object]:
    profile = profile_of(pool)
    return {evaluate(parse(OFF_ACCELERATORS), profile.host(each)) for each in pool.instance_types}


@pytest.mark.parametrize("system", ["shell", "toml"])
def test_the_constraint_is_proved_on_every_kind_of_host(site: Site, system: str) -> None:
    images = {"toml": GpuMachineImage.pinned("bottlerocket-ecs-2-nvidia-x86_64")}
    l4 = site.capacity("g6.xlarge", name="L4", image=images.get(system))
    assert _holds(l4.pool) == {False}
    assert _holds(site.capacity("inf2.xlarge", name="Inf").pool) == {False}
    assert _holds(site.capacity("c7i.large", name="Cpu").pool) == {True}


@pytest.mark.parametrize(
    ("types", "expression", "holds"),
    [
        (("g6.xlarge", "g6.2xlarge"), "attribute:gpu.name == L4", True),
        (("g6.xlarge", "g5.xlarge"), "attribute:gpu.count == 1", True),
        (("g6.xlarge",), "attribute:gpu.memory-gib in [22, 44]", True),
        (("p5.48xlarge",), "attribute:gpu.name in [L4, L40S]", False),
        (("g7e.2xlarge",), "attribute:gpu.name == RTX-PRO-Server-6000", True),
    ],
)
def test_tasks_are_placed_by_model_number_and_memory(
    site: Site, types: tuple[str, ...], expression: str, holds: bool
) -> None:
    pool = site.capacity(*types).pool
    (host,) = {evaluate(parse(expression), profile_of(pool).host(each)) for each in pool.instance_types}
    assert host is holds


Make = Callable[[Site, GpuCapacity, ecs.Ec2TaskDefinition], dict[str, Any]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda site, _, __: {"capacity": [site.l4]}, "capacity: L4 has hosts with accelerators, and the tasks are"),
        (lambda site, _, __: {"cluster": site.cluster.cluster}, "cluster: expects a GpuCluster"),
        (
            lambda site, cpu, _: {"cluster": GpuCluster(site.stack, "Other", vpc=site.vpc), "capacity": [cpu]},
            "capacity: .* names Cpu0, a capacity provider of the cluster Stack/Cluster/Cluster.*GPU217",
        ),
        (lambda site, _, __: {"task_definition": site.task()}, "task_definition: a GpuTaskDefinition runs on"),
        (lambda _, __, ___: {"capacity": []}, "capacity: expects a list of the capacities"),
        (
            lambda _, cpu, __: {"capacity": [cpu], "capacity_provider_strategies": [cpu.strategy()]},
            "capacity_provider_strategies: capacity and capacity_provider_strategies both say",
        ),
        (
            lambda site, _, __: {"capacity_provider_strategies": [site.l4.strategy()]},
            "capacity_provider_strategies: L4 has hosts with accelerators, and the tasks are",
        ),
        (lambda _, __, ___: {"security_groups": [ec2.SecurityGroup]}, "security_groups: expects a list"),
        (lambda _, __, ___: {"health_check_grace_period": cdk.Duration.millis(5)}, "grace_period: expects whole sec"),
        (lambda _, __, ___: {"desired_count": 1.5}, "desired_count: expects a whole number of tasks"),
        (lambda _, __, ___: {"desired_count": float("nan")}, "desired_count: expects a whole number of tasks"),
        (lambda _, __, ___: {"service_name": "a b"}, "service_name: 'a b' is not a name that ECS takes"),
        (
            lambda site, _, __: {"placement_constraints": [site.cluster.off_gpu_hosts] * 10},
            "placement_constraints: a task has 10 constraints at most, got 10 beside 1",
        ),
    ],
)
def test_what_cannot_work_is_refused_and_leaves_nothing_behind(ground: Ground, arguments: Make, message: str) -> None:
    site, cpu, web = ground, ground.capacity("c7i.large", name="Cpu"), ground.plain_cpu_task()
    given = {"cluster": site.cluster, "task_definition": web, **arguments(site, cpu, web)}
    with pytest.raises(GpuConstructsError, match=message):
        CpuService(site.stack, "Service", **given)
    assert not any("Service" in each for each in site.children())


def test_accelerators_are_shared_with_cpu_tasks_by_choice(site: Site, web: ecs.Ec2TaskDefinition) -> None:
    CpuService(
        site.stack, "Service", cluster=site.cluster, task_definition=web, capacity=[site.l4], off_gpu_hosts=False
    )
    assert "PlacementConstraints" not in site.resource(SERVICE)["Properties"]


def test_a_cluster_of_managed_instances_alone_is_refused(site: Site, web: ecs.Ec2TaskDefinition) -> None:
    cluster = GpuCluster(site.stack, "OfManaged", vpc=site.vpc)
    cluster.add_managed_capacity("Managed", instance_types=["g6.xlarge"])
    service = CpuService(site.stack, "Service", cluster=cluster, task_definition=web)
    (said,) = service.node.validate()
    assert said.startswith("Cluster for this service needs Ec2 capacity")
