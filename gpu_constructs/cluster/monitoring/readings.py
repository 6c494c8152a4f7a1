"""What the NVIDIA driver, the ECS agent and the kernel say of the GPUs of a host, read with care.

The daemon's container gets this file as text, before `collector`: it needs Python's standard library alone. Whatever is
read has limits, and is `Unreadable` beyond them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

__all__ = ["MOST_BYTES", "MOST_TEXT", "Gpu", "Reading", "Unreadable", "gpus_of_agent", "gpus_of_driver", "xids_in"]

MIB = 1024 * 1024
MOST_BYTES = 8 * MIB
MOST_GPUS = 64
MOST_DEPTH = 32
MOST_TEXT = 200
LARGEST = 1e18

AMOUNT = re.compile(r"(-?[0-9]{1,12}(?:\.[0-9]{1,6})?) ?(%|MiB|W|C)?")
XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9A-Fa-f:.]{4,20})(?: [^)\n]{1,40})?\): ([0-9]{1,4})\b")
UNCORRECTED = re.compile(r"ecc_errors/volatile/(?:\w*_uncorrectable\w*|double_bit/total)")


class Unreadable(Exception):  # noqa: N818  # what it is, in the lines that it becomes
    """Something that was to be read is not there, or not as it should be."""


@dataclass(frozen=True)
class Gpu:
    """One GPU at one moment; None where it does not say.

    Attributes:
        index: Its number on the host.
        uuid: Its UUID, by which ECS hands it out.
        bus: Its place on the PCI bus, as the kernel log names it.
        values: What was measured, by name of the metric.
        uncorrected: Errors in its memory that could not be corrected, since the driver was loaded.
    """

    index: int
    uuid: str
    bus: str | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    uncorrected: int | None = None


@dataclass(frozen=True)
class Reading:
    """The GPUs of a host at one moment.

    Attributes:
        gpus: The GPUs.
        application: Faults of programs since the last reading.
        unhealthy: Why the agent calls the host unhealthy; None where it does not.
        stamp: When the agent wrote it; empty for the driver's own.
    """

    gpus: tuple[Gpu, ...] = ()
    application: int = 0
    unhealthy: str | None = None
    stamp: str = ""


def number(text: object, unit: str | None = None) -> float | None:
    """A number of nvidia-smi, such as ``12 %``; None for ``N/A`` and everything else."""
    found = AMOUNT.fullmatch(text.strip()) if isinstance(text, str) else None
    return float(found[1]) if found and found[2] == unit else None


def fields_of(document: bytes) -> list[dict[str, str]]:
    """Texts of each GPU of ``nvidia-smi -q -x`` by their paths, such as ``utilization/gpu_util``; ``id`` is its bus."""
    gpus: list[dict[str, str]] = []
    path: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        path.append(name)
        if len(path) > MOST_DEPTH or len(gpus) > MOST_GPUS:
            raise Unreadable("nvidia-smi prints more than it should")
        if path[1:] == ["gpu"]:
            gpus.append({"id": attributes.get("id", "")})

    def text(data: str) -> None:
        if path[1:2] == ["gpu"] and gpus:
            key = "/".join(path[2:])
            gpus[-1][key] = (gpus[-1].get(key, "") + data)[:MOST_TEXT]

    def no_entities(*_: object) -> None:
        raise Unreadable("nvidia-smi declares entities, which it has none of")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: path.pop()
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = no_entities
    try:
        parser.Parse(document, True)  # noqa: FBT003  # it takes no names
    except expat.ExpatError as error:
        raise Unreadable(f"nvidia-smi prints no XML: {error}") from None
    return gpus


def gpus_of_driver(document: bytes) -> Reading:
    """What ``nvidia-smi -q -x`` says; names of fields of older drivers come last."""
    if len(document) > MOST_BYTES:
        raise Unreadable(f"nvidia-smi prints more than {MOST_BYTES} bytes")
    gpus = []
    for index, fields in enumerate(fields_of(document)):
        used, total = (number(fields.get(f"fb_memory_usage/{each}"), "MiB") for each in ("used", "total"))
        measured = {
            "GPUUtilization": number(fields.get("utilization/gpu_util"), "%"),
            "GPUMemoryUtilization": None if used is None or not total else 100 * used / total,
            "GPUMemoryUsed": None if used is None else used * MIB,
            "GPUPowerDraw": next(
                (
                    watts
                    for group in ("gpu_power_readings", "power_readings")
                    for each in ("power_draw", "average_power_draw", "instant_power_draw")
                    if (watts := number(fields.get(f"{group}/{each}"), "W")) is not None
                ),
                None,
            ),
            "GPUTemperature": number(fields.get("temperature/gpu_temp"), "C"),
        }
        errors = [number(text) for name, text in fields.items() if UNCORRECTED.fullmatch(name)]
        known = [each for each in errors if each is not None]
        gpus.append(
            Gpu(
                index=index,
                uuid=fields.get("uuid", "").strip(),
                bus=bus_of(fields["id"]),
                values={name: value for name, value in measured.items() if value is not None},
                uncorrected=int(sum(known)) if known else None,
            )
        )
    return Reading(gpus=tuple(gpus))


def gpus_of_agent(document: bytes) -> Reading:
    """What the file of the ECS agent says."""
    if len(document) > MOST_BYTES:
        raise Unreadable(f"the file of the ECS agent has more than {MOST_BYTES} bytes")
    try:
        data = json.loads(document)
    except (ValueError, RecursionError):
        raise Unreadable("the file of the ECS agent is not JSON") from None
    rows = data.get("gpus") if isinstance(data, dict) else None
    if not isinstance(rows, list) or len(rows) > MOST_GPUS or not all(isinstance(each, dict) for each in rows):
        raise Unreadable("the file of the ECS agent lists no GPUs")
    if data.get("connection_lost") is True:
        raise Unreadable("the ECS agent has lost its connection to NVIDIA DCGM")
    names = {
        "GPUUtilization": "gpu_utilization_percent",
        "GPUMemoryUtilization": "memory_utilization_percent",
        "GPUMemoryUsed": "memory_used_bytes",
        "GPUPowerDraw": "power_draw_watts",
        "GPUTemperature": "temperature_celsius",
    }
    gpus = tuple(
        Gpu(
            index=index,
            uuid=str(row.get("gpu_uuid"))[:MOST_TEXT],
            values={name: row[key] for name, key in names.items() if is_number(row.get(key))},
        )
        for index, row in enumerate(rows)
    )
    counts = [row.get("restart_app_xid_count") for row in rows]
    return Reading(
        gpus=gpus,
        application=sum(int(each) for each in counts if is_number(each) and each > 0),
        unhealthy=str(data.get("unhealthy_reason") or "")[:MOST_TEXT] if data.get("healthy") is False else None,
        stamp=str(data.get("timestamp"))[:MOST_TEXT],
    )


def is_number(value: object) -> bool:
    """Whether it is one that CloudWatch takes."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LARGEST


def bus_of(text: str) -> str:
    """A place on the PCI bus without its domain's leading zeros and its function: ``0:00:1e``."""
    domain, _, rest = text.strip().lower().partition(":")
    return f"{domain.lstrip('0') or '0'}:{rest.partition('.')[0]}"


def xids_in(log: str) -> Iterator[tuple[str, int]]:
    """The place on the bus and the number of each Xid in lines of the kernel log."""
    for found in XID.finditer(log):
        yield bus_of(found[1]), int(found[2])
