"""What the hosts of a task have for it: room, the CPU and memory that go with accelerators, EFA devices.

A task with EFA is best in network mode ``host``: ranks connect over the address of their host. ``awsvpc`` works at the
price of an interface for each task; in ``bridge`` they have no address that another host can reach (GPU150).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from gpu_constructs.cdk.refusal import alone_on, raise_any
from gpu_constructs.errors import IncompatibleError, InvalidValueError
from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import Pool, PoolKind, Task, Unknown
from gpu_constructs.fleet.host import efa_layout
from gpu_constructs.placement.demand import A_CONSTRAINT, Demand, demand_of
from gpu_constructs.placement.fit import refusals
from gpu_constructs.placement.pool_profile import NOTHING_KEPT, FairShare, share_of
from gpu_constructs.rules import check, one_of
from gpu_constructs.tasks.gpu_ask import NEEDS

_LARGEST_DEFAULT_SHARED_MEMORY_MIB = 65536  # it counts as the container's memory as it is used

GPU_LIMITS: Mapping[str, int] = {"memlock": -1, "stack": 67108864}
"""What NVIDIA's own container images ask for: unlimited locked memory for pinned buffers, a 64 MiB stack
(https://docs.nvidia.com/deeplearning/frameworks/user-guide/)."""


def types_for(task: Task, pool: Pool) -> tuple[InstanceType, ...]:
    """The types that must have room for a task, as far as a constructor can tell.

    Of an Auto Scaling group all of them, because managed scaling looks at the smallest. ECS Managed Instances and AWS
    Batch launch one that the task fits on
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ManagedInstances.html,
    https://docs.aws.amazon.com/batch/latest/userguide/allocation-strategies.html), so those on which it does; the
    largest where it fits on none.
    """
    types = pool.instance_types
    if pool.kind not in {PoolKind.BATCH, PoolKind.MANAGED_INSTANCES} or not types:
        return types
    fitting = tuple(each for each in types if not refusals(task, each, pool))
    return fitting or (max(types, key=lambda each: (each.gpus, each.memory_mib)),)


def share_of_host(
    task: Task, pools: Sequence[Pool], *, least_memory_mib: int, kept: FairShare = NOTHING_KEPT
) -> FairShare:
    """What is left for the newest container of the share that goes with the accelerators of the whole task.

    So that CPU and memory never keep out a task for which the accelerators have room: of a host with N GPUs each GPU
    brings an Nth; a share of a GPU brings its part of that GPU's nominal memory; ``ALL`` and the one part of a GPU on a
    fractional host bring all of it. So do Neuron devices, however few: ECS does not count those that are given by path,
    and would place a second task on the same ones. The smallest share of any type counts.

    Args:
        task: The task with its newest container, whose CPU and memory are still 0.
        pools: Where it may run.
        least_memory_mib: The least that a container can have.
        kept: What daemons keep of every host, before it is shared.
    """
    demand = demand_of(task)
    types = [each for pool in pools for each in types_for(task, pool)]
    parts = {each: _part(task, demand, each) for each in types}
    known = {each: part for each, part in parts.items() if part is not None}
    cpu, memory = task.cpu, task.memory_mib
    silent = dict.fromkeys(each.name for each in types if each.declared and each.gpu_memory_mib is None)
    if task.shares_gpu and silent:
        raise InvalidValueError(
            f"the share of a host follows the share of a GPU, and it is not known how much memory a GPU of "
            f"{', '.join(silent)} has",
            argument="gpus",
            fix=f"state gpu_memory_mib in the declaration of {', '.join(silent)}",
        )
    if (
        not known
        or len(known) < len(parts)
        or not all(pool.types_are_known for pool in pools)
        or isinstance(cpu, Unknown)
        or isinstance(memory, Unknown)
    ):
        raise InvalidValueError(
            "the share of a host cannot be computed from values that are only known at deploy time",
            argument="gpus" if "ResourceRequirements" in demand.unknown else "cpu and memory_mib",
            fix="give both cpu and memory_mib",
        )
    whole = share_of(known, kept)
    if demand.shared_memory_mib is not None and whole.memory_mib < least_memory_mib:
        gib = demand.shared_memory_mib
        raise InvalidValueError(
            f"{whole.memory_mib} MiB of a host's memory go with {_in_words(task, demand)}, and a container takes "
            f"{least_memory_mib} MiB or more",
            argument="gpus",
            fix=f"GpuShare(memory_mib={gib * 1024}) for {gib} GiB, or both cpu and memory_mib of the container",
        )
    left = FairShare(cpu=whole.cpu - cpu, memory_mib=whole.memory_mib - memory)
    if left.cpu < 0 or left.memory_mib < least_memory_mib:
        raise InvalidValueError(
            f"{max(left.cpu, 0)} CPU units and {max(left.memory_mib, 0)} MiB are left of the share of a host that goes "
            f"with {_in_words(task, demand)}",
            argument="cpu and memory_mib",
            fix="give both cpu and memory_mib, or ask for less in the other containers",
        )
    return left


def _part(task: Task, demand: Demand, instance_type: InstanceType) -> Fraction | None:
    """The part of a host that goes with the accelerators; None where that is not known."""
    if demand.all_gpus or demand.part or demand.neuron or demand.neuron_devices or instance_type.is_fractional:
        return Fraction(1)
    if {*demand.unknown} - {A_CONSTRAINT}:  # a constraint chooses among the types, and each of them counts
        return None
    if demand.shared_memory_mib is not None:
        memory = instance_type.gpu_memory_mib
        # A driver may show more of a GPU than EC2 reports, and a share beyond one GPU is refused as that.
        return None if memory is None else Fraction(min(demand.shared_memory_mib, memory), memory * instance_type.gpus)
    return Fraction(task.least_gpus, instance_type.gpus)


def _in_words(task: Task, demand: Demand) -> str:
    if demand.neuron or demand.neuron_devices:
        return "its Neuron devices"
    if demand.all_gpus:
        return "all GPUs"
    if demand.shared_memory_mib is not None:
        return f"{demand.shared_memory_mib} MiB of one GPU"
    return f"{demand.part:g} of a GPU" if demand.part else f"{task.least_gpus} GPUs"


def default_shared_memory_mib(memory_mib: int | Unknown) -> int:
    """Size of ``/dev/shm`` in MiB where none is given: half of the container's memory, 64 GiB at most."""
    largest = _LARGEST_DEFAULT_SHARED_MEMORY_MIB
    return largest if isinstance(memory_mib, Unknown) else max(1, min(memory_mib // 2, largest))


_FIT = one_of("GPU054", "GPU060", "GPU063", "GPU064", "GPU067", "GPU069")
_NEEDS = one_of("GPU064")
_ARGUMENTS: Mapping[str, str] = {
    "ContainerDefinitions.ResourceRequirements": "gpus",
    "ContainerDefinitions.LinuxParameters.Devices": "devices",
    "ContainerDefinitions.Cpu": "cpu",
    "ContainerDefinitions.Memory": "memory_mib",
    "InstanceType": "capacity",
    "NetworkMode": "network_mode",
    **NEEDS,
    "Memory of NvidiaMps": "memory_mib of the shares",
    "hosts of a type such as": "capacity of a type such as",
    "a separate capacity provider for": "separate capacity for",
}


def require_fit(task: Task, pools: Sequence[Pool], arguments: Mapping[str, str] | None = None) -> None:
    """Refuses a task that a host of a pool is certain not to run."""
    for pool in pools:
        types = types_for(task, pool)
        if any(refusals(task, each, pool) for each in types):
            # As it starts: from zero hosts, of which the smallest type decides.
            starting = replace(pool, instance_types=types, min_instances=0, managed_scaling=True)
            raise_any(check(alone_on([starting], task), rules=_FIT), {**_ARGUMENTS, **(arguments or {})})


def require_met(task: Task, pools: Sequence[Pool], arguments: Mapping[str, str] | None = None) -> None:
    """Refuses a task with a need that the GPUs of a host do not meet on which it may be placed.

    Memory is a question of `require_fit`, because ECS Managed Instances launch a host that has enough.
    """
    if any(each.needs is not None for each in task.containers):
        without_memory = tuple(
            each if each.needs is None else replace(each, needs=replace(each.needs, memory_mib=None))
            for each in task.containers
        )
        task = replace(task, containers=without_memory)
        for pool in pools:
            raise_any(check(alone_on([pool], task), rules=_NEEDS), {**_ARGUMENTS, **(arguments or {})})


def efa_devices(pools: Sequence[Pool]) -> tuple[str, ...]:
    """Paths of the devices that a container gets on the hosts of all these pools, the same on both sides.

    Each adapter of a host is one device, and a container that is given one its host does not have does not start.
    """
    by_number = grouped((sum(each.is_efa for each in pool.interfaces), pool) for pool in pools)
    for pool in by_number.get(0, [])[:1]:
        raise IncompatibleError(
            f"the hosts of {pool.name} have no Elastic Fabric Adapter",
            argument="efa",
            value=pool.name,
            fix=_with_efa(pool),
        )
    if len(by_number) > 1:
        sides = ", ".join(f"{', '.join(each.name for each in alike)}: {number}" for number, alike in by_number.items())
        raise IncompatibleError(
            f"a task definition lists its devices once, and the hosts of its capacities have different numbers of "
            f"Elastic Fabric Adapters ({sides})",
            argument="efa",
            value=[pool.name for pool in pools],
            fix="one task definition for each number",
        )
    return tuple(f"/dev/infiniband/uverbs{index}" for number in by_number for index in range(number))


def efa_variables(pools: Sequence[Pool]) -> dict[str, str]:
    """Environment variables that a container gets with the devices; what the user gives goes before them.

    None of NCCL's own: its defaults pass over the loopback and Docker interfaces, which leaves the one that carries IP,
    and AWS's plugin sets the rest for each instance type.
    """
    # FI_PROVIDER: libfabric goes to TCP in silence where it finds no EFA. FI_EFA_USE_DEVICE_RDMA=1: libfabric before
    # 1.18 leaves RDMA off without it, and any libfabric aborts the process with it where the device has none, so it is
    # left out where a type is not known to have it (fi_efa(7), https://ofiwg.github.io/libfabric/main/man/fi_efa.7.html
    # and github.com/aws-samples/awsome-distributed-training 1.architectures/efa-cheatsheet.md, read 2026-11-21).
    everywhere = all(
        pool.types_are_known and all(each.network.device_rdma for each in pool.instance_types) for pool in pools
    )
    return {**({"FI_EFA_USE_DEVICE_RDMA": "1"} if everywhere else {}), "FI_PROVIDER": "efa"}


def _with_efa(pool: Pool) -> str:
    if any(efa_layout(each) for each in pool.instance_types):
        return "the capacity with network=HostNetwork.efa()"
    types = ", ".join(each.name for each in pool.instance_types) or pool.name
    return f"capacity of a type with EFA, such as p5en.48xlarge, with network=HostNetwork.efa(): {types} has none"
