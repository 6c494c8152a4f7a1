"""What is read out of a synthesized template is what the constructs hold: two ways to one fleet."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import replace
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_constructs import GpuCapacity, GpuCluster, GpuService, GpuTaskDefinition, HostScaling
from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.fleet import Fleet, Pool, Task, Workload
from gpu_constructs.template import fleet_of, read_stacks

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

capacities = st.fixed_dictionaries(
    {
        "instance_types": st.sampled_from(TYPES),
        "max_instances": st.integers(1, 9),
        "min_instances": st.integers(0, 1),
        "capacity_provider_name": st.sampled_from([None, "chosen"]),
        "scaling": st.builds(HostScaling, managed_termination_protection=st.booleans()),
    }
)
containers = st.fixed_dictionaries(
    {
        "gpus": st.integers(1, 4),
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
services = st.fixed_dictionaries({"desired_count": st.sampled_from([None, 0, 1, 3])})
apps = st.fixed_dictionaries(
    {
        "capacities": st.lists(capacities, min_size=1, max_size=3),
        "gpu_containers": st.lists(containers, min_size=1, max_size=2),
        "sidecars": st.lists(sidecars, max_size=1),
        "service": st.none() | services,
        "network_mode": st.sampled_from([None, ecs.NetworkMode.AWS_VPC, ecs.NetworkMode.HOST]),
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
        task = GpuTaskDefinition(stack, "Task", capacity=gpus, network_mode=plan["network_mode"])
        for number, arguments in enumerate(plan["sidecars"]):
            task.add_container(f"sidecar{number}", image=image, **arguments)
        for number, arguments in enumerate(plan["gpu_containers"]):
            # More than the hosts have is refused, and what was refused is in neither fleet.
            with suppress(GpuConstructsError):
                essential = not any(each.essential for each in task.task.containers if each.gpus)
                task.add_gpu_container(f"work{number}", image=image, essential=essential, **arguments)
        service = plan["service"]
        if service and task.task.least_gpus:
            made_service = GpuService(stack, "Service", cluster=cluster, task_definition=task, **service)
            workloads.append(_named(made_service.workload, "Gpu"))
        tasks.append(task.task)
    return Fleet(pools=tuple(_pool(each.pool, "Gpu") for each in made), tasks=tuple(tasks), workloads=tuple(workloads))


def _pool(pool: Pool, cluster: str) -> Pool:
    """What a template calls things: by their path below the stack."""
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


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(apps)
def test_what_is_read_is_what_was_built(plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as folder:
        app = cdk.App(outdir=folder)
        environment = cdk.Environment(region=str(plan["region"])) if plan["region"] else None
        stack = cdk.Stack(app, "Stack", env=environment)
        held = build(stack, plan)
        read = read_stacks([app.synth().directory])
        found = fleet_of(read.stacks, tasks=read.tasks, remarks=read.remarks)
    assert found.remarks == ()
    assert found.pools == held.pools
    assert tuple(map(_without_cdk_variables, found.tasks)) == held.tasks
    assert tuple(replace(each, task=each.task and _without_cdk_variables(each.task)) for each in found.workloads) == (
        held.workloads
    )
