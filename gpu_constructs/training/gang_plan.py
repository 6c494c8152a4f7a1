"""A gang on a cluster of ECS, checked against the hosts of its capacity before anything is made of it."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_constructs.capacity.gpu_capacity import GpuCapacity
from gpu_constructs.cdk.arguments import known_number
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.fleet.purchase import PARTLY_SPOT
from gpu_constructs.hardware import Vendor
from gpu_constructs.hardware.aws_limits import MAX_INLINE_ITERATIONS

_LEAST = 2


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
        smallest=_LEAST,
        largest=MAX_INLINE_ITERATIONS,
        unit="hosts",
        fix=_fix_of(hosts),
        why="does not say whether the gang can start",
    )
    if isinstance(pool.max_instances, int) and number > pool.max_instances:
        many = pool.max_instances >= _LEAST
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
    zones = capacity.subnets.zones
    if zones is not None and zones > 1:
        raise IncompatibleError(
            f"the hosts of a training are in one Availability Zone, and the subnets of {pool.name} are in {zones}",
            argument="capacity",
            value=zones,
            fix="vpc_subnets=ec2.SubnetSelection(availability_zones=[…]) in add_capacity",
        )
    return Hosts(
        number=number,
        gpus=first.count,
        has_efa=any(each.is_efa for each in pool.interfaces),
        is_spot=pool.bought.option in PARTLY_SPOT,
    )


def _fix_of(hosts: object) -> str:
    if type(hosts) is not int or hosts < 1:
        return f"hosts={_LEAST}"
    one = hosts < _LEAST
    return (
        f"a GpuJob for one host, or hosts={_LEAST}"
        if one
        else f"hosts={MAX_INLINE_ITERATIONS}, or a MultiNodeTraining for more"
    )
