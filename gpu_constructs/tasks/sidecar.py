"""A container without accelerators beside those that have some: what it takes of the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_constructs.cdk.arguments import whole_number
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.fleet import Container, Pool, Task, Unknown
from gpu_constructs.hardware.aws_limits import MIN_CONTAINER_MEMORY_MIB
from gpu_constructs.tasks.container_plan import known_variables, with_container
from gpu_constructs.tasks.fit import require_fit

__all__ = ["plan_sidecar", "require_no_gpus"]


def plan_sidecar(
    name: str,
    *,
    task: Task,
    pools: Sequence[Pool],
    cpu: float | None,
    memory_limit_mib: float | None,
    memory_reservation_mib: float | None,
    essential: bool | None,
    environment: Mapping[str, str] | None,
) -> Task:
    """Counts a container without GPUs.

    Args:
        name: Its name.
        task: The containers before it.
        pools: Where the task may run.
        cpu: CPU units; None asks for none.
        memory_limit_mib: Memory in MiB above which it is stopped; None sets no limit.
        memory_reservation_mib: Memory in MiB that is kept for it; None keeps the limit.
        essential: Whether the task stops with it; None is CDK's default, that it does.
        environment: Its environment variables.

    Returns:
        The task with it.

    Raises:
        InvalidValueError: A number is wrong by itself.
        DoesNotFitError: A pool's smallest host has less of something than the task asks for.
    """
    container = Container(
        name=name,
        cpu=0 if cpu is None else whole_number("cpu", _whole(cpu), smallest=0, unit="CPU units", fix="cpu=256"),
        memory_limit_mib=_memory("memory_limit_mib", memory_limit_mib),
        memory_reservation_mib=_memory("memory_reservation_mib", memory_reservation_mib),
        essential=essential is not False,
        environment=known_variables(environment or {}),
    )
    require_fit(with_container(task, container), pools)
    return with_container(task, container)


def require_no_gpus(name: str, gpu_count: float | None) -> None:
    """Refuses GPUs that are asked for in CDK's own way.

    Args:
        name: The container's name.
        gpu_count: What was asked for.

    Raises:
        InvalidValueError: It is not 0.
    """
    if gpu_count is not None and (is_token(gpu_count) or gpu_count != 0):
        raise InvalidValueError(
            "GPUs that are asked for here would not be checked against the hosts",
            argument="gpu_count",
            value=gpu_count,
            fix=f"add_gpu_container({name!r}, gpus={shown(gpu_count)}, …)",
        )


def _memory(argument: str, value: float | None) -> int | Unknown | None:
    if value is None:
        return None
    return whole_number(argument, _whole(value), smallest=MIN_CONTAINER_MEMORY_MIB, unit="MiB", fix=f"{argument}=256")


def _whole(number: float) -> float:
    # CDK's own signature says float; 256.0 reaches the template as 256.
    return int(number) if isinstance(number, float) and number.is_integer() and not is_token(number) else number
