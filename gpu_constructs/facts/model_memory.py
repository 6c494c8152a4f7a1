"""How much GPU memory a model needs while it is served: weights, cache of keys and values, and what is beside them.

An estimate before anything runs. The size of weights and cache follows from the shape of the model; what a server adds
is assumed, and each part says which. Weights and cache are split over GPUs with tensor parallelism, as by vLLM, whose
defaults are taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from math import prod

from gpu_constructs.errors import InvalidValueError, counted, shown
from gpu_constructs.facts.drivers import cuda_memory_mib, gib_of, most_gpu_memory_mib
from gpu_constructs.facts.gpu_features import precision as number_format
from gpu_constructs.facts.model import InstanceType, Vendor
from gpu_constructs.facts.model_shapes import ModelShape, model_named
from gpu_constructs.facts.servers import ServerFacts, uses_other_hosts
from gpu_constructs.facts.values import StrEnum, dataclass

CONTEXT = 8192
"""Tokens of a sequence where nothing else is said."""

MEMORY_FRACTION = 0.92
"""The part of a GPU's memory that vLLM uses: ``--gpu-memory-utilization`` of vLLM 0.33, which was 0.9 before."""

MARGIN = 1.02
"""By how much the parameters of a model times its bytes were more than what was published."""

# A scale for each block is part of a format: 8 bits for 32 values of MXFP4, 8 for 16 of NVFP4
# (https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf,
# https://developer.nvidia.com/blog/introducing-nvfp4-for-efficient-and-accurate-low-precision-inference), 16 and a zero
# point of 4 for 128 of AWQ and GPTQ, and 32 for 64 of bitsandbytes' NF4 (https://arxiv.org/abs/2305.14314).
BITS: Mapping[str, float] = {
    "fp64": 64,
    "fp32": 32,
    "tf32": 32,
    "fp16": 16,
    "bf16": 16,
    "int8": 8,
    "fp8": 8,
    "fp8-weights": 8,
    "fp6": 6,
    "fp4": 4.5,
    "awq": 4.15625,
    "gptq": 4.15625,
    "mxfp4": 4.25,
    "bitsandbytes": 4.5,
}
"""Bits of one parameter in each number format."""

_CACHED = 2  # bytes of one value of the cache, in 16 bits
_GIB = 1 << 30
# What quantised checkpoints keep of the layers that are no matrices of a block: `modules_to_not_convert` of AWQ and
# bitsandbytes, `lm_head=False` of GPTQ, and "ignore": ["lm_head"] of compressed-tensors and ModelOpt.
_WIDE = 16
# vLLM's own bound, where another program that unpacks the format takes older GPUs: get_min_capability in
# https://github.com/vllm-project/vllm/blob/007d5005/vllm/model_executor/layers/quantization/mxfp4.py
_LEAST_OF_VLLM: Mapping[str, tuple[int, int]] = {"mxfp4": (8, 0)}
_BATCHED_TOKENS = 8192  # --max-num-batched-tokens of vLLM 0.33 for a server on a large GPU
# A layer holds the hidden values twice, both halves of the gate and their product at once: 2 + 3 * 3.5 = 12.5 times the
# hidden size in Llama 3.1, and a quarter more for what the allocator keeps. 0.2 to 9.4 GiB were seen.
_HELD_AT_ONCE = 16
_OTHER_ACTIVATIONS_GIB = 2.0  # 1.8 were seen of SDXL
_RUNTIME_GIB = 1.0  # 0.1 to 0.3 outside of PyTorch, 0.3 to 2.5 of CUDA graphs were seen
# Weights that are not all on the GPUs, another context, and options in a file.
_CHANGES_SIZE = r"--(?:.*offload|(?:hf-)?config|rope-|.*override|load-format|torchao)"
_QUANTIZATION = frozenset({"--quantization", "-q", "--quantize"})
_CONTEXT = frozenset({"--max-model-len", "--context-length", "--max-total-tokens"})
_FRACTION = frozenset({"--gpu-memory-utilization", "--mem-fraction-static", "--cuda-memory-fraction"})
# human_readable_int of https://github.com/vllm-project/vllm/blob/main/vllm/engine/arg_utils.py
_UNITS = {"": 1, "k": 1000, "m": 1000**2, "K": 1024, "M": 1024**2}
_MOST_TOKENS = 100_000_000
_MOST_SEQUENCES = 100_000


