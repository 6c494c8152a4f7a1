"""GPUs that containers share, parts of GPUs, and devices that tasks ask for by path."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ecs_emulator.agent import AgentConfig
from ecs_emulator.demands import TaskDefinitionError, demand_of
from ecs_emulator.expressions import Subjects
from ecs_emulator.hosts import empty_host
from ecs_emulator.images import Image
from ecs_emulator.instance_types import instance_type
from ecs_emulator.local import Local
from ecs_emulator.managed_scaling import hosts_needed
from ecs_emulator.placement import MPS, Demand, Failure, Host, Placement, SharedGpu, place

from tests.e2e.templates import Template, cluster_template

HOST = Host(
    arn="two",
    subjects=Subjects({MPS: None}),
    cpu=4096,
    memory=16_000,
    gpus=("a", "b"),
    gpu_total=2,
    gpu_memory_mib=20_000,
)
GPU_AMI = "/aws/service/ecs/optimized-ami/{}/recommended/image_id"


def sharing(*memory_mib: int) -> Demand:
    return Demand(shared_gpu=tuple(SharedGpu(f"container-{index}", mib) for index, mib in enumerate(memory_mib)))


def placed(demand: Demand, host: Host) -> Placement:
    outcome = place(demand, [host])
    assert isinstance(outcome, Placement)
    return outcome


def test_the_containers_of_a_task_share_one_gpu() -> None:
    outcome = placed(sharing(8_000, 8_000), HOST)

    assert outcome.gpus == {"container-0": ("a",), "container-1": ("a",)}
    assert (outcome.host.gpus, outcome.host.shared) == (("b",), {"a": 4_000})


@pytest.mark.parametrize(
    ("demand", "host", "reason"),
    [
        (sharing(20_001), HOST, "RESOURCE:GPU"),
        (sharing(12_000, 12_000), HOST, "RESOURCE:GPU"),
        (sharing(1), replace(HOST, subjects=Subjects({})), "ATTRIBUTE"),
        (Demand(neuron="inference"), HOST, "RESOURCE:NEURON_DEVICE"),
    ],
)
def test_a_host_that_cannot_share_says_why(demand: Demand, host: Host, reason: str) -> None:
    assert place(demand, [host]) == (Failure("two", reason),)


def test_tasks_that_share_need_fewer_hosts() -> None:
    host = empty_host(instance_type("g6.xlarge"), image_id="", zone="", ami=Image(), config=AgentConfig())

    assert hosts_needed([sharing(11_000)] * 5, [host]) == 3


def container(requirement: dict[str, object] | None = None, name: str = "serving") -> dict[str, object]:
    return {"name": name, "memory": 512, "resourceRequirements": [requirement] if requirement else []}


def mps(**settings: object) -> dict[str, object]:
    return {"type": "GPU", "sharingStrategy": {"nvidiaMps": settings}}


@pytest.mark.parametrize(
    "containers",
    [
        [container(mps())],
        [container(mps(memory=0))],
        [container(mps(memory=1, maxComputePercent=0))],
        [container(mps(memory=1, maxComputePercent=101))],
        [container({**mps(memory=1), "value": "1"})],
        [container(mps(memory=1)), container({"type": "GPU", "value": "1"}, "other")],
        [container({"type": "NeuronDevice", "value": "1"})],
        [
            container({"type": "NeuronDevice", "value": "ALL"}),
            container({"type": "NeuronDevice", "value": "ALL"}, "other"),
        ],
    ],
)
def test_a_share_that_ecs_refuses_is_an_error(containers: list[dict[str, object]]) -> None:
    with pytest.raises(TaskDefinitionError):
        demand_of(containers)


def in_containers(template: Template, **properties: object) -> Template:
    task = template["Resources"]["Task"]["Properties"]
    task["ContainerDefinitions"] = [
        {"Name": "serving", "Image": "cuda", "Memory": 512, **properties},
    ]
    return template


def run(cloud: Local, template: Template, *, tasks: int = 1) -> tuple[list[str], list[str], int]:
    """Run tasks of a stack and end it.

    Returns:
        States of the tasks that have not stopped, ids of their GPUs, and how many hosts there were.
    """
    stack = cloud.deploy(template)
    outputs = stack.outputs
    for _ in range(tasks):
        cloud.run(outputs["Cluster"], outputs["Task"], outputs["Provider"], minutes=3)
    running, hosts = cloud.account.tasks(outputs["Cluster"]), cloud.account.hosts(outputs["Cluster"])
    cloud.account.stop_all(outputs["Cluster"])
    cloud.destroy(stack)
    return [task.status for task in running], [gpu for task in running for gpu in task.gpus], len(hosts)


SHARE = {"Type": "GPU", "SharingStrategy": {"NvidiaMps": {"Memory": 11_000, "MaxComputePercent": 50}}}


def test_two_tasks_of_a_cluster_share_a_gpu(cloud: Local) -> None:
    template = in_containers(cluster_template(max_size=1), ResourceRequirements=[SHARE])

    states, gpus, hosts = run(cloud, template, tasks=2)

    assert (states, hosts) == (["RUNNING", "RUNNING"], 1)
    assert len(gpus) == 2
    assert len(set(gpus)) == 1


@pytest.mark.parametrize(
    ("name", "state"), [("amazon-linux-2023/gpu", "RUNNING"), ("amazon-linux-2/gpu", "PROVISIONING")]
)
def test_gpus_are_shared_on_an_ami_whose_agent_can(cloud: Local, name: str, state: str) -> None:
    image = cloud.account.client("ssm").get_parameter(Name=GPU_AMI.format(name))["Parameter"]["Value"]
    template = in_containers(cluster_template(max_size=1, image=image), ResourceRequirements=[SHARE])

    assert run(cloud, template)[0] == [state]


@pytest.mark.parametrize(("value", "states"), [("0.125", ["RUNNING"]), ("0.25", ["PROVISIONING"])])
def test_a_fractional_host_takes_the_part_that_it_is(cloud: Local, value: str, states: list[str]) -> None:
    template = in_containers(
        cluster_template("g6f.xlarge", max_size=1), ResourceRequirements=[{"Type": "GPU", "Value": value}]
    )

    assert run(cloud, template)[0] == states


@pytest.mark.parametrize(
    ("name", "path", "states"),
    [
        ("inf2.xlarge", "/dev/neuron0", ["RUNNING"]),
        ("inf2.xlarge", "/dev/neuron1", []),
        ("trn1.32xlarge", "/dev/neuron15", ["RUNNING"]),
        ("g6.8xlarge", "/dev/infiniband/uverbs0", []),
        ("g6.xlarge", "/dev/fuse", ["RUNNING"]),
    ],
)
def test_a_task_starts_where_its_devices_exist(cloud: Local, name: str, path: str, states: list[str]) -> None:
    device = {"HostPath": path, "ContainerPath": path, "Permissions": ["read", "write"]}
    template = in_containers(cluster_template(name, max_size=1), LinuxParameters={"Devices": [device]})

    assert run(cloud, template)[0] == states


@pytest.mark.parametrize("name", ["trn1.2xlarge"])
@pytest.mark.parametrize(("ami", "states"), [("amazon-linux-2023/neuron", ["RUNNING"]), ("amazon-linux-2023", [])])
def test_neuron_devices_need_their_ami(cloud: Local, name: str, ami: str, states: list[str]) -> None:
    image = cloud.account.client("ssm").get_parameter(Name=GPU_AMI.format(ami))["Parameter"]["Value"]
    device = {"HostPath": "/dev/neuron0", "ContainerPath": "/dev/neuron0"}
    template = in_containers(cluster_template(name, max_size=1, image=image), LinuxParameters={"Devices": [device]})

    assert run(cloud, template)[0] == states


def test_a_host_with_efa_interfaces_has_their_devices(cloud: Local) -> None:
    device = {"HostPath": "/dev/infiniband/uverbs0", "ContainerPath": "/dev/infiniband/uverbs0"}
    template = in_containers(cluster_template("g6.8xlarge", max_size=1), LinuxParameters={"Devices": [device]})
    template["Resources"]["LaunchTemplate"]["Properties"]["LaunchTemplateData"]["NetworkInterfaces"] = [
        {"NetworkCardIndex": 0, "DeviceIndex": 0, "InterfaceType": "efa"}
    ]

    assert run(cloud, template)[0] == ["RUNNING"]
