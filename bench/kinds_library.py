"""How each kind of capacity and of container is written with this library."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import aws_cdk as cdk
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_efs as efs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bench.kinds import (
    BLOCK,
    CERTIFICATE,
    GPU_PART,
    GPU_SHARE_MIB,
    JOB_HOURS,
    MESSAGES_PER_TASK,
    MODEL,
    PORT,
    RESERVATION,
    TRAINING_HOSTS,
)
from bench.pairs_library import MAX_INSTANCES, Capacities, Written, add, define, with_gpus
from bench.workloads import CONTAINER_IMAGE, Pair
from gpu_constructs import (
    CapacityChoice,
    GpuBatchQueue,
    GpuCluster,
    GpuJob,
    GpuService,
    GpuShare,
    HostNetwork,
    HostScaling,
    HostStorage,
    ModelCache,
    ModelServer,
    MultiNodeTraining,
    Purchase,
    ScaleBy,
    WarmHosts,
)

__all__ = ["WRITTEN"]


def _add_managed(cluster: GpuCluster, pair: Pair) -> Capacities:
    return [cluster.add_managed_capacity(f"Managed{pair.number}", instance_types=pair.hosts.instance_types)]


def _block(cluster: GpuCluster, pair: Pair) -> Capacities:
    purchase = Purchase.capacity_block(RESERVATION, instances=MAX_INSTANCES, starts=BLOCK.starts, ends=BLOCK.ends)
    return add(cluster, pair, purchase=purchase, in_one_zone=True)


def _with_efa(scope: Construct, pair: Pair, capacity: Capacities, image: ecs.ContainerImage) -> None:
    task = define(scope, pair, capacity, ecs.NetworkMode.HOST)
    task.add_gpu_container("training", image=image, gpus=pair.hosts.gpus, efa=True, command=["nvidia-smi"])


def _with_neuron(scope: Construct, pair: Pair, capacity: Capacities, image: ecs.ContainerImage) -> None:
    task = define(scope, pair, capacity)
    task.add_neuron_container("training", image=image, command=["neuron-ls"])


def _listening(scope: Construct, cluster: GpuCluster, pair: Pair, capacity: Capacities) -> GpuService:
    task = define(scope, pair, capacity)
    image, ports = ecs.ContainerImage.from_registry(CONTAINER_IMAGE), [ecs.PortMapping(container_port=PORT)]
    task.add_gpu_container("training", image=image, gpus=1, command=["nvidia-smi"], port_mappings=ports)
    return GpuService(scope, f"Service{pair.number}", cluster=cluster, task_definition=task)


def _load_balanced(scope: Construct, cluster: GpuCluster, pair: Pair, capacity: Capacities) -> None:
    service = _listening(scope, cluster, pair, capacity)
    certificate = acm.Certificate.from_certificate_arn(scope, f"Certificate{pair.number}", CERTIFICATE)
    service.add_application_load_balancer("Https", certificate=certificate, health_check_path="/health")


def _cached(scope: Construct, cluster: GpuCluster, pair: Pair, capacity: Capacities) -> None:
    files = efs.FileSystem(scope, f"Models{pair.number}", vpc=cluster.hosts.vpc)
    task = define(scope, pair, capacity)
    task.add_model_server("training", server=ModelServer.vllm(MODEL), gpus=1, cache=ModelCache.efs(files))
    GpuService(scope, f"Service{pair.number}", cluster=cluster, task_definition=task)


def _scaled(scope: Construct, cluster: GpuCluster, pair: Pair, capacity: Capacities) -> None:
    queue = sqs.Queue(scope, f"Queue{pair.number}")
    by = ScaleBy.queue(queue=queue, messages_per_task=MESSAGES_PER_TASK)
    _listening(scope, cluster, pair, capacity).scale(by=[by], min_tasks=0)


def _queue(scope: Construct, cluster: GpuCluster, pair: Pair, _: Capacities) -> None:
    types = list(pair.hosts.instance_types)
    hosts = CapacityChoice("Hosts", instance_types=types, max_instances=MAX_INSTANCES)
    queue = GpuBatchQueue(scope, f"Queue{pair.number}", vpc=cluster.vpc, environments=[hosts])
    queue.add_job("Train", image=ecs.ContainerImage.from_registry(CONTAINER_IMAGE))
    cdk.CfnOutput(scope, f"Queue{pair.number}Arn", value=queue.job_queue.job_queue_arn)


def _training(scope: Construct, cluster: GpuCluster, pair: Pair, _: Capacities) -> None:
    zone = cluster.vpc.availability_zones[0]
    hosts = CapacityChoice("Hosts", instance_types=list(pair.hosts.instance_types), max_instances=MAX_INSTANCES)
    subnets = ec2.SubnetSelection(availability_zones=[zone], subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)
    queue = GpuBatchQueue(scope, f"Queue{pair.number}", vpc=cluster.vpc, vpc_subnets=subnets, environments=[hosts])
    image = ecs.ContainerImage.from_registry(CONTAINER_IMAGE)
    MultiNodeTraining(
        scope, f"Train{pair.number}", queue=queue, hosts=TRAINING_HOSTS, image=image, command=["train.py"]
    )
    cdk.CfnOutput(scope, f"Queue{pair.number}Arn", value=queue.job_queue.job_queue_arn)


def _job(scope: Construct, cluster: GpuCluster, pair: Pair, capacity: Capacities) -> None:
    task = define(scope, pair, capacity)
    image = ecs.ContainerImage.from_registry(CONTAINER_IMAGE)
    task.add_gpu_container("training", image=image, gpus=1, command=["nvidia-smi"])
    limit = cdk.Duration.hours(JOB_HOURS)
    GpuJob(scope, f"Job{pair.number}", cluster=cluster, task_definition=task, timeout=limit)


WRITTEN: Mapping[str, Written] = MappingProxyType(
    {
        "spot": Written(lambda cluster, pair: add(cluster, pair, purchase=Purchase.spot()), with_gpus),
        "spot above a base": Written(
            lambda cluster, pair: add(cluster, pair, purchase=Purchase.spot(on_demand_base=1, on_demand_percentage=20)),
            with_gpus,
        ),
        "reservation": Written(
            lambda cluster, pair: add(
                cluster, pair, purchase=Purchase.reservations(reservation_id=RESERVATION, only=True, instances=4)
            ),
            with_gpus,
        ),
        "Capacity Block": Written(_block, with_gpus),
        "warm hosts": Written(
            lambda cluster, pair: add(cluster, pair, scaling=HostScaling(warm_hosts=WarmHosts(hosts=1))), with_gpus
        ),
        "local disks": Written(
            lambda cluster, pair: add(
                cluster, pair, storage=HostStorage(images_on_local_disks=True, scratch_on_local_disks=True)
            ),
            with_gpus,
        ),
        "EFA": Written(
            lambda cluster, pair: add(cluster, pair, network=HostNetwork.efa(), in_one_zone=True), _with_efa
        ),
        "share of a GPU": Written(
            add,
            lambda scope, pair, capacity, image: with_gpus(
                scope, pair, capacity, image, GpuShare(memory_mib=GPU_SHARE_MIB)
            ),
        ),
        "all GPUs": Written(add, lambda scope, pair, capacity, image: with_gpus(scope, pair, capacity, image, "ALL")),
        "part of a GPU": Written(
            add, lambda scope, pair, capacity, image: with_gpus(scope, pair, capacity, image, GPU_PART)
        ),
        "Neuron": Written(add, _with_neuron),
        "Managed Instances": Written(_add_managed, with_gpus),
        "Neuron on Managed Instances": Written(_add_managed, _with_neuron),
        "a task for both": Written(
            lambda cluster, pair: [*add(cluster, pair), *_add_managed(cluster, pair)], with_gpus
        ),
        "load-balanced service": Written(add, with_gpus, _load_balanced),
        "model server with cache": Written(add, with_gpus, _cached),
        "scaled service": Written(add, with_gpus, _scaled),
        "queue of AWS Batch": Written(lambda _cluster, _pair: [], with_gpus, _queue),
        "training on several hosts": Written(lambda _cluster, _pair: [], with_gpus, _training),
        "job": Written(add, with_gpus, _job),
    }
)
"""By the names of `bench.kinds`."""
