"""Multi-node jobs of AWS Batch, which start on all their hosts or on none: can they start, and do they end?

A job that is submitted with other nodes than its definition has is judged with these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from gpu_constructs.errors import brief
from gpu_constructs.facts import known_type
from gpu_constructs.fleet import Origin, Pool, PurchaseOption, Task
from gpu_constructs.rules.change import first_of, one_way
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import gangs, has_several_gpu_nodes, is_managed
from gpu_constructs.rules.evidence.lists import and_list, or_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning
from gpu_constructs.rules.words import Word

if TYPE_CHECKING:
    from gpu_constructs.template.resources.section import Section

_A_DAY = 86_400
_RANGE = re.compile(r"([0-9]{0,6}):([0-9]{0,6})")
_TYPES = {"Spot": "SPOT", "of ECS Managed Instances": "ECS_MANAGED_INSTANCES"}


@error(
    "GPU294",
    question="do multi-node jobs have a compute environment on demand, with instances of EC2?",
    because="AWS Batch runs multi-node parallel jobs neither on Spot Instances nor on ECS Managed Instances",
    source="https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html",
)
def nodes_stay(context: Context) -> Problems:
    for task, pools in gangs(context):
        kinds = [_without_gangs(context, each) for each in pools]
        if all(kinds):
            yield Problem(
                about=pools[0],
                involves=(task,),
                property_name="ComputeResources.Type",
                value=_TYPES[kinds[0]],
                message=f"{task.name} is a multi-node job, and every compute environment here is "
                f"{' or '.join(dict.fromkeys(kinds))}, where AWS Batch does not run multi-node jobs",
                allowed=Word("Type EC2"),
                fix=Word(f"{_on_demand(pools[0])}, in a compute environment for these jobs"),
            )


def _on_demand(pool: Pool) -> str:
    """What changes a compute environment to one on demand: strategies for Spot Instances are refused there."""
    is_for_spot = isinstance(pool.allocation, str) and pool.allocation.startswith("SPOT")
    return "Type EC2 with AllocationStrategy BEST_FIT_PROGRESSIVE" if is_for_spot else "Type EC2"


def _without_gangs(context: Context, pool: Pool) -> str:
    """Why AWS Batch runs no multi-node job there; empty where it does."""
    if is_managed(context, pool):
        return "of ECS Managed Instances"
    return "Spot" if pool.bought.option is PurchaseOption.SPOT else ""


@error(
    "GPU362",
    question="do the nodes of a multi-node job name one instance type, which its compute environments have?",
    because="all ranges of nodes must use the same instance type; a job whose type no compute environment of its queue "
    "has stays RUNNABLE (MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT)",
    softer="where the type is only not among those of the compute environments",
    source="https://docs.aws.amazon.com/batch/latest/userguide/mnp-node-groups.html",
    unless=("GPU294", "GPU061", "GPU063"),
)
def has_one_type(context: Context) -> Problems:
    for task in context.tasks:
        types = [each for each in task.node_types if isinstance(each, str)]
        if len(types) > 1:
            yield Problem(
                about=task,
                property_name="InstanceType",
                value=types[1],
                message=f"the nodes of {task.name} name {and_list(types)}, and all nodes of a job must have one "
                "instance type",
                fix="one of them in all ranges",
                ways=first_of((f"{each} in all ranges", replace(task, node_types=(each,))) for each in types),
            )
    for task, pools in gangs(context):
        there = tuple(dict.fromkeys(each.name for pool in pools for each in pool.instance_types))
        name = task.node_types[0] if len(task.node_types) == 1 else None
        is_known = all(each.types_are_known for each in pools)
        if isinstance(name, str) and is_known and name not in there and task.wants_gpu and not _is_metal(name):
            yield Problem(
                about=task,
                involves=(pools[0],),
                property_name="InstanceType",
                value=name,
                message=f"the nodes of {task.name} are to be {brief(name)}, and {and_list(p.name for p in pools)} "
                f"{'has' if len(pools) == 1 else 'have'} {and_list(there)}",
                allowed=or_list(there),
                fix="a type that the compute environment has",
                ways=first_of((each, replace(task, node_types=(each,))) for each in there),
                is_certain=False,
            )


@error(
    "GPU355",
    question="do the ranges of a multi-node job name all of its nodes and no others, and its main node?",
    because="the ranges of nodes must account for all nodes, which are counted from 0, and AWS Batch refuses the job "
    "definition otherwise",
    source="https://docs.aws.amazon.com/batch/latest/APIReference/API_NodeRangeProperty.html",
)
def names_its_nodes(context: Context) -> Problems:
    said: set[Origin] = set()
    for task in context.fleet.tasks:
        properties = context.section(task) if task.is_multi_node and task.wants_gpu else None
        if properties is not None and properties.resource not in said:
            said.add(properties.resource)  # of all its ranges
            yield from _misnamed(task, properties.section("NodeProperties"))


def _misnamed(task: Task, properties: Section) -> Problems:
    nodes, main = properties.integer("NumNodes"), properties.integer("MainNode")
    if not isinstance(nodes, int):
        return
    counted = f"{task.name} has {nodes} nodes, counted from 0, and"
    ranges = _ranges(properties)
    missed, ends = _first_missed(nodes, ranges), [last for _, last in ranges]
    if isinstance(main, int) and main >= nodes:
        message = f"{counted} its main node is {main}"
        yield Problem(about=task, property_name="MainNode", message=message, fix="MainNode 0")
    elif ranges and missed < nodes:
        yield Problem(
            about=task,
            property_name="TargetNodes",
            message=f"{counted} none of its ranges names node {missed}",
            fix='a range up to the last node, such as "0:"',
        )
    elif ends and None not in ends and (end := max(filter(None, ends), default=0)) >= nodes:
        yield Problem(
            about=task,
            property_name="TargetNodes",
            value=end,
            message=f"{counted} a range of them ends with node {end}",
            allowed=f"0 to {nodes - 1}",
            fix=f'a range up to node {nodes - 1}, such as "0:", or NumNodes {end + 1}',
        )


def _ranges(properties: Section) -> list[tuple[int, int | None]]:
    """The first and the last node of each range, None for an open end; empty where not all are known."""
    ranges = [_RANGE.fullmatch(str(each.text("TargetNodes"))) for each in properties.sections("NodeRangeProperties")]
    read = [(int(each[1] or 0), int(each[2]) if each[2] else None) for each in ranges if each is not None]
    return read if len(read) == len(ranges) else []


def _first_missed(nodes: int, ranges: Iterable[tuple[int, int | None]]) -> int:
    node = 0
    # From the lowest, each range goes on where the one before it ends, or overrides a part of it.
    for first, last in sorted((first, nodes - 1 if last is None else last) for first, last in ranges):
        if first > node:
            break
        node = max(node, last + 1)
    return node


@warning(
    "GPU342",
    question="does a multi-node job with GPUs have a time limit?",
    because="AWS Batch watches the main node alone: where another one fails, the job neither stops nor is tried again, "
    "and all its hosts wait until a time limit ends it",
    source="https://docs.aws.amazon.com/batch/latest/userguide/job-lifecycle.html",
)
def ends(task: Task) -> Problems:
    if task.is_multi_node and task.wants_gpu and task.attempt_seconds is None:
        yield Problem(
            property_name="Timeout.AttemptDurationSeconds",
            message=f"{task.name} has no time limit, and a node that fails leaves all others waiting",
            fix="a Timeout",
            ways=one_way(f"AttemptDurationSeconds of {_A_DAY}, a day", replace(task, attempt_seconds=_A_DAY)),
        )


@warning(
    "GPU347",
    question="can the nodes of a multi-node job with GPUs reach each other?",
    because="the interfaces of a multi-node job are in the security groups of its compute environment, or in the "
    "default one of the VPC where it names none, as with EFA; CDK takes the rules of that group away where Vpc "
    "restricts it",
    source="https://docs.aws.amazon.com/batch/latest/userguide/mnp-ce.html",
    unless=("GPU294",),
)
def reach_each_other(context: Context) -> Problems:
    for task, pools in gangs(context):
        closed = [each for each in pools if each.has_emptied_group]
        if has_several_gpu_nodes(task) and closed:
            yield Problem(
                about=closed[0],
                involves=(task,),
                property_name="ComputeResources.SecurityGroupIds",
                message=f"the {task.nodes} nodes of {task.name} are in the default security group of the VPC of "
                f"{closed[0].name}, which lets nothing in",
                fix="restrict_default_security_group=False of ec2.Vpc, a rule that opens the group to itself, or "
                "SecurityGroupIds where hosts have no EFA",
            )


def _is_metal(name: str) -> bool:
    """Whether it is a bare metal type, which a family in InstanceTypes may or may not have."""
    known = known_type(name)
    return known is not None and known.bare_metal
