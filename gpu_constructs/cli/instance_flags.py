"""The filters of ``gpu-constructs instances`` as they are written: a table with a row for each, and its reader."""

from __future__ import annotations

import argparse
import math
import re
import shlex
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from gpu_constructs.errors import GpuConstructsError, InvalidValueError, shown
from gpu_constructs.facts import Architecture, InstanceNeeds, PurchaseClass, Range, Vendor
from gpu_constructs.facts.values import dataclass

_MIB_PER_GIB = 1024
_MOST = 1e15
_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}")
_SIZE = re.compile(r"([0-9.]+) ?(mi?b?|gi?b?|ti?b?)?", re.IGNORECASE)
_GIB = {"m": 1 / 1024, "g": 1.0, "t": 1024.0}  # GB is GiB, as ec2-instance-selector has it
_CAPABILITY = re.compile(r"([0-9]{1,3})(?:\.([0-9]{1,3}))?")


class Alone(Enum):
    """What a range is that is written as one value."""

    EXACTLY = "N is exactly N"
    AT_LEAST = "N is at least N"
    AT_MOST = "N is at most N"


def _number(text: str) -> float:
    """A number from 0 without a sign."""
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


def _least_mib(text: str) -> float:
    return math.ceil(_gib(text) * _MIB_PER_GIB)


def _most_mib(text: str) -> float:
    """The table rounds down to a tenth; what it shows can be asked for, also as the most."""
    return math.ceil((_gib(text) + 0.1) * _MIB_PER_GIB) - 1


