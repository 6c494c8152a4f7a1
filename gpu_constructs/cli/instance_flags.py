"""The filters of ``gpu-constructs instances`` as they are written: a table with a row for each, and its reader."""

from __future__ import annotations

import argparse
import math
import re
import shlex
from collections.abc import Callable, Iterator
from enum import EnumMeta
from typing import Any, NamedTuple

from gpu_constructs.errors import InvalidValueError, argument_named, arguments_written, shown
from gpu_constructs.facts import Architecture, InstanceNeeds, PurchaseClass, Range, Vendor
from gpu_constructs.facts.drivers import gib_of
from gpu_constructs.facts.values import dataclass

_MIB_PER_GIB = 1024
_MOST = 1e15
_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}")
_SIZE = re.compile(r"([0-9.]+) ?(mi?b?|gi?b?|ti?b?)?", re.IGNORECASE)
_GIB = {"m": 1 / 1024, "g": 1.0, "t": 1024.0}  # GB is GiB, as ec2-instance-selector has it
_CAPABILITY = re.compile(r"([0-9]{1,3})(?:\.([0-9]{1,3}))?")


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise InvalidValueError(f"{shown(text)} is not a number", value=text, allowed="a number from 0")
    return float(text)


def _count(text: str) -> float:
    found = _number(text)
    if not found.is_integer():
        raise InvalidValueError(f"{shown(text)} is not a whole number", value=text, allowed="a whole number from 0")
    return found


def _gib(text: str) -> float:
    found = _SIZE.fullmatch(text.strip())
    if not found or not _NUMBER.fullmatch(found[1]) or (size := float(found[1])) > _MOST:
        raise InvalidValueError(
            f"{text[:40]} is not a size of memory", value=text, allowed="a number of GiB, or such as 512MiB"
        )
    return size * _GIB[(found[2] or "g")[0].lower()]


def _most_mib(text: str) -> float:
    """The table rounds down to a tenth; what it shows can be asked for, also as the most."""
    return math.ceil((_gib(text) + 0.1) * _MIB_PER_GIB) - 1


def _capability(text: str) -> tuple[int, int]:
    found = _CAPABILITY.fullmatch(text)
    if not found:
        raise InvalidValueError(f"{shown(text)} is not a compute capability", value=text, allowed="such as 8.9")
    return int(found[1]), int(found[2] or 0)


@dataclass(frozen=True, slots=True)
class _Reader:
    """How the bounds of a range are read, which may round in different ways, and which of them one number alone is."""

    low: Callable[[str], Any]
    high: Callable[[str], Any]
    alone: str

    def __call__(self, text: str) -> Range[Any]:
        before, dots, after = text.partition("..")
        if before[:1].isdecimal() and "-" in before:
            raise InvalidValueError(f"{shown(text)} is not a range", value=text, fix=before.replace("-", "..", 1))
        if not dots:
            before = "" if self.alone == _AT_MOST else text
            after = "" if self.alone == _AT_LEAST else text
        elif not before and not after:
            raise InvalidValueError(f"{shown(text)} has no bound", value=text, allowed="N..M, N.. or ..M")
        return Range(low=self.low(before) if before else None, high=self.high(after) if after else None)


_EXACTLY, _AT_LEAST, _AT_MOST = "", "; N is at least N", "; N is at most N"
_COUNT = _Reader(_count, _count, _EXACTLY)
_AMOUNT = _Reader(_number, _number, _AT_LEAST)
_MEMORY = _Reader(lambda text: math.ceil(_gib(text) * _MIB_PER_GIB), _most_mib, _AT_LEAST)
_PRICE = _Reader(_number, _number, _AT_MOST)
_OF_GPU = _Reader(_capability, _capability, _AT_LEAST)


def _names(text: str) -> tuple[str, ...]:
    found = tuple(filter(None, map(str.strip, text.split(","))))
    if not found:
        raise InvalidValueError("no name is given")
    return found


