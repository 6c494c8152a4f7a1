"""``gpu-constructs instances``: which instance types there are for a need, and what they cost."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from string import ascii_lowercase

from gpu_constructs.cli.instance_flags import add_flags, as_written, needs_from
from gpu_constructs.cli.options import add_configuration, add_format, declared_types
from gpu_constructs.cli.output import Line, pieces, table, write_report
from gpu_constructs.errors import GpuConstructsError, InvalidValueError, argument_named, shown
from gpu_constructs.facts import RECORDED, Accelerators, Choice, InstanceNeeds, Offer, choose, instance_type
from gpu_constructs.facts.catalogue import for_one_check
from gpu_constructs.facts.drivers import gib_of
from gpu_constructs.facts.filters import SORT_ORDERS, Condition, Step, needs_like
from gpu_constructs.facts.model_memory import (
    CONTEXT,
    MEMORY_FRACTION,
    ModelMemory,
    gpus_that_hold,
    memory_of_model,
)
from gpu_constructs.facts.model_shapes import MODEL_SHAPES, ModelShape, model_shape, shape_of_size
from gpu_constructs.facts.values import dataclass

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
    add_flags(parser)
    parser.add_argument(
        "--similar",
        metavar="TYPE",
        help="types that can stand in for this one in a capacity provider; other needs replace what it asks for",
    )
    group = parser.add_argument_group("a model that its GPUs must hold")
    names = ", ".join(each.name for each in MODEL_SHAPES)
    group.add_argument("--serve", metavar="MODEL", help=f"a known model, or its checkpoint on Hugging Face: {names}")
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
        write_report(arguments, lambda: _facts(found), lambda width: _lines(found, width))
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


_MODEL_WIDTH = 19  # of an accelerator's name where 80 columns must do; FPGAs have longer ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What there is to report; `similar` are the needs of the type that others are to stand in for, as written."""

    choice: Choice
    needs: InstanceNeeds
    memory: ModelMemory | None
    similar: tuple[str, ...] = ()

    def written(self, step: Step) -> str:
        """What one step asked for."""
        value = getattr(self.needs, step.name, None)
        return step.name if value is None else as_written(step.name, value)


_HEAD = ("type", "count", "accelerator", "GiB", "vCPUs", "$/hour", "$/GPU", "")
_NUMBERS = ("count", "GiB", "vCPUs", "$/hour", "$/GPU")


def _lines(found: Listing, width: int) -> Iterator[Line]:
    """The report for people: what 80 columns are enough for; JSON has every fact."""
    if found.memory is not None:
        yield from _memory_lines(found.memory, width)
    offers = found.choice.offers
    if not offers:
        yield [(f"no instance type of the catalogue of {RECORDED} satisfies all of that", "")]
        for step in found.choice.steps:
            yield [(f"  {found.written(step)}: {step.left} left", "")]
            if not step.left:
                return
        return
    lists = dict.fromkeys((each.price.region, each.price.day) for each in offers if each.price is not None)
    letters = dict(zip(lists, ascii_lowercase, strict=False))
    yield from table(_HEAD, [_row(found, each, letters) for each in offers], width=width, right=_NUMBERS)
    yield []
    for (region, day), letter in letters.items():
        yield [(f"{letter}: on-demand list price of {region}, {day}", "aside")]
    if found.similar:
        yield from pieces("", f"similar means {' '.join(found.similar)}", width, style="aside")
    if any(each.price is None for each in offers):
        yield [("without a price: none of the lists that are shipped has one", "aside")]
    gone = sum(not each.instance_type.is_offered_anywhere for each in offers)
    if gone:
        last = "the last one is" if gone == 1 else f"the last {gone} are"
        yield [(f"{last} offered in no region of the catalogue of {RECORDED}", "aside")]


def _row(found: Listing, offer: Offer, letters: Mapping[tuple[str, str], str]) -> list[str]:
    devices, price = offer.instance_type.accelerators, offer.price
    model = "" if devices is None else devices.model
    memory = None if devices is None else devices.memory_mib
    return [
        offer.instance_type.label,
        "" if devices is None else _count(found, offer, devices),
        model if len(model) <= _MODEL_WIDTH else f"{model[: _MODEL_WIDTH - 1]}…",
        "" if memory is None else f"{gib_of(memory):.1f}",
        str(offer.instance_type.vcpus),
        _dollars(offer.usd_per_hour),
        _dollars(offer.usd_per_accelerator_hour),
        "" if price is None else letters.get((price.region, price.day), ""),
    ]


def _count(found: Listing, offer: Offer, devices: Accelerators) -> str:
    if found.memory is None or devices.is_fractional:
        return f"{offer.accelerators:g}"
    return f"{gpus_that_hold(found.memory, offer.instance_type)} of {offer.accelerators:g}"


def _dollars(amount: float | None) -> str:
    return "" if amount is None else f"{amount:.2f}"


def _facts(found: Listing) -> dict[str, object]:
    return {
        "catalogue": str(RECORDED),
        "model_memory": None if found.memory is None else _memory_facts(found.memory),
        "found": len(found.choice.offers),
        "instance_types": [_of_offer(found, each) for each in found.choice.offers],
        "similar_means": list(found.similar),
        "needs": [
            {"need": each.name, "written": found.written(each), "left": each.left} for each in found.choice.steps
        ],
    }


def _of_offer(found: Listing, offer: Offer) -> dict[str, object]:
    each, devices = offer.instance_type, offer.instance_type.accelerators
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
            "compute_capability": devices.compute_capability and "{}.{}".format(*devices.compute_capability),
            "interconnect": devices.interconnect,
        },
        "gpus_for_the_model": None if found.memory is None else gpus_that_hold(found.memory, each),
        "price": None
        if offer.price is None
        else {
            "usd_per_hour": offer.price.usd_per_hour,
            "usd_per_accelerator_hour": offer.usd_per_accelerator_hour,
            "region": offer.price.region,
            "recorded": str(offer.price.recorded),
            "dated": offer.price.dated,
            "source": offer.price.source,
        },
        "network_gbps": each.network.gbps,
        "efa": each.network.efa_supported,
        "instance_store_gb": each.local_storage_gb,
        "purchase": list(map(str, each.purchase_classes)),
        "regions": list(each.regions),
        "offered": each.is_offered_anywhere,
        "note": each.note,
        "replaced_by": each.replaced_by,
        "declared": each.declared,
        "current_generation": each.current_generation,
        "bare_metal": each.bare_metal,
        "burstable": each.burstable,
    }


def _memory_lines(memory: ModelMemory, width: int) -> Iterator[Line]:
    shape = memory.shape
    tokens = f", {memory.sequences:,} x {memory.context:,} tokens" if shape.layers else ""
    yield [(f"memory of {memory.name}{tokens}", "title")]
    rows = [(each.name, f"{each.gib:.1f}", f"{each.formula} ({each.basis})") for each in memory.parts]
    rows.append(("on one GPU", f"{memory.gib_on_each():.1f}", "all of it"))
    yield from table(("part", "GiB", "how it is worked out"), rows, width=width, right=("GiB",))
    if shape.assumed:
        yield [(f"its shape is assumed to be that of {shape.name}", "")]
    elif 0 < shape.longest < memory.context:
        yield [(f"the longest context of {shape.name} has {shape.longest:,} tokens", "warning")]
    yield [(f"a server uses {MEMORY_FRACTION:.0%} of what CUDA shows; several GPUs share weights and cache", "")]
    yield []


def _memory_facts(memory: ModelMemory) -> dict[str, object]:
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
