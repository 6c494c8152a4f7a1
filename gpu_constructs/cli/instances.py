"""``gpu-constructs instances``: which instance types there are for a need, and what they cost."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial

from gpu_constructs.check.planning.model_memory import (
    CACHE_FORMATS,
    CONTEXT,
    ModelMemory,
    gpus_that_hold,
    kv_bytes_per_token,
    memory_of_model,
)
from gpu_constructs.check.planning.model_shapes import MODEL_SHAPES, ModelShape, model_shape, shape_of_size
from gpu_constructs.cli.instance_flags import add_flags, as_written, needs_from, written
from gpu_constructs.cli.instance_report import Found, as_facts, as_lines
from gpu_constructs.cli.output import add_configuration, add_format, declared_types, json_text, show, table, width_of
from gpu_constructs.errors import GpuConstructsError, InvalidValueError, UnknownNameError, argument_named, shown
from gpu_constructs.facts import InstanceNeeds, accelerated, choose, instance_type
from gpu_constructs.facts.budget import NAME
from gpu_constructs.facts.catalogue import for_one_check
from gpu_constructs.facts.filters import Condition, needs_like
from gpu_constructs.facts.search import SORT_ORDERS

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
    add_format(parser, "names")


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
        show(as_lines(found), sys.stderr if form == "names" else sys.stdout)


_SIZE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)([mbt])", re.IGNORECASE)
_BILLIONS = {"m": 0.001, "b": 1.0, "t": 1000.0}
_TOKENS = re.compile(r"([0-9]{1,9})(k|m)?", re.IGNORECASE)
_TIMES = {"": 1, "k": 1024, "m": 1024 * 1024}


def add_model_flags(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that describe a model."""
    group = parser.add_argument_group("a model that its GPUs must hold")
    group.add_argument("--serve", metavar="MODEL", help="a known model, such as llama-3.1-70b")
    group.add_argument("--list-models", action="store_true", help="list the known models, and nothing else")
    group.add_argument("--model-size", metavar="SIZE", help="parameters of any other model, such as 70B")
    group.add_argument("--context", metavar="TOKENS", help=f"tokens of a sequence, such as 32k; default: {CONTEXT:,}")
    group.add_argument("--sequences", metavar="N", help="sequences at a time; default: 1")
    group.add_argument("--kv-precision", choices=list(CACHE_FORMATS), help="number format of the cache; default: bf16")


def memory_from(arguments: argparse.Namespace) -> ModelMemory | None:
    """The memory that the model of the arguments needs; None where they name none.

    Raises:
        GpuConstructsError: One of them cannot be read, or means nothing.
    """
    shape = _shape(arguments)
    if shape is None:
        beside = [each for each in ("context", "sequences", "kv_precision") if getattr(arguments, each) is not None]
        if beside:
            raise InvalidValueError(
                "there is no model", argument=f"--{beside[0].replace('_', '-')}", fix="add --serve or --model-size"
            )
        return None
    context = _read("--context", _tokens, arguments.context) or CONTEXT
    sequences = _read("--sequences", _tokens, arguments.sequences) or 1
    try:
        return memory_of_model(
            shape,
            precision=arguments.precision,
            context=context,
            sequences=sequences,
            kv_precision=arguments.kv_precision or "bf16",
        )
    except GpuConstructsError as error:
        error.argument = f"--{error.argument or 'precision'}"
        raise


def _shape(arguments: argparse.Namespace) -> ModelShape | None:
    if arguments.serve is not None and arguments.model_size is not None:
        raise InvalidValueError("a known model has its size", argument="--model-size", fix="leave one of both out")
    if arguments.serve is not None:
        with argument_named("--serve"):
            return model_shape(arguments.serve)
    if arguments.model_size is not None:
        with argument_named("--model-size"):
            return shape_of_size(_billions(arguments.model_size))
    return None


def _read(name: str, read: Callable[[str], int], text: str | None) -> int | None:
    if text is None:
        return None
    with argument_named(name):
        return read(text)


def _billions(text: str) -> float:
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise InvalidValueError(f"{shown(text)} is not the size of a model", value=text, allowed="such as 70B or 350M")
    return float(found[1]) * _BILLIONS[found[2].lower()]


def _tokens(text: str) -> int:
    found = _TOKENS.fullmatch(text.strip())
    if not found or not (count := int(found[1]) * _TIMES[(found[2] or "").lower()]):
        raise InvalidValueError(f"{shown(text)} is not a count", value=text, allowed="such as 4096, or 32k for 32,768")
    return count


def model_written(arguments: argparse.Namespace) -> str:
    """How the arguments say the model, for a message."""
    flags = ("serve", "model_size", "precision", "context", "sequences", "kv_precision")
    given = ((each, getattr(arguments, each)) for each in flags)
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in given if value is not None)


def model_facts() -> list[dict[str, object]]:
    """The known models, for programs."""
    return [
        {
            "name": each.name,
            "parameters_billion": each.parameters,
            "precision": each.precision,
            "longest_context": each.longest or None,
            "shape_source": each.source or None,
            "weights_gib": round(_weights_gib(each), 1),
            "kv_kib_per_token": kv_bytes_per_token(each) / 1024,
        }
        for each in MODEL_SHAPES
    ]


def show_models() -> None:
    """Writes a table of the known models."""
    head = ("model", "billion", "published in", "weights, GiB", "KiB of KV cache a token")
    rows = [
        (each.name, f"{each.parameters:g}", each.precision, f"{_weights_gib(each):.1f}", _kib(each))
        for each in MODEL_SHAPES
    ]
    show(table(head, rows, width=width_of(sys.stdout), right=(head[1], *head[3:])), sys.stdout)


def _kib(shape: ModelShape) -> str:
    return f"{kv_bytes_per_token(shape) / 1024:g}" if shape.layers else ""


def _weights_gib(shape: ModelShape) -> float:
    return memory_of_model(shape).parts[0].gib
