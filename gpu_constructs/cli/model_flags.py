"""The model of ``gpu-constructs instances`` as it is written, and the GPU memory that it needs."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator

from gpu_constructs.cli.terminal import Line, show, table, width_of
from gpu_constructs.errors import GpuConstructsError, InvalidValueError, argument_named, shown
from gpu_constructs.planning.model_memory import (
    CACHE_FORMATS,
    CONTEXT,
    MEMORY_FRACTION,
    ModelMemory,
    kv_bytes_per_token,
    memory_of_model,
)
from gpu_constructs.planning.model_shapes import MODEL_SHAPES, ModelShape, model_shape, shape_of_size

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


def memory_lines(memory: ModelMemory) -> Iterator[Line]:
    """The memory of a model part by part, for people."""
    shape = memory.shape
    name = f"a model of {shape.parameters:g} billion parameters" if shape.assumed else shape.name
    tokens = f", {memory.sequences:,} x {memory.context:,} tokens" if shape.layers else ""
    yield [(f"memory of {name} in {memory.precision}{tokens}", "title")]
    rows = [(each.name, f"{each.gib:.1f}", f"{each.formula} ({each.basis})") for each in memory.parts]
    rows.append(("on one GPU", f"{memory.gib_on_each():.1f}", "all of it"))
    yield from table(("part", "GiB", "how it is worked out"), rows, width=width_of(sys.stdout), right=("GiB",))
    if shape.assumed:
        yield [(f"its shape is assumed to be that of {shape.name}", "")]
    if (longest := _too_short(memory)) is not None:
        text = f"the longest context of {shape.name} has {longest:,} tokens"
        yield [(text, "warning")]
    yield [(f"a server uses {MEMORY_FRACTION:.0%} of what CUDA shows; several GPUs share weights and cache", "")]
    yield []


def _too_short(memory: ModelMemory) -> int | None:
    """The longest context of a model, where another one is asked for that is longer."""
    shape = memory.shape
    return shape.longest if not shape.assumed and 0 < shape.longest < memory.context else None


def memory_facts(memory: ModelMemory) -> dict[str, object]:
    """The same for programs."""
    return {
        "model": None if memory.shape.assumed else memory.shape.name,
        "shape_of": memory.shape.name,
        "parameters_billion": memory.shape.parameters,
        "precision": memory.precision,
        "context": memory.context,
        "longest_context": None if memory.shape.assumed else memory.shape.longest or None,
        "shape_source": memory.shape.source or None,
        "sequences": memory.sequences,
        "parts": [
            {
                "name": each.name,
                "gib": round(each.gib, 3),
                "formula": each.formula,
                "basis": str(each.basis),
                "shared_by_gpus_at_most": each.copies_from,
            }
            for each in memory.parts
        ],
        "gib_on_one_gpu": round(memory.gib_on_each(), 3),
        "memory_fraction": MEMORY_FRACTION,
    }


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
