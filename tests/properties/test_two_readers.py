"""What is read out of a synthesized template is what the constructs hold: two ways to one fleet."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_constructs import (
    CapacityChoice,
    GpuCapacity,
    GpuCluster,
    GpuJob,
    GpuMachineImage,
    GpuService,
    GpuShare,
    GpuTaskDefinition,
    HostReplacement,
    HostScaling,
    HostStorage,
    ManagedGpuCapacity,
    ManagedOperation,
    ManagedStorage,
    Purchase,
    WarmHosts,
)
from gpu_constructs.fleet import Fleet, Pool, PoolKind, Task, Workload
from gpu_constructs.template import fleet_of
from tests.examples import times
from tests.synthesis import app_in, swallowed
from tests.template.written import read_stacks

# One list for each shape; every type is offered, so that a default image exists.
TYPES = (
    ("g6.xlarge",),
    ("g6.xlarge", "g6.2xlarge"),
    ("g5.12xlarge", "g5.24xlarge"),
    ("g6e.48xlarge",),
    ("g5g.2xlarge",),
    ("p5.48xlarge",),
    ("g4dn.xlarge", "g5.xlarge"),
    ("m7i.large",),
)


def _possible(capacity: dict[str, Any]) -> dict[str, Any]:
    """Without what the hosts cannot: Bottlerocket keeps none warm, and not every type has local disks."""
    types = capacity["instance_types"]
    may_wait = "g5g.2xlarge" not in types and capacity["max_instances"] > capacity["min_instances"]
    warm = capacity["scaling"] if may_wait else replace(capacity["scaling"], warm_hosts=None)
    storage = capacity["storage"] if "m7i.large" not in types and "g5g.2xlarge" not in types else None
    takes_image = not {"g5g.2xlarge", "m7i.large"} & {*types}
    image = GpuMachineImage.custom(OWN_IMAGE, **capacity["image"]) if capacity["image"] and takes_image else None
    commands = ec2.UserData.custom("\n".join(("#!/bin/bash", *capacity["user_data"])))
    runs_them = capacity["user_data"] and "g5g.2xlarge" not in types
    own = {"image": image, "user_data": commands if runs_them else None}
    return {**capacity, "scaling": warm, "storage": storage, **own}


OWN_IMAGE = ec2.MachineImage.from_ssm_parameter("/golden/gpu")
SHARES = {"agent_version": "1.107.0", "has_mps_service": True}


capacities = st.fixed_dictionaries(
    {
        "instance_types": st.sampled_from(TYPES),
        "max_instances": st.integers(1, 9),
        "min_instances": st.integers(0, 1),
        "capacity_provider_name": st.sampled_from([None, "chosen"]),
        "image": st.sampled_from([None, {"driver_branch": 580, **SHARES}, {"driver_version": "580.95.05"}]),
        "agent_settings": st.sampled_from([None, {"ECS_IMAGE_CLEANUP_INTERVAL": "15m"}]),
        "instance_attributes": st.sampled_from([None, {"team": "speech and vision", "rack/row": "7"}]),
        "user_data": st.sampled_from(
            [(), ("echo hello",), ("curl -s https://x.test | sh",), ("echo ECS_LOGLEVEL=warn >> /etc/ecs/ecs.config",)]
        ),
        "scaling": st.builds(
            HostScaling,
            managed_termination_protection=st.booleans(),
            warm_hosts=st.none()
            | st.builds(WarmHosts, hosts=st.just(1), state=st.sampled_from(["Stopped", "Running"])),
            replacement=st.none() | st.builds(HostReplacement, launch_first=st.booleans()),
        ),
        "storage": st.none()
        | st.builds(
            HostStorage,
            prefer_cached_images=st.booleans(),
            images_on_local_disks=st.booleans(),
            scratch_on_local_disks=st.booleans(),
        ),
    }
).map(_possible)
shares = st.builds(GpuShare, memory_mib=st.integers(1, 30_000), max_compute_percent=st.none() | st.integers(1, 100))
containers = st.fixed_dictionaries(
    {
        "gpus": st.integers(1, 4) | st.just("ALL") | shares,
        "gpu_memory_gib": st.sampled_from([None, 8, 14.5]),
        "cpu": st.sampled_from([None, 512]),
        "memory_mib": st.sampled_from([None, 2048]),
        "shared_memory_mib": st.sampled_from([None, 128]),
        "environment": st.dictionaries(st.sampled_from(["A", "B"]), st.sampled_from(["1", ""]), max_size=2),
    }
)
sidecars = st.fixed_dictionaries(
    {
        "memory_limit_mib": st.sampled_from([None, 256]),
        "memory_reservation_mib": st.sampled_from([64, 128]),
        "cpu": st.sampled_from([None, 64]),
    }
)
services = st.fixed_dictionaries({"desired_count": st.sampled_from([None, 0, 1])})  # one always finds a host
apps = st.fixed_dictionaries(
    {
        "capacities": st.lists(capacities, min_size=1, max_size=3),
        "gpu_containers": st.lists(containers, min_size=1, max_size=2),
        "sidecars": st.lists(sidecars, max_size=1),
        "service": st.none() | services,
        "network_mode": st.sampled_from([None, ecs.NetworkMode.AWS_VPC, ecs.NetworkMode.HOST]),
        "placement": st.sampled_from([None, "attribute:ecs.os-type == linux"]),
        "region": st.sampled_from([None, "us-east-1", "eu-west-1"]),
    }
)


Plan = dict[str, Any]


def build(stack: cdk.Stack, plan: Plan) -> Fleet:
    """The app of a plan, as far as the constructs take it, and the fleet that they hold."""
    cluster = GpuCluster(stack, "Gpu", vpc=ec2.Vpc(stack, "Vpc", restrict_default_security_group=False))
    made: list[GpuCapacity] = []
    for number, arguments in enumerate(plan["capacities"]):
        if arguments["capacity_provider_name"]:
            arguments = {**arguments, "capacity_provider_name": f"chosen-{number}"}  # noqa: PLW2901
        made.append(cluster.add_capacity(f"C{number}", **arguments))
    tasks: list[Task] = []
    workloads: list[Workload] = []
    gpus = [each for each in made if each.gpus and each.architecture is made[0].architecture]
    if gpus:
        image = ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")
        constraint = plan["placement"] and [ecs.PlacementConstraint.member_of(plan["placement"])]
        mode = plan["network_mode"]
        task = GpuTaskDefinition(
            stack, "Task", capacity=gpus, network_mode=mode, placement_constraints=constraint or None
        )
        for number, arguments in enumerate(plan["sidecars"]):
            task.add_container(f"sidecar{number}", image=image, **arguments)
        for number, arguments in enumerate(plan["gpu_containers"]):
            # More than the hosts have is refused, and what was refused is in neither fleet.
            with swallowed():
                essential = not any(each.gpus for each in task.task.containers)
                task.add_gpu_container(f"work{number}", image=image, essential=essential, **arguments)
        if not task.task.containers:
            task.add_container("plain", image=image, memory_limit_mib=128)
        service = plan["service"]
        if service and task.task.wants_gpu:
            made_service = GpuService(stack, "Service", cluster=cluster, task_definition=task, **service)
            workloads.append(_named(made_service.workload, "Gpu"))
            limit = cdk.Duration.hours(1)
            made_job = GpuJob(stack, "Job", cluster=cluster, task_definition=task, timeout=limit)
            workloads.append(replace(_named(made_job.workload, "Gpu"), name="Job/StateMachine[Run]"))
        tasks.append(task.task)
    return Fleet(pools=tuple(_pool(each.pool, "Gpu") for each in made), tasks=tuple(tasks), workloads=tuple(workloads))


def _pool(pool: Pool, cluster: str) -> Pool:
    """What a template calls things: by their path below the stack."""
    if pool.kind is PoolKind.MANAGED_INSTANCES:
        return replace(pool, name=f"{cluster}/{pool.name}", cluster=cluster)
    agent = tuple(sorted({**dict(pool.user_data.agent), "ECS_CLUSTER": cluster}.items()))
    user_data = replace(pool.user_data, agent=agent)
    return replace(pool, name=f"{cluster}/{pool.name}", cluster=cluster, user_data=user_data)


def _without_cdk_variables(task: Task) -> Task:
    """CDK adds AWS_REGION to every container where it knows the region."""
    return replace(
        task,
        containers=tuple(
            replace(each, environment=tuple(pair for pair in each.environment if pair[0] != "AWS_REGION"))
            for each in task.containers
        ),
    )


def _named(workload: Workload, cluster: str) -> Workload:
    strategy = []
    for item in workload.strategy:
        assert item.pool is not None
        pool = _pool(item.pool, cluster)
        strategy.append(replace(item, pool=pool, provider=pool.provider or pool.name))
    return replace(workload, cluster=cluster, strategy=tuple(strategy))


def read_back(app: cdk.App) -> Fleet:
    """What a template says of an app, all of which is understood."""
    read = read_stacks([app.synth().directory])
    found = fleet_of(read.stacks, tasks=read.tasks, remarks=read.remarks)
    assert found.remarks == ()
    return found


@settings(max_examples=times(4), suppress_health_check=[HealthCheck.too_slow])
@given(apps)
def test_what_is_read_is_what_was_built(plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as folder:
        app = app_in(folder)
        environment = cdk.Environment(region=str(plan["region"])) if plan["region"] else None
        stack = cdk.Stack(app, "Stack", env=environment)
        held = build(stack, plan)
        found = read_back(app)
    assert found.pools == held.pools
    assert tuple(map(_without_cdk_variables, found.tasks)) == held.tasks
    assert tuple(replace(each, task=each.task and _without_cdk_variables(each.task)) for each in found.workloads) == (
        held.workloads
    )


# One reservation is of one type, and a Capacity Block in one zone besides.
BOUGHT_BEFORE = "cr-0123456789abcdef0"
spots = st.builds(Purchase.spot, on_demand_base=st.integers(0, 2), on_demand_percentage=st.sampled_from([0, 25, 99]))
reservations = st.builds(
    Purchase.reservations,
    reservation_id=st.sampled_from([None, BOUGHT_BEFORE]),
    only=st.booleans(),
    instances=st.sampled_from([None, 9]),
) | st.builds(
    Purchase.reservations,
    resource_group_arn=st.just("arn:aws:resource-groups:us-east-1:123456789012:group/gpus"),
    only=st.booleans(),
)
blocks = st.builds(
    Purchase.capacity_block,
    reservation_id=st.just(BOUGHT_BEFORE),
    instances=st.integers(4, 9),
    starts=st.sampled_from([None, datetime(2026, 12, 1, 11, 30, tzinfo=timezone.utc)]),
    ends=st.sampled_from([datetime(2026, 12, 3, 11, 30, tzinfo=timezone.utc)]),
    drain_minutes=st.integers(31, 600),
)


@settings(max_examples=times(4), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from([["g6.xlarge"], ["g6.xlarge", "g6.2xlarge"]]), spots | reservations)
        | st.tuples(st.just(["p5.48xlarge"]), blocks),
        min_size=2,
        max_size=3,
    ),
    st.sampled_from([None, 0, 3]),
)
def test_how_hosts_are_bought_is_read_back(bought: list[tuple[list[str], Purchase]], desired: int | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        app = app_in(folder)
        stack = cdk.Stack(app, "Stack")
        vpc = ec2.Vpc(stack, "Vpc", restrict_default_security_group=False)
        cluster = GpuCluster(stack, "Gpu", vpc=vpc)
        one_zone = ec2.SubnetSelection(subnets=[vpc.private_subnets[0]])
        order = [
            CapacityChoice(
                f"C{number}",
                instance_types=types[:1] if purchase.is_of_one_type else types,
                max_instances=4,
                purchase=purchase,
                vpc_subnets=one_zone if purchase.needs_one_zone else None,
            )
            for number, (types, purchase) in enumerate(bought)
        ]
        made = cluster.add_fallback("Order", order=order)
        task = GpuTaskDefinition(stack, "Task", capacity=made)
        task.add_gpu_container("work", image=ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04"))
        service = GpuService(stack, "Service", cluster=cluster, task_definition=task, desired_count=desired)
        found = read_back(app)
    # Zones are asked for only where they matter.
    held = [replace(_pool(each.pool, "Gpu"), zones=None) for each in made]
    assert [replace(each, zones=None) for each in found.pools] == held
    assert [each.zones for each in found.pools if each.bought.block is not None] == [
        each.pool.zones for each in made if each.pool.bought.block is not None
    ]
    (workload,) = found.workloads
    assert [(each.weight, each.base) for each in workload.strategy] == [
        (each.weight, each.base) for each in service.workload.strategy
    ]


# What only some hosts have, and in how many ways containers of one task ask for it; what is refused is in no fleet.
asked_of_accelerators = st.one_of(
    st.tuples(st.just("g6.12xlarge"), st.lists(shares | st.sampled_from([1, "ALL"]), min_size=1, max_size=3)),
    st.tuples(st.just("g6f.2xlarge"), st.lists(st.sampled_from([0.25, 0.125, "ALL"]), min_size=1, max_size=2)),
    st.tuples(st.just("inf2.24xlarge"), st.lists(st.sampled_from([1, 2, 6, "ALL"]), min_size=1, max_size=3)),
)


@settings(max_examples=times(4), suppress_health_check=[HealthCheck.too_slow])
@given(asked_of_accelerators, st.booleans())
def test_what_is_asked_of_accelerators_is_read_back(ask: tuple[str, list[Any]], is_sized: bool) -> None:
    instance_type, amounts = ask
    sizes: dict[str, Any] = {"cpu": 512, "memory_mib": 1024} if is_sized else {}
    with tempfile.TemporaryDirectory() as folder:
        app = app_in(folder)
        stack = cdk.Stack(app, "Stack")
        cluster = GpuCluster(stack, "Gpu", vpc=ec2.Vpc(stack, "Vpc", restrict_default_security_group=False))
        hosts = cluster.add_capacity("Hosts", instance_types=[instance_type], max_instances=2)
        task = GpuTaskDefinition(stack, "Task", capacity=[hosts])
        image = ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")
        is_neuron = instance_type.startswith("inf")
        add: Callable[..., object] = task.add_neuron_container if is_neuron else task.add_gpu_container
        argument = "devices" if is_neuron else "gpus"
        for number, amount in enumerate(amounts):
            with swallowed():
                add(f"work{number}", image=image, **{argument: amount}, **sizes)
        if not task.task.containers:
            task.add_container("plain", image=image, memory_limit_mib=128)
        found = read_back(app)
    assert found.tasks == (task.task,)


GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/gpus"

managed_choices = st.sampled_from([["g6.xlarge"], ["g6.12xlarge", "g6.xlarge"], ["g4dn.metal"], ["p5e.48xlarge"]]).map(
    lambda types: {"instance_types": types}
)
managed_capacities = st.builds(
    lambda choice, others: {**choice, **others},
    managed_choices,
    st.fixed_dictionaries(
        {
            "purchase": st.sampled_from([None, Purchase.spot(), Purchase.reservations(resource_group_arn=GROUP)]),
            "storage": st.sampled_from([None, ManagedStorage(volume_gib=7), ManagedStorage(local_disks=True)]),
            "operation": st.builds(
                ManagedOperation, automatic_repair=st.booleans(), scale_in_after_seconds=st.sampled_from([None, -1, 60])
            ),
            "capacity_provider_name": st.sampled_from([None, "chosen"]),
        }
    ),
)


@settings(max_examples=times(4), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(managed_capacities, min_size=1, max_size=2),
    st.sampled_from([None, ecs.NetworkMode.HOST]),
    st.booleans(),
)
def test_managed_instances_are_read_back(
    plans: list[dict[str, Any]], network_mode: ecs.NetworkMode | None, beside_a_group: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        app = app_in(folder)
        stack = cdk.Stack(app, "Stack")
        cluster = GpuCluster(stack, "Gpu", vpc=ec2.Vpc(stack, "Vpc", restrict_default_security_group=False))
        made: list[ManagedGpuCapacity] = []
        for number, plan in enumerate(plans):
            if plan["capacity_provider_name"]:
                plan = {**plan, "capacity_provider_name": f"chosen-{number}"}  # noqa: PLW2901
            with swallowed():
                made.append(cluster.add_managed_capacity(f"C{number}", **plan))
        group: list[GpuCapacity] = []
        if beside_a_group:
            group.append(cluster.add_capacity("Group", instance_types=["g6.12xlarge"], max_instances=2))
        tasks: list[Task] = []
        workloads: list[Workload] = []
        if made:
            image = ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")
            task = GpuTaskDefinition(stack, "Task", capacity=[*made, *group], network_mode=network_mode)
            task.add_gpu_container("work", image=image)
            service = GpuService(stack, "Service", cluster=cluster, task_definition=task, capacity=made)
            tasks.append(task.task)
            workloads.append(_named(service.workload, "Gpu"))
        found = read_back(app)
    assert found.pools == tuple(_pool(each, "Gpu") for each in (*(c.pool for c in made), *(c.pool for c in group)))
    assert tuple(map(_without_cdk_variables, found.tasks)) == tuple(tasks)
    assert [each.strategy for each in found.workloads] == [each.strategy for each in workloads]
    assert [each.min_healthy_percent for each in found.workloads] == [each.min_healthy_percent for each in workloads]
