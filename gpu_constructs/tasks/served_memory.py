"""Whether the GPUs of a container hold the model that it serves, as far as the name of the model says what it needs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import DoesNotFitError, IncompatibleError, counted, shown
from gpu_constructs.facts import InstanceNeeds, InstanceType, choose
from gpu_constructs.facts.drivers import cuda_memory_mib
from gpu_constructs.facts.model_memory import (
    MARGIN,
    MEMORY_FRACTION,
    ModelMemory,
    fraction_of,
    gpus_that_hold,
    may_split,
    memory_of_model,
    said_of,
    served,
    vllm_takes,
)
from gpu_constructs.facts.servers import arguments_in
from gpu_constructs.fleet import Pool
from gpu_constructs.rules import Finding, Severity
from gpu_constructs.rules.finding import or_list
from gpu_constructs.rules.fit.unchecked import UNCHECKED
from gpu_constructs.tasks.container_options import GpuContainerOptions
from gpu_constructs.tasks.gpu_ask import GpuShare
from gpu_constructs.tasks.models.model_server import ModelServer

_RULE = "GPU064"
_VLLM = frozenset({"vllm", "dlc_vllm"})
_SHORTER = (65_536, 32_768, 16_384, 8192, 4096, 2048)  # contexts, tried in order
_TENSOR_PARALLEL = frozenset({"--tensor-parallel-size", "-tp", "--tp", "--tp-size", "--num-shard"})
_CONTEXT_MIB = 600  # 514 of a share of an H200 were gone once CUDA had started


def with_memory(
    name: str, server: ModelServer, gpus: object, pools: Sequence[Pool], options: GpuContainerOptions
) -> tuple[GpuContainerOptions, Finding | None]:
    """Holds a model against the GPUs of its container.

    Returns:
        The options, with what the weights take of each GPU where that is known, and what may not fit or is not known.
        With a `gpu_memory_gib` of the user's own, the options as they are.
    """
    if server.model is None or "command" in options:
        return options, None
    finding, least = _held(name, server, gpus, pools)
    if options.get("gpu_memory_gib") is not None:
        return options, None
    return {**options, "gpu_memory_gib": least} if least else options, finding


def _held(name: str, server: ModelServer, gpus: object, pools: Sequence[Pool]) -> tuple[Finding | None, float | None]:
    """What may not fit or is not known, and the memory in GiB that each GPU must have for the weights alone."""
    is_open = any(map(is_token, (server.model, *server.command)))
    finding = None if is_open else _asks_whole(name, server, gpus, pools)
    memory = None if is_open else served(server.model or "", arguments_in(server.command), by_vllm=server.name in _VLLM)
    if memory is None:
        unknown = f"not checked: how much GPU memory {shown(server.model)} of container {name} needs is not known"
        fix = "state gpu_memory_gib for what each of its GPUs must have"
        return finding or Finding(rule=UNCHECKED, severity=Severity.INFO, subject=name, message=unknown, fix=fix), None
    most_gpus, fraction = 0, fraction_of(memory.said)
    for instance_type in dict.fromkeys(each for pool in pools for each in pool.instance_types):
        count, usable = _gpus(gpus, instance_type)
        if not count or usable is None:
            continue
        _require_able(server, memory, gpus, instance_type, count)
        most_gpus = max(most_gpus, 0 if isinstance(gpus, GpuShare) else count)
        weights, needed = memory.parts[0].gib, memory.gib_on_each(count)
        if why := memory.too_large_for(instance_type, count, usable if isinstance(gpus, GpuShare) else None):
            default = f"--gpu-memory-utilization {MEMORY_FRACTION}, the default"
            is_enough = weights * 1024 <= count * usable * MEMORY_FRACTION
            raise DoesNotFitError(
                f"the weights of {shown(server.model)} are {weights:.1f} GiB, and {why}",
                argument="gpus",
                value=gpus,
                fix=default if is_enough else _fix(memory, instance_type, count),
                rule=_RULE,
            )
        room = usable * fraction
        if isinstance(gpus, GpuShare) and server.name in _VLLM:
            room = min(usable, fraction * (cuda_memory_mib(instance_type) or usable))
        if needed * 1024 > room:
            finding = finding or Finding(
                rule=_RULE,
                severity=Severity.WARNING,
                subject=name,
                message=f"{shown(server.model)} of container {name} needs about {needed:.1f} GiB on each of "
                f"{counted(count, 'GPU')} of {instance_type} with one sequence of {memory.context:,} tokens, and a "
                f"server uses {room / 1024:.1f} GiB of it",
                fix=_shorter(server, memory, count, room) + _fix(memory, instance_type, count),
            )
    return finding, int(memory.parts[0].gib * 1024 / most_gpus / MARGIN) / 1024 if most_gpus else None


def _asks_whole(name: str, server: ModelServer, gpus: object, pools: Sequence[Pool]) -> Finding | None:
    """What vLLM takes in a share: a part of the whole GPU, which it sees there, and not of the share, which is free.

    Measured on 2026-11-29 on an H200 with driver 580.159.04, PyTorch 2.11 and the variable that ECS sets. vLLM then
    ends with "Free memory on device … on startup is less than desired GPU memory utilization", unless it is told less.
    """
    if not isinstance(gpus, GpuShare) or is_token(gpus.memory_mib) or server.name not in _VLLM:
        return None
    sizes = (cuda_memory_mib(each) for pool in pools for each in pool.instance_types)
    least, share = min((each for each in sizes if each), default=0), gpus.memory_mib
    fraction = fraction_of(arguments_in(server.command))
    if fraction * least <= share:
        return None
    return Finding(
        rule=_RULE,
        severity=Severity.WARNING,
        subject=name,
        message=f"vLLM of container {name} asks for {fraction:g} of the whole GPU as it starts, "
        f"{fraction * least / 1024:.1f} GiB, and its share is {share / 1024:.1f} GiB: it sees the whole GPU",
        fix=f"arguments=['--gpu-memory-utilization', '{max(share - _CONTEXT_MIB, 0) * 100 // least / 100:g}']",
    )


def _require_able(
    server: ModelServer, memory: ModelMemory, gpus: object, instance_type: InstanceType, count: int
) -> None:
    """Refuses GPUs without a kernel for a model, and those among which its attention heads cannot be divided.

    ``verify_with_parallel_config`` of vLLM (https://github.com/vllm-project/vllm/issues/11797), ``attn_tp_size`` in
    python/sglang/srt/models/qwen2.py of SGLang, "`num_heads` must be divisible by `num_shards`" of TGI.
    """
    shape, model = memory.shape, shown(server.model)
    words = (*server.command, *(each.replace("{gpus}", str(count)) for each in server.gpu_arguments))
    told = str(said_of(arguments_in(words), _TENSOR_PARALLEL) or "")
    # With attention that is data parallel, SGLang divides heads among fewer GPUs.
    is_count = re.fullmatch(r"[1-9][0-9]{0,3}", told) and "--enable-dp-attention" not in words
    if is_count and shape.heads and not may_split(shape, int(told)):
        raise IncompatibleError(
            f"{told} GPUs cannot share {model} in equal parts, with its {shape.heads} attention heads, "
            f"{shape.kv_heads} of them with keys and values",
            argument="gpus",
            value=gpus,
            fix=f"{or_list(each for each in range(1, int(told)) if may_split(shape, each))} GPUs",
        )
    if server.name in _VLLM and not vllm_takes(memory, instance_type):
        raise IncompatibleError(
            f"vLLM has no kernel for the {memory.precision} weights of {model} on {instance_type}",
            argument="server",
            value=server.model,
            fix=_fix(memory, instance_type, 0),
            rule=_RULE,
        )


def _gpus(gpus: object, instance_type: InstanceType) -> tuple[int, float | None]:
    """How many GPUs a container gets on a host, and the memory in MiB that programs find on each."""
    if isinstance(gpus, GpuShare):
        return 1, None if is_token(gpus.memory_mib) else gpus.memory_mib
    there = max(instance_type.gpus, 1)  # a part of one is a device too
    count = 0
    if gpus == "ALL":
        count = there
    elif isinstance(gpus, (int, float)) and not is_token(gpus) and 0 < gpus <= there:
        count = max(int(gpus), 1)
    return count, cuda_memory_mib(instance_type)


def _shorter(server: ModelServer, memory: ModelMemory, count: int, mib: float) -> str:
    """A shorter context with which a model fits, where one does."""
    shorter = (each for each in _SHORTER if each < memory.context)
    held = (memory_of_model(memory.shape, precision=memory.precision, context=each) for each in shorter)
    fits = next((each.context for each in held if each.gib_on_each(count) * 1024 <= mib), None)
    return f"--max-model-len {fits}, or " if fits and server.name in _VLLM else ""


def _fix(memory: ModelMemory, instance_type: InstanceType, count: int) -> str:
    """More GPUs of the same host where that is enough, and the cheapest host that holds the model."""
    here = gpus_that_hold(memory, instance_type) or 0
    holding = {"model": lambda offer: gpus_that_hold(memory, offer.instance_type) is not None}
    offers = choose(InstanceNeeds(precision=memory.precision), also=holding).offers
    more = [f"gpus={here}"] if here > count else []
    for each in offers[:1]:
        held = gpus_that_hold(memory, each.instance_type) or 0
        more.append(f"gpus={held} on hosts such as {each.instance_type}, the cheapest that hold it")
    return ", or ".join(more) or "a model with fewer parameters, or in a narrower format"
