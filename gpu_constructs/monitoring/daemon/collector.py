"""The program of the daemon: measures the GPUs of its host once a minute, and says so in lines of JSON.

It runs in a container of its own, as text after `readings` and `ecs_host`, with Python's standard library and boto3.
CloudWatch makes metrics of lines in its embedded metric format, so that no permission for CloudWatch is needed:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html

GPUs are read from ``nvidia-smi -q -x`` of the host and from the kernel log, or from the file that the ECS agent shares
(``GPUMetricsFileData`` in ecs-agent/gpu/types of https://github.com/aws/amazon-ecs-agent). What cannot be read is said
once in a line of its own, and everything else goes on.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gpu_constructs.monitoring.daemon.ecs_host import EcsHost
from gpu_constructs.monitoring.daemon.readings import (
    MOST_BYTES,
    MOST_TEXT,
    Gpu,
    Reading,
    Unreadable,
    gpus_of_agent,
    gpus_of_driver,
    xids_in,
)

__all__ = ["Collector", "Settings"]

MOST_UNSENT = 100
MOST_LISTED = 100
MINUTES_MISSING = 2  # before a GPU that the driver does not show counts as lost
MINUTES_STALE = 3

# Where Amazon Linux and Bottlerocket have nvidia-smi.
PROGRAMS = "/usr/bin:/usr/sbin:/bin:/usr/libexec/nvidia/tesla/bin:/usr/libexec/nvidia/grid/bin"
REASON = re.compile(r"XID_([0-9]{1,4})")


@dataclass(frozen=True)
class Settings:
    """What the daemon is told by its environment.

    Attributes:
        cluster: Name of the cluster.
        namespace: Of the metrics.
        units: Unit of each metric.
        fatal: Xids after which the host has to be replaced.
        application: Xids that the program on a GPU caused.
        source: Source of its events.
        detail_type: Detail type of its events.
        per_gpu: Whether each GPU of each host has metrics of its own.
        host: Where the root of the host is, read-only; empty where the file of the agent is read instead.
        file: The file of the agent.
        kernel_log: The kernel log.
        agent: Address of the ECS agent.
        programs: Where the host has nvidia-smi.
    """

    cluster: str
    namespace: str
    units: Mapping[str, str]
    fatal: frozenset[int]
    application: frozenset[int]
    source: str
    detail_type: str
    per_gpu: bool
    host: str
    file: str
    kernel_log: str
    agent: str
    programs: str

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Settings:
        """What an environment says."""
        return cls(
            cluster=environment["CLUSTER"],
            namespace=environment["NAMESPACE"],
            units=json.loads(environment["UNITS"]),
            fatal=frozenset(json.loads(environment["FATAL_XIDS"])),
            application=frozenset(json.loads(environment["APPLICATION_XIDS"])),
            source=environment["EVENT_SOURCE"],
            detail_type=environment["EVENT_TYPE"],
            per_gpu=environment["PER_GPU"] == "true",
            host=environment["HOST_ROOT"],
            file=environment["METRICS_FILE"],
            kernel_log=environment.get("KERNEL_LOG", "/dev/kmsg"),
            agent=environment.get("AGENT_ADDRESS", "http://localhost:51678"),
            programs=environment.get("PROGRAMS", PROGRAMS),
        )


@dataclass(frozen=True)
class Xids:
    """Xids of a minute, each with its place on the PCI bus.

    Attributes:
        fatal: After which the host has to be replaced.
        application: Which the program on a GPU caused.
    """

    fatal: tuple[tuple[str, int], ...] = ()
    application: tuple[tuple[str, int], ...] = ()


@dataclass
class Collector:
    """What is known of the host, from minute to minute.

    Attributes:
        settings: What it is told.
        host: What ECS says of it.
        client: Makes a client of boto3.
        say: Prints a line.
        unsent: Faults that wait to be sent.
    """

    settings: Settings
    host: EcsHost
    client: Callable[[str], Any]
    say: Callable[[str], object] = print
    unsent: list[dict[str, Any]] = field(default_factory=list)
    _told: dict[str, str] = field(default_factory=dict)
    _faults: set[tuple[object, ...]] = field(default_factory=set)
    _sick: set[str] = field(default_factory=set)
    _stamp: str = ""
    _repeated: int = 0
    _errors: dict[str, int] = field(default_factory=dict)
    _missing: int = 0
    _log: int | None = None

    def minute(self, now: float) -> None:
        """Measures, prints, and sends what failed; never fails itself."""
        self._try("agent", self.host.ask_agent)
        self._try("ecs", self.host.ask_ecs)
        xids = self._try("kernel log", self._read_log) or Xids()
        reading = self._try("gpus", self._read)
        stamp = int(now // 60) * 60_000
        self._try("faults", lambda: self._note_faults(reading, xids))
        self._try("metrics", lambda: self._print(reading, xids, stamp))
        self._try("events", self._send)

    def _try(self, what: str, do: Callable[[], Any]) -> Any:  # noqa: ANN401  # whatever it returns
        """Does it; what it fails at is said once, until it fails in another way."""
        try:
            result = do()
        except Exception as error:  # noqa: BLE001  # one thing that fails must not end the others
            text = str(error) if isinstance(error, Unreadable) else f"{type(error).__name__}: {error}"
            if self._told.get(what) != text:
                self._told[what] = text
                self.say(json.dumps({"problem": what, "text": text[:500], "ClusterName": self.settings.cluster}))
            return None
        self._told.pop(what, None)
        return result

    def _read(self) -> Reading:
        host = self.settings.host
        if not host:
            return self._read_file()
        try:
            done = subprocess.run(
                ["/usr/bin/env", f"PATH={self.settings.programs}", "nvidia-smi", "-q", "-x"],
                capture_output=True,
                timeout=40,
                check=False,
                preexec_fn=None if host == "/" else lambda: os.chroot(host),
            )
        except subprocess.TimeoutExpired:
            raise Unreadable("nvidia-smi has not ended after 40 seconds") from None
        if b"No devices were found" in done.stdout:
            return Reading()
        # After a GPU is lost it prints the others and ends with an error.
        if done.returncode and b"<gpu " not in done.stdout:
            said = (done.stdout + done.stderr).decode(errors="replace").strip()
            raise Unreadable(f"nvidia-smi ended with {done.returncode}: {said[:MOST_TEXT]}")
        return gpus_of_driver(done.stdout)

    def _read_file(self) -> Reading:
        try:
            with Path(self.settings.file).open("rb") as file:
                document = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise Unreadable(f"the ECS agent of this host shares no measurements: {error}") from None
        reading = gpus_of_agent(document)
        self._repeated = self._repeated + 1 if reading.stamp == self._stamp else 0
        if self._repeated >= MINUTES_STALE:
            raise Unreadable(f"the ECS agent has written no measurements since {reading.stamp}")
        self._stamp = reading.stamp
        return replace(reading, application=0) if self._repeated else reading

    def _read_log(self) -> Xids:
        """Xids since the last time; of what was logged before this container started, the fatal ones alone."""
        if not self.settings.host:
            return Xids()
        is_first = self._log is None
        if self._log is None:
            self._log = os.open(self.settings.kernel_log, os.O_RDONLY | os.O_NONBLOCK)
        read = b""
        while len(read) < MOST_BYTES:
            try:
                record = os.read(self._log, 8192)
            except BlockingIOError:
                break
            except BrokenPipeError:  # records were overwritten before they were read
                continue
            if not record:
                break
            read += record
        found = tuple(xids_in(read.decode(errors="replace")))
        return Xids(
            fatal=tuple(each for each in found if each[1] in self.settings.fatal),
            application=() if is_first else tuple(each for each in found if each[1] in self.settings.application),
        )

    def _note_faults(self, reading: Reading | None, xids: Xids) -> None:
        gpus = {each.bus: each for each in (reading.gpus if reading else ())}
        for bus, xid in xids.fatal:
            self._fault(gpus.get(bus), f"Xid {xid} on PCI {bus}", xid=xid, key=(bus, xid))
            self._sick.add(bus)
        if reading is None:
            return
        if reading.unhealthy is not None:
            found = REASON.search(reading.unhealthy)
            reason = f"the ECS agent reports {reading.unhealthy or 'an unhealthy GPU'}"
            self._fault(None, reason, xid=int(found[1]) if found else None, key=("agent",))
            self._sick.add("agent")
        expected = self.host.expected_gpus
        self._missing = self._missing + 1 if len(reading.gpus) < expected else 0
        if self._missing >= MINUTES_MISSING:
            reason = f"the driver shows {len(reading.gpus)} of {expected} GPUs"
            self._fault(None, reason, xid=None, key=("missing",))

    def _print(self, reading: Reading | None, xids: Xids, stamp: int) -> None:
        """Prints a line for each GPU and one for the host."""
        values: dict[str, float] = {
            "UnhealthyGPUs": len(self._sick),
            "FatalXids": len(xids.fatal),
            "ApplicationXids": len(xids.application),
        }
        if reading is not None:
            held = self.host.services_by_gpu
            for gpu in reading.gpus:
                self._print_gpu(gpu, held.get(gpu.uuid, ()), stamp)
            counts = {each.uuid: each.uncorrected for each in reading.gpus if each.uncorrected is not None}
            values["GPUs"] = len(reading.gpus)
            values["GPUsReserved"] = len(held)
            values["MissingGPUs"] = max(0, self.host.expected_gpus - len(reading.gpus))
            values["ApplicationXids"] += reading.application
            values["UncorrectedEccErrors"] = sum(
                max(0, count - self._errors.get(uuid, count)) for uuid, count in counts.items()
            )
            self._errors.update(counts)
        numbers = [xid for _, xid in (*xids.fatal, *xids.application)]
        self._line(values, self._sets(), {"Xids": numbers[:MOST_LISTED]}, stamp)

    def _print_gpu(self, gpu: Gpu, services: Sequence[str], stamp: int) -> None:
        """Prints one line, and one more for each further service that shares it."""
        tasks = [arn for arn, task in self.host.tasks.items() if gpu.uuid in task.gpus]
        more = {"GpuIndex": str(gpu.index), "GpuUuid": gpu.uuid, "Tasks": tasks[:MOST_LISTED]}
        of_gpu = [["ClusterName", "InstanceId", "GpuIndex"]] if self.settings.per_gpu and self.host.instance_id else []
        of_service = ["ClusterName", "ServiceName"]
        first = {"ServiceName": services[0]} if services else {}
        sets = [*self._sets(), *([of_service] if services else []), *of_gpu]
        self._line(gpu.values, sets, {**more, **first}, stamp)
        for name in services[1:]:
            self._line(gpu.values, [of_service], {**more, "ServiceName": name}, stamp)

    def _sets(self) -> list[list[str]]:
        of_provider = [["ClusterName", "CapacityProviderName"]] if self.host.capacity_provider else []
        return [["ClusterName"], *of_provider]

    def _line(self, values: Mapping[str, float], sets: list[list[str]], more: Mapping[str, Any], stamp: int) -> None:
        """Prints one document of the embedded metric format."""
        if not values:
            return
        metrics = [{"Name": name, "Unit": self.settings.units[name]} for name in values]
        directive = {"Namespace": self.settings.namespace, "Dimensions": sets, "Metrics": metrics}
        where = {"InstanceId": self.host.instance_id, "CapacityProviderName": self.host.capacity_provider}
        self.say(
            json.dumps(
                {
                    "_aws": {"Timestamp": stamp, "CloudWatchMetrics": [directive]},
                    "ClusterName": self.settings.cluster,
                    **{name: value for name, value in where.items() if value is not None},
                    **more,
                    **values,
                },
                allow_nan=False,
            )
        )

    def _fault(self, gpu: Gpu | None, reason: str, *, xid: int | None, key: tuple[object, ...]) -> None:
        """Notes a fault, to be sent once."""
        if key in self._faults or len(self.unsent) >= MOST_UNSENT:
            return
        self._faults.add(key)
        self.unsent.append(
            {
                "gpuIndex": None if gpu is None else gpu.index,
                "gpuUuid": None if gpu is None else gpu.uuid,
                "xid": xid,
                "reason": reason,
            }
        )

    def _send(self) -> None:
        """Sends faults to EventBridge; those that fail to go wait for the next minute."""
        if not self.unsent or self.host.instance_id is None:
            return
        arn = str(self.host.instance["containerInstanceArn"])
        cluster = arn.replace(":container-instance/", ":cluster/").rpartition("/")[0]
        host = {
            "clusterArn": cluster,
            "containerInstanceArn": arn,
            "ec2InstanceId": self.host.instance_id,
            "capacityProviderName": self.host.capacity_provider,
        }
        while self.unsent:
            entry = {
                "Source": self.settings.source,
                "DetailType": self.settings.detail_type,
                "Resources": [arn],
                "Detail": json.dumps({**host, **self.unsent[0]}),
            }
            answer = self.client("events").put_events(Entries=[entry])
            if answer.get("FailedEntryCount"):
                raise Unreadable(f"EventBridge takes no event: {answer['Entries'][0].get('ErrorMessage')}")
            self.unsent.pop(0)


def clients() -> Callable[[str], Any]:
    """Clients of boto3, each made once."""
    made: dict[str, Any] = {}

    def client(service: str) -> Any:  # noqa: ANN401  # boto3 makes them
        if service not in made:
            import boto3  # noqa: PLC0415  # without it, GPUs are measured all the same
            from botocore.config import Config  # noqa: PLC0415

            limits = Config(connect_timeout=5, read_timeout=10, retries={"max_attempts": 2})
            # It takes the region from AWS_DEFAULT_REGION alone.
            made[service] = boto3.client(service, region_name=os.environ["AWS_REGION"], config=limits)
        return made[service]

    return client


def main() -> None:
    """Measures once a minute, at the beginning of each."""
    settings, client = Settings.of(os.environ), clients()
    host = EcsHost(settings.cluster, settings.agent, client)
    collector = Collector(settings, host, client, say=lambda line: print(line, flush=True))  # noqa: T201
    # As the first process of its container it would otherwise not end when it is asked to.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        collector.minute(time.time())
        time.sleep(60 - time.time() % 60)


if __name__ == "__main__":
    main()
