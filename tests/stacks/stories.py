"""The reference stacks as the app defines them, apart from the one that takes the types of its hosts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

import aws_cdk as cdk

from stacks.benchmark_jobs import BenchmarkJobsStack
from stacks.chat import ChatStack
from stacks.existing_cluster import ExistingClusterStack
from stacks.fine_tuning import FineTuningStack
from stacks.four_families import FourFamiliesStack
from stacks.image_queue import ImageQueueStack
from stacks.nvidia_smi import NvidiaSmiStack
from stacks.pre_training import PreTrainingStack
from stacks.recommender import RecommenderStack
from stacks.watched import WatchedStack

__all__ = ["BLOCK_ENDS", "ON_REQUEST", "STORIES", "existing"]

BLOCK_ENDS = datetime(2026, 1, 18, 11, 30, tzinfo=timezone.utc)
"""Of a Capacity Block that has begun where an emulator's time is that of a new account."""


def existing(app: cdk.App, *, hosts: int = 2, kept: tuple[str, ...] = ("cpu",)) -> ExistingClusterStack:
    """For a cluster as AWS prints it."""
    strategy = [{"capacityProvider": "cpu", "weight": 1, "base": 0}]
    cluster = {
        "clusterName": "production",
        "capacityProviders": list(kept),
        "defaultCapacityProviderStrategy": strategy,
    }
    subnets = [
        {"SubnetId": f"subnet-{end * 17}", "AvailabilityZone": f"us-east-1{end}", "VpcId": f"vpc-{'0' * 17}"}
        for end in "ab"
    ]
    return ExistingClusterStack(app, "existing-cluster", cluster=cluster, subnets=subnets, max_instances=hosts)


STORIES: dict[str, Callable[[cdk.App], cdk.Stack]] = {
    "nvidia-smi": lambda app: NvidiaSmiStack(app, "nvidia-smi"),
    "chat": lambda app: ChatStack(app, "chat", model="Qwen/Qwen2.5-7B-Instruct"),
    "image-queue": lambda app: ImageQueueStack(app, "image-queue", max_instances=4),
    "existing-cluster": existing,
    "recommender": lambda app: RecommenderStack(app, "recommender", hosts=4),
    "benchmark-jobs": lambda app: BenchmarkJobsStack(app, "benchmark-jobs", family="g6"),
    "four-families": lambda app: FourFamiliesStack(app, "four-families"),
    "pre-training": lambda app: PreTrainingStack(
        app, "pre-training", reservation_id=f"cr-{'0' * 17}", zone="us-east-1a", ends=BLOCK_ENDS
    ),
    "fine-tuning": lambda app: FineTuningStack(app, "fine-tuning", instance_types=["p4de.24xlarge", "p5.48xlarge"]),
    "watched": lambda app: WatchedStack(app, "watched", email="gpus@example.com"),
}

ON_REQUEST = frozenset({"existing-cluster", "pre-training"})
"""Those that the app has only where its context names what they stand on."""
