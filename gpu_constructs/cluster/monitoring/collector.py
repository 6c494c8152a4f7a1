"""The program of the daemon: once a minute, what the ECS agent measured of the GPUs of its host, as lines of JSON.

It runs in a container of its own, as this file, with boto3. CloudWatch makes metrics of these lines:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

from __future__ import annotations

import faulthandler
import json
import math
import os
import signal
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

MINUTES_MISSING = 2  # before a GPU that is not measured counts as lost
MINUTES_REPEATED = 360  # after which a fault that is still there is sent again
SECONDS_STALE = 180
SECONDS_STUCK = 600  # longer than any minute with all of its timeouts
OF_HOST = ("containerInstanceArn", "ec2InstanceId", "capacityProviderName")
OF_GPU = {
    "GPUUtilization": "gpu_utilization_percent",
    "GPUMemoryUtilization": "memory_utilization_percent",
    "GPUMemoryUsed": "memory_used_bytes",
    "GPUPowerDraw": "power_draw_watts",
    "GPUTemperature": "temperature_celsius",
}


class Collector:
    """What is known of the host, from minute to minute."""

    def __init__(self, given: Mapping[str, str], aws: Callable[[str], Any], say: Callable[[str], object]) -> None:
        self.given, self.aws, self.say = given, aws, say
        self.units = json.loads(given["UNITS"])
        self.host: dict[str, Any] = {}  # as ECS describes it
        self.expected = 0  # GPUs that its type has
        self.tasks: dict[str, tuple[str, set[str]]] = {}  # by ARN: the service and the GPUs
        self.gpus: list[dict[str, Any]] | None = None  # as in the file; None where it cannot be read
        self.is_unhealthy = False
        self.faults: dict[str, int] = {}  # in which minute each was sent
        self.number = self.missing = 0
        self.written = 0.0

    def minute(self, now: float) -> None:
        """Measures, sends what failed, and prints; whatever cannot be read is in the line of the host."""
        self.number, self.gpus, problems = self.number + 1, None, []
        for step in (self.ask, lambda: self.read(now), self.send):
            try:
                step()
            except Exception as error:  # noqa: BLE001, PERF203 - one step that fails must not end the others
                problems.append(f"{type(error).__name__}: {error}"[:500])
        self.show(int(now // 60) * 60_000, problems)

    def ask(self) -> None:
        """Asks the agent which tasks run here, and ECS once for the host and once for each task."""
        running = [each["Arn"] for each in self.agent("tasks")["Tasks"] or () if each["KnownStatus"] == "RUNNING"]
        self.tasks = {arn: self.tasks[arn] for arn in running if arn in self.tasks}
        cluster = self.given["CLUSTER"]
        if not self.host:
            arns = [self.agent("metadata")["ContainerInstanceArn"]]
            found = self.aws("ecs").describe_container_instances(cluster=cluster, containerInstances=arns)
            self.host = found["containerInstances"][0]
            counts = [each["value"] for each in self.host["attributes"] if each["name"] == "gpu.count"]
            self.expected = math.ceil(float(counts[0])) if counts else 0
        new = [arn for arn in running if arn not in self.tasks][:100]  # as many as ECS describes at once
        for task in self.aws("ecs").describe_tasks(cluster=cluster, tasks=new)["tasks"] if new else ():
            kind, _, name = task.get("group", "").partition(":")
            gpus = {gpu for container in task["containers"] for gpu in container.get("gpuIds") or ()}
            self.tasks[task["taskArn"]] = (name if kind == "service" else "", gpus)

    def agent(self, what: str) -> Any:  # noqa: ANN401 - JSON
        """What the ECS agent says."""
        address = self.given.get("AGENT_ADDRESS", "http://localhost:51678")
        with urllib.request.urlopen(f"{address}/v1/{what}", timeout=5) as answer:  # noqa: S310 - of this host
            return json.load(answer)

    def read(self, now: float) -> None:
        """Reads the file, which a helper of the agent writes each minute, and notes the faults that it shows."""
        file = Path(self.given["METRICS_FILE"])
        before, self.written = self.written, file.stat().st_mtime
        data = json.loads(file.read_bytes())
        # A type whose GPUs DCGM does not know has none in the file: that is no fault of the host.
        if now - self.written > SECONDS_STALE or data.get("connection_lost") or not data["gpus"]:
            raise ValueError(f"no GPU was measured since {data['timestamp']}")
        xids = "restart_app_xid_count"
        is_new = self.written != before
        gpus = [{**each, "uuid": each["gpu_uuid"], "xids": each[xids] * is_new} for each in data["gpus"]]
        self.gpus, self.is_unhealthy = gpus, not data["healthy"]
        self.missing = self.missing + 1 if len(gpus) < self.expected else 0
        faults = []
        if self.is_unhealthy:
            faults.append(f"the ECS agent reports {data.get('unhealthy_reason') or 'an unhealthy GPU'}")
        if self.missing >= MINUTES_MISSING:
            faults.append(f"{len(gpus)} of {self.expected} GPUs are there")
        self.faults = {fault: self.faults.get(fault, -MINUTES_REPEATED) for fault in faults}

    def send(self) -> None:
        """Sends faults to EventBridge; those that fail to go wait for the next minute."""
        for fault, sent in self.faults.items():
            if not self.host or self.number < sent + MINUTES_REPEATED:
                continue
            arn = self.host["containerInstanceArn"]
            detail = {name: self.host.get(name) for name in OF_HOST} | {"reason": fault}
            detail["clusterArn"] = arn.replace(":container-instance/", ":cluster/").rpartition("/")[0]
            entry = {"Source": self.given["EVENT_SOURCE"], "DetailType": self.given["EVENT_TYPE"], "Resources": [arn]}
            answer = self.aws("events").put_events(Entries=[entry | {"Detail": json.dumps(detail)}])
            if answer["FailedEntryCount"]:
                raise ValueError(f"EventBridge takes no event: {answer['Entries']}")
            self.faults[fault] = self.number

    def show(self, stamp: int, problems: list[str]) -> None:
        """Prints a line for each GPU, one for each service that holds it, and one for the host."""
        sets = [["ClusterName"]]
        if "capacityProviderName" in self.host:
            sets.append(["ClusterName", "CapacityProviderName"])
        for index, gpu in enumerate(self.gpus or ()):
            holders = {arn: service for arn, (service, gpus) in self.tasks.items() if gpu["uuid"] in gpus}
            values = {name: gpu[key] for name, key in OF_GPU.items() if key in gpu}
            more = {"GpuIndex": str(index), "GpuUuid": gpu["uuid"], "Tasks": list(holders)}
            self.line(stamp, values, sets, more)
            for service in {each for each in holders.values() if each}:
                self.line(stamp, values, [["ClusterName", "ServiceName"]], {"ServiceName": service})
        values = {"UnreadableHosts": int(self.gpus is None), "UnhealthyGPUs": int(self.is_unhealthy)}
        if self.gpus is not None:
            values["GPUs"] = len(self.gpus)
            values["GPUsReserved"] = len({gpu for _, gpus in self.tasks.values() for gpu in gpus})
            values["MissingGPUs"] = max(0, self.expected - len(self.gpus))
            values["ApplicationXids"] = sum(each["xids"] for each in self.gpus)
        self.line(stamp, values, sets, {"Faults": list(self.faults), "Problems": problems})

    def line(self, stamp: int, values: Mapping[str, float], sets: list[list[str]], more: Mapping[str, Any]) -> None:
        """Prints one document of the embedded metric format."""
        if not values:  # of a GPU in MIG mode, for example
            return
        metrics = [{"Name": name, "Unit": self.units[name]} for name in values]
        directive = {"Namespace": self.given["NAMESPACE"], "Dimensions": sets, "Metrics": metrics}
        document = {
            "_aws": {"Timestamp": stamp, "CloudWatchMetrics": [directive]},
            "ClusterName": self.given["CLUSTER"],
            "InstanceId": self.host.get("ec2InstanceId"),
            "CapacityProviderName": self.host.get("capacityProviderName"),
        }
        self.say(json.dumps({**document, **more, **values}, separators=(",", ":")))


def main() -> None:
    """Measures once a minute, at the beginning of each."""
    import boto3  # noqa: PLC0415 - tests need none
    from botocore.config import Config  # noqa: PLC0415

    limits = Config(connect_timeout=5, read_timeout=10, retries={"max_attempts": 2})
    aws = partial(boto3.client, region_name=os.environ["AWS_REGION"], config=limits)
    collector = Collector(os.environ, cache(aws), partial(print, flush=True))
    # As the first process of its container it would otherwise not end when it is asked to.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        # Whatever it waits for: then this process ends, and ECS starts the task again.
        faulthandler.dump_traceback_later(SECONDS_STUCK, exit=True)
        collector.minute(time.time())
        time.sleep(60 - time.time() % 60)


if __name__ == "__main__":
    main()