class Basis(StrEnum):
    """What a number rests on."""

    MEASURED = "measured"
    DERIVED = "derived"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of the memory.

    Attributes:
        formula: How it is worked out, with its numbers.
        basis: What the number rests on.
        copies_from: GPUs beyond which a further one holds a copy instead of a smaller part; None if all share it.
    """

    name: str
    gib: float
    formula: str
    basis: Basis
    copies_from: int | None = None

    def on_each(self, gpus: int) -> float:
        """How much of it each GPU holds in GiB, of so many."""
        return self.gib / (gpus if self.copies_from is None else min(gpus, self.copies_from))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMemory:
    """The memory of a model, for `told` GPUs (0: of no known number), in `copies` that have all the weights each."""

    shape: ModelShape
    precision: str
    context: int
    sequences: int
    parts: tuple[Part, ...]
    fraction: float = MEMORY_FRACTION
    by_vllm: bool = False
    told: int = 0
    copies: int = 1

    @property
    def name(self) -> str:
        """The model, as it is called in reports."""
        shape = self.shape
        what = f"a model of {shape.parameters:g} billion parameters" if shape.assumed else shape.name
        return f"{what} in {self.precision}"

    def shared_by(self, gpus: int) -> int:
        """How many of so many GPUs share the weights."""
        return max(min(self.told or gpus, gpus) // self.copies, 1)

    def gib_on_each(self, gpus: int = 1) -> float:
        """What each GPU must hold in GiB, of so many that share the model."""
        return sum(each.on_each(gpus) for each in self.parts)

    def too_large_for(self, instance_type: InstanceType, count: int, share: float | None = None) -> str:
        """Why so many GPUs of a host, or a share of one in MiB, do not hold its weights; empty where they may."""
        count = self.shared_by(count)
        most, usable = share or most_gpu_memory_mib(instance_type), cuda_memory_mib(instance_type) or 0
        weights, there = self.parts[0].gib * 1024 / MARGIN, f"{counted(count, 'GPU')} of {instance_type}"
        if share is not None:
            there = "the share"
        elif self.copies > 1:
            there = f"the {counted(count, 'GPU')} of each of its {self.copies} copies ({instance_type})"
        # A share shows the whole GPU (`served_memory`), of which vLLM's part may be less than the share.
        used = count * usable * self.fraction if share is None else min(share, usable * self.fraction)
        if most is None:
            return ""
        if weights > count * most:
            has = count * min(most, instance_type.gpu_memory_mib or most)
            return f"{there} {'has' if count == 1 else 'have'} {gib_of(has):g} GiB"
        if self.by_vllm and weights > used:
            # It starts with room for what it caches or not at all: "No available memory for the cache blocks".
            part = f"--gpu-memory-utilization {self.fraction:g}"
            return f"vLLM takes {used / 1024:.1f} GiB of {there} for weights and cache ({part})"
        return ""


def fraction_of(said: Mapping[str, object]) -> float:
    """The part of a GPU's memory that a server with these arguments uses."""
    told = str(said_of(said, _FRACTION))
    return float(told) if re.fullmatch(r"0?\.[0-9]{1,8}|1(?:\.0{1,8})?", told) else MEMORY_FRACTION


