"""Neuron devices reach the container by path, on ECS Managed Instances as a resource."""

from __future__ import annotations

from typing import Any, cast

import pytest

from gpu_constructs import DoesNotFitError, GpuTaskDefinition, IncompatibleError, InvalidValueError
from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.fleet import Pool, PoolKind, Task
from gpu_constructs.placement.fit import fit
from gpu_constructs.placement.rollout import task_slots
from gpu_constructs.tasks.accelerated_container import plan_neuron_container
from gpu_constructs.tasks.container_options import ContainerOptions
from gpu_constructs.tasks.container_plan import ContainerPlan
from tests.rules.given import a_pool, of_image
from tests.synthesis import Site, Tenant, unwritten

# AWS's own count of chips (https://aws.amazon.com/ec2/instance-types/ pages of Inf1, Inf2, Trn1, Trn2, 2026-11-21).
CHIPS = {
    **dict.fromkeys(("inf1.xlarge", "inf1.2xlarge", "inf2.xlarge", "inf2.8xlarge", "trn1.2xlarge", "trn2.3xlarge"), 1),
    "inf1.6xlarge": 4,
    "inf2.24xlarge": 6,
    "inf2.48xlarge": 12,
    **dict.fromkeys(("inf1.24xlarge", "trn1.32xlarge", "trn1n.32xlarge", "trn2.48xlarge"), 16),
}


def paths(container: dict[str, Any]) -> list[str]:
    devices = container["LinuxParameters"].get("Devices", [])
    assert all(each["HostPath"] == each["ContainerPath"] for each in devices)
    return [each["HostPath"] for each in devices]


def task_of(plan: ContainerPlan) -> Task:
    return Task(name="task", containers=(plan.container,))


def test_every_chip_of_a_host_is_a_device() -> None:
    for name, chips in CHIPS.items():
        hosts = a_pool(name, image=of_image("al2023-neuron"))
        plan = planned(hosts)
        assert list(plan.container.devices) == [f"/dev/neuron{index}" for index in range(chips)], name
        assert fit(task_of(plan), hosts).answer is True, name


def test_devices_reach_the_container_with_the_right_to_lock_memory(tenant: Tenant) -> None:
    tenant.task(tenant.capacity("inf2.24xlarge")).add_neuron_container("infer", image=tenant.image)
    container = tenant.container()
    assert paths(container) == [f"/dev/neuron{index}" for index in range(6)]
    assert container["LinuxParameters"]["Capabilities"] == {"Add": ["IPC_LOCK"]}
    assert container["LinuxParameters"]["Devices"][0]["Permissions"] == ["read", "write", "mknod"]
    assert "ResourceRequirements" not in container
    assert "Environment" not in container


def test_it_gets_the_host_to_itself(tenant: Tenant) -> None:
    capacity = tenant.capacity("inf2.48xlarge", max_instances=3)
    task = tenant.task(capacity)
    task.add_neuron_container("infer", image=tenant.image, devices=2)
    assert paths(tenant.container()) == ["/dev/neuron0", "/dev/neuron1"]
    assert (task.task.cpu, task.task.memory_mib) == (192 * 1024, int(768 * 1024 * 0.925) - 256)
    assert task_slots(task.task, capacity.pool) == 3


