"""A gang on a cluster of ECS: its hosts, its attempts and its volumes, checked before anything is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_batch as batch
from aws_cdk import aws_ecs as ecs

from gpu_constructs.cdk.arguments import known_number
from gpu_constructs.cluster.capacity.gpu_capacity import GpuCapacity
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.facts import Vendor
from gpu_constructs.facts.aws_limits import MAX_INLINE_ITERATIONS
from gpu_constructs.fleet.purchase import PARTLY_SPOT
from gpu_constructs.jobs.job_run import JobRetries
from gpu_constructs.jobs.training.gang_states import attempts_of
from gpu_constructs.jobs.training.training_checks import require_one_zone
from gpu_constructs.tasks.task_definition import GpuTaskDefinition

_LEAST_HOSTS = 2

# Step Functions ends an execution with more events, whatever its tasks do; each host of each attempt adds some:
# https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
_MOST_EVENTS = 25_000
# Of an attempt whose main task runs at the first look, and of which nothing is left to be stopped.
_LEAST, _LEAST_OF_HOST = 70, 5
# With some looks until the main task runs, the look at all tasks, and their stops.
_USUAL, _USUAL_OF_HOST = 200, 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """The hosts of a gang, which are alike.

    Attributes:
        number: How many.
        gpus: GPUs of each.
        has_efa: Whether they have Elastic Fabric Adapters.
        is_spot: Whether they may be Spot hosts.
    """

    number: int
    gpus: int
    has_efa: bool
    is_spot: bool


def hosts_of(capacity: GpuCapacity, hosts: int) -> Hosts:
    """The hosts of a gang.

    Raises:
        InvalidValueError: It is no capacity of an Auto Scaling group, or no number of hosts that is known at synth.
        IncompatibleError: The capacity has too few hosts, different GPUs, or several zones.
    """
    if not isinstance(capacity, GpuCapacity):
        raise InvalidValueError(
            f"expects a capacity of an Auto Scaling group, got {shown(capacity)}",
            argument="capacity",
            value=capacity,
            fix="capacity=cluster.add_capacity(…)",
        )
    pool = capacity.pool
    number = known_number(
        "hosts",
        hosts,
        smallest=_LEAST_HOSTS,
        largest=MAX_INLINE_ITERATIONS,
        unit="hosts",
        fix=_fix_of(hosts),
        why="does not say whether the gang can start",
    )
    if isinstance(pool.max_instances, int) and number > pool.max_instances:
        many = pool.max_instances >= _LEAST_HOSTS
        raise IncompatibleError(
            f"{pool.name} has {pool.max_instances} hosts at most, and the training runs on {number} at once",
            argument="hosts",
            value=number,
            allowed=f"up to {pool.max_instances}",
            fix=f"max_instances={number} of {pool.name}" + (f", or hosts={pool.max_instances}" if many else ""),
        )
    devices = {each.accelerators for each in pool.instance_types}
    first = next(iter(devices), None)
    if (
        not pool.types_are_known
        or len(devices) > 1
        or first is None
        or first.partition < 1
        or first.vendor is not Vendor.NVIDIA
    ):
        raise IncompatibleError(
            "all hosts of a training have the same whole GPUs of NVIDIA, and the types of this capacity do not, or are "
            "only known at deploy time",
            argument="capacity",
            value=list(capacity.instance_type_names),
            fix="capacity of one instance type with GPUs",
        )
    require_one_zone(capacity.subnets, pool.name, argument="capacity")
    return Hosts(
        number=number,
        gpus=first.count,
        has_efa=any(each.is_efa for each in pool.interfaces),
        is_spot=pool.bought.option in PARTLY_SPOT,
    )


def _fix_of(hosts: object) -> str:
    if type(hosts) is not int or hosts < 1:
        return f"hosts={_LEAST_HOSTS}"
    one = hosts < _LEAST_HOSTS
    return (
        f"a GpuJob for one host, or hosts={_LEAST_HOSTS}"
        if one
        else f"hosts={MAX_INLINE_ITERATIONS}, or a MultiNodeTraining for more"
    )


def require_room(hosts: int, retries: JobRetries) -> None:
    """Refuses retries after lost hosts and exit codes that no execution has room for.

    Raises:
        IncompatibleError: Attempts that ran on all hosts have more events than an execution may have.
    """
    most = _MOST_EVENTS // (_LEAST + _LEAST_OF_HOST * hosts)
    attempts = 1 + retries.lost_host + sum(retries.exit_codes.values())
    if attempts > most:
        raise IncompatibleError(
            f"Step Functions ends an execution after {_MOST_EVENTS:,} events, before {attempts} attempts on {hosts} "
            "hosts",
            argument="retries",
            value=attempts,
            allowed=f"lost_host and exit_codes up to {most - 1} together",
            fix="JobRetries(lost_host=10), and a start by hand after that; checkpoints can be read again",
        )


def long_history(hosts: int, retries: JobRetries) -> str | None:
    """What happens where usual attempts have more events than an execution may have, in words; None otherwise."""
    attempts = attempts_of(retries)
    room = _MOST_EVENTS // (_USUAL + _USUAL_OF_HOST * hosts)
    if attempts <= room:
        return None
    return (
        f"Step Functions ends an execution after {_MOST_EVENTS:,} events, which about {room} attempts on {hosts} hosts "
        f"have, and retries allow {attempts}: fewer retries, such as JobRetries(lost_host=10), end with their own error"
    )


def mount_volumes(
    task: GpuTaskDefinition, container: ecs.ContainerDefinition, volumes: Sequence[batch.EcsVolume]
) -> None:
    """Adds volumes to a task, and mounts them in its container.

    Raises:
        InvalidValueError: Two volumes have one name.
    """
    names = [each.name for each in volumes]
    twice = next((each for each in names if names.count(each) > 1), None)
    if twice is not None:
        raise InvalidValueError(
            f"two volumes have the name {twice!r}, and ECS takes one of each name",
            argument="volumes",
            value=names,
            fix="another name for one of them",
        )
    for each, name in zip(volumes, names, strict=True):
        task.add_volume(name=name, **_source(each))
        container.add_mount_points(
            ecs.MountPoint(container_path=each.container_path, read_only=bool(each.readonly), source_volume=name)
        )


def _source(volume: batch.EcsVolume) -> dict[str, Any]:
    if isinstance(volume, batch.EfsVolume):
        return {"efs_volume_configuration": _of_efs(volume)}
    return {"host": ecs.Host(source_path=volume.host_path if isinstance(volume, batch.HostVolume) else None)}


def _of_efs(volume: batch.EfsVolume) -> ecs.EfsVolumeConfiguration:
    point, with_role = volume.access_point_id, volume.use_job_role
    return ecs.EfsVolumeConfiguration(
        file_system_id=volume.file_system.file_system_id,
        root_directory=volume.root_directory,
        transit_encryption="ENABLED" if volume.enable_transit_encryption else None,
        transit_encryption_port=volume.transit_encryption_port,
        authorization_config=ecs.AuthorizationConfig(access_point_id=point, iam="ENABLED" if with_role else None)
        if point or with_role
        else None,
    )
