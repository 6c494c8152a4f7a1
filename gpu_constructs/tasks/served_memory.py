"""Whether the GPUs of a container hold the model that it serves, as far as the name of the model says what it needs."""

from __future__ import annotations

import math
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
    served,
    vllm_takes,
)
from gpu_constructs.facts.servers import ServerFacts, arguments_in, known_servers
from gpu_constructs.fleet import Pool
from gpu_constructs.rules import Finding, Severity
from gpu_constructs.rules.finding import or_list
from gpu_constructs.rules.fit.unchecked import UNCHECKED
from gpu_constructs.tasks.container_options import GpuContainerOptions
from gpu_constructs.tasks.gpu_ask import GpuShare
from gpu_constructs.tasks.models.model_server import ModelServer

_RULE = "GPU064"
_SHORTER = (65_536, 32_768, 16_384, 8192, 4096, 2048)  # contexts, tried in order
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
    is_open, is_stated = any(map(is_token, (server.model, *server.command))), options.get("gpu_memory_gib") is not None
    finding = None if is_open else _asks_whole(name, server, gpus, pools)
    memory = None if is_open else served(server.model or "", arguments_in(server.command), _facts(server))
    if memory is None:
        unknown = f"not checked: how much GPU memory {shown(server.model)} of container {name} needs is not known"
        fix = "state gpu_memory_gib for what each of its GPUs must have"
        finding = finding or Finding(rule=UNCHECKED, severity=Severity.INFO, subject=name, message=unknown, fix=fix)
        return options, None if is_stated else finding
    most_gpus, weights = 0, memory.parts[0].gib
    for instance_type in dict.fromkeys(each for pool in pools for each in pool.instance_types):
        count, usable = _gpus(gpus, instance_type)
        if not count or usable is None:
            continue
        _require_able(server, memory, gpus, instance_type, count)
        is_share, shared_by = isinstance(gpus, GpuShare), memory.shared_by(count)
        most_gpus = max(most_gpus, 0 if is_share else shared_by)
        if why := memory.too_large_for(instance_type, count, usable if is_share else None):
            raise DoesNotFitError(
                f"the weights of {shown(server.model)} are {weights:.1f} GiB, and {why}",
                argument="gpus",
                value=gpus,
                fix=_fix(memory, instance_type, gpus, weights / shared_by),
                rule=_RULE,
            )
        whole = cuda_memory_mib(instance_type) if memory.by_vllm else None
        room, needed = min(usable, memory.fraction * (whole or usable)), memory.gib_on_each(shared_by)
        if needed * 1024 > room:
            finding = finding or Finding(
                rule=_RULE,
                severity=Severity.WARNING,
                subject=name,
                message=f"{shown(server.model)} of container {name} needs about {needed:.1f} GiB on each of "
                f"{counted(shared_by, 'GPU')} of {instance_type} with one sequence of {memory.context:,} tokens, and a "
                f"server uses {room / 1024:.1f} GiB of it",
                fix=_shorter(memory, shared_by, room) + _fix(memory, instance_type, gpus, needed),
            )
    if is_stated or not most_gpus:
        return options, None if is_stated else finding
    return {**options, "gpu_memory_gib": int(weights * 1024 / most_gpus / MARGIN) / 1024}, finding


def _asks_whole(name: str, server: ModelServer, gpus: object, pools: Sequence[Pool]) -> Finding | None:
    """What vLLM takes in a share: a part of the whole GPU, which it sees there, and not of the share, which is free.

    Measured on 2026-11-29 on an H200 with driver 580.159.04, PyTorch 2.11 and the variable that ECS sets. vLLM then
    ends with "Free memory on device … on startup is less than desired GPU memory utilization", unless it is told less.
    """
    if not isinstance(gpus, GpuShare) or is_token(gpus.memory_mib) or "vllm" not in _facts(server).entry_point:
        return None
    sizes = (cuda_memory_mib(each) for pool in pools for each in pool.instance_types)
    whole, share = max((each for each in sizes if each), default=0), gpus.memory_mib
    fraction = fraction_of(arguments_in(server.command))
    if fraction * whole <= share:
        return None
    part = _part_of(whole, share)
    return Finding(
        rule=_RULE,
        severity=Severity.WARNING,
        subject=name,
        message=f"vLLM of container {name} asks for {fraction:g} of the whole GPU as it starts, "
        f"{fraction * whole / 1024:.1f} GiB, and its share is {share / 1024:.1f} GiB: it sees the whole GPU",
        fix=f"arguments=['--gpu-memory-utilization', '{part:g}']" if part else "a larger memory_mib of the share",
    )