def test_containers_of_one_task_get_different_devices(tenant: Tenant) -> None:
    task = tenant.task(tenant.capacity("trn1.32xlarge"))
    task.add_neuron_container("first", image=tenant.image, devices=4, cpu=1024, memory_mib=8192)
    task.add_neuron_container("second", image=tenant.image, devices=12)
    first, second = tenant.only("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    assert paths(first) == [f"/dev/neuron{index}" for index in range(4)]
    assert paths(second) == [f"/dev/neuron{index}" for index in range(4, 16)]
    assert second["Memory"] == int(512 * 1024 * 0.925) - 256 - 8192
    with pytest.raises(DoesNotFitError, match="Neuron devices: 17 asked, trn1.32xlarge has 16") as refused:
        task.add_neuron_container("third", image=tenant.image, devices=1, cpu=0, memory_mib=64)
    assert refused.value.argument == "devices"


REFUSED: list[Any] = [
    pytest.param({"devices": 0}, InvalidValueError, "got 0; allowed: 1 or more", id="none"),
    pytest.param({"devices": 1.0}, InvalidValueError, "got 1.0", id="a float"),
    pytest.param({"devices": True}, InvalidValueError, "got True", id="a truth value"),
    pytest.param({"devices": "all"}, InvalidValueError, "got 'all'.*'ALL'", id="lower case"),
    pytest.param({"devices": 7}, DoesNotFitError, "7 asked, inf2.24xlarge has 6.*inf2.48xlarge", id="too many"),
    pytest.param({"cpu": 96 * 1024 + 1}, DoesNotFitError, "CPU units", id="too much CPU"),
    pytest.param({"efa": True}, IncompatibleError, "no Elastic Fabric Adapter", id="EFA"),
]


@pytest.fixture(scope="module")
def task(untouched: Site) -> GpuTaskDefinition:
    return untouched.task(untouched.capacity("inf2.24xlarge"))


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSED)
def test_it_refuses_and_leaves_nothing_behind(
    untouched: Site, task: GpuTaskDefinition, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with untouched.refuses(error, match=message) as refused:
        task.add_neuron_container("infer", **{"image": untouched.image, **arguments})
    assert getattr(refused.value, "argument") in arguments  # noqa: B009 - every error of ours has one
    assert task.task.containers == ()


def test_hosts_with_different_numbers_have_no_all(tenant: Tenant) -> None:
    task = tenant.task(tenant.capacity("inf2.24xlarge", name="Six"), tenant.capacity("inf2.48xlarge", name="Twelve"))
    with unwritten(), pytest.raises(IncompatibleError, match="inf2.24xlarge has 6, inf2.48xlarge has 12"):
        task.add_neuron_container("infer", image=tenant.image)
    task.add_neuron_container("infer", image=tenant.image, devices=6)
    assert len(paths(tenant.container())) == 6


@pytest.mark.parametrize(("name", "instead"), [("g6.xlarge", "add_gpu_container"), ("c7i.large", "add_container")])
def test_other_capacity_is_refused_with_the_right_call(tenant: Tenant, name: str, instead: str) -> None:
    with pytest.raises(IncompatibleError, match=f"no Neuron device; fix: {instead}, or .*inf2.xlarge"):
        tenant.task(tenant.capacity(name)).add_neuron_container("infer", image=tenant.image)


MANAGED = a_pool("inf2.xlarge", name="managed", image=of_image("al2023-neuron"), kind=PoolKind.MANAGED_INSTANCES)
GROUP = a_pool("inf2.xlarge", name="group", image=of_image("al2023-neuron"))


def planned(*pools: Pool, task: Task | None = None, devices: Any = "ALL", **changes: Any) -> Any:
    options = cast("ContainerOptions", changes)
    return plan_neuron_container(
        "infer", task=task or Task(name="task"), pools=list(pools), devices=devices, options=options
    )


def test_managed_instances_are_asked_for_a_resource() -> None:
    plan = planned(MANAGED)
    assert plan.requirement == {"Type": "NeuronDevice", "Value": "ALL"}
    assert (plan.container.devices, plan.capabilities, plan.shared_memory_mib) == ((), (), None)
    assert fit(task_of(plan), MANAGED).answer is True
    assert fit(task_of(plan), GROUP).answer is False
    assert planned(GROUP).requirement is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"devices": 1}, "a container gets all Neuron devices of its host; allowed: 'ALL'"),
        ({"shared_memory_mib": 64}, "where sharedMemorySize is not valid"),
        ({"task": task_of(planned(MANAGED))}, "infer and infer ask for NeuronDevice; only one container"),
    ],
)
def test_what_managed_instances_do_not_take_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(GpuConstructsError, match=message):
        planned(MANAGED, **arguments)
