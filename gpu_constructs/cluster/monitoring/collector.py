"""The program of the daemon: measures the GPUs of its host once a minute, and says so in lines of JSON.

It runs in a container of its own, as text after the others of this room, with Python's standard library and boto3.
CloudWatch makes metrics of lines in its embedded metric format, so that no permission for CloudWatch is needed:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html

GPUs are read from ``nvidia-smi -q -x`` of the host and from the kernel log, or from the file that the ECS agent shares
(``GPUMetricsFileData`` in ecs-agent/gpu/types of https://github.com/aws/amazon-ecs-agent). What cannot be read is said
once in a line of its own, and everything else goes on.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gpu_constructs.cluster.monitoring.driver import Driver, DriverGone
from gpu_constructs.cluster.monitoring.ecs_host import EcsHost
from gpu_constructs.cluster.monitoring.readings import MOST_BYTES, Gpu, Reading, Unreadable, gpus_of_agent

__all__ = ["Collector", "Settings"]

MOST_FAULTS = 100
MOST_LISTED = 100
MINUTES_MISSING = 2  # before a GPU that the driver does not show counts as lost
MINUTES_GONE = 5  # before a driver that does not answer counts as a fault
MINUTES_STALE = 3
MINUTES_REPEATED = 60  # after which a fault that is still there is sent again
SECONDS_STUCK = 600  # longer than any minute with all of its timeouts

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


@dataclass
class Fault:
    """A fault of the host or of one of its GPUs.

    Attributes:
        reason: What was seen.
        xid: The Xid; None for other faults.
        bus: Where on the PCI bus the GPU is; None if that is not known.
        sent: In which minute it was sent; None before.
    """

    reason: str
    xid: int | None = None
    bus: str | None = None
    sent: int | None = None


# Keys of faults that are of no one GPU.
MISSING = ("missing",)
GONE = ("driver",)
OF_AGENT = ("agent",)


@dataclass
class Collector:
    """What is known of the host, from minute to minute.

    Attributes:
        settings: What it is told.
        host: What ECS says of it.
        client: Makes a client of boto3.
        say: Prints a line.
        driver: The driver of the host.
    """

    settings: Settings
    host: EcsHost
    client: Callable[[str], Any]
    say: Callable[[str], object] = print
    driver: Driver = field(init=False)
    _told: dict[str, str] = field(default_factory=dict)
    _faults: dict[tuple[object, ...], Fault] = field(default_factory=dict)
    _gpus: dict[str | None, Gpu] = field(default_factory=dict)
    _minute: int = 0
    _gone: int = 0
    _stamp: str = ""
    _repeated: int = 0
    _errors: dict[str, int] = field(default_factory=dict)
    _missing: int = 0

    def __post_init__(self) -> None:
        told = self.settings
        self.driver = Driver(told.host, told.programs, told.kernel_log, told.fatal)

    def minute(self, now: float) -> None:
        """Measures, prints, and sends what failed; never fails itself."""
        self._minute += 1
        self._try("agent", self.host.ask_agent)
        self._try("ecs", self.host.ask_ecs)
        xids: Mapping[tuple[str, int], int] = {}
        if self.settings.host:
            xids = self._try("kernel log", self.driver.xids) or {}
        self._note_xids(xids)
        if self._gpus:  # it is known already which GPU is where, and the driver may take long after a fault
            self._try("events", self._send)
        reading = self._try("gpus", self._read)
        stamp = int(now // 60) * 60_000
        if reading is not None:
            self._try("faults", lambda: self._note_reading(reading))
        self._try("events", self._send)
        self._try("metrics", lambda: self._print(reading, xids, stamp))

    def _try(self, what: str, do: Callable[[], Any]) -> Any:  # noqa: ANN401  # whatever it returns
        """Does it; what it fails at is said once, until it fails in another way."""
        try:
            result = do()
        except Exception as error:  # noqa: BLE001  # one thing that fails must not end the others
            text = str(error) if isinstance(error, Unreadable) else f"{type(error).__name__}: {error}"
            if self._told.get(what) != text:
                self._told[what] = text
                self._say({"problem": what, "text": text[:500], **self._where()})
            return None
        self._told.pop(what, None)
        return result

    def _read(self) -> Reading:
        if not self.settings.host:
            return self._read_file()
        try:
            reading = self.driver.gpus()
        except DriverGone as error:
            self._gone += 1
            if self._gone >= MINUTES_GONE:
                self._note(GONE, Fault(f"the driver does not answer: {error}"))
            raise
        self._gone = 0
        self._faults.pop(GONE, None)
        return reading

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

    def _note_xids(self, xids: Mapping[tuple[str, int], int]) -> None:
        for bus, xid in xids:
            if xid in self.settings.fatal:
                self._note((bus, xid), Fault(f"Xid {xid} on PCI {bus}", xid=xid, bus=bus))

    def _note_reading(self, reading: Reading) -> None:
        for gpu in reading.gpus:
            self._gpus.setdefault(gpu.bus, gpu)
        if reading.unhealthy is None:
            self._faults.pop(OF_AGENT, None)
        else:
            found = REASON.search(reading.unhealthy)
            reason = f"the ECS agent reports {reading.unhealthy or 'an unhealthy GPU'}"
            self._note(OF_AGENT, Fault(reason, xid=int(found[1]) if found else None))
        expected = self.host.expected_gpus
        self._missing = self._missing + 1 if len(reading.gpus) < expected else 0
        if self._missing >= MINUTES_MISSING:
            self._note(MISSING, Fault(f"the driver shows {len(reading.gpus)} of {expected} GPUs"))
        elif not self._missing:
            self._faults.pop(MISSING, None)

    def _note(self, key: tuple[object, ...], fault: Fault) -> None:
        if len(self._faults) < MOST_FAULTS:
            self._faults.setdefault(key, fault)

    def _print(self, reading: Reading | None, xids: Mapping[tuple[str, int], int], stamp: int) -> None:
        """Prints a line for each GPU, for each Xid and for the host."""
        fatal = sum(times for (_, xid), times in xids.items() if xid in self.settings.fatal)
        application = sum(times for (_, xid), times in xids.items() if xid in self.settings.application)
        values: dict[str, float] = {
            "UnreadableHosts": int(reading is None),
            "UnhealthyGPUs": len({key[0] for key in self._faults if key not in {MISSING, GONE}}),
            "FatalXids": fatal,
            "ApplicationXids": application,
            "OtherXids": sum(xids.values()) - fatal - application,
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
        for (bus, xid), times in list(xids.items())[:MOST_LISTED]:
            where = {**self._where(), **self._on_host(), **self._of_gpu(self._gpus.get(bus))}
            self._say({"Xid": xid, "Times": times, "Pci": bus, **where})
        found = {"Faults": [each.reason for each in self._faults.values()][:MOST_LISTED]} if self._faults else {}
        self._line(values, self._sets(), {**self._on_host(), **found}, stamp)

    def _print_gpu(self, gpu: Gpu, services: Sequence[str], stamp: int) -> None:
        """Prints one line, and one more for each further service that shares it."""
        more = self._of_gpu(gpu)
        of_gpu = [["ClusterName", "InstanceId", "GpuIndex"]] if self.settings.per_gpu and self.host.instance_id else []
        of_service = ["ClusterName", "ServiceName"]
        first = {"ServiceName": services[0]} if services else {}
        sets = [*self._sets(), *([of_service] if services else []), *of_gpu]
        self._line(gpu.values, sets, {**more, **first}, stamp)
        for name in services[1:]:
            self._line(gpu.values, [of_service], {**more, "ServiceName": name}, stamp)

    def _of_gpu(self, gpu: Gpu | None) -> dict[str, Any]:
        """Which GPU it is, and the tasks that hold it; nothing of one that is not known."""
        if gpu is None:
            return {}
        tasks = [arn for arn, task in self.host.tasks.items() if gpu.uuid in task.gpus]
        return {"GpuIndex": str(gpu.index), "GpuUuid": gpu.uuid, "Tasks": tasks[:MOST_LISTED]}

    def _where(self) -> dict[str, Any]:
        known = {"InstanceId": self.host.instance_id, "CapacityProviderName": self.host.capacity_provider}
        return {"ClusterName": self.settings.cluster, **{name: each for name, each in known.items() if each}}

    def _on_host(self) -> dict[str, Any]:
        return {"ContainerInstanceArn": self.host.instance.get("containerInstanceArn")}

    def _sets(self) -> list[list[str]]:
        of_provider = [["ClusterName", "CapacityProviderName"]] if self.host.capacity_provider else []
        return [["ClusterName"], *of_provider]

    def _line(self, values: Mapping[str, float], sets: list[list[str]], more: Mapping[str, Any], stamp: int) -> None:
        """Prints one document of the embedded metric format."""
        if not values:
            return
        metrics = [{"Name": name, "Unit": self.settings.units[name]} for name in values]
        directive = {"Namespace": self.settings.namespace, "Dimensions": sets, "Metrics": metrics}
        aws = {"Timestamp": stamp, "CloudWatchMetrics": [directive]}
        self._say({"_aws": aws, **self._where(), **more, **values})

    def _say(self, document: Mapping[str, Any]) -> None:
        text = json.dumps(document, allow_nan=False, separators=(",", ":"))
        with suppress(OSError):  # nothing reads what it prints; faults are sent all the same
            self.say(text)

    def _send(self) -> None:
        """Sends faults to EventBridge, and again each hour in which they are still there.

        Those that fail to go wait for the next minute.
        """
        if self.host.instance_id is None:
            return
        arn = str(self.host.instance["containerInstanceArn"])
        host = {
            "clusterArn": arn.replace(":container-instance/", ":cluster/").rpartition("/")[0],
            "containerInstanceArn": arn,
            "ec2InstanceId": self.host.instance_id,
            "capacityProviderName": self.host.capacity_provider,
        }
        for fault in self._faults.values():
            if fault.sent is not None and self._minute < fault.sent + MINUTES_REPEATED:
                continue
            gpu = None if fault.bus is None else self._gpus.get(fault.bus)
            of_gpu = {"gpuIndex": None if gpu is None else gpu.index, "gpuUuid": None if gpu is None else gpu.uuid}
            entry = {
                "Source": self.settings.source,
                "DetailType": self.settings.detail_type,
                "Resources": [arn],
                "Detail": json.dumps({**host, **of_gpu, "xid": fault.xid, "reason": fault.reason}),
            }
            answer = self.client("events").put_events(Entries=[entry])
            if answer.get("FailedEntryCount"):
                raise Unreadable(f"EventBridge takes no event: {answer['Entries'][0].get('ErrorMessage')}")
            fault.sent = self._minute


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
        # Whatever it waits for: then this process ends, and ECS starts the task again.
        faulthandler.dump_traceback_later(SECONDS_STUCK, exit=True)
        collector.minute(time.time())
        time.sleep(60 - time.time() % 60)


if __name__ == "__main__":
    main()