def memory_of_model(
    shape: ModelShape, *, precision: str | None = None, context: int = CONTEXT, sequences: int = 1
) -> ModelMemory:
    """Works out the memory of a model.

    Args:
        shape: The model, from `model_shape` or `shape_of_size`.
        precision: Number format of its weights; that in which it is published if left out.
        context: Tokens of each sequence, prompt and answer together.
        sequences: Sequences at a time.

    Raises:
        InvalidValueError: A value can mean nothing, such as a context without tokens.
        UnknownNameError: There is no such number format.
    """
    weights = number_format(precision or shape.precision).name
    _require_count("context", context, _MOST_TOKENS)
    _require_count("sequences", sequences, _MOST_SEQUENCES)
    parts = (
        _weights(shape, weights),
        *([_cache(shape, context, sequences)] if shape.layers else ()),
        _activations(shape),
        Part(
            name="runtime",
            gib=_RUNTIME_GIB,
            formula="on each GPU: CUDA graphs, NCCL, CUDA itself",
            basis=Basis.ASSUMED,
            copies_from=1,
        ),
    )
    return ModelMemory(shape=shape, precision=weights, context=context, sequences=sequences, parts=parts)


def gpus_that_hold(memory: ModelMemory, instance_type: InstanceType) -> int | None:
    """The fewest GPUs of one host that hold a model in the memory that CUDA shows, and divide its attention heads.

    None if all of them are too small or too few, or their memory is not known, or vLLM runs the number format of the
    weights on newer ones alone.
    """
    devices = instance_type.accelerators
    if devices is None or devices.vendor is not Vendor.NVIDIA or not vllm_takes(memory, instance_type):
        return None
    usable = (cuda_memory_mib(instance_type) or 0) * memory.fraction
    splits = (each for each in range(memory.told or 1, devices.logical_count + 1) if may_split(memory.shape, each))
    return next((each for each in splits if memory.gib_on_each(memory.shared_by(each)) * 1024 <= usable), None)


def vllm_takes(memory: ModelMemory, instance_type: InstanceType) -> bool:
    """Whether vLLM runs the number format of a model's weights on the GPUs of a host, as far as that is known."""
    devices = instance_type.accelerators
    capability = None if devices is None else devices.compute_capability
    return capability is None or capability >= _LEAST_OF_VLLM.get(memory.precision, (0, 0))


def may_split(shape: ModelShape, gpus: int) -> bool:
    """Whether so many GPUs can share a model, as vLLM splits it.

    Each has as many attention heads, and as many of those with keys and values, or all together the same one
    (``verify_with_parallel_config`` and https://docs.vllm.ai/en/v0.15.0/api/vllm/model_executor/models/llama/).
    """
    if not shape.heads:
        return gpus == 1
    is_even = shape.kv_heads % gpus == 0 or gpus % shape.kv_heads == 0
    return shape.heads % gpus == 0 and is_even


def served(model: str, said: Mapping[str, object], server: ServerFacts) -> ModelMemory | None:
    """A model with the arguments of its server; None where its name or one of them leaves open what it needs."""
    found, sizes = model_named(model), server.sizes(said)
    # Copies of a model, and GPUs that share a prompt, have all weights each; experts are divided among all of them:
    # ParallelConfig in https://github.com/vllm-project/vllm/blob/main/vllm/config/parallel.py.
    copies = prod(size for kind, (_, size) in sizes.items() if kind not in {"tensor", "pipeline"})
    is_elsewhere = uses_other_hosts(said) or server.has_other_copies(said)
    is_open = not copies or is_elsewhere or any(re.match(_CHANGES_SIZE, each) for each in said)
    if found is None or is_open or (copies > 1 and found[0].has_experts):
        return None
    shape, precision = found
    by_vllm = "vllm" in server.entry_point
    # ``awq_marlin`` is a kernel for ``awq``; another format is made of the checkpoint as it is loaded.
    if str(said_of(said, _QUANTIZATION) or precision).partition("_")[0] != precision:
        return None
    context, written_context = CONTEXT, said_of(said, _CONTEXT)
    if written_context is None and by_vllm and not any(each.startswith("--kv-cache") for each in said):
        context = shape.longest or CONTEXT  # vLLM does not start without room for one sequence of that length
    elif tokens := _tokens(str(written_context)):
        context = tokens
    told = prod(size for _, size in sizes.values()) if sizes else 0
    # With --kv-cache-memory-bytes, vLLM uses --gpu-memory-utilization only to look for free memory as it starts:
    # request_memory and determine_available_memory of vllm/v1/worker,
    # https://docs.vllm.ai/en/stable/api/vllm/config/cache/.
    fraction = 1 if by_vllm and any(each.startswith("--kv-cache-memory") for each in said) else fraction_of(said)
    memory = memory_of_model(shape, precision=precision, context=context)
    return replace(memory, fraction=fraction, by_vllm=by_vllm, told=told, copies=copies)


