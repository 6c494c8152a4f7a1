"""How tasks end by themselves, which is told by a switch, because no container runs here.

``/emulator/ends/<family>`` has an end for each task of a family that comes to run, in that order, such as
``spot,1,0``: an exit code, ``spot`` for an interruption of its host, ``host`` for the loss of its host, ``start`` for
containers that do not start, ``late`` for a task that goes on; ``9*0`` is the exit code 0 after nine minutes more.
``spot-143``, ``spot-137`` and ``spot-none`` take the host back as EC2 often does, so that its tasks end with this code
or without one; ``memory`` is a container that had too little. The last one stays. Without it, tasks go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.ec2.models import ec2_backends

from . import switches, task_logs

if TYPE_CHECKING:
    from .running import RunningEcs
    from .tasks import EmulatedTask

__all__ = ["WAITS_AT_MOST_MINUTES", "end_tasks", "give_up"]

WAITS_AT_MOST_MINUTES = 30
"""How long a task waits for a host, see https://github.com/aws/containers-roadmap/issues/2381."""


def end_tasks(ecs: RunningEcs, tasks: list[EmulatedTask]) -> None:
    """Let the tasks end that ran for a minute.

    Args:
        ecs: Where they run.
        tasks: Tasks of a cluster.
    """
    for task in tasks:
        if task.last_status == "RUNNING":
            _end(ecs, task)


def _end(ecs: RunningEcs, task: EmulatedTask) -> None:
    if task.end is None:
        task.end = _next(ecs, task.family)
        return  # it runs for a minute
    assert task.host is not None
    minutes, _, end = task.end.rpartition("*")
    if minutes:
        task.end = f"{int(minutes) - 1}*{end}" if int(minutes) > 1 else end
    elif task.end.isdigit():
        task_logs.write(ecs, task)
        task.exit(int(task.end))
    elif task.end == "start":
        task.stop("CannotPullContainerError: pull access denied", "TaskFailedToStart")
    elif task.end == "memory":
        task.exit(137, "OutOfMemoryError: Container killed due to high memory usage")
    elif task.end in {"host", "spot"} or task.end.startswith("spot-"):
        instance, (how, _, code) = task.host.ec2_instance_id, task.end.partition("-")
        for each in task.host.tasks:
            if code:
                each.exit(int(code) if code.isdigit() else None)
            else:
                reason = f"Host EC2 (instance {instance}) terminated."
                each.stop(reason, "SpotInterruption" if how == "spot" else "TerminationNotice")
        ec2_backends[ecs.account_id][ecs.region_name].terminate_instances([instance])


def _next(ecs: RunningEcs, family: str) -> str:
    name = f"ends/{family}"
    told = switches.read(ecs.where, name)
    if not told:
        return "late"
    first, _, rest = told.partition(",")
    if rest:
        switches.write(ecs.where, name, rest)
    return first


def give_up(tasks: list[EmulatedTask]) -> None:
    """Stop the tasks, other than those of services, for which no host came in time.

    Args:
        tasks: Tasks of a cluster.
    """
    for task in tasks:
        if task.waiting and not str(task.group).startswith("service:"):
            task.waited += 1
            if task.waited > WAITS_AT_MOST_MINUTES:
                task.stop("Timeout waiting for capacity", "TaskFailedToStart")
