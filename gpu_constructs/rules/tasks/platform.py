"""Where a GPU task can run at all: not on Fargate, not on Windows."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.budget import brief
from gpu_constructs.fleet import Scheduler, Task
from gpu_constructs.placement import demand_of
from gpu_constructs.placement.destinations import runs_on_fargate
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.evidence.walk import asks_for_accelerator
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule

_BATCH_FIX = "PlatformCapabilities of EC2, and a compute environment of EC2 hosts with GPUs, such as g6.xlarge"
_FIX = "hosts with GPUs, such as g6.xlarge, behind a capacity provider"


@rule(
    "GPU028",
    Severity.ERROR,
    about=Context,
    question="does every GPU task run on hosts, and none on Fargate?",
    because="gpu is among the parameters that are not valid in Fargate tasks, so the task definition is refused",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-tasks-services.html",
)
def on_hosts(context: Context) -> Iterator[Problem]:
    said = set()
    for task in context.tasks:
        if "FARGATE" in task.compatibilities and _accelerated(task):
            said.add(task.name)
            yield Problem(
                about=task,
                message=f"{task.name} asks for GPUs ({_who(task)}) and is for "
                f"{and_list(map(brief, task.compatibilities))}; Fargate has no GPUs",
                fix=_BATCH_FIX
                if task.scheduler is Scheduler.BATCH
                else f"RequiresCompatibilities without FARGATE, and {_FIX}",
            )
    for workload in context.fleet.workloads:
        word = runs_on_fargate(workload)
        task_or_none = workload.task
        if word and task_or_none is not None and task_or_none.name not in said and _accelerated(task_or_none):
            yield Problem(
                about=workload,
                message=f"{workload.name} runs {task_or_none.name}, which asks for GPUs ({_who(task_or_none)}), with "
                f"{word}; Fargate has no GPUs",
                fix=_FIX,
            )


@rule(
    "GPU029",
    Severity.ERROR,
    about=Task,
    question="does every GPU task run on Linux?",
    because="the ECS agent finds and hands out GPUs on Linux only, so a Windows host registers none",
    source="https://github.com/aws/amazon-ecs-agent/blob/master/agent/gpu/nvidia_gpu_manager_unix.go",
)
def on_linux(task: Task) -> Iterator[Problem]:
    if demand_of(task).windows and _accelerated(task):
        yield Problem(
            about=task,
            message=f"{task.name} asks for GPUs ({_who(task)}) on {brief(str(task.operating_system))}; the ECS "
            "agent hands out GPUs on Linux only",
            fix="OperatingSystemFamily LINUX and Linux images",
        )


def _accelerated(task: Task) -> bool:
    return any(asks_for_accelerator(each) for each in task.containers)


def _who(task: Task) -> str:
    return and_list(each.name for each in task.containers if asks_for_accelerator(each))
