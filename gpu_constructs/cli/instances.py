"""``gpu-constructs instances``: which instance types there are for a need, and what they cost."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from functools import partial

from gpu_constructs.budget import NAME
from gpu_constructs.cli.configuration import add_configuration, declared_types
from gpu_constructs.cli.instance_flags import add_flags, as_written, needs_from, written
from gpu_constructs.cli.instance_report import Found, as_facts, as_lines
from gpu_constructs.cli.model_flags import add_model_flags, memory_from, model_facts, model_written, show_models
from gpu_constructs.cli.output import add_format, json_text
from gpu_constructs.cli.terminal import show
from gpu_constructs.errors import InvalidValueError, UnknownNameError, argument_named, shown
from gpu_constructs.hardware import InstanceNeeds, accelerated, choose, instance_type
from gpu_constructs.hardware.catalogue import for_one_check
from gpu_constructs.hardware.filters import Condition, needs_like
from gpu_constructs.hardware.search import SORT_ORDERS
from gpu_constructs.planning.model_memory import ModelMemory, gpus_that_hold

_MODEL = "model"

_EXAMPLES = """\
examples:
  gpu-constructs instances                everything with an accelerator
  gpu-constructs instances --gpus 4..8 --gpu-memory-gib 40 --price ..20
  gpu-constructs instances --model L4,L40S --region eu-north-1 --purchase spot
  gpu-constructs instances --similar g6.12xlarge --purchase spot
  gpu-constructs instances --serve llama-3.1-70b --precision fp8 --context 32k
  gpu-constructs instances --family c7i --format json

A RANGE is N..M, N.., ..M or N, which is exactly N where nothing else is said.
Memory is what EC2 reports: an L4 of "24 GB" has 22.3 GiB. The exit code is 0,
also where there is none: the report says which need left nothing over.
"""

_MOST_SHOWN = 10_000


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.epilog = _EXAMPLES
    add_flags(parser)
    parser.add_argument(
        "--similar",
        metavar="TYPE",
        help="types that can stand in for this one in a capacity provider; other needs replace what it asks for",
    )
    add_model_flags(parser)
    orders = ", ".join(SORT_ORDERS)
    parser.add_argument("--sort-by", metavar="ORDER", default="price", help=f"{orders}; default: price")
    parser.add_argument(
        "--sort-direction",
        choices=["asc", "desc"],
        default="asc",
        help="default: asc; types that no region offers come last in both",
    )
    parser.add_argument("--max-results", metavar="N", help="the first N; default: all")
    add_configuration(parser)
    add_format(parser, "wide", "names")


def run(arguments: argparse.Namespace) -> int:
    """Lists the instance types that satisfy every need, cheapest first.

    Returns:
        0, also where there is none.
    """
    if arguments.list_models:
        if arguments.format == "json":
            sys.stdout.write(json_text(model_facts()))
        else:
            show_models()
        return 0
    with for_one_check(declared_types(arguments)):
        _write(_found(arguments), arguments.format)
    return 0


def _found(arguments: argparse.Namespace) -> Found:
    memory = memory_from(arguments)
    own = needs_from(arguments)
    of_model = InstanceNeeds() if memory is None else InstanceNeeds(precision=memory.precision)
    like = _needs_of_similar(arguments.similar)
    needs = own.over(of_model).over(like)
    similar = _implied(like, beside=own.over(of_model))
    implied = {name: f"--similar {arguments.similar} ({text})" for name, text in similar.items()}
    implied |= {name: f"{model_written(arguments)} ({text})" for name, text in _implied(of_model, beside=own).items()}
    return Found(
        choice=choose(
            needs,
            also=() if memory is None else (_holding(memory),),
            sort_by=_sort_order(arguments.sort_by),
            descending=arguments.sort_direction == "desc",
        ),
        shown=_most(arguments.max_results),
        memory=memory,
        just_missed=_just_missed(needs),
        written=partial(_written, arguments, implied),
        similar=tuple(similar.values()),
    )


def _just_missed(needs: InstanceNeeds) -> tuple[str, ...]:
    """Models of GPUs that are sold with as many GB as GiB are asked for, of which there are fewer in them."""
    asked = needs.gpu_memory_mib
    if asked is None or asked.low is None:
        return ()
    gigabytes = asked.low / 1024
    found = {
        each.accelerators.model: each.gpu_memory_mib
        for each in accelerated()
        if each.accelerators is not None and each.gpu_memory_mib is not None and not each.accelerators.is_fractional
    }
    return tuple(
        name for name, mib in found.items() if mib < asked.low and round(mib * 1.048576 / 1000, 1) >= gigabytes
    )


def _holding(memory: ModelMemory) -> Condition:
    return Condition(name=_MODEL, holds=lambda offer: gpus_that_hold(memory, offer.instance_type) is not None)


def _needs_of_similar(name: str | None) -> InstanceNeeds:
    if name is None:
        return InstanceNeeds()
    with argument_named("--similar"):
        return needs_like(instance_type(name))


def _implied(needs: InstanceNeeds, *, beside: InstanceNeeds) -> dict[str, str]:
    """What needs ask for that others do not, as it is written, by name."""
    others = frozenset(name for name, _ in beside.given())
    return {name: as_written(name, value) for name, value in needs.given() if name not in others}


def _written(arguments: argparse.Namespace, implied: Mapping[str, str], need: str) -> str:
    if need == _MODEL:
        return model_written(arguments)
    return implied.get(need) or written(need, arguments)


def _most(written: str | None) -> int | None:
    if written is None:
        return None
    is_count = written.isascii() and written.isdecimal() and len(written) <= len(str(_MOST_SHOWN))
    if not is_count or not 0 < int(written) <= _MOST_SHOWN:
        raise InvalidValueError(
            f"got {written[:NAME]}", argument="--max-results", value=written, allowed=f"1 to {_MOST_SHOWN:,}"
        )
    return int(written)


def _sort_order(written: str) -> str:
    if written not in SORT_ORDERS:
        raise UnknownNameError(
            f"no order {shown(written)}",
            argument="--sort-by",
            value=written,
            nearest=tuple(get_close_matches(written[:NAME], SORT_ORDERS, n=1, cutoff=0.6)),
            otherwise=f"one of {', '.join(SORT_ORDERS)}",
        )
    return written


def _write(found: Found, form: str) -> None:
    names = [each.instance_type.name for each in found.offers]
    if form == "json":
        sys.stdout.write(json_text(as_facts(found)))
    elif form == "names" and names:
        sys.stdout.write("".join(f"{each}\n" for each in names))
    else:
        show(as_lines(found, wide=form == "wide"), sys.stderr if form == "names" else sys.stdout)
