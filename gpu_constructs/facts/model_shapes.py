"""Published shapes of well-known models: what their memory is worked out from.

Parameters count all experts of a mixture. Each shape names where it is from; what was read on 2026-11-22 agrees with it
in layers, hidden size, heads, heads with keys and values, window and context.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from difflib import get_close_matches

from gpu_constructs.errors import InvalidValueError, UnknownNameError, shown
from gpu_constructs.facts.budget import NAME
from gpu_constructs.facts.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """What decides the memory of a model.

    Attributes:
        name: As in ``--serve``.
        parameters: All of them, in units of 10^9.
        layers: Layers that keep keys and values of each token; 0 of a model without such a cache.
        heads: Attention heads, which tensor parallelism divides; 0 where no source says that GPUs share the model.
        kv_heads: Heads that have keys and values of their own; 1 with a latent.
        head_size: Size of each.
        has_experts: Whether it is a mixture of experts, which copies of vLLM divide among their GPUs.
        latent: Values of a token in each layer, instead of keys and values, with multi-head latent attention.
        windowed_layers: Layers that keep the last `window` tokens alone.
        window: Tokens that they keep.
        longest: Tokens of its longest sequence; 0 where it has no such limit, or none is known.
        in_16_bits: Those of its parameters, in units of 10^9, that checkpoints of narrower formats keep in 16 bits:
            embeddings, the output head, an encoder of images; 0 where that is not known.
        precision: The format in which it is published.
        checkpoints: Published sizes of all weights in GiB that its parameters do not give, with the format that gives
            the checkpoint its name, in which not all of them are.
        source: Where the shape is from; empty where no source has it.
        assumed: Whether the shape is that of another model of about its size.
    """

    name: str
    parameters: float
    layers: int = 0
    hidden: int = 0
    heads: int = 0
    kv_heads: int = 1
    head_size: int = 0
    has_experts: bool = False
    latent: int = 0
    windowed_layers: int = 0
    window: int = 0
    longest: int = 0
    in_16_bits: float = 0
    precision: str = "bf16"
    checkpoints: tuple[tuple[str, float], ...] = ()
    source: str = ""
    assumed: bool = False


_LITGPT = "its config.json as copied in https://github.com/Lightning-AI/litgpt, litgpt/config.py at 0006c973"
# Checkpoints of gpt-oss have experts in MXFP4 and the rest in BF16: https://openai.com/index/gpt-oss-model-card
_GPT_OSS = "https://github.com/openai/gpt-oss, gpt_oss/torch/model.py at 0568dfc9; a context of 32 x 4,096"
_GPT_OSS_20B = (
    "its config.json as shown in https://github.com/ParagEkbote/hf-model-inspector, model_inspection_report.md"
)
_DEEPSEEK = (
    "https://arxiv.org/abs/2412.19437, section 4.2, and https://huggingface.co/deepseek-ai/DeepSeek-V3 config.json"
)

# Name, parameters in units of 10^9, layers, hidden size, heads, heads with keys and values, size of each, tokens of the
# vocabulary, longest context, whether it is a mixture of experts.
_SHAPES = (
    ("whisper-large-v3", 1.55, 0, 0, 0, 1, 0, 0, 0, False),  # no cache of keys and values, as the next and FLUX.1
    ("sdxl-base", 3.5, 0, 0, 0, 1, 0, 0, 0, False),
    ("mistral-7b", 7.25, 32, 4096, 32, 8, 128, 32_768, 32_768, False),
    ("qwen2.5-7b", 7.62, 28, 3584, 28, 4, 128, 152_064, 131_072, False),
    ("llama-3.1-8b", 8.03, 32, 4096, 32, 8, 128, 128_256, 131_072, False),
    ("gemma-2-9b", 9.24, 42, 3584, 16, 8, 256, 256_000, 8192, False),
    ("qwen2.5-14b", 14.8, 48, 5120, 40, 8, 128, 152_064, 131_072, False),
    ("flux.1", 16.5, 0, 0, 0, 1, 0, 0, 0, False),  # the transformer of 12 and the text encoders of 4.5
    ("gpt-oss-20b", 20.9, 24, 2880, 64, 8, 64, 201_088, 131_072, True),
    ("gemma-3-27b", 27.0, 62, 5376, 32, 16, 128, 262_208, 131_072, False),
    ("qwen3-30b-a3b", 30.5, 48, 2048, 32, 4, 128, 151_936, 262_144, True),  # the context of its versions of 2507
    ("qwen2.5-32b", 32.8, 64, 5120, 40, 8, 128, 152_064, 131_072, False),
    ("mixtral-8x7b", 46.7, 32, 4096, 32, 8, 128, 32_000, 32_768, True),
    ("llama-3.1-70b", 70.6, 80, 8192, 64, 8, 128, 128_256, 131_072, False),
    ("qwen2.5-72b", 72.7, 80, 8192, 64, 8, 128, 152_064, 131_072, False),
    ("gpt-oss-120b", 116.8, 36, 2880, 64, 8, 64, 201_088, 131_072, True),
    ("llama-3.1-405b", 405.0, 126, 16384, 128, 8, 128, 128_256, 131_072, False),
    ("deepseek-v3", 671.0, 61, 7168, 128, 1, 0, 129_280, 163_840, True),
)
# Layers with a window and its tokens.
_WINDOWS = {"gemma-2-9b": (21, 4096), "gpt-oss-20b": (12, 128), "gemma-3-27b": (52, 1024), "gpt-oss-120b": (18, 128)}
_LATENTS = {"deepseek-v3": 576}
# Of these the embeddings are the output head; Gemma 3 has an encoder of images.
_ONE_MATRIX = {"gemma-2-9b": 0.0, "gemma-3-27b": 0.42}
_IN_16_BITS = dict.fromkeys(("whisper-large-v3", "sdxl-base"), "fp16")
_PRECISIONS = {**_IN_16_BITS, "gpt-oss-20b": "mxfp4", "gpt-oss-120b": "mxfp4", "deepseek-v3": "fp8"}
_CHECKPOINTS = {
    "gpt-oss-20b": (("mxfp4", 12.8),),
    "gpt-oss-120b": (("mxfp4", 60.8),),
    # https://github.com/vllm-project/vllm/issues/6746: 57.75 GiB on each of 8 GPUs, attention in BF16
    "llama-3.1-405b": (("fp8", 462.0),),
}
_SOURCES = {"gpt-oss-20b": _GPT_OSS_20B, "gpt-oss-120b": _GPT_OSS, "deepseek-v3": _DEEPSEEK}

MODEL_SHAPES: tuple[ModelShape, ...] = tuple(
    ModelShape(
        name=name,
        parameters=parameters,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_size=head_size,
        has_experts=has_experts,
        latent=_LATENTS.get(name, 0),
        windowed_layers=_WINDOWS.get(name, (0, 0))[0],
        window=_WINDOWS.get(name, (0, 0))[1],
        longest=longest,
        in_16_bits=(1 if name in _ONE_MATRIX else 2) * tokens * hidden / 1e9 + _ONE_MATRIX.get(name, 0),
        precision=_PRECISIONS.get(name, "bf16"),
        checkpoints=_CHECKPOINTS.get(name, ()),
        source=_SOURCES.get(name, _LITGPT) if layers else "",
    )
    for name, parameters, layers, hidden, heads, kv_heads, head_size, tokens, longest, has_experts in _SHAPES
)
"""The models, by size."""

_BY_NAME = {each.name: each for each in MODEL_SHAPES}
# What a model of an unknown shape is taken for: dense, and without a window or a latent, which most need more memory.
_PLAIN = tuple(
    _BY_NAME[name] for name in ("llama-3.1-8b", "qwen2.5-14b", "qwen2.5-32b", "llama-3.1-70b", "llama-3.1-405b")
)
_MOST_PARAMETERS = 100_000.0

# Versions of one architecture and size.
_SAME = {"llama-3-8b": "llama-3.1-8b", "llama-3-70b": "llama-3.1-70b", "llama-3.3-70b": "llama-3.1-70b"}
# Tokens of the longest sequence that the config.json of checkpoints has, where that is less than the architecture's:
# of Qwen2.5 https://github.com/QwenLM/Qwen3/issues/1133, and 131,072 of those without Instruct; of Qwen3
# doc/source/models/builtin/llm/qwen3.rst in https://github.com/xorbitsai/inference.
_SHORTER = {r"qwen2\.5-.*instruct": 32_768, "llama-3-": 8192, "qwen3-30b-a3b(?!.*2507)": 40_960}
# What stands behind the model in the names of checkpoints on Hugging Face: words that change no size, and formats.
_OF_ANY_SIZE = frozenset({"instruct", "it", "chat", "base", "thinking", "v0.1", "v0.2", "v0.3", "2507", "0324", "bf16"})
_FORMATS = {
    "awq": "awq",
    "awq-int4": "awq",
    "gptq": "gptq",
    "gptq-int4": "gptq",
    "quantized.w4a16": "gptq",
    "gptq-int8": "int8",
    "quantized.w8a8": "int8",
    "quantized.w8a16": "int8",
    "bnb-4bit": "bitsandbytes",
    "fp8": "fp8",
    "fp8-dynamic": "fp8",
    "nvfp4": "fp4",
}


def model_shape(name: str) -> ModelShape:
    """Looks a model up by its name in `MODEL_SHAPES`, in any case, or by that of a checkpoint, as `model_named` does.

    Raises:
        UnknownNameError: There is none of this name; carries the nearest names.
    """
    found = _BY_NAME.get(name.strip().lower())
    if found is not None:
        return found
    if checkpoint := model_named(name.strip()):
        return replace(_BY_NAME[checkpoint[0].name], precision=checkpoint[1])
    raise UnknownNameError(
        f"no model {shown(name)}",
        value=name,
        nearest=tuple(get_close_matches(name[:NAME].lower(), _BY_NAME, n=3, cutoff=0.6)),
        otherwise=f"one of {', '.join(_BY_NAME)}",
    )


def model_named(name: str) -> tuple[ModelShape, str] | None:
    """The model behind the name of a checkpoint and the format of its weights; None where the name does not say both.

    Names are as on Hugging Face, such as ``Qwen/Qwen2.5-32B-Instruct-AWQ``; a directory may hold anything.
    """
    owner, slash, rest = name[: 2 * NAME].lower().partition("/")
    if not slash or "/" in rest or not owner.strip("."):
        return None
    rest = rest.removeprefix("meta-")
    for each in sorted((*_BY_NAME, *_SAME), key=len, reverse=True):
        if f"{rest}-".startswith(f"{each}-"):
            words = rest.removeprefix(each).strip("-").split("-")
            shape = _BY_NAME[_SAME.get(each, each)]
            kept = "-".join(word for word in words if word and word not in _OF_ANY_SIZE)
            precision = _FORMATS.get(kept) if kept else shape.precision
            longest = next((size for form, size in _SHORTER.items() if re.match(form, rest)), shape.longest)
            return None if precision is None else (replace(shape, longest=longest), precision)
    return None


def shape_of_size(parameters: float) -> ModelShape:
    """The shape that a model of so many 10^9 parameters may have: that of the published dense one nearest in size.

    Raises:
        InvalidValueError: No model has so many.
    """
    if not 0 < parameters <= _MOST_PARAMETERS:
        raise InvalidValueError(
            f"{parameters:g} billion parameters are not the size of a model",
            value=parameters,
            allowed=f"more than 0, at most {_MOST_PARAMETERS:,.0f}",
        )
    near = min(_PLAIN, key=lambda each: abs(math.log(each.parameters / parameters)))
    return replace(
        near,
        parameters=parameters,
        in_16_bits=near.in_16_bits * parameters / near.parameters,
        longest=0,
        checkpoints=(),
        source="",
        assumed=True,
    )
