"""Multi-node jobs, which start on all their hosts or on none: can they start, and do they end?

A job that is submitted with other nodes than its definition has is judged with these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpu_constructs.budget import brief
from gpu_constructs.fleet import Pool, Scheduler, Task, Unknown
from gpu_constructs.hardware import known_type
from gpu_constructs.placement.destinations import by_hand, unassigned
from gpu_constructs.placement.reach import pools_by_hand
from gpu_constructs.rules.change import either, first_of, one_way
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list, or_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning
from gpu_constructs.rules.words import Word

_A_DAY = 86_400


@error(
    "GPU340",
    question="can a compute environment have as many hosts as a multi-node job has nodes?",
    because="AWS Batch starts a multi-node job on all its hosts or on none, one container on each, and goes above "
    "MaxvCpus by one host at most",
    source="https://docs.aws.amazon.com/batch/latest/userguide/multi-node-parallel-jobs.html",
    unless=("GPU294", "GPU296", "GPU061", "GPU063"),
)
def holds_the_gang(context: Context) -> Problems:
    for task, nodes, pools in _gangs(context):
        most = [each.max_instances for each in pools if not isinstance(each.max_instances, Unknown)]
        if len(most) == len(pools) and max(most) < nodes:
            largest = pools[most.index(max(most))]
            enough = nodes * max((each.vcpus for each in largest.instance_types), default=0)
            yield Problem(
                about=task,
                involves=(largest,),
                property_name="NodeProperties.NumNodes",
                value=nodes,
                message=f"{task.name} starts on {nodes} hosts at once, and {largest.name} has {max(most)} at most",
                allowed=f"1 to {max(most)}",
                fix=Word(f"MaxvCpus {enough}"),
                ways=either(
                    (Word(f"MaxvCpus {enough}"), replace(largest, max_vcpus=enough, max_instances=nodes)),
                    *((Word(f"NumNodes {max(most)}"), replace(task, nodes=max(most))) for _ in range(max(most) > 0)),
                ),
            )


@error(
    "GPU341",
    question="do the nodes of a multi-node job name one instance type?",
    because="AWS Batch limits the instance types of a range of nodes to one, and all ranges of a job must use the same",
    source="https://docs.aws.amazon.com/batch/latest/userguide/mnp-node-groups.html",
)
def names_one_type(task: Task) -> Problems:
    if len(task.node_types) > 1:
        first = task.node_types[0]
        yield Problem(
            property_name="InstanceTypes",
            value=str(task.node_types[1]),
            message=f"{task.name} names {len(task.node_types)} instance types for its nodes, and AWS Batch takes one",
            one_value=True,
            fix="one of them",
            ways=() if isinstance(first, Unknown) else one_way(f"{first} alone", replace(task, node_types=(first,))),
        )
        return
    of_ranges = [each for group in task.node_groups for each in group if isinstance(each, str)]
    types = tuple(dict.fromkeys(of_ranges))
    if len(types) > 1 and all(len(each) <= 1 for each in task.node_groups):
        yield Problem(
            property_name="InstanceTypes",
            value=types[1],
            message=f"{task.name} and the other ranges of its nodes name {and_list(types)}, and all nodes of a job "
            "must have one instance type",
            fix="one of them in all ranges",
            ways=first_of((f"{each} in all ranges", _of_type(task, each)) for each in types),
        )


@warning(
    "GPU362",
    question="do the compute environments of a multi-node job have the instance type that its nodes name?",
    because="a job whose requirements no compute environment of its queue meets stays RUNNABLE "
    "(MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT)",
    source="https://docs.aws.amazon.com/batch/latest/userguide/job_stuck_in_runnable.html",
    unless=("GPU294", "GPU341", "GPU061", "GPU063"),
)
def has_the_type(context: Context) -> Problems:
    for task, _, pools in _gangs(context):
        there = tuple(dict.fromkeys(each.name for pool in pools for each in pool.instance_types))
        name = task.node_types[0] if len(task.node_types) == 1 else None
        is_known = all(each.types_are_known for each in pools)
        if isinstance(name, str) and is_known and name not in there and task.wants_gpu and not _is_metal(name):
            yield Problem(
                about=task,
                involves=(pools[0],),
                property_name="InstanceTypes",
                value=name,
                message=f"the nodes of {task.name} are to be {brief(name)}, and {and_list(p.name for p in pools)} "
                f"{'has' if len(pools) == 1 else 'have'} {and_list(there)}",
                allowed=or_list(there),
                fix="a type that the compute environment has",
                ways=first_of((each, _of_type(task, each)) for each in there),
            )


@warning(
    "GPU342",
    question="does a multi-node job with GPUs have a time limit?",
    because="AWS Batch watches the main node alone: where another one fails, the job neither stops nor is tried again, "
    "and all its hosts wait until a time limit ends it",
    source="https://docs.aws.amazon.com/batch/latest/userguide/job-lifecycle.html",
    unless=("GPU293",),
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
    "GPU343",
    question="are the hosts of a multi-node job with GPUs near each other?",
    because="AWS advises a cluster placement group in one Availability Zone for multi-node jobs; hosts in several "
    "zones talk slowly, and their traffic is charged",
    source="https://docs.aws.amazon.com/batch/latest/userguide/mnp-ce.html",
    unless=("GPU095", "GPU294"),
)
def near_each_other(context: Context) -> Problems:
    for task, nodes, pools in _gangs(context):
        far = [each for each in pools if each.placement_group is False and each.zones is not None and each.zones > 1]
        if nodes > 1 and task.wants_gpu and far:
            yield Problem(
                about=far[0],
                involves=(task,),
                property_name="ComputeResources.PlacementGroup",
                message=f"{task.name} runs on {nodes} hosts at once, and those of {far[0].name} may be in "
                f"{far[0].zones} Availability Zones",
                fix="subnets of one zone, and a PlacementGroup with the strategy cluster",
                ways=one_way(
                    "subnets of one zone, and a PlacementGroup with the strategy cluster",
                    replace(far[0], zones=1, placement_group=True),
                ),
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
    for task, nodes, pools in _gangs(context):
        closed = [each for each in pools if each.has_emptied_group]
        if nodes > 1 and task.wants_gpu and closed:
            yield Problem(
                about=closed[0],
                involves=(task,),
                property_name="ComputeResources.SecurityGroupIds",
                message=f"the {nodes} nodes of {task.name} are in the default security group of the VPC of "
                f"{closed[0].name}, which lets nothing in",
                fix="restrict_default_security_group=False of ec2.Vpc, a rule that opens the group to itself, or "
                "SecurityGroupIds where hosts have no EFA",
            )


def _gangs(context: Context) -> Iterator[tuple[Task, int, tuple[Pool, ...]]]:
    """Multi-node jobs with their nodes and every compute environment that they may run on."""
    for task in unassigned(context.fleet):
        pools = pools_by_hand(context.fleet, task) if task.scheduler is Scheduler.BATCH else ()
        if isinstance(task.nodes, int) and pools and by_hand(context.fleet, task).is_closed:
            yield task, task.nodes, pools


def _of_type(task: Task, name: str) -> Task:
    return replace(task, node_types=(name,), node_groups=((name,),) * len(task.node_groups))


def _is_metal(name: str) -> bool:
    """Whether it is a bare metal type, which a family in InstanceTypes may or may not have."""
    known = known_type(name)
    return known is not None and known.bare_metal
