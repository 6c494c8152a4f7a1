"""What a GPU container asks for reaches the template unchanged, or the line that asked is refused."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from gpu_constructs import (
    CapacityChoice,
    GpuConstructsError,
    GpuService,
    GpuTaskDefinition,
    HostNetwork,
    IncompatibleError,
    InvalidValueError,
)
from gpu_constructs.cluster.capacity.several import plan_family
from gpu_constructs.facts import accelerated
from gpu_constructs.fleet import Task
from gpu_constructs.placement.fit import fit
from gpu_constructs.placement.pool_profile import NOTHING_KEPT
from gpu_constructs.tasks.accelerated_container import plan_gpu_container
from tests.synthesis import Ground, Landlord, Site, Tenant, unwritten


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


@pytest.mark.parametrize(
    ("capabilities", "variable"),
    [(["video"], "compute,utility,video"), (("graphics", "compute"), "compute,utility,graphics"), (["all"], "all")],
)
def test_a_container_gets_more_of_the_driver(tenant: Tenant, capabilities: list[str], variable: str) -> None:
    tenant.task().add_gpu_container("encode", image=tenant.image, driver_capabilities=capabilities)
    assert tenant.container()["Environment"] == [{"Name": "NVIDIA_DRIVER_CAPABILITIES", "Value": variable}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"driver_capabilities": ["nvenc"]}, "NVIDIA's driver offers no 'nvenc'.*video"),
        ({"driver_capabilities": "video"}, r"expects a list of text.*\['video'\]"),
        ({"driver_capabilities": ["video"], "environment": {"NVIDIA_DRIVER_CAPABILITIES": "all"}}, "is set as well"),
    ],
)
def test_what_the_driver_does_not_offer_is_refused(tenant: Tenant, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValueError, match=f"(?s){message}"):
        tenant.task().add_gpu_container("encode", image=tenant.image, **arguments)


def test_options_of_cdk_reach_the_task_definition(tenant: Tenant) -> None:
    in_zone = "attribute:ecs.availability-zone == us-east-1a"
    task = tenant.task(
        network_mode=ecs.NetworkMode.HOST,
        enable_fault_injection=True,
        placement_constraints=(ecs.PlacementConstraint.member_of(in_zone),),
        volumes=(ecs.Volume(name="scratch", host=ecs.Host(source_path="/scratch")),),
    )
    task.add_gpu_container("train", image=tenant.image)
    found = tenant.only("AWS::ECS::TaskDefinition")
    assert [each["Expression"] for each in found["PlacementConstraints"]] == [
        "attribute:ecs.instance-type in [g6.xlarge, g6.2xlarge]",
        in_zone,
    ]
    assert found["Volumes"] == [{"Name": "scratch", "Host": {"SourcePath": "/scratch"}}]
    assert found["EnableFaultInjection"] is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"enable_fault_injection": True}, "^enable_fault_injection: .*awsvpc or host"),
        (
            {"placement_constraints": [ecs.PlacementConstraint.distinct_instances()]},
            "distinctInstance, which only services and RunTask take",
        ),
        ({"placement_constraints": [ecs.PlacementConstraint.member_of("gpu = 1")]}, "cannot be read.*gpu = 1"),
        (
            {"placement_constraints": [ecs.PlacementConstraint.member_of("attribute:gpu.name == H100")]},
            "no host of L4 satisfies the placement constraints.*gpu.name",
        ),
        (
            {"placement_constraints": [ecs.PlacementConstraint.member_of("")]},
            "^placement_c.* expects an expr",
        ),
        (
            {"placement_constraints": [ecs.PlacementConstraint.member_of(*["attribute:a == b"] * 10)]},
            "^placement_constraints: a task has 10 constraints at most, got 10 beside 1",
        ),
        ({"volumes": [ecs.Volume(name="")]}, "^volumes: '' is not a name that ECS takes; allowed: 1 to 255 letters"),
        ({"volumes": ["scratch"]}, "expects a list of ecs.Volume"),
        ({"volumes": [ecs.Volume(name="a"), ecs.Volume(name="a")]}, "^volumes: expects a different name for each"),
    ],
)
def test_options_of_cdk_that_cannot_work_are_refused(ground: Ground, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(GpuConstructsError, match=f"(?s){message}"):
        ground.task(**arguments)


def test_a_constraint_that_is_known_later_leaves_the_share_of_a_host_as_it_is(tenant: Tenant) -> None:
    memory = []
    for later in ([], [cdk.Fn.ref("AWS::Region")]):
        constraints = [ecs.PlacementConstraint.member_of(f"attribute:region == {each}") for each in later]
        task = tenant.task(name=f"Task{len(later)}", placement_constraints=constraints)
        task.add_gpu_container("train", image=tenant.image)
        memory.append(task.task.memory_mib)
    assert memory[0] == memory[1]


def test_logs_are_kept_a_month_and_go_with_the_stack(tenant: Tenant) -> None:
    tenant.task().add_gpu_container("train", image=tenant.image)
    ((logical_id, group),) = tenant.resources("AWS::Logs::LogGroup").items()
    assert group["Properties"]["RetentionInDays"] == 30
    assert group["DeletionPolicy"] == "Delete"
    options = tenant.container()["LogConfiguration"]["Options"]
    assert (options["awslogs-group"], options["awslogs-stream-prefix"]) == ({"Ref": logical_id}, "train")


def test_ports_are_counted_that_are_added_by_way_of_the_task(tenant: Tenant) -> None:
    task = tenant.task()
    task.add_gpu_container("vllm", image=tenant.image)
    assert task.counted.with_ports().host_ports == frozenset()
    for number, found in enumerate((task.default_container, task.find_container("vllm"))):
        assert found is not None
        found.add_port_mappings(ecs.PortMapping(container_port=8000 + number, host_port=80 + number))
    assert task.counted.with_ports().host_ports == {(80, "tcp"), (81, "tcp")}


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


def test_gpus_are_asked_for_where_they_are_checked(tenant: Tenant) -> None:
    with pytest.raises(InvalidValueError, match="gpu_count: .*fix: add_gpu_container\\('side', gpus=8, …\\)"):
        tenant.task().add_container("side", image=tenant.image, memory_limit_mib=64, gpu_count=8)


def test_one_task_does_not_run_on_arm_and_x86(tenant: Tenant) -> None:
    arm = tenant.capacity("g5g.xlarge")
    l4 = tenant.l4
    with tenant.refuses(IncompatibleError, match="Capacity is arm64"):
        GpuTaskDefinition(tenant.stack, "Task", capacity=[l4, arm])


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
            found = fit(Task(name="Task", containers=(plan.container,)), hosts.pool)
            assert (found.answer, [*found.doubts]) == (True, []), hosts.pool


def test_efa_reaches_the_container_and_what_the_user_sets_wins(tenant: Tenant) -> None:
    hosts = tenant.capacity("g6.8xlarge", network=HostNetwork.efa(), vpc_subnets=tenant.one_zone)
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


def test_load_balancers_reach_the_gpu_container_though_a_sidecar_came_first(tenant: Tenant) -> None:
    task = tenant.task()
    task.add_container("router", image=tenant.image, memory_limit_mib=128)
    task.add_gpu_container("chat", image=tenant.image)
    assert task.default_container is not None
    assert task.default_container.container_name == "chat"


def test_containers_that_log_with_firelens_come_after_the_router_and_share_what_it_leaves(site: Site) -> None:
    task = site.task(site.l4)
    kind = ecs.FirelensConfig(type=ecs.FirelensLogRouterType.FLUENTBIT)
    task.add_firelens_log_router("router", image=site.image, memory_reservation_mib=200, firelens_config=kind)
    task.add_gpu_container("train", image=site.image, logging=ecs.LogDrivers.firelens(options={"Name": "cloudwatch"}))
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    made = site.only("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    found = {each["Name"]: each for each in made}
    assert found.keys() == {"router", "train"}
    assert found["train"]["Memory"] == 14899 - 200
    assert found["train"]["LogConfiguration"]["LogDriver"] == "awsfirelens"
    assert site.warnings() == []


def test_without_a_router_they_are_refused(tenant: Tenant) -> None:
    task = tenant.task(tenant.l4)
    for add in (task.add_gpu_container, task.add_container):
        with unwritten(), pytest.raises(IncompatibleError, match="logging: .*fix: add_firelens_log_router before"):
            add("train", image=tenant.image, logging=ecs.LogDrivers.firelens(options={}))
