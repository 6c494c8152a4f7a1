"""EFA devices that containers are given by path: whether the hosts have them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_constructs.fleet import Fleet, Pool, Task
from gpu_constructs.hardware import InstanceType
from gpu_constructs.rules.assignments import assignments
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, Rule, rule
from gpu_constructs.rules.wording import either

__all__ = ["RULES"]

_PATH = re.compile(r"/dev/infiniband/uverbs([0-9]{1,3})")


@rule(
    "GPU132",
    Severity.ERROR,
    question="have the hosts the EFA devices that the task is given?",
    because="each Elastic Fabric Adapter of a host is one device, and a container that is given one its host does not "
    "have does not start",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html",
)
def given_efa(fleet: Fleet) -> Iterator[Problem]:
    for assignment in assignments(fleet):
        wanted = _highest(assignment.task)
        if wanted is None:
            continue
        for each in assignment.destinations:
            types = each.pool.instance_types
            if each.is_certain and each.pool.types_are_known and all(_lacks(host, wanted) for host in types):
                yield Problem(
                    about=assignment.workload,
                    message=f"{assignment.task.name} is given /dev/infiniband/uverbs{wanted}, and {_most(each.pool)}",
                    fix="hosts with as many EFA interfaces, and a launch template that asks for them, or no such "
                    "device",
                )


def _highest(task: Task) -> int | None:
    found = (_PATH.fullmatch(path) for container in task.containers for path in container.devices)
    return max((int(each[1]) for each in found if each), default=None)


def _lacks(instance_type: InstanceType, index: int) -> bool:
    network = instance_type.network
    if network.efa_supported is False:
        return True
    return bool(network.max_efa_interfaces) and index >= (network.max_efa_interfaces or 0)


def _most(pool: Pool) -> str:
    without = [each for each in pool.instance_types if each.network.efa_supported is False]
    if len(without) == len(pool.instance_types):
        return f"{either(without)} supports no EFA"
    most = max(each.network.max_efa_interfaces or 0 for each in pool.instance_types)
    return f"{either(pool.instance_types)} has {most} at most, from uverbs0 on"


RULES: tuple[Rule, ...] = (given_efa,)
