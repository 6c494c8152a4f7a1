"""What ``gpu-constructs instances`` found, as a table and as JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from string import ascii_lowercase

from gpu_constructs.check.planning.model_memory import MEMORY_FRACTION, ModelMemory, gpus_that_hold
from gpu_constructs.cli.output import Line, pieces, table, width_of
from gpu_constructs.facts import RECORDED, Accelerators, Choice, Offer
from gpu_constructs.facts.prices import Price
from gpu_constructs.facts.values import dataclass

_MIB_PER_GIB = 1024
_MODEL_WIDTH = 19  # of an accelerator's name where 80 columns must do; FPGAs have longer ones
_EXAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What there is to report.

    Attributes:
        choice: The types.
        shown: How many of them at most; None for all.
        memory: What a model needs, where one is asked for.
        written: How a need was written, by its name.
        just_missed: Models of GPUs that are left out because a GB is less than a GiB.
        similar: The needs of the type that others are to stand in for, as they are written.
    """

    choice: Choice
    shown: int | None
    memory: ModelMemory | None
    written: Callable[[str], str]
    just_missed: tuple[str, ...] = ()
    similar: tuple[str, ...] = ()

    @property
    def offers(self) -> tuple[Offer, ...]:
        """The types that are shown."""
        return self.choice.offers[: self.shown]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column of a table: its title, its cell for an offer, and whether it has numbers."""

    title: str
    cell: Callable[[Found, Offer], str]
    is_number: bool = False


def as_lines(found: Found) -> Iterator[Line]:
    """The report for people."""
    if found.memory is not None:
        yield from memory_lines(found.memory)
    if not found.offers:
        yield from _nothing(found)
        yield from _of_gigabytes(found)
        return
    lists = {each: letter for letter, each in zip(ascii_lowercase, _lists(found), strict=False)}
    rows = [
        [lists.get(_list_of(offer), "") if column is _LIST else column.cell(found, offer) for column in _COLUMNS]
        for offer in found.offers
    ]
    numbers = [each.title for each in _COLUMNS if each.is_number]
    yield from table([each.title for each in _COLUMNS], rows, width=width_of(sys.stdout), right=numbers)
    yield []
    for (region, day), letter in lists.items():
        yield [(f"{letter}: on-demand list price of {region}, {day}", "aside")]
    yield from _remarks(found)


def _remarks(found: Found) -> Iterator[Line]:
    if found.similar:
        text = f"similar means {' '.join(found.similar)}"
        yield from pieces("", text, width_of(sys.stdout), style="aside")
    yield from _of_gigabytes(found)
    if any(each.usd_per_hour is None for each in found.offers):
        yield [("without a price: none of the lists that are shipped has one", "aside")]
    gone = sum(not each.instance_type.is_offered_anywhere for each in found.offers)
    if gone:
        last = "the last one is" if gone == 1 else f"the last {gone} are"
        yield [(f"{last} offered in no region of the catalogue of {RECORDED}", "aside")]
    if len(found.offers) < len(found.choice.offers):
        yield [(f"the first {len(found.offers)} of {len(found.choice.offers)}", "aside")]


def _of_gigabytes(found: Found) -> Iterator[Line]:
    if found.just_missed:
        names = ", ".join(found.just_missed)
        text = f"left out by {found.written('gpu_memory_mib')}: {names}, sold with so many GB, which are fewer GiB"
        yield from pieces("", text, width_of(sys.stdout), style="aside")


def _nothing(found: Found) -> Iterator[Line]:
    """Which need leaves nothing over, and what there would be without."""
    yield [(f"no instance type of the catalogue of {RECORDED} satisfies all of that", "")]
    for step in found.choice.steps:
        yield [(f"  {found.written(step.name)}: {step.left} left", "")]
        if not step.left:
            break
    for each in found.choice.relaxed:
        names = ", ".join(offer.instance_type.name for offer in each.offers[:_EXAMPLES])
        yield [(f"without {found.written(each.name)} there {_are(len(each.offers))}: {names}{_more(each.offers)}", "")]
    if not found.choice.relaxed:
        yield [("without any single one of these needs there is still none", "")]


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


def _more(offers: Sequence[Offer]) -> str:
    return ", …" if len(offers) > _EXAMPLES else ""


def _lists(found: Found) -> Iterator[tuple[str, str]]:
    yield from dict.fromkeys(_list_of(each) for each in found.offers if each.price is not None)


def _list_of(offer: Offer) -> tuple[str, str]:
    return ("", "") if offer.price is None else (offer.price.region, offer.price.day)


def _count(found: Found, offer: Offer) -> str:
    devices = offer.instance_type.accelerators
    if devices is None:
        return ""
    needed = (
        None if found.memory is None or devices.is_fractional else gpus_that_hold(found.memory, offer.instance_type)
    )
    return f"{offer.accelerators:g}" if needed is None else f"{needed} of {offer.accelerators:g}"


def _model(_: Found, offer: Offer) -> str:
    devices = offer.instance_type.accelerators
    name = "" if devices is None else devices.model
    return name if len(name) <= _MODEL_WIDTH else f"{name[: _MODEL_WIDTH - 1]}…"


def _gib_each(_: Found, offer: Offer) -> str:
    """Rounded down, so that it may be asked for."""
    devices = offer.instance_type.accelerators
    memory = None if devices is None else devices.memory_mib
    return "" if memory is None else f"{memory * 10 // _MIB_PER_GIB / 10:.1f}"


def _capability(devices: Accelerators) -> str | None:
    pair = devices.compute_capability
    return None if pair is None else f"{pair[0]}.{pair[1]}"


def _dollars(amount: float | None) -> str:
    return "" if amount is None else f"{amount:.2f}"


_LIST = _Column(title="", cell=lambda _found, _offer: "")
_COLUMNS = (
    _Column(title="type", cell=lambda _, offer: offer.instance_type.label),
    _Column(title="count", cell=_count, is_number=True),
    _Column(title="accelerator", cell=_model),
    _Column(title="GiB", cell=_gib_each, is_number=True),
    _Column(title="vCPUs", cell=lambda _, offer: str(offer.instance_type.vcpus), is_number=True),
    _Column(title="$/hour", cell=lambda _, offer: _dollars(offer.usd_per_hour), is_number=True),
    _Column(title="$/GPU", cell=lambda _, offer: _dollars(offer.usd_per_accelerator_hour), is_number=True),
    _LIST,
)
"""What 80 columns are enough for; JSON has every fact."""


def as_facts(found: Found) -> dict[str, object]:
    """The report for programs."""
    return {
        "catalogue": str(RECORDED),
        "model_memory": None if found.memory is None else memory_facts(found.memory),
        "found": len(found.choice.offers),
        "instance_types": [_facts(found, each) for each in found.offers],
        "similar_means": list(found.similar),
        "just_missed": list(found.just_missed),
        "needs": [
            {"need": each.name, "written": found.written(each.name), "left": each.left} for each in found.choice.steps
        ],
        "without": [
            {
                "need": each.name,
                "written": found.written(each.name),
                "found": len(each.offers),
                "such_as": [offer.instance_type.name for offer in each.offers[:_EXAMPLES]],
            }
            for each in found.choice.relaxed
        ],
    }


def _facts(found: Found, offer: Offer) -> dict[str, object]:
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
            "compute_capability": _capability(devices),
            "interconnect": devices.interconnect,
        },
        "gpus_for_the_model": None if found.memory is None else gpus_that_hold(found.memory, each),
        "price": None if offer.price is None else _price_facts(offer, offer.price),
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


def _price_facts(offer: Offer, price: Price) -> dict[str, object]:
    return {
        "usd_per_hour": price.usd_per_hour,
        "usd_per_accelerator_hour": offer.usd_per_accelerator_hour,
        "region": price.region,
        "recorded": str(price.recorded),
        "dated": price.dated,
        "source": price.source,
    }


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
