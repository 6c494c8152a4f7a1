"""Numbers below zero where something is counted or measured."""

from __future__ import annotations

from gpu_constructs.fleet import Container, Pool, Task, Unknown, Workload
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, Problems, error


@error(
    "GPU119",
    question="are all counts and sizes zero or more?",
    because="the APIs of ECS and EC2 Auto Scaling refuse a number of tasks, instances, CPU units or MiB below 0",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html",
)
def counts(context: Context) -> Problems:
    for pool in context.fleet.pools:
        yield from _negative(pool, pool.name, MinSize=pool.min_instances, MaxSize=pool.max_instances)
        if pool.group.warm_pool is not None:
            warm = pool.group.warm_pool
            yield from _negative(
                pool,
                f"the warm pool of {pool.name}",
                MinSize=warm.min_size,
                MaxGroupPreparedCapacity=warm.max_prepared,
            )
    for workload in context.fleet.workloads:
        yield from _negative(
            workload,
            workload.name,
            DesiredCount=workload.desired_count,
            MinCapacity=workload.min_count,
            MaxCapacity=workload.max_count,
            MinimumHealthyPercent=workload.min_healthy_percent,
            MaximumPercent=workload.max_healthy_percent,
        )
    for task in context.tasks:
        yield from _negative(task, task.name, Cpu=task.cpu_limit, Memory=task.memory_limit_mib)
        for container in task.containers:
            yield from _negative(
                task,
                f"container {container.name}",
                container,
                Cpu=container.cpu,
                Memory=container.memory_limit_mib,
                MemoryReservation=container.memory_reservation_mib,
                SharedMemorySize=container.shared_memory_mib,
            )


def _negative(
    about: Pool | Task | Workload, who: str, container: Container | None = None, **numbers: int | Unknown | None
) -> Problems:
    for name, number in numbers.items():
        if isinstance(number, int) and number < 0:
            yield Problem(
                about=about,
                container=container,
                message=f"{name} of {who} is {number}, below 0; nothing that depends on it was checked",
                fix=f"{name} of 0 or more",
                property_name=name,
                value=number,
                allowed="0 or more",
                one_value=True,
            )