def said_of(said: Mapping[str, object], options: frozenset[str]) -> object:
    """What the last of some options is followed by."""
    return next((value for option, value in reversed([*said.items()]) if option in options), None)


def _tokens(written: str) -> int:
    """The tokens of an option such as ``65536``, ``64K`` or ``64k``, which is 64,000; 0 where that is not known."""
    found = re.fullmatch(r"([0-9]{1,8}(?:\.[0-9]{1,4})?)([kKmM]?)", written)
    tokens = int(float(found[1]) * _UNITS[found[2]]) if found else 0
    return tokens if tokens <= _MOST_TOKENS else 0


def _require_count(argument: str, value: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most:
        raise InvalidValueError(
            f"got {shown(value)}", argument=argument, value=value, allowed=f"a whole number from 1 to {most:,}"
        )


def _weights(shape: ModelShape, name: str) -> Part:
    published = dict(shape.checkpoints).get(name)
    if published is not None:
        return Part(name="weights", gib=published, formula=f"the published {name} checkpoint", basis=Basis.MEASURED)
    wide = shape.in_16_bits if BITS[name] < _WIDE else 0
    narrow, each = shape.parameters - wide, _bytes(BITS[name] / 8)
    kept = f" + {wide:.2f} billion of embeddings and output x {_bytes(_WIDE / 8)}"
    return Part(
        name="weights",
        gib=(narrow * BITS[name] + wide * _WIDE) * 1e9 / 8 / _GIB,
        formula=f"{narrow:.2f} billion parameters x {each}{kept}"
        if wide
        else f"{narrow:g} billion parameters x {each}",
        basis=Basis.DERIVED,
    )


def _bytes(count: float) -> str:
    return f"{count:g} byte{'' if count == 1 else 's'}"


def _cache(shape: ModelShape, context: int, sequences: int) -> Part:
    each = f"{shape.latent} latent" if shape.latent else f"2 x {shape.kv_heads} heads x {shape.head_size}"
    values, full = shape.latent or 2 * shape.kv_heads * shape.head_size, shape.layers - shape.windowed_layers
    kept = full * context + shape.windowed_layers * min(context, shape.window)
    windows = f" ({shape.windowed_layers} of them {min(context, shape.window):,})" if shape.windowed_layers else ""
    return Part(
        name="KV cache",
        gib=values * kept * _CACHED * sequences / _GIB,
        formula=f"{each} x {_bytes(_CACHED)} x {shape.layers} layers x {context:,} tokens{windows} x {sequences:,}",
        basis=Basis.ASSUMED if shape.assumed else Basis.DERIVED,
        copies_from=shape.kv_heads,
    )


def _activations(shape: ModelShape) -> Part:
    size = f"{_BATCHED_TOKENS:,} tokens x {shape.hidden:,} hidden x {_HELD_AT_ONCE} x 2 bytes"
    return Part(
        name="activations",
        gib=_BATCHED_TOKENS * shape.hidden * _HELD_AT_ONCE * 2 / _GIB if shape.hidden else _OTHER_ACTIVATIONS_GIB,
        formula=f"on each GPU: {size}" if shape.hidden else "on each GPU: an image of 1024 x 1024, or 30 s of speech",
        basis=Basis.ASSUMED,
        copies_from=1,
    )