class Flag(NamedTuple):
    """A row of the table: how a field of `InstanceNeeds` is written.

    Attributes:
        read: Reads its value; `bool` for yes or no, and an enumeration for one of a few values.
    """

    name: str
    help: str
    read: Callable[[str], Any]
    metavar: str | None = "RANGE"


FLAGS: dict[str, Flag] = {
    "gpus": Flag("--gpus", "whole NVIDIA GPUs", _COUNT),
    "gpu_memory_mib": Flag("--gpu-memory-gib", "memory of each NVIDIA GPU in GiB", _MEMORY),
    "gpu_memory_total_mib": Flag("--gpu-memory-total", "memory of all NVIDIA GPUs together in GiB", _MEMORY),
    "accelerators": Flag("--accelerators", "accelerators of any vendor, a part of a GPU as one", _COUNT),
    "models": Flag(
        "--model", "model of the accelerators, such as L4; --serve is for one that they run", _names, "NAME[,…]"
    ),
    "vendor": Flag("--vendor", "who makes the accelerators", Vendor),
    "compute_capability": Flag("--compute-capability", "CUDA compute capability, such as 8.9", _OF_GPU),
    "precision": Flag(
        "--precision", "number format that the GPUs take, such as fp8; with a model, that of its weights", str, "FORMAT"
    ),
    "nvlink": Flag("--nvlink", "whether NVLink joins the GPUs", bool),
    "efa": Flag("--efa", "whether it takes Elastic Fabric Adapters", bool),
    "network_gbps": Flag("--network-gbps", "network bandwidth in Gbit/s, bursts included", _AMOUNT),
    "vcpus": Flag("--vcpus", "vCPUs", _COUNT),
    "memory_mib": Flag("--memory-gib", "memory in GiB", _MEMORY),
    "architecture": Flag("--arch", "processor architecture", Architecture),
    "families": Flag("--family", "instance family, such as g6, with accelerators or without", _names, "NAME[,…]"),
    "region": Flag("--region", "a region that offered it on the day of the data; its prices are shown", str, "REGION"),
    "purchase": Flag("--purchase", "how it can be bought", PurchaseClass),
    "usd_per_hour": Flag("--price", "on-demand list price in US dollars an hour", _PRICE),
}
"""A row for each field of `InstanceNeeds`."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Adds an argument for each filter."""
    for field, (name, text, read, metavar) in FLAGS.items():
        if read is bool:
            parser.add_argument(name, dest=field, action=argparse.BooleanOptionalAction, default=None, help=text)
        elif isinstance(read, EnumMeta):
            parser.add_argument(name, dest=field, choices=list(map(str, read)), help=text)
        else:
            said = f"{text}{read.alone}" if isinstance(read, _Reader) else text
            parser.add_argument(name, dest=field, metavar=metavar, help=said)


def needs_from(arguments: argparse.Namespace) -> InstanceNeeds:
    """The needs that the arguments ask for; `argument` of an error is how it is written."""
    with arguments_written({field: flag.name for field, flag in FLAGS.items()}):
        return InstanceNeeds(**dict(_given(arguments)))


def _given(arguments: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    for field, flag in FLAGS.items():
        value = getattr(arguments, field)
        if value is not None:
            with argument_named(flag.name):
                yield field, flag.read(value)


def as_written(field: str, value: object) -> str:
    """How a need is written, for a shell: ``--gpu-memory-gib 22.3..``."""
    name, _, read, _ = FLAGS[field]
    match value:
        case bool():
            return name if value else f"--no-{name[2:]}"
        case Range(low=low, high=high):
            bounds = ["" if each is None else _bound(read, each) for each in (low, high)]
            return f"{name} {bounds[0] if read == _COUNT and bounds[0] == bounds[1] else '..'.join(bounds)}"
        case tuple():
            return f"{name} {shlex.quote(','.join(value))}"
        case _:
            return f"{name} {value}"


def _bound(read: Callable[[str], Any], value: float | tuple[int, int]) -> str:
    if isinstance(value, tuple):
        return f"{value[0]}.{value[1]}"
    return f"{gib_of(value):g}" if read == _MEMORY else f"{value:g}"