def _capability(text: str) -> tuple[int, int]:
    found = _CAPABILITY.fullmatch(text)
    if not found:
        raise InvalidValueError(f"{shown(text)} is not a compute capability", value=text, allowed="such as 8.9")
    return int(found[1]), int(found[2] or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """How the bounds of a range are read; a low and a high bound may round in different ways."""

    low: Callable[[str], Any]
    high: Callable[[str], Any]
    alone: Alone

    def range_of(self, text: str) -> Range[Any]:
        before, dots, after = text.partition("..")
        if not dots:
            low = None if self.alone is Alone.AT_MOST else self.low(text)
            return Range(low=low, high=None if self.alone is Alone.AT_LEAST else self.high(text))
        if not before and not after:
            raise InvalidValueError(f"{shown(text)} has no bound", value=text, allowed="N..M, N.. or ..M")
        return Range(low=self.low(before) if before else None, high=self.high(after) if after else None)


_COUNT = _Reader(low=_count, high=_count, alone=Alone.EXACTLY)
_AMOUNT = _Reader(low=_number, high=_number, alone=Alone.AT_LEAST)
_MEMORY = _Reader(low=_least_mib, high=_most_mib, alone=Alone.AT_LEAST)
_PRICE = _Reader(low=_number, high=_number, alone=Alone.AT_MOST)
_OF_GPU = _Reader(low=_capability, high=_capability, alone=Alone.AT_LEAST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A row of the table.

    Attributes:
        field: The field of `InstanceNeeds` that it fills in.
        name: How it is written.
        help: What it asks for.
        reader: How a range is read; None for what is no range.
        choices: The values that there are, of what is one of a few.
        metavar: What stands for its value in the help.
        is_list: Whether it takes several names, with commas between.
    """

    field: str
    name: str
    help: str
    reader: _Reader | None = None
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    is_list: bool = False


FLAGS: tuple[Flag, ...] = (
    Flag(field="gpus", name="--gpus", reader=_COUNT, help="whole NVIDIA GPUs"),
    Flag(field="gpu_memory_mib", name="--gpu-memory-gib", reader=_MEMORY, help="memory of each NVIDIA GPU in GiB"),
    Flag(
        field="gpu_memory_total_mib",
        name="--gpu-memory-total",
        reader=_MEMORY,
        help="memory of all NVIDIA GPUs together in GiB",
    ),
    Flag(
        field="accelerators",
        name="--accelerators",
        reader=_COUNT,
        help="accelerators of any vendor, a part of a GPU as one",
    ),
    Flag(
        field="models",
        name="--model",
        metavar="NAME[,…]",
        help="model of the accelerators, such as L4",
        is_list=True,
    ),
    Flag(field="vendor", name="--vendor", choices=tuple(map(str, Vendor)), help="who makes the accelerators"),
    Flag(
        field="compute_capability",
        name="--compute-capability",
        reader=_OF_GPU,
        help="CUDA compute capability, such as 8.9",
    ),
    Flag(
        field="precision",
        name="--precision",
        metavar="FORMAT",
        help="number format that the GPUs take, such as fp8; with a model, that of its weights",
    ),
    Flag(field="nvlink", name="--nvlink", help="whether NVLink joins the GPUs"),
    Flag(field="efa", name="--efa", help="whether it takes Elastic Fabric Adapters"),
    Flag(
        field="network_gbps",
        name="--network-gbps",
        reader=_AMOUNT,
        help="network bandwidth in Gbit/s, bursts included",
    ),
    Flag(field="vcpus", name="--vcpus", reader=_COUNT, help="vCPUs"),
    Flag(field="memory_mib", name="--memory-gib", reader=_MEMORY, help="memory in GiB"),
    Flag(field="architecture", name="--arch", choices=tuple(map(str, Architecture)), help="processor architecture"),
    Flag(
        field="families",
        name="--family",
        metavar="NAME[,…]",
        help="instance family, such as g6, with accelerators or without",
        is_list=True,
    ),
    Flag(
        field="region",
        name="--region",
        metavar="REGION",
        help="a region that offered it on the day of the data; its prices are shown",
    ),
    Flag(field="purchase", name="--purchase", choices=tuple(map(str, PurchaseClass)), help="how it can be bought"),
    Flag(field="usd_per_hour", name="--price", reader=_PRICE, help="on-demand list price in US dollars an hour"),
)
"""A row for each field of `InstanceNeeds`."""

_BY_FIELD = {each.field: each for each in FLAGS}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Adds an argument for each filter."""
    for each in FLAGS:
        if each.reader is not None:
            is_clear = each.reader.alone is Alone.EXACTLY
            said = each.help if is_clear else f"{each.help}; {each.reader.alone.value}"
            parser.add_argument(each.name, dest=each.field, metavar="RANGE", help=said)
        elif each.choices:
            parser.add_argument(each.name, dest=each.field, choices=each.choices, help=each.help)
        elif each.metavar is not None:
            parser.add_argument(each.name, dest=each.field, metavar=each.metavar, help=each.help)
        else:
            parser.add_argument(each.name, dest=each.field, action=_YesOrNo, default=None, help=each.help)


class _YesOrNo(argparse.BooleanOptionalAction):
    """``--efa`` or ``--no-efa``; both together mean nothing."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        """Takes one of them."""
        before = getattr(namespace, self.dest)
        super().__call__(parser, namespace, values, option)  # type: ignore[arg-type]  # it has no values
        if before not in {None, getattr(namespace, self.dest)}:
            raise InvalidValueError("yes and no are both given", argument=_BY_FIELD[self.dest].name)


def needs_from(arguments: argparse.Namespace) -> InstanceNeeds:
    """The needs that the arguments ask for.

    Raises:
        GpuConstructsError: One of them cannot be read, or means nothing; `argument` is how it is written.
    """
    try:
        return InstanceNeeds(**dict(_given(arguments)))
    except GpuConstructsError as error:
        if error.argument in _BY_FIELD:
            error.argument = _BY_FIELD[error.argument].name
        raise


def _given(arguments: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    for each in FLAGS:
        value = getattr(arguments, each.field)
        if each.reader is not None and value is not None:
            value = _named(each.name, each.reader.range_of, value)
        elif each.is_list and value is not None:
            value = tuple(filter(None, map(str.strip, value.split(","))))
            if not value:
                raise InvalidValueError("no name is given", argument=each.name)
        if value is not None:
            yield each.field, value


def _named(name: str, read: Callable[[str], Any], text: str) -> Any:  # noqa: ANN401 - what the reader makes of it
    try:
        return read(text)
    except InvalidValueError as error:
        error.argument = name
        raise


def written(field: str, arguments: argparse.Namespace) -> str:
    """How the arguments say one need, for a message: ``--gpus 1..4``; empty if they do not say it."""
    flag = _BY_FIELD[field]
    value = getattr(arguments, field)
    if isinstance(value, bool):
        return as_written(field, value)
    return "" if value is None else f"{flag.name} {value}"


def as_written(field: str, value: object) -> str:
    """How a need is written, for a shell: ``--gpu-memory-gib 22.3..``."""
    flag = _BY_FIELD[field]
    match value:
        case bool():
            return flag.name if value else f"--no-{flag.name[2:]}"
        case Range(low=low, high=high):
            bounds = ["" if each is None else _bound(flag, each) for each in (low, high)]
            is_one = bounds[0] == bounds[1] and flag.reader is not None and flag.reader.alone is Alone.EXACTLY
            return f"{flag.name} {bounds[0] if is_one else '..'.join(bounds)}"
        case tuple():
            return f"{flag.name} {shlex.quote(','.join(value))}"
        case _:
            return f"{flag.name} {value}"


def _bound(flag: Flag, value: float | tuple[int, int]) -> str:
    if isinstance(value, tuple):
        return f"{value[0]}.{value[1]}"
    return f"{value * 10 // _MIB_PER_GIB / 10:g}" if flag.reader is _MEMORY else f"{value:g}"