def _part_of(whole: float, share: float) -> float:
    """The part of a whole GPU that vLLM may be told to take in a share of it."""
    return min(max(share - _CONTEXT_MIB, 0) * 100 // whole / 100, MEMORY_FRACTION)


def _facts(server: ModelServer) -> ServerFacts:
    return known_servers().get(server.name) or ServerFacts(gpu_arguments=tuple(server.gpu_arguments))


def _require_able(
    server: ModelServer, memory: ModelMemory, gpus: object, instance_type: InstanceType, count: int
) -> None:
    """Refuses GPUs without a kernel for a model, and those among which its attention heads cannot be divided.

    ``verify_with_parallel_config`` of vLLM (https://github.com/vllm-project/vllm/issues/11797), ``attn_tp_size`` in
    python/sglang/srt/models/qwen2.py of SGLang, "`num_heads` must be divisible by `num_shards`" of TGI.
    """
    shape, model = memory.shape, shown(server.model)
    words = (*server.command, *(each.replace("{gpus}", str(count)) for each in server.gpu_arguments))
    _, told = _facts(server).sizes(arguments_in(words)).get("tensor", ("", 0))
    # With attention that is data parallel, SGLang divides heads among fewer GPUs.
    if told and "--enable-dp-attention" not in words and shape.heads and not may_split(shape, told):
        raise IncompatibleError(
            f"{told} GPUs cannot share {model} in equal parts, with its {shape.heads} attention heads, "
            f"{shape.kv_heads} of them with keys and values",
            argument="gpus",
            value=gpus,
            fix=f"{or_list(each for each in range(1, told) if may_split(shape, each))} GPUs",
        )
    if memory.by_vllm and not vllm_takes(memory, instance_type):
        raise IncompatibleError(
            f"vLLM has no kernel for the {memory.precision} weights of {model} on {instance_type}",
            argument="server",
            value=server.model,
            fix=_fix(memory, instance_type, gpus, math.inf),
            rule=_RULE,
        )


def _gpus(gpus: object, instance_type: InstanceType) -> tuple[int, float | None]:
    """How many GPUs a container gets on a host, and the memory in MiB that programs find on each."""
    if isinstance(gpus, GpuShare):
        return 1, None if is_token(gpus.memory_mib) else gpus.memory_mib
    there = max(instance_type.gpus, 1)  # a part of one is a device too
    asked = there if gpus == "ALL" else gpus
    if not isinstance(asked, (int, float)) or is_token(asked) or not 0 < asked <= there:
        asked = 0
    return math.ceil(asked), cuda_memory_mib(instance_type)


def _shorter(memory: ModelMemory, count: int, mib: float) -> str:
    """A shorter context with which a model fits, where one does."""
    shorter = (each for each in _SHORTER if each < memory.context and each <= (memory.shape.longest or each))
    held = (memory_of_model(memory.shape, precision=memory.precision, context=each) for each in shorter)
    fits = next((each.context for each in held if each.gib_on_each(count) * 1024 <= mib), None)
    return f"--max-model-len {fits}, or " if fits and memory.by_vllm else ""


def _fix(memory: ModelMemory, instance_type: InstanceType, gpus: object, gib: float) -> str:
    """What has so many GiB for a part of a model: more of this GPU, more GPUs of this host, or the cheapest other."""
    (count, usable), whole = _gpus(gpus, instance_type), cuda_memory_mib(instance_type) or math.inf
    most, here = _part_of(whole, usable or 0), gpus_that_hold(memory, instance_type) or 0
    if memory.by_vllm and memory.fraction < most and gib * 1024 <= whole * most:
        return f"--gpu-memory-utilization {most:g}"
    if isinstance(gpus, GpuShare) and here == 1:
        return "a larger memory_mib, or gpus=1"
    needs = InstanceNeeds(precision=memory.precision, architecture=instance_type.architecture)
    holding = {"model": lambda offer: gpus_that_hold(memory, offer.instance_type) is not None}
    others = [each.instance_type for each in choose(needs, also=holding).offers if each.instance_type != instance_type]
    more = [f"gpus={here}"] if here > count else []
    for each in others[:1]:
        held = gpus_that_hold(memory, each)
        more.append(f"gpus={held} on hosts such as {each}, the cheapest others that hold it")
    return ", or ".join(more) or "a model with fewer parameters, or in a narrower format"
