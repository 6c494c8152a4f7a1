"""A fleet whose page has everything that a page can show."""

from __future__ import annotations

from dataclasses import replace

from gpu_constructs.fleet import (
    UNKNOWN,
    Fleet,
    NetworkInterface,
    NvidiaMps,
    PoolKind,
    PurchaseOption,
    ResourceRequirement,
    Workload,
)
from tests.planning.given import fleet, job, pool, service

__all__ = ["drawn_fleet", "pictured_fleet", "shared"]


def shared(workload: Workload, mib: int) -> Workload:
    """The service with a share of a GPU in the place of whole ones."""
    share = ResourceRequirement(nvidia_mps=NvidiaMps(memory_mib=mib))
    task = workload.task
    assert task is not None
    return replace(workload, task=replace(task, containers=(replace(task.containers[0], requirements=(share,)),)))


def pictured_fleet() -> Fleet:
    """What the guide shows: tasks of several sizes on one pool, a GPU that is left idle, a training, and a question."""
    serving = pool("g6.12xlarge", name="Serving/L4", min_instances=1, max_instances=8)
    training = pool("p5.48xlarge", name="Training/H100", purchase=PurchaseOption.SPOT, max_instances=4)
    return fleet(
        service(serving, name="chat", gpus=4, vcpus=24, copies=2),
        service(serving, name="rerank", gpus=1, vcpus=20, copies=3),
        service(serving, name="vision", gpus=1, vcpus=8, copies=4),
        service(training, name="fine-tuning", gpus=8, vcpus=96, copies=2),
        service(pool("g4dn.xlarge", name="Preview/T4"), name="preview", copies=UNKNOWN),
    )


def drawn_fleet() -> Fleet:
    """Whole GPUs, shares, a GPU that is left idle, many hosts that are alike, EFA, Neuron, and what is not known."""
    mixed = pool("g6.12xlarge", name="Serving/L4", min_instances=1, max_instances=12)
    small = pool("g6.xlarge", "g6.2xlarge", name="Batch/Small", max_instances=300)
    large = pool(
        "p5.48xlarge",
        name="Training/H100",
        purchase=PurchaseOption.SPOT,
        max_instances=4,
        interfaces=tuple(NetworkInterface(card=card, type="efa") for card in range(32)),
    )
    ranking = pool("g6.12xlarge", name="Ranking/L4", max_instances=2)
    shares = pool("g5.2xlarge", name="Embeddings/A10G", max_instances=3)
    chips = pool("trn1.32xlarge", name="Neuron/Trainium", max_instances=2)
    managed = pool("g6e.xlarge", name="Managed/L40S", kind=PoolKind.MANAGED_INSTANCES)
    return fleet(
        service(mixed, name="chat-70b", gpus=4, vcpus=16, copies=2),
        service(mixed, name="rerank", gpus=1, vcpus=20, copies=3),
        service(mixed, name="vision", gpus=1, vcpus=4, copies=6),
        service(mixed, name="router", gpus=0, vcpus=1, copies=4),
        service(small, name="transcribe", gpus=1, vcpus=3, copies=250),
        service(large, name="finetune", gpus=8, vcpus=96, copies=2),
        job(large, name="nightly-evaluation", gpus=4),
        service(ranking, name="rank", gpus=1, vcpus=20, copies=2),
        shared(service(shares, name="embed-text", vcpus=1, copies=4), 4096),
        shared(service(shares, name="embed-image", vcpus=2, copies=2), 8192),
        service(managed, name="sketch", copies=2),
        service(pool("g4dn.xlarge", name="Preview/T4"), name="preview", copies=UNKNOWN),
        pools=(chips,),
    )
