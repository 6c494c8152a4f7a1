"""Where a GPU task cannot run: on Fargate and on Windows."""

from __future__ import annotations

from dataclasses import replace

from gpu_constructs.budget import brief
from gpu_constructs.fleet import Scheduler, Task
from gpu_constructs.placement import demand_of
from gpu_constructs.placement.destinations import runs_on_fargate
from gpu_constructs.rules.change import one_way
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import asks_for_accelerator
from gpu_constructs.rules.evidence.fixes import such_as
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, error

_ON_BATCH = "PlatformCapabilities of EC2, and a compute environment of EC2 hosts with GPUs{such_as}"
_HOSTS = "hosts with GPUs behind a capacity provider{such_as}"
_ON_ECS = f"RequiresCompatibilities without FARGATE, and {_HOSTS}"


def _sent_to_fargate(context: Context) -> Problems:
    for workload in context.fleet.workloads:
        where, task = runs_on_fargate(workload), workload.task
        if where and task is not None and "FARGATE" not in task.compatibilities and _accelerated(task):
            yield Problem(
                about=workload,
                message=f"{workload.name} runs {task.name}, which asks for GPUs ({_who(task)}), with {where}; Fargate "
                "has no GPUs",
                fix=_HOSTS.format(such_as=""),
                ways=one_way(_HOSTS.format(such_as=such_as(task)), replace(workload, launch_type=None, strategy=())),
            )


@error(
    "GPU028",
    question="does the GPU task run on EC2 hosts or Managed Instances rather than Fargate?",
    because="gpu is among the parameters that are not valid in Fargate tasks, so the task definition is refused",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-tasks-services.html",
    changes="RequiresCompatibilities",
    in_fleet=_sent_to_fargate,
)
def on_hosts(task: Task) -> Problems:
    if "FARGATE" in task.compatibilities and _accelerated(task):
        fix = _ON_BATCH if task.scheduler is Scheduler.BATCH else _ON_ECS
        others = tuple(each for each in task.compatibilities if each != "FARGATE")
        yield Problem(
            message=f"{task.name} asks for GPUs ({_who(task)}) and is for "
            f"{and_list(map(brief, task.compatibilities))}; Fargate has no GPUs",
            fix=fix.format(such_as=""),
            ways=one_way(fix.format(such_as=such_as(task)), replace(task, compatibilities=others)),
        )


@error(
    "GPU029",
    question="does the GPU task run on Linux?",
    because="the ECS agent finds and assigns GPUs on Linux only, so a Windows host registers none",
    source="https://github.com/aws/amazon-ecs-agent/blob/master/agent/gpu/nvidia_gpu_manager_unix.go",
    changes="RuntimePlatform.OperatingSystemFamily",
)
def on_linux(task: Task) -> Problems:
    if demand_of(task).windows and _accelerated(task):
        yield Problem(
            message=f"{task.name} asks for GPUs ({_who(task)}) on {brief(str(task.operating_system))}; the ECS "
            "agent assigns GPUs on Linux only",
            fix="OperatingSystemFamily LINUX and Linux images",
        )


def _accelerated(task: Task) -> bool:
    return any(asks_for_accelerator(each) for each in task.containers)


def _who(task: Task) -> str:
    return and_list(each.name for each in task.containers if asks_for_accelerator(each))
