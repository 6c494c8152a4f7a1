"""How each kind of capacity and of container is written by hand: L2 constructs, and overrides where they have no word.

The scripts that hosts run at boot are the library's text. Somebody who writes them by hand has them in a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from bench.kinds import BLOCK, GPU_PART, GPU_SHARE_MIB, RESERVATION
from bench.plain_batch import queue_with_job, queue_with_training
from bench.plain_hosts import Shared, capacity
from bench.plain_jobs import job
from bench.plain_managed import add_managed, gpu_task, neuron_task
from bench.plain_pairs import Written, on_demand, with_gpus
from bench.plain_services import cached, load_balanced, scaled
from bench.plain_tasks import add_container, on_hosts, role_of
from bench.workloads import Pair
from gpu_constructs.cluster.capacity.local_disks import prepare_local_disks
from gpu_constructs.facts import OperatingSystem

__all__ = ["WRITTEN"]

_USE_LOCAL_DISKS = prepare_local_disks(OperatingSystem.AMAZON_LINUX_2023, scratch=True, images=True)
_MAX_INSTANCES = 4
_EFA_CARDS = 32  # of p5.48xlarge
_NOT_KNOWN_TO_CDK = [
    cdk.Acknowledgment(id="CloudFormation-Validate::F3002", reason="SharingStrategy is newer than CDK's schema"),
    cdk.Acknowledgment(id="CloudFormation-Validate::F3003", reason="Value is not required beside SharingStrategy"),
]


def _spot(scope: Construct, shared: Shared, pair: Pair, *, base: int = 0, percentage: int = 0) -> None:
    distribution = autoscaling.InstancesDistribution(
        on_demand_base_capacity=base,
        on_demand_percentage_above_base_capacity=percentage,
        on_demand_allocation_strategy=autoscaling.OnDemandAllocationStrategy.PRIORITIZED,
        spot_allocation_strategy=autoscaling.SpotAllocationStrategy.PRICE_CAPACITY_OPTIMIZED,
    )
    name = f"Capacity{pair.number}"
    capacity(scope, name, shared, pair.hosts, max_instances=_MAX_INSTANCES, distribution=distribution)


def _reservation(scope: Construct, shared: Shared, pair: Pair) -> None:
    made = capacity(scope, f"Capacity{pair.number}", shared, pair.hosts, max_instances=_MAX_INSTANCES)
    group = cast("autoscaling.CfnAutoScalingGroup", made.group.node.default_child)
    group.add_property_override(
        "CapacityReservationSpecification",
        {
            "CapacityReservationPreference": "capacity-reservations-only",
            "CapacityReservationTarget": {"CapacityReservationIds": [RESERVATION]},
        },
    )


def _capacity_block(scope: Construct, shared: Shared, pair: Pair) -> None:
    name = f"Capacity{pair.number}"
    made = capacity(scope, name, shared, pair.hosts, max_instances=_MAX_INSTANCES, in_one_zone=True)
    template = cast("ec2.CfnLaunchTemplate", made.launch_template.node.default_child)
    template.add_property_override("LaunchTemplateData.InstanceMarketOptions", {"MarketType": "capacity-block"})
    template.add_property_override(
        "LaunchTemplateData.CapacityReservationSpecification",
        {"CapacityReservationTarget": {"CapacityReservationId": RESERVATION}},
    )
    # Actions of the L2 always recur.
    for action, time, size in (
        ("Start", f"{BLOCK.starts:%Y-%m-%dT%H:%M:%SZ}", _MAX_INSTANCES),
        ("End", BLOCK.drains, 0),
    ):
        autoscaling.CfnScheduledAction(
            scope,
            f"{name}{action}",
            auto_scaling_group_name=made.group.auto_scaling_group_name,
            start_time=time,
            min_size=size,
            max_size=size,
        )


def _warm_hosts(scope: Construct, shared: Shared, pair: Pair) -> None:
    settings = ["ECS_WARM_POOLS_CHECK=true"]
    name = f"Capacity{pair.number}"
    made = capacity(scope, name, shared, pair.hosts, max_instances=_MAX_INSTANCES, agent_settings=settings)
    # The L2 makes it a child of the group, which hands it the group's dependencies.
    autoscaling.CfnWarmPool(
        scope,
        f"{name}WarmPool",
        auto_scaling_group_name=made.group.auto_scaling_group_name,
        min_size=1,
        max_group_prepared_capacity=1,
        pool_state="Stopped",
    )


def _local_disks(scope: Construct, shared: Shared, pair: Pair) -> None:
    name = f"Capacity{pair.number}"
    capacity(scope, name, shared, pair.hosts, max_instances=_MAX_INSTANCES, boot_commands=_USE_LOCAL_DISKS)


def _efa(scope: Construct, shared: Shared, pair: Pair) -> None:
    name = f"Capacity{pair.number}"
    among_themselves = ec2.SecurityGroup(
        scope,
        f"{name}EfaSecurityGroup",
        vpc=cast("ec2.IVpc", shared.vpc),
        description="Hosts of a capacity with EFA: all traffic among themselves",
        allow_all_outbound=False,
    )
    itself, all_traffic = cast("ec2.IPeer", among_themselves), ec2.Port.all_traffic()
    among_themselves.add_ingress_rule(itself, all_traffic, "EFA from the other hosts")
    among_themselves.add_egress_rule(itself, all_traffic, "EFA to the other hosts")
    near = ec2.PlacementGroup(scope, f"{name}PlacementGroup", strategy=ec2.PlacementGroupStrategy.CLUSTER)
    made = capacity(
        scope,
        name,
        shared,
        pair.hosts,
        max_instances=_MAX_INSTANCES,
        placement_group=cast("ec2.IPlacementGroup", near),
        in_one_zone=True,
    )
    groups = [shared.security_group.security_group_id, among_themselves.security_group_id]
    # The primary interface is the adapter of card 0, so that the card keeps a place for an interface of a task.
    interfaces = [(0, "efa"), *((card, "efa-only") for card in range(1, _EFA_CARDS))]
    template = cast("ec2.CfnLaunchTemplate", made.launch_template.node.default_child)
    template.add_property_override(
        "LaunchTemplateData.NetworkInterfaces",
        [
            {
                "NetworkCardIndex": card,
                "DeviceIndex": 0,
                "InterfaceType": kind,
                "Groups": groups,
                "DeleteOnTermination": True,
            }
            for card, kind in interfaces
        ],
    )


def _task(scope: Construct, pair: Pair, network_mode: ecs.NetworkMode | None = None) -> ecs.Ec2TaskDefinition:
    return ecs.Ec2TaskDefinition(
        scope,
        f"Task{pair.number}",
        family=f"gpu-task-{pair.number}",
        network_mode=network_mode,
        placement_constraints=[on_hosts(pair.hosts)],
        task_role=role_of(scope, f"Task{pair.number}"),
    )


def _with_part(
    scope: Construct, pair: Pair, image: ecs.ContainerImage, *, gpus: float | None = None
) -> ecs.TaskDefinition:
    """A container that gets what its hosts have one share of."""
    name = f"Task{pair.number}"
    task = _task(scope, pair)
    (share,) = pair.hosts.shares
    parameters = ecs.LinuxParameters(scope, f"{name}LinuxParameters", shared_memory_size=share.shared_memory_mib)
    add_container(scope, name, task, share, image=image, gpus=gpus, parameters=parameters, command=["nvidia-smi"])
    return task


def _with_requirement(
    scope: Construct, pair: Pair, image: ecs.ContainerImage, *, requirement: Mapping[str, object]
) -> None:
    resource = cast("ecs.CfnTaskDefinition", _with_part(scope, pair, image).node.default_child)
    resource.add_property_override("ContainerDefinitions.0.ResourceRequirements", [requirement])
    if "SharingStrategy" in requirement:
        cdk.Validations.of(resource).acknowledge(*_NOT_KNOWN_TO_CDK)


def _with_efa(scope: Construct, pair: Pair, image: ecs.ContainerImage) -> None:
    name = f"Task{pair.number}"
    task = _task(scope, pair, ecs.NetworkMode.HOST)
    share = pair.hosts.shares[-1]
    parameters = ecs.LinuxParameters(scope, f"{name}LinuxParameters", shared_memory_size=share.shared_memory_mib)
    parameters.add_devices(*(_device(f"/dev/infiniband/uverbs{index}") for index in range(_EFA_CARDS)))
    add_container(
        scope,
        name,
        task,
        share,
        image=image,
        gpus=pair.hosts.gpus,
        parameters=parameters,
        environment={
            "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
            "FI_EFA_USE_DEVICE_RDMA": "1",
            "FI_PROVIDER": "efa",
        },
        command=["nvidia-smi"],
    )


def _with_neuron(scope: Construct, pair: Pair, image: ecs.ContainerImage) -> None:
    name = f"Task{pair.number}"
    task = _task(scope, pair)
    (share,) = pair.hosts.shares
    parameters = ecs.LinuxParameters(scope, f"{name}LinuxParameters", shared_memory_size=share.shared_memory_mib)
    parameters.add_devices(_device("/dev/neuron0"))
    parameters.add_capabilities(ecs.Capability.IPC_LOCK)
    add_container(
        scope,
        name,
        task,
        share,
        image=image,
        parameters=parameters,
        ulimits=[],
        environment={},
        command=["neuron-ls"],
    )


def _device(path: str) -> ecs.Device:
    return ecs.Device(
        host_path=path,
        container_path=path,
        permissions=[ecs.DevicePermission.READ, ecs.DevicePermission.WRITE, ecs.DevicePermission.MKNOD],
    )


def _both(scope: Construct, shared: Shared, pair: Pair) -> None:
    on_demand(scope, shared, pair)
    add_managed(scope, shared, pair)


def _nothing(scope: Construct, pair: Pair, image: ecs.ContainerImage) -> None:
    """A service is written with its capacity and its task."""


WRITTEN: Mapping[str, Written] = MappingProxyType(
    {
        "spot": Written(_spot, with_gpus),
        "spot above a base": Written(partial(_spot, base=1, percentage=20), with_gpus),
        "reservation": Written(_reservation, with_gpus),
        "Capacity Block": Written(_capacity_block, with_gpus),
        "warm hosts": Written(_warm_hosts, with_gpus),
        "local disks": Written(_local_disks, with_gpus),
        "EFA": Written(_efa, _with_efa),
        "share of a GPU": Written(
            on_demand,
            partial(
                _with_requirement,
                requirement={"Type": "GPU", "SharingStrategy": {"NvidiaMps": {"Memory": GPU_SHARE_MIB}}},
            ),
        ),
        "all GPUs": Written(on_demand, partial(_with_requirement, requirement={"Type": "GPU", "Value": "ALL"})),
        "part of a GPU": Written(on_demand, partial(_with_part, gpus=GPU_PART)),
        "Neuron": Written(on_demand, _with_neuron),
        "Managed Instances": Written(add_managed, gpu_task),
        "Neuron on Managed Instances": Written(add_managed, neuron_task),
        "load-balanced service": Written(load_balanced, _nothing),
        "model server with cache": Written(cached, _nothing),
        "scaled service": Written(scaled, _nothing),
        "queue of AWS Batch": Written(queue_with_job, _nothing),
        "training on several hosts": Written(queue_with_training, _nothing),
        "job": Written(job, _nothing),
        "a task for both": Written(_both, partial(gpu_task, compatibility=ecs.Compatibility.EC2_AND_MANAGED_INSTANCES)),
    }
)
"""By the names of `bench.kinds`."""
