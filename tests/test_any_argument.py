"""Whatever stands in an argument of the public names, the answer is an error of this library that names it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from itertools import cycle, islice
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_efs as efs
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import IConstruct, Node

import gpu_constructs as public
from gpu_constructs import GpuConstructsError, RefusedByCdkError, UnknownNameError
from gpu_constructs.errors import shown
from tests.examples import times
from tests.synthesis import Site

ODD: tuple[Any, ...] = (
    None,
    "",
    "x",
    "\ud800",
    -1,
    10**5000,
    0.5,
    float("nan"),
    True,
    [],
    [1],
    [{}],
    {},
    {"a": 1},
    object(),
    int,
    ecs.Secret,
)


_BLOCK = "cr-0123456789abcdef0"
_END = datetime(2100, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Door:
    """A public callable with arguments that it takes, and where it defines its construct ``Odd``."""

    call: Callable[..., object]
    good: dict[str, Any]
    scope: IConstruct | None = None

    @cached_property
    def node(self) -> Node | None:
        return None if self.scope is None else self.scope.node


def _doors(site: Site) -> Iterator[Door]:
    cluster, image = site.cluster, site.image
    task, neuron = site.task(), site.task(site.capacity("inf2.xlarge", name="Neuron"), name="OfNeuron")
    task.add_gpu_container("good", image=image)
    of_neuron = {"construct_id": "Odd", "image": image, "cpu": 1, "memory_mib": 64}
    small = {"construct_id": "Odd", "image": image, "gpus": public.GpuShare(memory_mib=1), "cpu": 1, "memory_mib": 64}
    shared = site.task(name="Shared")
    types: dict[str, Any] = {"instance_types": ["g6.xlarge"], "max_instances": 1}
    order = [public.CapacityChoice(each, **types) for each in ("A", "B")]
    at: dict[str, Any] = {"scope": site.stack, "construct_id": "Odd"}
    imported = {"cluster": cluster, "capacity_provider_name": "theirs"}
    yield Door(public.CapacityChoice, {"construct_id": "Odd", **types})
    yield Door(public.GpuCapacity.from_attributes, {**at, **imported, **types}, site.stack)
    yield Door(public.GpuChecks, {})
    yield Door(public.GpuChecks.add_to, {"scope": site.app})
    yield Door(public.GpuCluster, {**at, "vpc": site.vpc}, site.stack)
    yield Door(public.GpuService, {**at, "cluster": cluster, "task_definition": task}, site.stack)
    yield Door(public.CpuService, {**at, "cluster": cluster, "task_definition": site.plain_cpu_task()}, site.stack)
    yield Door(public.GpuShare, {"memory_mib": 1})
    yield Door(public.GpuTaskDefinition, {**at, "capacity": [site.l4]}, site.stack)
    yield Door(shared.add_gpu_container, small, shared)
    yield Door(neuron.add_neuron_container, of_neuron, neuron)
    yield Door(task.add_container, {"id": "Odd", "image": image}, task)
    yield Door(cluster.add_capacity, {"construct_id": "Odd", **types}, cluster)
    yield Door(cluster.add_managed_capacity, {"construct_id": "Odd", "instance_types": ["g6.xlarge"]}, cluster)
    yield Door(cluster.add_family, {"family": "p5", "max_instances": 1})
    yield Door(cluster.add_fallback, {"construct_id": "Odd", "order": order})
    yield Door(site.l4.strategy, {})
    yield Door(public.GpuMachineImage, {"host_image": public.GpuMachineImage.newest("al2023-gpu").host_image})
    yield Door(public.GpuMachineImage.custom, {"machine_image": ec2.MachineImage.generic_linux({"us-east-1": "ami-0"})})
    yield Door(public.GpuMachineImage.newest, {"name": "al2023-gpu"})
    yield Door(public.GpuMachineImage.pinned, {"name": "al2023-gpu"})
    yield Door(public.GpuMachineImage.newest("al2023-gpu").in_region, {"region": "us-east-1"})
    yield Door(public.HostNetwork, {})
    yield Door(public.HostNetwork.efa, {})
    yield Door(public.HostScaling, {})
    yield Door(public.HostStorage, {})
    yield Door(public.ManagedOperation, {})
    yield Door(public.ManagedStorage, {})
    yield Door(public.Purchase.spot, {})
    yield Door(public.Purchase.reservations, {"reservation_id": _BLOCK})
    yield Door(public.Purchase.capacity_block, {"reservation_id": _BLOCK, "instances": 1, "ends": _END})
    yield Door(public.WarmHosts, {"hosts": 1})
    yield from _doors_of_scaling(site, task)


def _doors_of_batch(site: Site) -> Iterator[Door]:
    environments = [public.CapacityChoice("L4", instance_types=["g6.xlarge"], max_instances=1)]
    queue = public.GpuBatchQueue(site.stack, "Batch", vpc=site.vpc, environments=environments)
    made: dict[str, Any] = {"scope": site.stack, "construct_id": "Odd", "vpc": site.vpc, "environments": environments}
    yield Door(public.GpuBatchQueue, made, site.stack)
    yield Door(queue.add_job, {"construct_id": "Odd", "image": site.image}, queue)
    yield Door(queue.watch, {"notify": sns.Topic(site.stack, "Told")}, queue)
    yield Door(queue.add_job("Good", image=site.image).submit_command, {})
    yield Door(public.BatchRetries, {})
    yield Door(public.FairShares, {"shares": {"a": 1}})


def _doors_of_scaling(site: Site, task: public.GpuTaskDefinition) -> Iterator[Door]:
    waiting = cloudwatch.Metric(namespace="Chat", metric_name="Waiting")
    yield Door(public.ScaleBy.average, {"metric": waiting, "target": 1})
    yield Door(public.ScaleBy.backlog, {"metric": waiting, "per_task": 1})
    yield Door(public.ScaleBy.gpu_memory, {"percent": 50})
    yield Door(public.ScaleBy.gpu_utilization, {"percent": 50})
    yield Door(public.ScaleBy.queue, {"queue": sqs.Queue(site.stack, "Work"), "messages_per_task": 1})
    yield Door(public.ScaleBy.requests, {"endpoint": None, "per_task_per_minute": 1})
    service = public.GpuService(site.stack, "Scaled", cluster=site.cluster, task_definition=task)
    yield Door(service.scale, {"by": [public.ScaleBy.average(metric=waiting, target=1)]})


def _doors_of_jobs(site: Site) -> Iterator[Door]:
    task = site.task(name="OfJob")
    task.add_gpu_container("train", image=site.image)
    good: dict[str, Any] = {"cluster": site.cluster, "task_definition": task, "timeout": cdk.Duration.hours(1)}
    yield Door(public.GpuJob, {"scope": site.stack, "construct_id": "Odd", **good}, site.stack)
    yield Door(public.JobRetries, {})
    yield Door(public.JobData.s3, {"bucket": s3.Bucket.from_bucket_name(site.stack, "Data", "data-of-jobs")})
    yield Door(public.JobData.directory, {"path": "/checkpoints"})
    job = public.GpuJob(site.stack, "Job", **good)
    daily = scheduler.ScheduleExpression.rate(cdk.Duration.days(1))
    queue = sqs.Queue(site.stack, "Scenes")
    yield Door(job.start_command, {})
    yield Door(job.run_on_schedule, {"construct_id": "Odd", "schedule": daily}, job)
    yield Door(job.run_from_queue, {"construct_id": "Odd", "queue": queue}, job)
    yield Door(job.step, {"scope": site.stack, "construct_id": "Odd"}, site.stack)


def _doors_of_trainings(site: Site) -> Iterator[Door]:
    one_zone = ec2.SubnetSelection(subnets=site.vpc.private_subnets[:1])
    common: dict[str, Any] = {"instance_types": ["g6.12xlarge"], "max_instances": 2, "vpc_subnets": one_zone}
    queue = public.GpuBatchQueue(
        site.stack, "Gangs", vpc=site.vpc, environments=[public.CapacityChoice("Gang", **common)]
    )
    at: dict[str, Any] = {"scope": site.stack, "construct_id": "Odd"}
    work: dict[str, Any] = {"hosts": 2, "image": site.image, "command": ["train.py"]}
    yield Door(public.MultiNodeTraining, {**at, **work, "queue": queue}, site.stack)
    yield Door(public.TrainingLauncher, {})
    yield Door(public.TrainingLauncher.torchrun, {})
    yield Door(public.TrainingLauncher.deepspeed, {})
    yield Door(public.TrainingLauncher.jax, {})
    yield Door(public.TrainingLauncher.mpi, {})


def _doors_of_servers(site: Site) -> Iterator[Door]:
    shared, image = site.task(name="Served"), site.image
    weights = s3.Bucket.from_bucket_name(site.stack, "Weights", "weights")
    small = {"gpus": public.GpuShare(memory_mib=1), "cpu": 1, "memory_mib": 64}
    server = public.ModelServer.vllm("qwen")
    yield Door(shared.add_model_server, {"construct_id": "Odd", "server": server, **small}, shared)
    yield Door(public.ModelServer, {"name": "mine", "image": image})
    yield Door(public.ModelServer.vllm, {"model": "qwen"})
    yield Door(public.ModelServer.triton, {"tag": "25.03-py3"})
    yield Door(public.ModelServer.preset, {"name": "comfyui", "image": image})
    yield Door(public.ModelCache.efs, {"file_system": efs.FileSystem(site.stack, "Shared files", vpc=site.vpc)})
    yield Door(public.ModelCache.s3_copy, {"bucket": weights})
    yield Door(public.ModelCache.host_disk, {})
    yield Door(public.HostMount.s3, {"bucket": weights})
    lustre = fsx.LustreFileSystem.from_lustre_file_system_attributes(
        site.stack,
        "Lustre",
        dns_name="fs-0.fsx.us-east-1.amazonaws.com",
        file_system_id="fs-0",
        security_group=ec2.SecurityGroup.from_security_group_id(site.stack, "OfLustre", "sg-0"),
    )
    yield Door(public.HostMount.fsx_lustre, {"file_system": lustre, "mount_name": "m"})
    yield Door(public.ModelCache.fsx_lustre, {"file_system": lustre, "mount_name": "m"})


def _doors_of_monitoring(site: Site) -> Iterator[Door]:
    operators = sns.Topic(site.stack, "Operators")
    unwatched = public.GpuCluster(site.stack, "Unwatched", vpc=site.vpc)
    monitoring = public.GpuCluster(site.stack, "Watched", vpc=site.vpc).add_monitoring("Monitoring", notify=operators)
    yield Door(unwatched.add_monitoring, {"construct_id": "Odd"}, unwatched)
    yield Door(monitoring.add_recovery, {})
    yield Door(public.AlarmLimits, {})


def _raw(door: Door, argument: str, value: Any) -> str:
    """What is wrong with the answer to one odd value; empty if nothing is."""
    answer = ""
    try:
        door.call(**{**door.good, argument: value})
    except RefusedByCdkError as error:
        answer = f"in the words of CDK: {error}"
    except GpuConstructsError as error:
        if error.argument is None or not (error.fix or error.allowed or isinstance(error, UnknownNameError)):
            answer = f"says too little: {error}"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is not ours
        answer = f"{type(error).__name__}: {error}"
    if door.node is not None:
        door.node.try_remove_child("Odd")
    return answer


def _named(door: Door) -> list[str]:
    # The metaclass of jsii hides the signature of a class.
    function = vars(door.call)["__init__"] if isinstance(door.call, type) else door.call
    open_ended = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    own = [name for name, each in inspect.signature(function).parameters.items() if each.kind not in open_ended]
    return [name for name in own if name != "self"]


def test_no_odd_value_meets_a_raw_error(site: Site) -> None:
    imported = iam.Role.from_role_arn(site.stack, "Imported", "arn:aws:iam::123456789012:role/imported")
    each_once = (*ODD, site.app, site.l4, imported, efs.FileSystem(site.stack, "Files", vpc=site.vpc))
    values = cycle(each_once)  # an argument goes on where the one before it ended
    answers = (
        (f"{door.call.__qualname__}({argument}={shown(value)})", _raw(door, argument, value))
        for doors in (
            _doors,
            _doors_of_batch,
            _doors_of_servers,
            _doors_of_jobs,
            _doors_of_trainings,
            _doors_of_monitoring,
        )
        for door in doors(site)
        for argument in _named(door)
        for value in islice(values, min(times(2), len(each_once)))
    )
    assert [f"{call}: {answer}" for call, answer in answers if answer] == []
