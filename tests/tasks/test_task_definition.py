"""What a GPU container asks for reaches the template unchanged, or the line that asked is refused."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs

from gpu_constructs import (
    CapacityChoice,
    GpuMachineImage,
    GpuTaskDefinition,
    HostNetwork,
    IncompatibleError,
    InvalidValueError,
)
from gpu_constructs.cluster.capacity.several import plan_family
from gpu_constructs.facts import Vendor, accelerated
from gpu_constructs.fleet import Task
from gpu_constructs.placement import NOTHING_KEPT, fit
from gpu_constructs.tasks.accelerated_container import plan_gpu_container
from tests.synthesis import Landlord, Site, Tenant, unwritten


@pytest.mark.parametrize(("instance_type", "gpus"), [("g6.xlarge", 1), ("g6.12xlarge", 3), ("p5.48xlarge", 8)])
def test_the_gpu_request_reaches_the_template(tenant: Tenant, instance_type: str, gpus: int) -> None:
    tenant.task(tenant.capacity(instance_type)).add_gpu_container("train", image=tenant.image, gpus=gpus)
    assert tenant.container()["ResourceRequirements"] == [{"Type": "GPU", "Value": str(gpus)}]


def test_the_constraint_lists_the_types_of_the_capacity(tenant: Tenant) -> None:
    tenant.task(tenant.l4).add_gpu_container("train", image=tenant.image)
    assert tenant.only("AWS::ECS::TaskDefinition")["PlacementConstraints"] == [
        {"Type": "memberOf", "Expression": "attribute:ecs.instance-type in [g6.xlarge, g6.2xlarge]"}
    ]


def test_two_capacities_make_one_constraint_over_both(tenant: Tenant) -> None:
    second = tenant.capacity("g5.xlarge", "g6.xlarge")
    tenant.task(tenant.l4, second).add_gpu_container("train", image=tenant.image)
    (constraint,) = tenant.only("AWS::ECS::TaskDefinition")["PlacementConstraints"]
    assert constraint["Expression"] == "attribute:ecs.instance-type in [g6.xlarge, g6.2xlarge, g5.xlarge]"


def test_cuda_gets_its_limits_and_capabilities(tenant: Tenant) -> None:
    tenant.task().add_gpu_container("train", image=tenant.image)
    container = tenant.container()
    assert container["Environment"] == [{"Name": "NVIDIA_DRIVER_CAPABILITIES", "Value": "compute,utility"}]
    assert {each["Name"]: (each["SoftLimit"], each["HardLimit"]) for each in container["Ulimits"]} == {
        "memlock": (-1, -1),
        "stack": (67108864, 67108864),
    }


def test_the_users_environment_wins_over_the_default(tenant: Tenant) -> None:
    tenant.task().add_gpu_container(
        "train", image=tenant.image, environment={"NVIDIA_DRIVER_CAPABILITIES": "all", "SEED": "7"}
    )
    assert {each["Name"]: each["Value"] for each in tenant.container()["Environment"]} == {
        "NVIDIA_DRIVER_CAPABILITIES": "all",
        "SEED": "7",
    }


def test_logs_are_kept_a_month_and_go_with_the_stack(tenant: Tenant) -> None:
    tenant.task().add_gpu_container("train", image=tenant.image)
    (logical_id, group), *rest = [
        (key, value) for key, value in tenant.template()["Resources"].items() if value["Type"] == "AWS::Logs::LogGroup"
    ]
    assert rest == []
    assert group["Properties"]["RetentionInDays"] == 30
    assert group["DeletionPolicy"] == "Delete"
    options = tenant.container()["LogConfiguration"]["Options"]
    assert (options["awslogs-group"], options["awslogs-stream-prefix"]) == ({"Ref": logical_id}, "train")


def test_log_retention_is_a_choice(tenant: Tenant) -> None:
    tenant.task(log_retention=logs.RetentionDays.ONE_YEAR).add_gpu_container("train", image=tenant.image)
    assert tenant.only("AWS::Logs::LogGroup")["RetentionInDays"] == 365


def test_it_is_a_task_definition_like_any_other(tenant: Tenant) -> None:
    task = tenant.task(network_mode=ecs.NetworkMode.AWS_VPC, family="chat")
    container = task.add_gpu_container(
        "vllm",
        image=tenant.image,
        command=["serve"],
        essential=True,
        health_check=ecs.HealthCheck(command=["CMD-SHELL", "true"]),
        stop_timeout=cdk.Duration.minutes(2),
    )
    container.add_port_mappings(ecs.PortMapping(container_port=8000))
    made = tenant.container()
    assert tenant.only("AWS::ECS::TaskDefinition")["Family"] == "chat"
    assert (made["Command"], made["StopTimeout"], made["PortMappings"][0]["ContainerPort"]) == (["serve"], 120, 8000)
    assert made["HealthCheck"]["Command"] == ["CMD-SHELL", "true"]


def test_ports_are_counted_that_are_added_by_way_of_the_task(tenant: Tenant) -> None:
    task = tenant.task()
    task.add_gpu_container("vllm", image=tenant.image)
    assert task.counted.with_ports().host_ports == frozenset()
    for number, found in enumerate((task.default_container, task.find_container("vllm"))):
        assert found is not None
        found.add_port_mappings(ecs.PortMapping(container_port=8000 + number, host_port=80 + number))
    assert task.counted.with_ports().host_ports == {(80, "tcp"), (81, "tcp")}


def test_an_image_is_not_its_name(tenant: Tenant) -> None:
    task = tenant.task()
    with pytest.raises(InvalidValueError, match="image: expects an ecs.ContainerImage, got .nvidia/cuda."):
        task.add_gpu_container("train", image="nvidia/cuda")  # type: ignore[arg-type]


def test_a_refused_task_definition_takes_nothing_of_the_same_name_with_it(tenant: Tenant) -> None:
    l4 = tenant.l4
    before = tenant.children()
    with pytest.raises(InvalidValueError, match="network_mode: expects an ecs.NetworkMode"):
        GpuTaskDefinition(tenant.stack, "Cluster", capacity=[l4], network_mode="host")  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="log_retention: expects a logs.RetentionDays"):
        GpuTaskDefinition(tenant.stack, "New", capacity=[l4], log_retention="x")  # type: ignore[arg-type]
    assert tenant.children() == before


@pytest.mark.parametrize("family", ["", "a b", "a/b", "x" * 256])
def test_a_family_has_a_name_that_ecs_takes(tenant: Tenant, family: str) -> None:
    with pytest.raises(InvalidValueError, match="family: .* is not a name"):
        tenant.task(family=family)


def _lines(site: Site, *lines: str) -> list[str]:
    """Lines that start a task by hand, with names in place of tokens."""
    for number, line in enumerate(lines):
        cdk.CfnOutput(site.stack, f"Run{number}", value=line)
    values = [each["Value"]["Fn::Join"][1] for each in site.template()["Outputs"].values()]
    return ["".join(part if isinstance(part, str) else "NAME" for part in each) for each in values]


def test_the_line_that_starts_it_by_hand_names_its_capacity(site: Site) -> None:
    order = [
        CapacityChoice("First", instance_types=["g6.xlarge"], max_instances=2),
        CapacityChoice("Then", instance_types=["g5.xlarge"], max_instances=4),
    ]
    task = site.task(*site.cluster.add_fallback("Order", order=order), family="train")
    with unwritten(), pytest.raises(InvalidValueError, match="the task definition has no container with GPUs"):
        task.run_task_command()
    task.add_gpu_container("train", image=site.image)
    assert _lines(site, task.run_task_command()) == [
        (
            "aws ecs run-task --cluster NAME --task-definition train --capacity-provider-strategy "
            "capacityProvider=NAME,weight=1,base=2 capacityProvider=NAME,weight=1000 --propagate-tags TASK_DEFINITION"
        )
    ]
    with unwritten(), pytest.raises(IncompatibleError, match="security_groups"):
        task.run_task_command(security_groups=[site.cluster.host_security_group])
    mixed = site.task(site.l4, site.managed(instance_types=["g6.xlarge"]), name="Mixed")
    mixed.add_gpu_container("train", image=site.image)
    with pytest.raises(IncompatibleError, match="Managed Instances"):
        mixed.run_task_command()
    assert "capacityProvider=" in mixed.run_task_command(capacity=[site.l4])


def test_the_line_of_a_task_with_an_interface_has_its_network(site: Site) -> None:
    task = site.task(site.l4, family="train", network_mode=ecs.NetworkMode.AWS_VPC)
    task.add_gpu_container("train", image=site.image)
    group = ec2.SecurityGroup.from_security_group_id(site.stack, "Own", "sg-12345678")
    chosen = task.run_task_command(security_groups=[group], vpc_subnets=site.one_zone)
    assert [each.partition("awsvpcConfiguration=")[2] for each in _lines(site, task.run_task_command(), chosen)] == [
        "{subnets=[subnet-bbbbbbb1,subnet-bbbbbbb2]}'",
        "{subnets=[subnet-bbbbbbb1],securityGroups=[sg-12345678]}'",
    ]


def test_windows_networking_is_refused(tenant: Tenant) -> None:
    with pytest.raises(InvalidValueError, match="nat is for Windows"):
        tenant.task(network_mode=ecs.NetworkMode.NAT)


def test_namespaces_are_shared_as_in_cdk(site: Site) -> None:
    task = site.task(site.l4, ipc_mode=ecs.IpcMode.HOST, pid_mode=ecs.PidMode.TASK)
    task.add_gpu_container("train", image=site.image)
    assert task.task.ipc_mode == "host"
    assert site.warnings() == []
    found = site.only("AWS::ECS::TaskDefinition")
    assert (found["IpcMode"], found["PidMode"]) == ("host", "task")
    assert "SharedMemorySize" not in str(found)  # /dev/shm is that of the host


def test_what_a_shared_namespace_does_not_have_is_refused(tenant: Tenant) -> None:
    task = tenant.task(tenant.l4, ipc_mode=ecs.IpcMode.HOST, network_mode=ecs.NetworkMode.HOST)
    with pytest.raises(IncompatibleError, match="shared_memory_mib: in IPC mode host, containers have /dev/shm of the"):
        task.add_gpu_container("train", image=tenant.image, shared_memory_mib=1024)
    for namespace, mode in (("kernel.shmmax", "ipc_mode"), ("net.core.somaxconn", "network_mode")):
        controls = [ecs.SystemControl(namespace=namespace, value="1")]
        for add in (task.add_gpu_container, task.add_container):
            with pytest.raises(IncompatibleError, match=rf"system_controls: .*{namespace}.*another {mode}$"):
                add("train", image=tenant.image, system_controls=controls)


def test_managed_instances_have_no_ipc_mode(tenant: Tenant) -> None:
    managed = tenant.managed(instance_types=["g6.xlarge"])
    with pytest.raises(IncompatibleError, match="ipc_mode: tasks on ECS Managed Instances have no IPC mode"):
        tenant.task(managed, ipc_mode=ecs.IpcMode.TASK)


def test_a_sidecar_logs_where_the_task_does(tenant: Tenant) -> None:
    tenant.task().add_container("logs", image=tenant.image, memory_limit_mib=64)
    assert tenant.container()["LogConfiguration"]["Options"]["awslogs-stream-prefix"] == "logs"


def test_a_log_group_of_ones_own_is_used(tenant: Tenant) -> None:
    own = logs.LogGroup(tenant.stack, "Own", retention=logs.RetentionDays.TEN_YEARS)
    tenant.task(log_group=own).add_gpu_container("train", image=tenant.image)
    assert [each["RetentionInDays"] for each in tenant.properties("AWS::Logs::LogGroup")] == [3653]


def test_what_can_only_be_said_at_once_can_be_said(tenant: Tenant) -> None:
    tenant.task().add_gpu_container(
        "train",
        image=tenant.image,
        entry_point=["python"],
        user="1000",
        working_directory="/work",
        readonly_root_filesystem=True,
        logging=ecs.LogDrivers.json_file(),
    )
    container = tenant.container()
    assert (container["EntryPoint"], container["User"], container["WorkingDirectory"]) == (["python"], "1000", "/work")
    assert container["ReadonlyRootFilesystem"] is True
    assert container["LogConfiguration"]["LogDriver"] == "json-file"


def test_many_types_that_are_not_known_are_told_apart(tenant: Tenant) -> None:
    tokens = [cdk.CfnParameter(tenant.stack, f"P{i}").value_as_string for i in range(12)]
    tenant.task(tenant.capacity(*tokens, image=GpuMachineImage.pinned("al2023-gpu"))).add_gpu_container(
        "train", image=tenant.image, cpu=1, memory_mib=64
    )
    (constraint,) = tenant.only("AWS::ECS::TaskDefinition")["PlacementConstraints"]
    parts = constraint["Expression"]["Fn::Join"][1]
    assert [each["Ref"] for each in parts if isinstance(each, dict)] == [f"P{i}" for i in range(12)]
    assert [each for each in parts if isinstance(each, str)] == ["attribute:ecs.instance-type in [", *[", "] * 11, "]"]


def test_gpus_are_asked_for_where_they_are_checked(tenant: Tenant) -> None:
    with pytest.raises(InvalidValueError, match="gpu_count: .*fix: add_gpu_container\\('side', gpus=8, …\\)"):
        tenant.task().add_container("side", image=tenant.image, memory_limit_mib=64, gpu_count=8)


def test_each_capacity_counts_once(tenant: Tenant) -> None:
    with pytest.raises(InvalidValueError, match="each capacity once"):
        tenant.task(tenant.l4, tenant.l4)


def test_two_containers_of_one_name_are_refused(tenant: Tenant) -> None:
    task = tenant.task(tenant.capacity("g6.12xlarge"))
    task.add_gpu_container("train", image=tenant.image)
    with pytest.raises(InvalidValueError, match="'train' is already used"):
        task.add_gpu_container("train", image=tenant.image)


def test_one_task_does_not_run_on_arm_and_x86(tenant: Tenant) -> None:
    arm = tenant.capacity("g5g.xlarge")
    l4 = tenant.l4
    before = tenant.children()
    with pytest.raises(IncompatibleError, match="Capacity is arm64"):
        GpuTaskDefinition(tenant.stack, "Task", capacity=[l4, arm])
    assert tenant.children() == before


@pytest.mark.parametrize("capacity", [[], None, "L4", ["L4"]])
def test_capacity_is_a_list_of_capacities(untouched: Site, capacity: Any) -> None:
    with pytest.raises(InvalidValueError, match="capacity: expects a list"):
        GpuTaskDefinition(untouched.stack, "Task", capacity=capacity)
    assert untouched.children() == ["Stack"]


def test_a_token_passes_is_marked_and_reaches_the_template_as_a_reference(site: Site) -> None:
    count = site.number("Gpus")
    task = site.task()
    task.add_container("sidecar", image=site.image, memory_limit_mib=64)
    task.add_gpu_container(
        "train", image=site.image, gpus=count, cpu=site.number("Cpu"), memory_mib=site.number("Memory")
    )
    (warning,) = site.warnings()
    for name in ("ResourceRequirements", "Cpu", "Memory"):
        assert name in warning.partition("only known at deploy time")[0]
    _, train = site.only("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    assert train["ResourceRequirements"] == [{"Type": "GPU", "Value": {"Ref": "Gpus"}}]
    assert (train["Cpu"], train["Memory"]) == ({"Ref": "Cpu"}, {"Ref": "Memory"})


def test_one_gpu_of_any_family_gets_a_share_that_fits(landlord: Landlord) -> None:
    families = {each.family for each in accelerated() if each.gpus and each.family not in ("p2", "g2", "p6e-gb200")}
    assert len(families) > 15
    for family in families:
        shape = CapacityChoice("Family", instance_types=(), max_instances=1)
        for hosts in plan_family(family, shape, landlord.cluster.hosts).values():
            plan = plan_gpu_container(
                "one",
                task=Task(name="Task"),
                pools=[hosts.pool],
                gpus=1,
                needs=None,
                options={},
                kept=NOTHING_KEPT,
            )
            found = fit(plan.task, hosts.pool)
            assert (found.answer, [*found.doubts]) == (True, []), hosts.pool


def test_every_vendor_but_nvidia_is_refused_or_has_no_gpus() -> None:
    assert {
        each.gpus for each in accelerated() if each.accelerators and each.accelerators.vendor is not Vendor.NVIDIA
    } == {0}


def test_a_wrong_value_inside_an_argument_takes_nothing_with_it(tenant: Tenant) -> None:
    task = tenant.task()
    task.add_container("side", image=tenant.image, memory_limit_mib=100)
    before = tenant.children()
    with pytest.raises(InvalidValueError):
        task.add_container("side", image=tenant.image, memory_limit_mib=100, environment={"A": "b", "C": 5})
    assert tenant.children() == before


def test_no_gpus_may_be_said_as_in_cdk(tenant: Tenant) -> None:
    tenant.task().add_container("side", image=tenant.image, memory_limit_mib=100, gpu_count=0)
    assert "ResourceRequirements" not in tenant.container()


def test_efa_reaches_the_container_and_what_the_user_sets_wins(tenant: Tenant) -> None:
    zone = ec2.SubnetSelection(subnets=tenant.vpc.private_subnets[:1])
    hosts = tenant.capacity("g6.8xlarge", network=HostNetwork.efa(), vpc_subnets=zone)
    task = tenant.task(hosts, network_mode=ecs.NetworkMode.HOST)
    task.add_gpu_container("train", image=tenant.image, efa=True, environment={"FI_PROVIDER": "efa;ofi_rxm"})
    container = tenant.container()
    assert container["LinuxParameters"]["Devices"] == [
        {
            "HostPath": "/dev/infiniband/uverbs0",
            "ContainerPath": "/dev/infiniband/uverbs0",
            "Permissions": ["read", "write", "mknod"],
        }
    ]
    assert {"Name": "FI_PROVIDER", "Value": "efa;ofi_rxm"} in container["Environment"]
    assert [each["Name"] for each in container["Ulimits"]] == ["memlock", "stack"]
    assert task.task.containers[0].devices == ("/dev/infiniband/uverbs0",)


def test_a_text_that_is_not_known_is_a_number_of_gpus_or_all_of_them(tenant: Tenant) -> None:
    text = cdk.CfnParameter(tenant.stack, "Text", type="String").value_as_string
    tenant.task().add_gpu_container("train", image=tenant.image, gpus=text, cpu=512, memory_mib=512)  # type: ignore[arg-type]
    assert tenant.container()["ResourceRequirements"] == [{"Type": "GPU", "Value": {"Ref": "Text"}}]


def test_load_balancers_reach_the_gpu_container_though_a_sidecar_came_first(tenant: Tenant) -> None:
    task = tenant.task()
    task.add_container("router", image=tenant.image, memory_limit_mib=128)
    task.add_gpu_container("chat", image=tenant.image)
    assert task.default_container is not None
    assert task.default_container.container_name == "chat"
