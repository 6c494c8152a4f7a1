"""A host with GPUs, its ECS agent and the endpoints of AWS, with the daemon on it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from gpu_constructs.cluster.monitoring.collector import Collector
from gpu_constructs.cluster.monitoring.events import METRICS

INSTANCE = "arn:aws:ecs:us-east-1:123456789012:container-instance/gpus/0123456789abcdef0123456789abcdef"
CLUSTER = "arn:aws:ecs:us-east-1:123456789012:cluster/gpus"
TASK = "arn:aws:ecs:us-east-1:123456789012:task/gpus/{:032x}"
GPU = "GPU-00000000-0000-4000-8000-00000000000{}"
ALL = ("ClusterName", "gpus")
POOL = ("CapacityProviderName", "L4")
RECORDED = Path(__file__).with_name("recorded") / "agent.json"
ENVIRONMENT = {
    "CLUSTER": "gpus",
    "NAMESPACE": "GpuConstructs",
    "UNITS": json.dumps({name: each.unit for name, each in METRICS.items()}),
    "EVENT_SOURCE": "gpu-constructs",
    "EVENT_TYPE": "GPU Fault",
}


def task(number: int, group: str, *gpus: str) -> dict[str, Any]:
    return {"taskArn": TASK.format(number), "group": group, "containers": [{"gpuIds": list(gpus)}, {}]}


class Ecs:
    """A host of ECS: its agent, and the calls that the daemon makes."""

    def __init__(self, *tasks: dict[str, Any], gpus: str = "1") -> None:
        self.tasks = {each["taskArn"]: each for each in tasks}
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.events: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}
        self.is_down = False
        self.gpus = gpus

    def get(self, path: str) -> object:
        if path in self.files:
            return self.files[path]
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
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
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
    """A host with the file of its agent and its ECS, and the daemon on it."""

    def __init__(self, folder: Path, ecs: Ecs, *, gpus: int = 1) -> None:
        self.file, self.ecs = folder / "gpu-metrics.json", ecs
        self.environment = {**ENVIRONMENT, "METRICS_FILE": str(self.file)}
        self.said: list[dict[str, Any]] = []
        self.gpus = gpus
        self.daemon = Collector(self.environment, lambda _: ecs, lambda line: self.said.append(json.loads(line)))
        self.daemon.agent = lambda what: ecs.get(f"/v1/{what}")  # type: ignore[method-assign]

    def writes(self, minute: int, **changed: Any) -> None:
        """The helper of the agent writes its file."""
        data = json.loads(RECORDED.read_text())
        (row,) = data["gpus"]
        data["gpus"] = [{**row, "gpu_uuid": GPU.format(each)} for each in range(1, self.gpus + 1)]
        self.file.write_text(json.dumps({**data, **changed}))
        os.utime(self.file, (60 * minute, 60 * minute))

    def minute(self, minute: int, **changed: Any) -> dict[str, Any]:
        """A minute passes, in which the agent measures; what the daemon says of the host."""
        self.writes(minute, **changed)
        return self.silent_minute(minute)

    def silent_minute(self, minute: int) -> dict[str, Any]:
        """The same without new measurements."""
        self.daemon.minute(60 * minute)
        return self.said[-1]

    @property
    def reasons(self) -> list[str]:
        """Those of the faults that were sent."""
        return [json.loads(each["Detail"])["reason"] for each in self.ecs.events]
