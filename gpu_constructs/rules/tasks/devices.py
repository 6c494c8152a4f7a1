"""Devices that containers are given: Neuron devices, which tasks may share, and EFA devices, for which tasks meet."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from gpu_constructs.errors import brief, shown
from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.aws_limits import NVLINK_CONTROLLERS
from gpu_constructs.fleet import (
    NEURON_DEVICE,
    Container,
    Pool,
    PoolKind,
    ResourceRequirement,
    Scheduler,
    Task,
    Unknown,
    Workload,
)
from gpu_constructs.placement.demand import demand_of, node_type_of
from gpu_constructs.placement.destinations import runs_on_fargate
from gpu_constructs.placement.pool_profile import cpu_units, least_memory_mib
from gpu_constructs.placement.route import Destination, Route
from gpu_constructs.rules.evidence.accelerated import MANAGED_INSTANCES, NEURON_ON_EC2
from gpu_constructs.rules.evidence.copies import WHILE_SPARED
from gpu_constructs.rules.evidence.fixes import with_container
from gpu_constructs.rules.finding import Text, Ways, Word, and_list, either, one_way, or_list
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning

_EVERY = ResourceRequirement(type=NEURON_DEVICE, value="ALL")
_ALL = Word('{"Type": "NeuronDevice", "Value": "ALL"}')
_EFA_PATH = "/dev/infiniband/uverbs"


def _sent_elsewhere(context: Context) -> Problems:
    pools = {each.sender.name: each.destinations for each in context.routed(_asks) if each.workload is not None}
    for workload in context.fleet.workloads:
        if workload.task is not None and _asks(workload.task) and not _is_for_others(workload.task):
            yield from _elsewhere(workload, pools.get(workload.name, ()))


@error(
    "GPU027",
    question="does the task ask for Neuron devices as ECS takes it, on ECS Managed Instances?",
    because="the value of NeuronDevice must be ALL, only one container of a task can have it, and only ECS Managed "
    "Instances support it",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ResourceRequirement.html",
    in_fleet=_sent_elsewhere,
)
def neuron(task: Task) -> Problems:
    if not _asks(task):
        return
    yield from _requests(task)
    if _is_for_others(task):
        yield Problem(
            message=f"{task.name} asks for NeuronDevice, which only ECS Managed Instances have, and is for "
            f"{and_list(map(brief, task.compatibilities))}",
            fix=f"RequiresCompatibilities of {MANAGED_INSTANCES}; {NEURON_ON_EC2}",
            property_name="RequiresCompatibilities",
            value=task.compatibilities,
        )


@warning(
    "GPU181",
    question="does each copy of a task with Neuron devices get a host to itself?",
    because="only one task can run on a chip, and ECS does not count devices that are given by path: it places a "
    "second copy on the same devices if CPU and memory are left",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-inference.html",
)
def apart(context: Context) -> Problems:
    for assignment in context.assignments:
        workload, demand = assignment.workload, demand_of(assignment.task)
        alone = workload.distinct_instances or workload.daemon is True or demand.host_ports or not _several(workload)
        if alone or not demand.neuron_devices:
            continue
        roomy = [
            each
            for destination in assignment.destinations
            for each in destination.types
            if 2 * demand.cpu <= cpu_units(each) and 2 * demand.memory_mib <= least_memory_mib(each)
        ]
        if roomy:
            yield Problem(
                about=workload,
                message=f"two copies of {assignment.task.name} fit on one {roomy[0]}, where both are given the same "
                "Neuron devices by path, which one task at a time can use",
                fix=f"more than half of the host's memory for the task ({least_memory_mib(roomy[0]) // 2 + 1} MiB), "
                "or the placement constraint distinctInstance",
            )


@error(
    "GPU132",
    question="do the hosts have the EFA devices and the GPUs that the task is given by path?",
    because="each Elastic Fabric Adapter, and each GPU, of a host is one device, and a container does not start where "
    "its host does not have a device that it is given; P6 has such devices for its NVLink controllers too, and no page "
    "says which numbers they have; libfabric finds no EFA where it is given one of them, and NCCL uses TCP without an "
    "error",
    softer=f"for devices that may be NVLink controllers, and {WHILE_SPARED}",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html",
    changes="LinuxParameters.Devices",
    unless=("GPU092", "GPU093"),
)
def given_devices(context: Context) -> Problems:
    refused = set()
    kinds = {
        _EFA_PATH: (_lacking_efa, "hosts with as many EFA interfaces, and a launch template that asks for them"),
        "/dev/nvidia": (_lacking_gpu, "hosts with as many GPUs"),
    }
    for path, (lacking, more) in kinds.items():
        for route in _routed(context, partial(_is_given, path)):
            wanted = _highest(path, route.task) or 0
            for each in route.destinations:
                reason = lacking(context, each.pool, wanted) if each.is_certain else ""
                if reason:
                    refused |= {id(route.task), id(each.pool)}
                    yield Problem(
                        about=route.workload or route.task,
                        involves=(each.pool,),
                        message=f"{route.task.name} is given {path}{wanted}, and {reason}",
                        fix=f"{more}, or leave the device out",
                        is_certain=not each.is_spared,
                    )
    for found in _of_nvlink(context):
        if found.subjects.isdisjoint(refused):
            yield found


@warning(
    "GPU311",
    question="do tasks that take all GPUs of a host with EFA get its EFA devices?",
    because="a container has a device of its host only if its definition lists it; without the devices of its Elastic "
    "Fabric Adapters, NCCL and MPI connect several hosts over TCP",
    source="https://docs.aws.amazon.com/batch/latest/userguide/efa.html",
    changes="LinuxParameters.Devices",
    unless=("GPU092", "GPU093"),
)
def sees_efa(context: Context) -> Problems:
    if any(map(_is_given_efa, context.tasks)):
        return  # the adapters are for that task
    for route in _routed(context, lambda task: task.wants_gpu):
        task = route.task
        if any(each.may_have_other_devices for each in task.containers):
            continue
        container = next(each for each in task.containers if each.wants_gpu)
        # Copies of a workload, or nodes of a job of AWS Batch, may run at once and talk to each other.
        is_run_twice = task.is_multi_node if route.workload is None else _several(route.workload)
        for each in route.destinations if is_run_twice else ():
            pool, adapters = each.pool, sum(one.is_efa for one in each.pool.interfaces)
            has_as_many = pool.types_are_known and {one.gpus for one in pool.instance_types} == {task.gpus}
            takes_all = task.takes_all_gpus or has_as_many
            if each.is_certain and adapters and pool.max_instances not in {0, 1} and takes_all:
                yield Problem(
                    about=task,
                    container=container,
                    involves=(pool,),
                    message=f"{task.name} takes all GPUs of the hosts of {pool.name}, which have EFA interfaces, and "
                    f"container {container.name} is given no EFA device: its copies are connected over TCP",
                    fix="the EFA devices in LinuxParameters.Devices, or hosts without EFA interfaces",
                    ways=_with_efa(task, container, pool, adapters),
                    property_name="LinuxParameters",
                )


@warning(
    "GPU150",
    question="can a task with EFA devices be reached from other hosts?",
    because="NCCL and MPI connect their ranks over IP before EFA carries anything, and the address of a container in "
    "mode bridge exists only on its host",
    source="https://docs.docker.com/engine/network/drivers/bridge/",
    changes="NetworkMode",
)
def reachable(task: Task) -> Problems:
    if task.scheduler is Scheduler.ECS and task.network_mode in {"bridge", "none"} and _is_given_efa(task):
        yield Problem(
            message=f"{task.name} is given EFA devices in network mode {task.network_mode}, where ranks on other "
            "hosts have no address to connect to",
            fix="network mode host, or awsvpc",
        )


def _of_nvlink(context: Context) -> Problems:
    """Devices that may be of NVLink controllers and not of EFA (https://github.com/aws-samples/aws-do-eks/pull/63)."""
    sent = tuple(_routed(context, _is_given_efa))
    alone = (each for each in context.routed(_is_given_efa) if each.workload is None)
    by_hand = tuple(each for each in alone if each.task.scheduler is not Scheduler.BATCH)
    for route in (*sent, *by_hand):
        found = [(each, _with_nvlink_controllers(each)) for each in route.destinations]
        # Whoever runs a task by hand may choose hosts without the doubt.
        if route in by_hand and not all(doubtful for _, doubtful in found):
            continue
        for each, doubtful in found:
            if doubtful:
                yield Problem(
                    about=route.task,
                    involves=(each.pool, *([] if route.workload is None else [route.workload])),
                    message=f"{route.task.name} is given {_EFA_PATH}<N> of {or_list(doubtful)}, where "
                    "some of these devices are NVLink controllers and not EFA",
                    fix="only the devices whose name in /sys/class/infiniband_verbs/uverbs<N>/ibdev of a host begins "
                    "with rdmap",
                    is_certain=False,
                )


def _is_for_others(task: Task) -> bool:
    return bool(task.compatibilities) and MANAGED_INSTANCES not in task.compatibilities


def _several(workload: Workload) -> bool:
    counts = (workload.desired_count, workload.max_count)
    return any(isinstance(each, Unknown) or (each is not None and each > 1) for each in counts)


def _asks(task: Task) -> bool:
    entries = (each for container in task.containers for each in container.requirements)
    return task.scheduler is Scheduler.ECS and any(each.type == NEURON_DEVICE for each in entries)


def _requests(task: Task) -> Problems:
    asking = []
    for container in task.containers:
        entries = [each for each in container.requirements if each.type == NEURON_DEVICE]
        others = tuple(each for each in container.requirements if each.type != NEURON_DEVICE)
        asking.extend([container.name] if entries else [])
        wrong = [each for each in entries if not isinstance(each.value, Unknown) and not each.is_all]
        if wrong:
            value = "no value" if wrong[0].value is None else f"the value {shown(wrong[0].value)}"
            yield Problem(
                container=container,
                message=Text(
                    f"container {container.name} asks for NeuronDevice with {value}; the value must be ",
                    Word("ALL"),
                    ", because a container gets all Neuron devices of its host",
                ),
                fix="all devices, on an instance type with as many",
                ways=one_way(
                    Text(_ALL, ", on an instance type with as many devices"),
                    with_container(task, container, replace(container, requirements=(*others, _EVERY))),
                ),
                property_name="ResourceRequirements",
                value=wrong[0].value,
                allowed=Word("ALL"),
            )
    if len(asking) > 1:
        yield Problem(
            message=f"{and_list(asking)} ask for NeuronDevice; only one container of a task can have Neuron devices",
            fix="a task definition for each",
            property_name="ResourceRequirements",
        )


def _elsewhere(workload: Workload, pools: tuple[Destination, ...]) -> Problems:
    where = [
        f"{each.pool.name} ({each.pool.kind.value})"
        for each in pools
        if each.is_certain and each.pool.kind is not PoolKind.MANAGED_INSTANCES
    ]
    fargate = runs_on_fargate(workload)
    if fargate:
        where = [fargate]
    elif isinstance(workload.launch_type, str) and workload.launch_type != MANAGED_INSTANCES:
        where = [f"launch type {brief(workload.launch_type)}"]
    if where:
        yield Problem(
            about=workload,
            message=f"{workload.name} runs a task that asks for NeuronDevice, which only ECS Managed Instances have, "
            f"on {and_list(where)}",
            fix=f"a capacity provider of ECS Managed Instances; {NEURON_ON_EC2}",
        )


def _routed(context: Context, suspect: Callable[[Task], bool]) -> Iterator[Route]:
    """The routes of workloads with tasks of a kind, and of such jobs of AWS Batch, where all environments are known."""
    for route in context.routed(suspect):
        if route.workload is not None or (route.task.scheduler is Scheduler.BATCH and context.fleet.is_whole):
            yield route


def _with_nvlink_controllers(destination: Destination) -> list[InstanceType]:
    types = destination.types if node_type_of(destination.task) else destination.pool.instance_types
    return [each for each in types if each.family in NVLINK_CONTROLLERS]


def _is_given(path: str, task: Task) -> bool:
    return _highest(path, task) is not None


_is_given_efa = partial(_is_given, _EFA_PATH)


def _highest(path: str, task: Task) -> int | None:
    """The highest number of the devices that it is given whose paths are this and a number."""
    found = (re.fullmatch(f"{path}([0-9]{{1,3}})", each) for container in task.containers for each in container.devices)
    return max((int(each[1]) for each in found if each), default=None)


def _lacking_gpu(_: Context, pool: Pool, index: int) -> str:
    """Why no host of the pool has a GPU of this number; empty if one may have it."""
    most = max((each.accelerators.logical_count for each in pool.instance_types if each.accelerators), default=0)
    is_short = pool.types_are_known and index >= most
    return f"{or_list(pool.instance_types)} has {most} at most, from nvidia0 on" if is_short else ""


def _with_efa(task: Task, container: Container, pool: Pool, adapters: int) -> Ways:
    paths = tuple(f"{_EFA_PATH}{index}" for index in range(adapters))
    given = replace(container, devices=(*container.devices, *paths))
    last = f" to uverbs{adapters - 1}" if adapters > 1 else ""
    return either(
        (f"{paths[0]}{last} in LinuxParameters.Devices", with_container(task, container, given)),
        ("hosts without EFA interfaces", replace(pool, interfaces=())),
    )


def _lacking_efa(context: Context, pool: Pool, index: int) -> str:
    """Why no host of the pool has this device; empty if one may have it."""
    if not pool.types_are_known:
        return ""
    if all(_lacks_efa(each, index) for each in pool.instance_types):
        return _most(pool)
    adapters = [each for each in pool.interfaces if each.is_efa]
    if any(each.family in NVLINK_CONTROLLERS for each in pool.instance_types):
        return ""  # a number above those of EFA may be the right one
    if _asks_for_no_interface(context, pool):
        return f"{pool.name} has no launch template that asks for an EFA interface"
    # Otherwise nothing is known without a list of interfaces: the launch template may not be among what was read.
    if not pool.interfaces or index < len(adapters) or any(isinstance(each.type, Unknown) for each in pool.interfaces):
        return ""
    number = f"{len(adapters)} EFA interface{'s' if len(adapters) > 1 else ''}" if adapters else "no EFA interface"
    return f"the launch template of {pool.name} asks for {number}"


def _asks_for_no_interface(context: Context, pool: Pool) -> bool:
    """Whether its one launch template certainly lists no interface: EC2 then gives its hosts a plain one.

    No command of a host adds one: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/create-efa.html
    """
    data = context.launch(pool)
    group = context.group(pool)  # a mixed one may give types templates of their own
    is_read = not isinstance(pool.user_data.format, Unknown)
    is_known = is_read and (group is None or "MixedInstancesPolicy" not in group.properties)
    return data is not None and is_known and not data.has("NetworkInterfaces")


def _lacks_efa(instance_type: InstanceType, index: int) -> bool:
    network = instance_type.network
    if network.efa_supported is False:
        return True
    adapters, others = network.max_efa_interfaces, NVLINK_CONTROLLERS.get(instance_type.family, 0)
    return bool(adapters) and others is not None and index >= (adapters or 0) + others


def _most(pool: Pool) -> str:
    without = [each for each in pool.instance_types if each.network.efa_supported is False]
    if len(without) == len(pool.instance_types):
        return f"{or_list(without)} does not support EFA"
    most = max(each.network.max_efa_interfaces or 0 for each in pool.instance_types)
    return f"{or_list(pool.instance_types)} has {most} at most, from uverbs0 on"
