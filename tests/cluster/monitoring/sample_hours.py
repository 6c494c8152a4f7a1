"""Twelve hours of a cluster: what it sent to CloudWatch, and what ECS reported of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import pi, sin
from typing import Any

from gpu_constructs.cluster.monitoring.watched import WatchedCluster, WatchedPool
from gpu_constructs.facts import instance_type
from gpu_constructs.fleet import Bought, Pool, PurchaseOption

from .metric_math import Samples
from .recorded_events import service_action, task_stopped

SECONDS = 12 * 3600


def _pool(name: str, *types: str, option: PurchaseOption = PurchaseOption.ON_DEMAND) -> WatchedPool:
    pool = Pool(
        name=name,
        instance_types=tuple(map(instance_type, types)),
        min_instances=0,
        max_instances=6,
        region="us-east-1",
        bought=Bought(option=option),
    )
    return WatchedPool(pool=pool, cluster_name="gpus", provider_name=name.lower(), group_name=f"{name.lower()}-group")


L4 = _pool("L4", "g6.12xlarge")
SPOT = _pool("Spot", "g6e.xlarge", "g6e.2xlarge", option=PurchaseOption.SPOT)
CLUSTER = WatchedCluster(name="gpus", region="us-east-1", event_log="gpus-events", gpu_log="gpus-log", pools=(L4, SPOT))

_LOST = "Host EC2 (instance i-1234567890abcdef0) terminated."
# When, the metric that counts it, and what was reported.
_REPORTED: tuple[tuple[float, str, dict[str, Any]], ...] = (
    (5.25, "LostTasks", task_stopped("TerminationNotice", _LOST)),
    (5.25, "LostTasks", task_stopped("TerminationNotice", _LOST)),
    (6.3, "TasksNotStarted", task_stopped("TaskFailedToStart", "Timeout waiting for capacity")),
    *((at, "PlacementFailures", service_action("SERVICE_TASK_PLACEMENT_FAILURE")) for at in (8.5, 8.6, 8.8)),
    (11.9, "PlacementFailures", service_action("SERVICE_TASK_PLACEMENT_FAILURE", reason="RESOURCE:MEMORY")),
)
EVENTS = [event | {"time": f"2026-11-22T{int(at):02}:{int(at % 1 * 60):02}:00Z"} for at, _, event in _REPORTED]


def samples() -> Samples:
    """What was sent, a value a minute."""
    sent = Samples()
    for second in range(0, SECONDS, 60):
        hours = second / 3600
        for pool, hosts, held, use in ((L4, *_chat(hours)), (SPOT, *_renders(hours))):
            _of_pool(sent, pool, second, hosts=hosts, held=held, use=use)
        # A GPU fell off the bus.
        sent.send("GpuConstructs", "UnhealthyGPUs", {"ClusterName": "gpus"}, second, float(8.3 <= hours < 8.7))
        sent.send("GpuConstructs", "ApplicationXids", {"ClusterName": "gpus"}, second, float(second in {9000, 9060}))
        sent.send("GpuConstructs", "UnreadableHosts", {"ClusterName": "gpus"}, second, 0)
        sent.send("GpuConstructs", "MissingGPUs", {"ClusterName": "gpus"}, second, float(hours > 11.7))
    for at, metric, _ in _REPORTED:
        sent.send("GpuConstructs/gpus", metric, {}, int(at * 3600), 1)
    return sent


def _chat(hours: float) -> tuple[int, int, float]:
    """Hosts, GPUs that tasks hold and their use in percent: a service that follows the day."""
    hosts = 3 if 4 <= hours < 9.5 else 2
    held = 11 if 4.1 <= hours < 9.4 else 6
    return hosts, held, 55 + 25 * sin(hours / 12 * pi) + 4 * sin(hours * 7)


def _renders(hours: float) -> tuple[int, int, float]:
    """The same: jobs that start hosts from zero, of which EC2 takes two."""
    if hours < 2.1 or hours >= 10:
        return 0, 0, 0
    hosts = 3 if 5.25 <= hours < 6.5 else 5
    return hosts, hosts, 91 + 5 * sin(hours * 11)


def _of_pool(sent: Samples, pool: WatchedPool, second: int, *, hosts: int, held: int, use: float) -> None:
    of_group = {"AutoScalingGroupName": str(pool.group_name)}
    of_provider = {"ClusterName": "gpus", "CapacityProviderName": pool.provider_name}
    of_service = {"ClusterName": "gpus", "ServiceName": "chat" if pool is L4 else "render"}
    each = pool.pool.instance_types[0].gpus
    waits = pool is SPOT and (2 <= second / 3600 < 2.1 or 5.25 <= second / 3600 < 6.5)
    sent.send("AWS/AutoScaling", "GroupInServiceInstances", of_group, second, hosts)
    demand = 100 * (hosts + 2) / hosts if waits and hosts else 200 if waits else 100
    sent.send("AWS/ECS/ManagedScaling", "CapacityProviderReservation", of_provider, second, demand)
    sent.send("ECS/ContainerInsights", "PendingTaskCount", of_service, second, 2 * waits)
    for value, name in _of_gpus(hosts * each, held, use):
        sent.send("GpuConstructs", name, of_provider, second, value)
    for _ in range(held):
        sent.send("GpuConstructs", "GPUUtilization", of_service, second, use)
        sent.send("GpuConstructs", "GPUMemoryUtilization", of_service, second, 88 if pool is L4 else 47)
    for _ in range(hosts):
        sent.send("GpuConstructs", "GPUs", of_provider, second, each)
        sent.send("GpuConstructs", "GPUsReserved", of_provider, second, held / hosts)


def _of_gpus(gpus: int, held: int, use: float) -> Iterator[tuple[float, str]]:
    for number in range(gpus):
        of_gpu: Mapping[str, float] = {
            "GPUUtilization": use if number < held else 0,
            "GPUTemperature": 34 + use / 3 + number if number < held else 33,
            "GPUPowerDraw": 16 + use * 0.55 if number < held else 14,
        }
        yield from ((value, name) for name, value in of_gpu.items())
