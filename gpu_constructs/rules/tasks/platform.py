"""Where a GPU task cannot run: on Fargate, on Windows, on Managed Instances with some settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpu_constructs.errors import brief
from gpu_constructs.facts.aws_limits import SETTINGS_REFUSED, WRITABLE_ON_MANAGED
from gpu_constructs.fleet import GPU, PoolKind, Scheduler, Task
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.destinations import by_hand, runs_on_fargate, unassigned
from gpu_constructs.placement.reach import pools_by_hand
from gpu_constructs.rules.evidence.accelerated import MANAGED_INSTANCES, asks_for_accelerator, devices_of, is_managed
from gpu_constructs.rules.evidence.fixes import own_strategies, such_as
from gpu_constructs.rules.finding import and_list, one_way, or_list, with_verb
from gpu_constructs.rules.rule import Context, Problem, Problems, error

_PATHS = f"a path below {or_list(WRITABLE_ON_MANAGED)}"

_ON_BATCH = "PlatformCapabilities of EC2, and a compute environment of EC2 hosts with accelerators{such_as}"
_HOSTS = "hosts with accelerators behind a capacity provider{such_as}"
_ON_ECS = f"RequiresCompatibilities without FARGATE, and {_HOSTS}"


def _sent_to_fargate(context: Context) -> Problems:
    refused = {each.name for each in context.tasks if _is_for_fargate(each) and asks_for_accelerator(each)}
    for workload in context.fleet.workloads:
        where, task = runs_on_fargate(workload), workload.task
        request = context.section(workload) if where and task is None else None  # its task definition is elsewhere
        if request is not None:
            overrides = request.section("Overrides").sections("ContainerOverrides")
            asked = (each for every in overrides for each in every.sections("ResourceRequirements"))
            if any(each.text("Type") == GPU for each in asked):
                what = f"{workload.name} asks for GPUs in its overrides with {where}; Fargate has no GPUs"
                yield Problem(about=workload, property_name="Overrides", message=what, fix=_HOSTS.format(such_as=""))
        if where and task is not None and task.name not in refused and asks_for_accelerator(task):
            fix, moved = _ON_ECS if _is_for_fargate(task) else _HOSTS, replace(workload, launch_type=None, strategy=())
            own = () if _is_for_fargate(task) else own_strategies(context.fleet, workload)
            there = one_way(fix.format(such_as=such_as(task)), moved)
            yield Problem(
                about=workload,
                changes="CapacityProviderStrategy" if own else "RequiresCompatibilities",
                message=f"{workload.name} runs {task.name}, which {_who(task)}, with {where}; Fargate "
                f"has no {devices_of(task)}",
                fix=fix.format(such_as=""),
                ways=() if _is_for_fargate(task) else (own,) if own else there,
            )
    for job in (each for each in context.tasks if _is_for_fargate(each) and each.name not in refused):
        yield from (replace(each, about=submitted) for submitted in job.submissions for each in _on_fargate(submitted))


@error(
    "GPU028",
    question="does the GPU task run on Linux, and on EC2 hosts or Managed Instances rather than Fargate?",
    because="gpu and the devices of linuxParameters are not valid in Fargate tasks, so the task definition is "
    "refused; the ECS agent finds and assigns GPUs on Linux only, so a Windows host registers none",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-tasks-services.html",
    in_fleet=_sent_to_fargate,
)
def on_hosts(task: Task) -> Problems:
    if not asks_for_accelerator(task):
        return
    # https://github.com/aws/amazon-ecs-agent/blob/master/agent/gpu/nvidia_gpu_manager_unix.go
    if demand_of(task).windows:
        yield Problem(
            message=f"{task.name} {_who(task)} on {brief(str(task.operating_system))}; the ECS "
            f"agent assigns {devices_of(task)} on Linux only",
            fix="OperatingSystemFamily LINUX and Linux images",
            changes="RuntimePlatform.OperatingSystemFamily",
        )
    yield from _on_fargate(task)


def _is_for_fargate(task: Task) -> bool:
    return "FARGATE" in task.compatibilities


def _on_fargate(task: Task) -> Problems:
    if _is_for_fargate(task) and asks_for_accelerator(task):
        fix = _ON_BATCH if task.scheduler is Scheduler.BATCH else _ON_ECS
        others = tuple(each for each in task.compatibilities if each != "FARGATE")
        yield Problem(
            message=f"{task.name} {_who(task)} and is for "
            f"{and_list(map(brief, task.compatibilities))}; Fargate has no {devices_of(task)}",
            fix=fix.format(such_as=""),
            ways=one_way(fix.format(such_as=such_as(task)), replace(task, compatibilities=others)),
            changes="RequiresCompatibilities",
        )


def _jobs_sent_to_managed(context: Context) -> Problems:
    """Jobs of AWS Batch for its Managed Instances in another format, or without the platform that these need.

    https://docs.aws.amazon.com/batch/latest/userguide/ecs-managed-instances-job-definitions.html
    """
    for job in unassigned(context.fleet):
        section = context.section(job) if job.scheduler is Scheduler.BATCH and not job.is_multi_node else None
        if section is None or len(job.compatibilities) != len(section.texts("PlatformCapabilities")):
            continue
        there = pools_by_hand(context.fleet, job) if by_hand(context.fleet, job).is_closed else ()
        wrong, why = "", f"{job.name} is for ECS Managed Instances, whose jobs have no ContainerProperties"
        if MANAGED_INSTANCES in job.compatibilities:
            wrong = "ContainerProperties" if section.has("ContainerProperties") else ""
        elif there and all(is_managed(context, each) for each in there):
            wrong, why = (
                "PlatformCapabilities",
                f"{job.name} is not for ECS Managed Instances, and all hosts here are",
            )
        if wrong:
            fix = "PlatformCapabilities MANAGED_INSTANCES, with EcsProperties"
            yield Problem(about=job, message=why, fix=fix, property_name=wrong)


def _sent_to_managed(context: Context) -> Problems:
    yield from _jobs_sent_to_managed(context)
    sent = {
        assignment.task.name
        for assignment in context.assignments
        if any(each.pool.kind is PoolKind.MANAGED_INSTANCES for each in assignment.destinations)
    }
    for task in context.tasks:
        if task.name in sent and MANAGED_INSTANCES not in task.compatibilities:
            yield from _refused_there(task)


@error(
    "GPU047",
    question="does a task for ECS Managed Instances use only settings that are valid there?",
    because="ECS checks a task definition that requires MANAGED_INSTANCES and refuses parameters that are not valid "
    "there, network mode bridge, ipcMode, sharedMemorySize and tmpfs among them; AWS Batch takes jobs there with "
    "ecsProperties and the platform capability MANAGED_INSTANCES only",
    softer="for tasks that do not require it, and for a path on the host, since the page names some that are valid",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-tasks-services.html",
    in_fleet=_sent_to_managed,
)
def manageable(task: Task) -> Problems:
    if MANAGED_INSTANCES in task.compatibilities:
        yield from _refused_there(task)


def _refused_there(task: Task) -> Problems:
    refused = dict(_refused(task)) if task.scheduler is Scheduler.ECS else {}
    is_path_alone = set(refused) == {"sourcePath"}
    valid = "valid in some directories only" if is_path_alone else "not valid"
    leave = f"leave {'it' if len(refused) == 1 else 'them'} out"
    if refused:
        yield Problem(
            about=task,
            message=f"{task.name} is for ECS Managed Instances, where {with_verb(refused, 'is', 'are')} {valid}",
            fix="NetworkMode awsvpc or host"
            if set(refused.values()) == {"NetworkMode"}
            else f"{_PATHS if is_path_alone else leave}, or use EC2 hosts of an Auto Scaling group",
            property_name=next(iter(refused.values())),
            is_certain=MANAGED_INSTANCES in task.compatibilities and not is_path_alone,
        )


def _who(task: Task) -> str:
    names = and_list(each.name for each in task.containers if asks_for_accelerator(each))
    return f"asks for {devices_of(task)} ({names})"


def _refused(task: Task) -> Iterator[tuple[str, str]]:
    """What is not valid on Managed Instances, as their page calls it, with the property."""
    if task.ipc_mode is not None:
        yield "ipcMode", "IpcMode"
    # `bridge` also stands for nothing, where Managed Instances take awsvpc.
    if task.network_mode == "none" or (task.network_mode == "bridge" and task.names_network_mode):
        yield f"network mode {task.network_mode}", "NetworkMode"
    yield from ((SETTINGS_REFUSED[key], key) for key in task.used_keys if key in SETTINGS_REFUSED)
    for container in task.containers:
        if container.shared_memory_mib is not None:
            yield "sharedMemorySize", "LinuxParameters.SharedMemorySize"
        yield from ((SETTINGS_REFUSED[key], key) for key in container.used_keys if key in SETTINGS_REFUSED)
