"""What the containers of a task print: no container runs here, so it is told, or follows from the GPUs that they have.

It is in the log when the task ends by itself. ``/emulator/logs/<family>`` has the text; without it, a container whose
command has ``nvidia-smi -q -x`` prints the part of its answer that says which GPUs there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.core.utils import unix_time_millis
from moto.logs.models import logs_backends

from . import switches

if TYPE_CHECKING:
    from .running import RunningEcs
    from .tasks import EmulatedTask

__all__ = ["write"]

_QUERY = "nvidia-smi -q -x"
_GPU = '<gpu id="{id}">\n<fb_memory_usage>\n<total>{mib} MiB</total>\n</fb_memory_usage>\n</gpu>'


def write(ecs: RunningEcs, task: EmulatedTask) -> None:
    """Write the logs of a task's containers to the log groups of their ``awslogs`` drivers, where those exist."""
    logs = logs_backends[ecs.account_id][ecs.region_name]
    for container in task.definitions:
        options: dict[str, str] = (container.get("logConfiguration") or {}).get("options") or {}
        group, prefix = options.get("awslogs-group"), options.get("awslogs-stream-prefix")
        printed = _printed(ecs, task, container)
        if group not in logs.groups or prefix is None or not printed:
            continue
        stream = f"{prefix}/{container['name']}/{task.id}"
        logs.create_log_stream(group, stream)
        now = int(unix_time_millis())
        logs.put_log_events(group, stream, [{"timestamp": now, "message": line} for line in printed.split("\n")])


def _printed(ecs: RunningEcs, task: EmulatedTask, container: dict[str, Any]) -> str:
    told = switches.read(ecs.where, f"logs/{task.family}")
    if told is not None:
        return "" if told == "nothing" else told
    command = "\n".join(container.get("command") or ())
    if _QUERY not in command or task.host is None:
        return ""
    gpus = task.gpus.get(container["name"], ())
    end = command.rpartition('echo "')[2].partition('"')[0]
    return "\n".join([*(_GPU.format(id=each, mib=task.host.empty.gpu_memory_mib) for each in gpus), end])
