"""What a GPU container asks for reaches the template unchanged, or the line that asked is refused."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs

from gpu_constructs import (
    GpuCluster,
    GpuMachineImage,
    GpuTaskDefinition,
    HostNetwork,
    IncompatibleError,
    InvalidValueError,
)
from gpu_constructs.hardware import Vendor, accelerated
from tests.synthesis import Site


@pytest.mark.parametrize(("instance_type", "gpus"), [("g6.xlarge", 1), ("g6.12xlarge", 3), ("p5.48xlarge", 8)])
def test_the_gpu_request_reaches_the_template(site: Site, instance_type: str, gpus: int) -> None:
    site.task(site.capacity(instance_type)).add_gpu_container("train", image=site.image, gpus=gpus)
    assert site.container()["ResourceRequirements"] == [{"Type": "GPU", "Value": str(gpus)}]


def test_the_constraint_lists_the_types_of_the_capacity(site: Site) -> None:
    site.task(site.l4).add_gpu_container("train", image=site.image)
    assert site.only("AWS::ECS::TaskDefinition")["PlacementConstraints"] == [
        {"Type": "memberOf", "Expression": "attribute:ecs.instance-type in [g6.xlarge, g6.2xlarge]"}
    ]


def test_two_capacities_make_one_constraint_over_both(site: Site) -> None:
    second = site.capacity("g5.xlarge", "g6.xlarge")
    site.task(site.l4, second).add_gpu_container("train", image=site.image)
    (constraint,) = site.only("AWS::ECS::TaskDefinition")["PlacementConstraints"]
    assert constraint["Expression"] == "attribute:ecs.instance-type in [g6.xlarge, g6.2xlarge, g5.xlarge]"


def test_cuda_gets_its_limits_and_capabilities(site: Site) -> None:
    site.task().add_gpu_container("train", image=site.image)
    container = site.container()
    assert container["Environment"] == [{"Name": "NVIDIA_DRIVER_CAPABILITIES", "Value": "compute,utility"}]
    assert {each["Name"]: (each["SoftLimit"], each["HardLimit"]) for each in container["Ulimits"]} == {
        "memlock": (-1, -1),
        "stack": (67108864, 67108864),
    }


def test_the_users_environment_wins_over_the_default(site: Site) -> None:
    site.task().add_gpu_container(
        "train", image=site.image, environment={"NVIDIA_DRIVER_CAPABILITIES": "all", "SEED": "7"}
    )
    assert {each["Name"]: each["Value"] for each in site.container()["Environment"]} == {
        "NVIDIA_DRIVER_CAPABILITIES": "all",
        "SEED": "7",
    }


def test_logs_are_kept_a_month_and_go_with_the_stack(site: Site) -> None:
    site.task().add_gpu_container("train", image=site.image)
    (logical_id, group), *rest = [
        (key, value) for key, value in site.template()["Resources"].items() if value["Type"] == "AWS::Logs::LogGroup"
    ]
    assert rest == []
    assert group["Properties"]["RetentionInDays"] == 30
    assert group["DeletionPolicy"] == "Delete"
    options = site.container()["LogConfiguration"]["Options"]
    assert (options["awslogs-group"], options["awslogs-stream-prefix"]) == ({"Ref": logical_id}, "train")


def test_log_retention_is_a_choice(site: Site) -> None:
    site.task(log_retention=logs.RetentionDays.ONE_YEAR).add_gpu_container("train", image=site.image)
    assert site.only("AWS::Logs::LogGroup")["RetentionInDays"] == 365


def test_it_is_a_task_definition_like_any_other(site: Site) -> None:
    task = site.task(network_mode=ecs.NetworkMode.AWS_VPC, family="chat")
    container = task.add_gpu_container(
        "vllm",
        image=site.image,
        command=["serve"],
        essential=True,
        health_check=ecs.HealthCheck(command=["CMD-SHELL", "true"]),
        stop_timeout=cdk.Duration.minutes(2),
    )
    container.add_port_mappings(ecs.PortMapping(container_port=8000))
    made = site.container()
    assert site.only("AWS::ECS::TaskDefinition")["Family"] == "chat"
    assert (made["Command"], made["StopTimeout"], made["PortMappings"][0]["ContainerPort"]) == (["serve"], 120, 8000)
    assert made["HealthCheck"]["Command"] == ["CMD-SHELL", "true"]


def test_what_only_cdk_refuses_leaves_nothing_behind(site: Site) -> None:
    task = site.task()
    before = site.children()
    with pytest.raises(InvalidValueError, match="image: expects an ecs.ContainerImage, got .nvidia/cuda."):
        task.add_gpu_container("train", image="nvidia/cuda")  # type: ignore[arg-type]
    assert site.children() == before
    task.add_gpu_container("train", image=site.image)
    assert len(site.only("AWS::ECS::TaskDefinition")["ContainerDefinitions"]) == 1


@pytest.mark.parametrize("construct_id", ["Logs", "TaskRole", "Resource"])
def test_a_refused_container_takes_nothing_of_the_same_name_with_it(site: Site, construct_id: str) -> None:
    task = site.task()
    before = site.children()
    with pytest.raises(InvalidValueError):
        task.add_gpu_container(construct_id, image="x")  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match=f"'{construct_id}' is already used"):
        task.add_gpu_container(construct_id, image=site.image)
    assert site.children() == before


def test_a_refused_task_definition_takes_nothing_of_the_same_name_with_it(site: Site) -> None:
    l4 = site.l4
    before = site.children()
    with pytest.raises(InvalidValueError, match="network_mode: expects an ecs.NetworkMode"):
        GpuTaskDefinition(site.stack, "Cluster", capacity=[l4], network_mode="host")  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="log_retention: expects a logs.RetentionDays"):
        GpuTaskDefinition(site.stack, "New", capacity=[l4], log_retention="x")  # type: ignore[arg-type]
    assert site.children() == before


@pytest.mark.parametrize("family", ["", "a b", "a/b", "x" * 256])
def test_a_family_has_a_name_that_ecs_takes(site: Site, family: str) -> None:
    with pytest.raises(InvalidValueError, match="family: .* is not a name"):
        site.task(family=family)


def test_windows_networking_is_refused(site: Site) -> None:
    with pytest.raises(InvalidValueError, match="nat is for Windows"):
        site.task(network_mode=ecs.NetworkMode.NAT)


def test_namespaces_are_shared_as_in_cdk(site: Site) -> None:
    task = site.task(site.l4, ipc_mode=ecs.IpcMode.HOST, pid_mode=ecs.PidMode.TASK)
    task.add_gpu_container("train", image=site.image)
    found = site.only("AWS::ECS::TaskDefinition")
    assert (found["IpcMode"], found["PidMode"]) == ("host", "task")
    assert "SharedMemorySize" not in str(found)  # /dev/shm is that of the host
    assert task.task.ipc_mode == "host"
    assert site.warnings() == []


def test_what_a_shared_namespace_does_not_have_is_refused(site: Site) -> None:
    task = site.task(site.l4, ipc_mode=ecs.IpcMode.HOST, network_mode=ecs.NetworkMode.HOST)
    with pytest.raises(IncompatibleError, match="shared_memory_mib: in IPC mode host, containers have /dev/shm of the"):
        task.add_gpu_container("train", image=site.image, shared_memory_mib=1024)
    for namespace, mode in (("kernel.shmmax", "ipc_mode"), ("net.core.somaxconn", "network_mode")):
        controls = [ecs.SystemControl(namespace=namespace, value="1")]
        for add in (task.add_gpu_container, task.add_container):
            with pytest.raises(IncompatibleError, match=rf"system_controls: .*{namespace}.*another {mode} \(GPU209"):
                add("train", image=site.image, system_controls=controls)


def test_managed_instances_have_no_ipc_mode(site: Site) -> None:
    managed = site.cluster.add_managed_capacity("Managed", instance_types=["g6.xlarge"])
    with pytest.raises(IncompatibleError, match="ipc_mode: tasks on ECS Managed Instances have no IPC mode"):
        site.task(managed, ipc_mode=ecs.IpcMode.TASK)


def test_a_sidecar_logs_where_the_task_does(site: Site) -> None:
    site.task().add_container("logs", image=site.image, memory_limit_mib=64)
    assert site.container()["LogConfiguration"]["Options"]["awslogs-stream-prefix"] == "logs"


def test_a_log_group_of_ones_own_is_used(site: Site) -> None:
    own = logs.LogGroup(site.stack, "Own", retention=logs.RetentionDays.TEN_YEARS)
    site.task(log_group=own).add_gpu_container("train", image=site.image)
    assert [each["RetentionInDays"] for each in site.properties("AWS::Logs::LogGroup")] == [3653]


def test_what_can_only_be_said_at_once_can_be_said(site: Site) -> None:
    site.task().add_gpu_container(
        "train",
        image=site.image,
        entry_point=["python"],
        user="1000",
        working_directory="/work",
        readonly_root_filesystem=True,
        logging=ecs.LogDrivers.json_file(),
    )
    container = site.container()
    assert (container["EntryPoint"], container["User"], container["WorkingDirectory"]) == (["python"], "1000", "/work")
    assert container["ReadonlyRootFilesystem"] is True
    assert container["LogConfiguration"]["LogDriver"] == "json-file"


def test_many_types_that_are_not_known_are_told_apart(site: Site) -> None:
    tokens = [cdk.CfnParameter(site.stack, f"P{i}").value_as_string for i in range(12)]
    site.task(site.capacity(*tokens, image=GpuMachineImage.pinned("al2023-gpu"))).add_gpu_container(
        "train", image=site.image, cpu=1, memory_mib=64
    )
    (constraint,) = site.only("AWS::ECS::TaskDefinition")["PlacementConstraints"]
    parts = constraint["Expression"]["Fn::Join"][1]
    assert [each["Ref"] for each in parts if isinstance(each, dict)] == [f"P{i}" for i in range(12)]
    assert [each for each in parts if isinstance(each, str)] == ["attribute:ecs.instance-type in [", *[", "] * 11, "]"]


def test_gpus_are_asked_for_where_they_are_checked(site: Site) -> None:
    with pytest.raises(InvalidValueError, match="gpu_count: .*fix: add_gpu_container\\('side', gpus=8, …\\)"):
        site.task().add_container("side", image=site.image, memory_limit_mib=64, gpu_count=8)


def test_each_capacity_counts_once(site: Site) -> None:
    with pytest.raises(InvalidValueError, match="each capacity once"):
        site.task(site.l4, site.l4)


def test_two_containers_of_one_name_are_refused_and_the_first_stays(site: Site) -> None:
    task = site.task(site.capacity("g6.12xlarge"))
    task.add_gpu_container("train", image=site.image)
    with pytest.raises(InvalidValueError, match="'train' is already used"):
        task.add_gpu_container("train", image=site.image)
    assert len(site.only("AWS::ECS::TaskDefinition")["ContainerDefinitions"]) == 1


def test_one_task_does_not_run_on_arm_and_x86(site: Site) -> None:
    arm = site.capacity("g5g.xlarge")
    l4 = site.l4
    before = site.children()
    with pytest.raises(IncompatibleError, match="Capacity is arm64"):
        GpuTaskDefinition(site.stack, "Task", capacity=[l4, arm])
    assert site.children() == before


@pytest.mark.parametrize("capacity", [[], None, "L4", ["L4"]])
def test_capacity_is_a_list_of_capacities(site: Site, capacity: Any) -> None:
    with pytest.raises(InvalidValueError, match="capacity: expects a list"):
        GpuTaskDefinition(site.stack, "Task", capacity=capacity)
    assert site.children() == ["Stack"]


def test_a_token_passes_is_marked_and_reaches_the_template_as_a_reference(site: Site) -> None:
    count = site.number("Gpus")
    task = site.task()
    task.add_container("sidecar", image=site.image, memory_limit_mib=64)
    task.add_gpu_container("train", image=site.image, gpus=count, cpu=1024, memory_mib=4096)
    _, train = site.only("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    assert train["ResourceRequirements"] == [{"Type": "GPU", "Value": {"Ref": "Gpus"}}]
    (warning,) = site.warnings()
    assert "ResourceRequirements is only known at deploy time" in warning


def test_cpu_and_memory_tokens_pass_and_are_marked(site: Site) -> None:
    site.task().add_gpu_container("train", image=site.image, cpu=site.number("Cpu"), memory_mib=site.number("Memory"))
    assert (site.container()["Cpu"], site.container()["Memory"]) == ({"Ref": "Cpu"}, {"Ref": "Memory"})
    (warning,) = site.warnings()
    assert "Cpu and Memory are only known at deploy time" in warning


def test_one_gpu_of_any_family_gets_a_share_that_fits(site: Site) -> None:
    families = {each.family for each in accelerated() if each.gpus and each.family not in ("p2", "g2", "p6e-gb200")}
    assert len(families) > 15
    for family in families:
        cluster = GpuCluster(site.stack, f"Cluster{family}", vpc=site.vpc)
        for gpus, capacity in cluster.add_family(family, max_instances=1).items():
            task = site.task(capacity, name=f"Task{family}{gpus:g}")
            task.add_gpu_container("one", image=site.image)
            assert not isinstance(task.task.memory_mib, str)
    assert not [each for each in site.warnings() if "GPU006" in each]


def test_every_vendor_but_nvidia_is_refused_or_has_no_gpus() -> None:
    assert {
        each.gpus for each in accelerated() if each.accelerators and each.accelerators.vendor is not Vendor.NVIDIA
    } == {0}


def test_a_wrong_value_inside_an_argument_takes_nothing_with_it(site: Site) -> None:
    task = site.task()
    task.add_container("side", image=site.image, memory_limit_mib=100)
    before = site.children()
    with pytest.raises(InvalidValueError):
        task.add_container("side", image=site.image, memory_limit_mib=100, environment={"A": "b", "C": 5})
    assert site.children() == before


def test_no_gpus_may_be_said_as_in_cdk(site: Site) -> None:
    site.task().add_container("side", image=site.image, memory_limit_mib=100, gpu_count=0)
    assert "ResourceRequirements" not in site.container()


def test_efa_reaches_the_container_and_what_the_user_sets_wins(site: Site) -> None:
    zone = ec2.SubnetSelection(subnets=site.vpc.private_subnets[:1])
    hosts = site.capacity("g6.8xlarge", network=HostNetwork.efa(), vpc_subnets=zone)
    task = site.task(hosts, network_mode=ecs.NetworkMode.HOST)
    task.add_gpu_container("train", image=site.image, efa=True, environment={"FI_PROVIDER": "efa;ofi_rxm"})
    container = site.container()
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


def test_a_text_that_is_not_known_is_a_number_of_gpus_or_all_of_them(site: Site) -> None:
    text = cdk.CfnParameter(site.stack, "Text", type="String").value_as_string
    site.task().add_gpu_container("train", image=site.image, gpus=text, cpu=512, memory_mib=512)  # type: ignore[arg-type]
    assert site.container()["ResourceRequirements"] == [{"Type": "GPU", "Value": {"Ref": "Text"}}]


def test_load_balancers_reach_the_gpu_container_though_a_sidecar_came_first(site: Site) -> None:
    task = site.task()
    task.add_container("router", image=site.image, memory_limit_mib=128)
    task.add_gpu_container("chat", image=site.image)
    assert task.default_container is not None
    assert task.default_container.container_name == "chat"
