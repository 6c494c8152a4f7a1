"""Compute environments of AWS Batch: do they have GPUs, room for a job, and an image for their instance types?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

from gpu_constructs.errors import brief
from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.aws_limits import CPU_UNITS_PER_VCPU
from gpu_constructs.fleet import Pool, PoolKind, Scheduler, Task, Unknown
from gpu_constructs.placement.destinations import by_hand, environments_by_hand, unassigned
from gpu_constructs.placement.reach import pools_by_hand
from gpu_constructs.rules.evidence.accelerated import devices_of
from gpu_constructs.rules.evidence.fixes import hosts_for
from gpu_constructs.rules.finding import Ways, Word, either, first_of, one_way, or_list, some
from gpu_constructs.rules.rule import Context, Problem, Problems, error


@error(
    "GPU295",
    question="does AWS Batch have hosts with accelerators for a job that asks for some?",
    because="Fargate has no accelerators, and optimal, default_x86_64 and default_arm64 stand for families without: a "
    "job that asks for some stays RUNNABLE",
    source="https://docs.aws.amazon.com/batch/latest/userguide/gpu-jobs.html",
)
def has_accelerators(context: Context) -> Problems:
    fleet = context.fleet
    if not fleet.is_whole or not fleet.environments:
        return
    for task in unassigned(fleet):
        environments = environments_by_hand(fleet, task)
        others = [each for each in fleet.strays if each.kind is PoolKind.BATCH and task.environments is None]
        is_known = bool(environments) and not others and not pools_by_hand(fleet, task)
        have_none = is_known and all(each.lacks_accelerators for each in environments)
        asks = not task.wants_gpu or any(
            gpus.value != "0" for each in task.containers for gpus in each.gpu_requirements
        )
        if have_none and task.scheduler is Scheduler.BATCH and asks:
            named = some(f"{brief(each.name)} {each.lacks_accelerators}" for each in environments)
            yield Problem(
                about=task,
                origin=environments[0].origin,
                property_name="InstanceTypes" if environments[0].has_hosts else "Type",
                message=f"{task.name} asks for {devices_of(task)}, and no compute environment here has any: {named}",
                fix=f"a compute environment of Type EC2 with InstanceTypes that have {devices_of(task)}",
            )


@error(
    "GPU296",
    question="can a compute environment have all vCPUs and hosts that one job asks for?",
    because="AWS Batch starts no hosts for a job that asks for more than MaxvCpus, and leaves it RUNNABLE "
    "(MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE); it starts a multi-node job on all its hosts or on none, one "
    "container on each, and goes above MaxvCpus by one host at most",
    source="https://docs.aws.amazon.com/batch/latest/userguide/job_stuck_in_runnable.html",
    unless=("GPU294", "GPU061", "GPU063", "GPU362"),
)
def has_room(context: Context) -> Problems:
    for task in _jobs(context):
        if not by_hand(context.fleet, task).is_closed:
            continue
        pools, asked = pools_by_hand(context.fleet, task), task.cpu
        vcpus = 0 if isinstance(asked, Unknown) else -(-asked // CPU_UNITS_PER_VCPU)
        if all(isinstance(each.max_vcpus, int) and each.max_vcpus < vcpus for each in pools):
            first, most = pools[0], pools[0].max_instances
            smallest = min((each.vcpus for each in first.instance_types), default=vcpus)
            enough = max(vcpus, smallest)
            hosts = most if isinstance(most, Unknown) else max(1, most, enough // smallest)
            yield Problem(
                about=first,
                involves=(task,),
                property_name="ComputeResources.MaxvCpus",
                value=first.max_vcpus,
                message=f"{task.name} asks for {vcpus} vCPUs, and {first.name} has {first.max_vcpus} at most",
                allowed=f"{enough} or more",
                fix="more MaxvCpus",
                ways=one_way(f"a MaxvCpus of {enough}", replace(first, max_vcpus=enough, max_instances=hosts)),
            )
        elif isinstance(task.nodes, int):
            yield from _short_of_hosts(task, task.nodes, pools)


def _short_of_hosts(task: Task, nodes: int, pools: Sequence[Pool]) -> Problems:
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
    "GPU106",
    question="does the Amazon Linux 2023 GPU image of AWS Batch support the instance types?",
    because="AWS Batch lists p3 and g3 as unsupported on ECS_AL2023_NVIDIA, though the ECS image carries their driver",
    softer="where the environment has other types, or names its image",
    source="https://docs.aws.amazon.com/batch/latest/APIReference/API_Ec2Configuration.html",
)
def listed(context: Context) -> Problems:
    for pool in context.fleet.pools:
        unlisted = [each for each in pool.instance_types if each.traits.unsupported_by_batch]
        if pool.kind is not PoolKind.BATCH or isinstance(pool.image, Unknown) or pool.image.is_own:
            continue
        if pool.image.image.name == "al2023-gpu" and unlisted:  # one that is pinned as well
            leave_out = f"leave {or_list(unlisted)} out, or " if len(unlisted) < len(pool.instance_types) else ""
            yield Problem(
                about=pool,
                message=f"AWS Batch does not support {or_list(unlisted)} on ECS_AL2023_NVIDIA",
                fix=f"{leave_out}types of a newer family, such as g6 or p4d",
                ways=partial(_newer, context, pool, unlisted),
                property_name="InstanceTypes",
                value=[each.name for each in unlisted],
                is_certain=pool.types_are_known and [*pool.instance_types] == unlisted and pool.names_image is not True,
            )


def _newer(context: Context, pool: Pool, unlisted: Collection[InstanceType]) -> Ways:
    """Types of newer families that run the jobs of an environment, beside those that it has and that are supported."""
    kept = tuple(each for each in pool.instance_types if each not in unlisted)
    jobs = [each for each in _jobs(context) if pool in pools_by_hand(context.fleet, each)]
    found = [way for job in jobs for way in hosts_for(job, pool, "types of a newer family", of_other_families=True)]
    new = [(way.text, way.made()[0]) for way in found]
    types = [(text, each.instance_types) for text, each in new if isinstance(each, Pool)]
    return first_of((text, replace(pool, instance_types=(*each, *kept))) for text, each in types)


def _jobs(context: Context) -> Iterator[Task]:
    for task in unassigned(context.fleet):
        if task.scheduler is Scheduler.BATCH and pools_by_hand(context.fleet, task):
            yield task
