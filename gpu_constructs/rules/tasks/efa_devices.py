"""EFA devices that containers are given by path: whether the hosts have them, and whether the tasks find each other."""

from __future__ import annotations

import re

from gpu_constructs.fleet import Pool, Scheduler, Task, Unknown
from gpu_constructs.hardware import InstanceType
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import or_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_PATH = re.compile(r"/dev/infiniband/uverbs([0-9]{1,3})")
_UNREACHABLE = frozenset({"bridge", "none"})


@error(
    "GPU132",
    question="do the hosts have the EFA devices that the task is given?",
    because="each Elastic Fabric Adapter of a host is one device, and a container does not start where its host does "
    "not have a device that it is given",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html",
    unless=("GPU090", "GPU091"),
)
def given_efa(context: Context) -> Problems:
    for assignment in context.assignments:
        wanted = _highest(assignment.task)
        if wanted is None:
            continue
        for each in assignment.destinations:
            reason = _lacking(each.pool, wanted) if each.is_certain else ""
            if reason:
                yield Problem(
                    about=assignment.workload,
                    involves=(each.pool,),
                    message=f"{assignment.task.name} is given /dev/infiniband/uverbs{wanted}, and {reason}",
                    fix="hosts with as many EFA interfaces, and a launch template that asks for them, or leave the "
                    "device out",
                )


@warning(
    "GPU150",
    question="can a task with EFA devices be reached from other hosts?",
    because="NCCL and MPI connect their ranks over IP before EFA carries anything, and the address of a container in "
    "mode bridge exists only on its host",
    source="https://docs.docker.com/engine/network/drivers/bridge/",
)
def reachable(task: Task) -> Problems:
    if task.scheduler is Scheduler.ECS and task.network_mode in _UNREACHABLE and _highest(task) is not None:
        yield Problem(
            message=f"{task.name} is given EFA devices in network mode {task.network_mode}, where ranks on other "
            "hosts have no address to connect to",
            fix="network mode host, or awsvpc",
        )


def _highest(task: Task) -> int | None:
    found = (_PATH.fullmatch(path) for container in task.containers for path in container.devices)
    return max((int(each[1]) for each in found if each), default=None)


def _lacking(pool: Pool, index: int) -> str:
    """Why no host of the pool has this device; empty if one may have it."""
    if not pool.types_are_known:
        return ""
    if all(_lacks(each, index) for each in pool.instance_types):
        return _most(pool)
    adapters = [each for each in pool.interfaces if each.is_efa]
    # Without a list of interfaces nothing is known about them: the launch template may not be among what was read.
    if not pool.interfaces or index < len(adapters) or any(isinstance(each.type, Unknown) for each in pool.interfaces):
        return ""
    number = f"{len(adapters)} EFA interface{'s' if len(adapters) > 1 else ''}" if adapters else "no EFA interface"
    return f"the launch template of {pool.name} asks for {number}"


def _lacks(instance_type: InstanceType, index: int) -> bool:
    network = instance_type.network
    if network.efa_supported is False:
        return True
    return bool(network.max_efa_interfaces) and index >= (network.max_efa_interfaces or 0)


def _most(pool: Pool) -> str:
    without = [each for each in pool.instance_types if each.network.efa_supported is False]
    if len(without) == len(pool.instance_types):
        return f"{or_list(without)} does not support EFA"
    most = max(each.network.max_efa_interfaces or 0 for each in pool.instance_types)
    return f"{or_list(pool.instance_types)} has {most} at most, from uverbs0 on"
