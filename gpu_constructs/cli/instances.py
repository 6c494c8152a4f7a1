"""``gpu-constructs instances``: which instance types there are for a need."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

from gpu_constructs.cli.configuration import add_configuration, declared_types
from gpu_constructs.cli.output import add_format, json_text
from gpu_constructs.cli.terminal import show, table, width_of
from gpu_constructs.errors import GpuConstructsError, InvalidValueError
from gpu_constructs.hardware import (
    RECORDED,
    Accelerators,
    Architecture,
    InstanceType,
    PurchaseClass,
    Vendor,
    family,
    find,
)
from gpu_constructs.hardware.overlay import for_one_check

__all__ = ["define", "run"]

_MIB_PER_GIB = 1024
_MOST_GIB = 1_000_000

_EXAMPLES = """\
examples:
  gpu-constructs instances                                    everything with an accelerator
  gpu-constructs instances --min-gpus 4 --gpu-memory-gib 40
  gpu-constructs instances --model L4 --region eu-west-1 --purchase spot
  gpu-constructs instances --family c7i --format json

Memory is what EC2 reports: an L4 of "24 GB" has 22.3 GiB.
"""

_COLUMNS = ("type", "count", "accelerator", "GiB each", "compute", "vCPUs", "GiB", "arch", "purchase", "regions")
_NUMBERS = ("count", "GiB each", "compute", "vCPUs", "GiB", "regions")


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.epilog = _EXAMPLES
    parser.add_argument("--min-gpus", type=int, metavar="N", help="whole NVIDIA GPUs at least")
    parser.add_argument("--gpu-memory-gib", type=float, metavar="X", help="memory of each NVIDIA GPU at least")
    parser.add_argument("--model", help="model of the accelerator, such as L4")
    parser.add_argument("--family", help="instance family, such as g6")
    parser.add_argument("--vendor", choices=list(map(str, Vendor)), help="who makes the accelerators")
    parser.add_argument("--region", help="a region that offered it on the day of the data")
    parser.add_argument("--purchase", choices=list(map(str, PurchaseClass)), help="how it can be bought")
    parser.add_argument("--arch", choices=list(map(str, Architecture)), help="processor architecture")
    add_configuration(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Lists the instance types that satisfy every need, smallest first.

    Returns:
        0, also where there is none.
    """
    try:
        with for_one_check(declared_types(arguments)):
            found = _found(arguments)
    except GpuConstructsError as error:
        if error.argument is not None and not error.argument.startswith("--"):
            error.argument = f"--{error.argument.replace('_', '-')}"
        raise
    if arguments.format == "json":
        sys.stdout.write(json_text([_facts(each) for each in found]))
    elif found:
        show(table(_COLUMNS, list(map(_row, found)), width=width_of(sys.stdout), right=_NUMBERS), sys.stdout)
    else:
        sys.stdout.write(f"no instance type of the catalogue of {RECORDED} satisfies all of that\n")
    return 0


def _found(arguments: argparse.Namespace) -> tuple[InstanceType, ...]:
    found = find(
        min_gpus=arguments.min_gpus,
        gpu_memory_mib=_mib(arguments.gpu_memory_gib),
        model=arguments.model,
        vendor=None if arguments.vendor is None else Vendor(arguments.vendor),
        region=arguments.region,
        purchase=None if arguments.purchase is None else PurchaseClass(arguments.purchase),
        architecture=None if arguments.arch is None else Architecture(arguments.arch),
    )
    if arguments.family is None:
        return tuple(each for each in found if each.accelerators is not None)
    members = frozenset(each.name for each in family(arguments.family))
    return tuple(each for each in found if each.name in members)


def _mib(gib: float | None) -> int | None:
    if gib is None:
        return None
    if not math.isfinite(gib) or not 0 < gib < _MOST_GIB:
        raise InvalidValueError(
            f"{gib:g} is not a size of memory", argument="--gpu-memory-gib", allowed="a number above 0"
        )
    return math.ceil(gib * _MIB_PER_GIB)


def _row(each: InstanceType) -> Sequence[str]:
    devices = each.accelerators
    return (
        each.label,
        "" if devices is None else _count(devices),
        "" if devices is None else devices.model,
        "" if devices is None or devices.memory_mib is None else _gib_each(devices.memory_mib),
        "" if devices is None or devices.compute_capability is None else _capability(devices.compute_capability),
        str(each.vcpus),
        f"{each.memory_mib / _MIB_PER_GIB:g}",
        str(each.architecture),
        " ".join(map(str, each.purchase_classes)),
        "" if each.declared else str(len(each.regions)),
    )


def _gib_each(memory_mib: int) -> str:
    """Rounded down, so that it may be asked for."""
    return f"{memory_mib * 10 // _MIB_PER_GIB / 10:.1f}"


def _count(devices: Accelerators) -> str:
    return f"{devices.logical_count * devices.partition if devices.is_fractional else devices.count:g}"


def _capability(pair: tuple[int, int]) -> str:
    return f"{pair[0]}.{pair[1]}"


def _facts(each: InstanceType) -> dict[str, object]:
    devices = each.accelerators
    return {
        "name": each.name,
        "vcpus": each.vcpus,
        "memory_mib": each.memory_mib,
        "architecture": str(each.architecture),
        "gpus": each.gpus,
        "accelerators": None
        if devices is None
        else {
            "vendor": str(devices.vendor),
            "model": devices.model,
            "count": devices.count,
            "partition": devices.partition,
            "memory_mib": devices.memory_mib,
            "compute_capability": None
            if devices.compute_capability is None
            else _capability(devices.compute_capability),
        },
        "purchase": list(map(str, each.purchase_classes)),
        "regions": list(each.regions),
        "note": each.note,
        "replaced_by": each.replaced_by,
        "declared": each.declared,
    }
