"""A host with GPUs, its ECS agent and the endpoints of AWS, with the daemon on it."""

from __future__ import annotations

import json
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from gpu_constructs.cluster.monitoring.collector import Collector, Settings
from gpu_constructs.cluster.monitoring.ecs_host import EcsHost
from gpu_constructs.cluster.monitoring.events import METRICS
from gpu_constructs.facts.gpu_features import APPLICATION_XIDS, FATAL_XIDS
from tests.cluster.monitoring.test_readings import recorded

__all__ = ["ALL", "CLUSTER", "GPU", "INSTANCE", "POOL", "TASK", "Ecs", "Host", "served", "task"]

INSTANCE = "arn:aws:ecs:us-east-1:123456789012:container-instance/gpus/0123456789abcdef0123456789abcdef"
CLUSTER = "arn:aws:ecs:us-east-1:123456789012:cluster/gpus"
TASK = "arn:aws:ecs:us-east-1:123456789012:task/gpus/{:032x}"
GPU = "GPU-00000000-0000-4000-8000-00000000000{}"
ALL = ("ClusterName", "gpus")
POOL = ("CapacityProviderName", "L4")
ENVIRONMENT = {
    "CLUSTER": "gpus",
    "NAMESPACE": "GpuConstructs",
    "UNITS": json.dumps({each.name: each.unit for each in METRICS.values()}),
    "FATAL_XIDS": json.dumps(FATAL_XIDS),
    "APPLICATION_XIDS": json.dumps(APPLICATION_XIDS),
    "EVENT_SOURCE": "gpu-constructs",
    "EVENT_TYPE": "GPU Fault",
    "PER_GPU": "false",
}


def task(number: int, group: str, *gpus: str) -> dict[str, Any]:
    return {"taskArn": TASK.format(number), "group": group, "containers": [{"gpuIds": list(gpus)}, {}]}


class Ecs:
    """A host of ECS: its agent, and the calls that the daemon makes."""

    def __init__(self, *tasks: dict[str, Any], gpus: str = "1") -> None:
        self.tasks = {each["taskArn"]: each for each in tasks}
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.events: list[dict[str, Any]] = []
        self.is_down = False
        self.gpus = gpus

    def get(self, path: str) -> object:
        if path == "/v1/metadata":
            return {"Cluster": "gpus", "ContainerInstanceArn": INSTANCE, "Version": "Amazon ECS Agent - v1.108.3"}
        return {"Tasks": [{"Arn": arn, "KnownStatus": "RUNNING"} for arn in self.tasks]}

    def call(self, name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        self.calls.append((name, asked))
        if self.is_down:
            raise OSError("the endpoint does not answer")
        if name == "PutEvents":
            self.events += asked["Entries"]
            return {"FailedEntryCount": 0, "Entries": []}
        if name == "DescribeTasks":
            return {"tasks": [self.tasks[each] for each in asked["tasks"] if each in self.tasks], "failures": []}
        attributes = [{"name": "gpu.count", "value": self.gpus}]
        host = {"containerInstanceArn": INSTANCE, "ec2InstanceId": "i-0123456789abcdef0", "capacityProviderName": "L4"}
        return {"containerInstances": [{**host, "attributes": attributes}]}

    def describe_container_instances(self, **asked: Any) -> dict[str, Any]:
        return self.call("DescribeContainerInstances", asked)

    def describe_tasks(self, **asked: Any) -> dict[str, Any]:
        return self.call("DescribeTasks", asked)

    def put_events(self, **asked: Any) -> dict[str, Any]:
        return self.call("PutEvents", asked)


@contextmanager
def served(ecs: Ecs) -> Iterator[str]:
    """The agent of a host and the endpoints of AWS, at one address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(ecs.get(self.path))

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.answer(ecs.call(self.headers["X-Amz-Target"].rpartition(".")[2], asked))

        def answer(self, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as in the class
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Host:
    """A host with its files and its ECS, and the daemon on it."""

    def __init__(self, folder: Path, ecs: Ecs, *, privileged: bool = True, per_gpu: bool = False) -> None:
        self.folder, self.ecs = folder, ecs
        self.environment = {
            **ENVIRONMENT,
            "PER_GPU": "true" if per_gpu else "false",
            "HOST_ROOT": "/" if privileged else "",
            "METRICS_FILE": str(folder / "gpu-metrics.json"),
            "KERNEL_LOG": str(folder / "kmsg"),
            "PROGRAMS": f"{folder}:/usr/bin:/bin",
        }
        (folder / "kmsg").write_text("")
        self.shows(recorded("t4.xml"))

    def shows(self, document: bytes, *, ends_with: int = 0, before: str = "") -> None:
        (self.folder / "document").write_bytes(document)
        program = self.folder / "nvidia-smi"
        program.write_text(f"#!/bin/sh\n{before}\ncat '{self.folder}/document'\nexit {ends_with}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def shows_gpus(self, count: int, **more: Any) -> None:
        one = recorded("t4.xml").decode()
        start, end = one.index("    <gpu "), one.index("</nvidia_smi_log>")
        gpus = "".join(
            one[start:end].replace("000000000001<", f"00000000000{each}<").replace(":1E.", f":1{each}.")
            for each in range(1, count + 1)
        )
        self.shows((one[:start] + gpus + one[end:]).encode(), **more)

    def logs(self, *lines: str) -> None:
        with (self.folder / "kmsg").open("a") as log:
            log.writelines(f"6,1234,5678,-;{each}\n" for each in lines)

    def daemon(self) -> tuple[Collector, list[str]]:
        settings, said = Settings.of(self.environment), list[str]()
        host = EcsHost(settings.cluster, "http://agent", lambda _: self.ecs)
        host._get = self.ecs.get  # type: ignore[method-assign]
        return Collector(settings, host, lambda _: self.ecs, say=said.append), said
