"""Whether the compute environments of AWS Batch can run GPU jobs at all: GPUs, vCPUs, and how they are bought."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpu_constructs.budget import brief
from gpu_constructs.fleet import Pool, PoolKind, PurchaseOption, Scheduler, Task, Unknown
from gpu_constructs.hardware.aws_limits import CPU_UNITS_PER_VCPU
from gpu_constructs.placement.destinations import by_hand, carries_gpus, environments_by_hand, unassigned
from gpu_constructs.placement.reach import pools_by_hand
from gpu_constructs.rules.change import one_way
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, error
from gpu_constructs.rules.words import Word

_RUNNABLE = "https://docs.aws.amazon.com/batch/latest/userguide/job_stuck_in_runnable.html"
_MOST_NAMED = 4
_BEST_FIT, _ORDERED = "BEST_FIT", "BEST_FIT_PROGRESSIVE_ORDERED"
_ON_DEMAND, _ON_SPOT = "BEST_FIT_PROGRESSIVE", "SPOT_PRICE_CAPACITY_OPTIMIZED"
_FOR_SPOT = "SPOT"
_TYPES = {"Spot": "SPOT", "of ECS Managed Instances": "ECS_MANAGED_INSTANCES"}


@error(
    "GPU294",
    question="do multi-node jobs have a compute environment on demand, with instances of EC2?",
    because="AWS Batch runs multi-node parallel jobs neither on Spot Instances nor on ECS Managed Instances",
    source="https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html",
)
def nodes_stay(context: Context) -> Problems:
    for task in _jobs(context):
        pools = pools_by_hand(context.fleet, task)
        kinds = [_without_gangs(each) for each in pools]
        if task.is_multi_node and all(kinds) and by_hand(context.fleet, task).is_closed:
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
    is_for_spot = isinstance(pool.allocation, str) and pool.allocation.startswith(_FOR_SPOT)
    return f"Type EC2 with AllocationStrategy {_ON_DEMAND}" if is_for_spot else "Type EC2"


def _without_gangs(pool: Pool) -> str:
    """Why AWS Batch runs no multi-node job there; empty where it does."""
    if pool.is_managed_environment:
        return "of ECS Managed Instances"
    return "Spot" if pool.bought.option is PurchaseOption.SPOT else ""


@error(
    "GPU295",
    question="does AWS Batch have hosts with GPUs for a GPU job?",
    because="Fargate has no GPUs, and optimal, default_x86_64 and default_arm64 stand for families without GPUs: a job "
    "that asks for GPUs stays RUNNABLE",
    source="https://docs.aws.amazon.com/batch/latest/userguide/gpu-jobs.html",
)
def has_gpus(context: Context) -> Problems:
    fleet = context.fleet
    if not fleet.is_whole or not fleet.environments:
        return
    for task in unassigned(fleet):
        environments = environments_by_hand(fleet, task)
        others = [each for each in fleet.strays if each.kind is PoolKind.BATCH and task.environments is None]
        is_known = bool(environments) and not others and not pools_by_hand(fleet, task)
        lacks_gpus = is_known and all(each.lacks_gpus for each in environments)
        if lacks_gpus and task.scheduler is Scheduler.BATCH and not _asks_for_zero(task):
            named = "; ".join(f"{brief(each.name)} {each.lacks_gpus}" for each in environments[:_MOST_NAMED])
            yield Problem(
                about=task,
                origin=environments[0].origin,
                property_name=environments[0].property_name,
                message=f"{task.name} asks for GPUs, and no compute environment here has any: {named}",
                fix="a compute environment of Type EC2 with InstanceTypes that have GPUs",
            )


@error(
    "GPU296",
    question="can a compute environment have as many vCPUs as one job asks for?",
    because="AWS Batch starts no hosts for a job that asks for more than MaxvCpus, and leaves it RUNNABLE "
    "(MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE)",
    source=_RUNNABLE,
    unless=("GPU061", "GPU063"),
)
def has_vcpus(context: Context) -> Problems:
    for task in _jobs(context):
        pools, asked = pools_by_hand(context.fleet, task), task.cpu
        if isinstance(asked, Unknown) or not by_hand(context.fleet, task).is_closed:
            continue
        vcpus = -(-asked // CPU_UNITS_PER_VCPU)
        limits = [each.max_vcpus for each in pools]
        if all(isinstance(each, int) and each < vcpus for each in limits):
            first = pools[0]
            enough = max(vcpus, min((each.vcpus for each in first.instance_types), default=vcpus))
            yield Problem(
                about=first,
                involves=(task,),
                property_name="ComputeResources.MaxvCpus",
                value=first.max_vcpus,
                message=f"{task.name} asks for {vcpus} vCPUs, and {first.name} has {first.max_vcpus} at most",
                allowed=f"{enough} or more",
                fix="more MaxvCpus",
                ways=one_way(f"a MaxvCpus of {enough}", _with_vcpus(first, enough)),
            )


@error(
    "GPU354",
    question="do all instance types of a compute environment have one architecture?",
    because="the instance types of a compute environment must share one architecture; AWS Batch refuses x86 and ARM "
    "types together",
    source="https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html",
)
def one_architecture(pool: Pool) -> Problems:
    if (
        pool.kind is PoolKind.BATCH
        and len({each.architecture for each in pool.instance_types}) > 1
        and carries_gpus(pool)
    ):
        others = [each for each in pool.instance_types if each.architecture is not pool.instance_types[0].architecture]
        named = and_list(f"{each} ({each.architecture.value})" for each in (pool.instance_types[0], others[0]))
        yield Problem(
            property_name="ComputeResources.InstanceTypes",
            value=[each.name for each in others],
            message=f"{pool.name} has {named}, and all types of a compute environment must have one architecture",
            fix="a compute environment and a queue for each architecture",
        )


@error(
    "GPU358",
    question="does the allocation strategy of a compute environment go with how it buys its hosts?",
    because="strategies that begin with SPOT are only available for Spot Instances, and BEST_FIT_PROGRESSIVE_ORDERED "
    "only On-Demand; BEST_FIT, which is the default, buys Spot Instances with a Spot Fleet role only",
    source="https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html",
)
def allocates(pool: Pool) -> Problems:
    name, option = pool.allocation, pool.bought.option
    if isinstance(name, Unknown) or not carries_gpus(pool):
        return
    if option is PurchaseOption.ON_DEMAND and name.startswith(_FOR_SPOT):
        yield Problem(
            property_name="ComputeResources.AllocationStrategy",
            value=name,
            message=f"{pool.name} has Type EC2, and AWS Batch takes {name} for Spot Instances only",
            fix=_ON_DEMAND,
            ways=one_way(_ON_DEMAND, replace(pool, allocation=_ON_DEMAND)),
        )
    elif option is PurchaseOption.SPOT and (name == _ORDERED or (name == _BEST_FIT and pool.lacks_fleet_role)):
        what = "for On-Demand Instances only" if name == _ORDERED else "for Spot Instances with a SpotIamFleetRole only"
        yield Problem(
            property_name="ComputeResources.AllocationStrategy",
            value=name,
            message=f"{pool.name} has Type SPOT, and AWS Batch takes {name} {what}",
            fix=_ON_SPOT,
            ways=one_way(_ON_SPOT, replace(pool, allocation=_ON_SPOT)),
        )


def _asks_for_zero(task: Task) -> bool:
    return all(each.value == "0" for container in task.containers for each in container.gpu_requirements)


def _jobs(context: Context) -> Iterator[Task]:
    """GPU jobs, each of which may run on any compute environment here."""
    for task in unassigned(context.fleet):
        if task.scheduler is Scheduler.BATCH and pools_by_hand(context.fleet, task):
            yield task


def _with_vcpus(pool: Pool, vcpus: int) -> Pool:
    most = pool.max_instances
    hosts = max(1, vcpus // min((each.vcpus for each in pool.instance_types), default=vcpus))
    return replace(pool, max_vcpus=vcpus, max_instances=most if isinstance(most, Unknown) else max(most, hosts))
