"""``gpu-constructs instances``: which instance types there are for a need, and what they cost."""

from __future__ import annotations

import argparse
import re

from gpu_constructs.check.planning.model_memory import (
    CONTEXT,
    ModelMemory,
    gpus_that_hold,
    memory_of_model,
)
from gpu_constructs.check.planning.model_shapes import MODEL_SHAPES, ModelShape, model_shape, shape_of_size
from gpu_constructs.cli.instance_flags import add_flags, as_written, needs_from
from gpu_constructs.cli.instance_report import Listing, as_facts, as_lines
from gpu_constructs.cli.options import add_configuration, add_format, declared_types
from gpu_constructs.cli.output import write_report
from gpu_constructs.errors import GpuConstructsError, InvalidValueError, argument_named, shown
from gpu_constructs.facts import InstanceNeeds, choose, instance_type
from gpu_constructs.facts.catalogue import for_one_check
from gpu_constructs.facts.filters import SORT_ORDERS, Condition, needs_like

EXAMPLES = """\
examples:
  gpu-constructs instances                everything with an accelerator
  gpu-constructs instances --gpus 4..8 --gpu-memory-gib 40 --price ..20
  gpu-constructs instances --model L4,L40S --region eu-north-1 --purchase spot
  gpu-constructs instances --similar g6.12xlarge --purchase spot
  gpu-constructs instances --serve llama-3.1-70b --precision fp8 --context 32k
  gpu-constructs instances --family c7i --format json

A RANGE is N..M, N.., ..M or N, which is exactly N where nothing else is said.
Memory is what EC2 reports: an L4 of "24 GB" has 22.3 GiB.

exit codes:
  0 also where there is none: the report says which need left nothing over, 2 wrong usage
"""

_SIZE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)([mbt])", re.IGNORECASE)
_BILLIONS = {"m": 0.001, "b": 1.0, "t": 1000.0}
_TOKENS = re.compile(r"([0-9]{1,9})(k|m)?", re.IGNORECASE)
_TIMES = {"": 1, "k": 1024, "m": 1024 * 1024}


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    add_flags(parser)
    parser.add_argument(
        "--similar",
        metavar="TYPE",
        help="types that can stand in for this one in a capacity provider; other needs replace what it asks for",
    )
    group = parser.add_argument_group("a model that its GPUs must hold")
    names = ", ".join(each.name for each in MODEL_SHAPES)
    group.add_argument("--serve", metavar="MODEL", help=f"a known model, one of {names}")
    group.add_argument("--model-size", metavar="SIZE", help="parameters of any other model, such as 70B")
    group.add_argument("--context", metavar="TOKENS", help=f"tokens of a sequence, such as 32k; default: {CONTEXT:,}")
    group.add_argument("--sequences", metavar="N", help="sequences at a time; default: 1")
    parser.add_argument("--sort-by", choices=list(SORT_ORDERS), default="price", help="default: price")
    add_configuration(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Lists the instance types that satisfy every need, cheapest first; 0 also where there is none."""
    with for_one_check(declared_types(arguments)):
        found = _found(arguments)
        write_report(arguments, lambda: as_facts(found), lambda width: as_lines(found, width))
    return 0


def _found(arguments: argparse.Namespace) -> Listing:
    memory = _memory(arguments)
    needs, like = needs_from(arguments), InstanceNeeds()
    also: dict[str, Condition] = {}
    if memory is not None:
        needs = needs.over(InstanceNeeds(precision=memory.precision))
        also[f"the GPU memory of {memory.name}"] = lambda offer: gpus_that_hold(memory, offer.instance_type) is not None
    if arguments.similar is not None:
        with argument_named("--similar"):
            like = needs_like(instance_type(arguments.similar))
    own = {name for name, _ in needs.given()}
    needs = needs.over(like)
    return Listing(
        choice=choose(needs, also=also, sort_by=arguments.sort_by),
        needs=needs,
        memory=memory,
        similar=tuple(as_written(name, value) for name, value in like.given() if name not in own),
    )


def _memory(arguments: argparse.Namespace) -> ModelMemory | None:
    """The memory that the model of the arguments needs; None where they name none."""
    shape = _shape(arguments)
    if shape is None:
        beside = [each for each in ("context", "sequences") if getattr(arguments, each) is not None]
        if beside:
            raise InvalidValueError("there is no model", argument=f"--{beside[0]}", fix="add --serve or --model-size")
        return None
    try:
        return memory_of_model(
            shape,
            precision=arguments.precision,
            context=CONTEXT if arguments.context is None else _tokens("context", arguments.context),
            sequences=1 if arguments.sequences is None else _tokens("sequences", arguments.sequences),
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


def _billions(text: str) -> float:
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise InvalidValueError(f"{shown(text)} is not the size of a model", value=text, allowed="such as 70B or 350M")
    return float(found[1]) * _BILLIONS[found[2].lower()]


def _tokens(argument: str, text: str) -> int:
    found = _TOKENS.fullmatch(text.strip())
    if not found or not (count := int(found[1]) * _TIMES[(found[2] or "").lower()]):
        raise InvalidValueError(
            f"{shown(text)} is not a count", argument=argument, value=text, allowed="such as 4096, or 32k for 32,768"
        )
    return count
