"""A queue for trainings on a site, as the tests of trainings define it."""

from __future__ import annotations

from typing import Any

from gpu_constructs import CapacityChoice, FairShares, GpuBatchQueue, HostNetwork, MultiNodeTraining
from tests.jobs.batch.queues import queue
from tests.synthesis import Site

__all__ = ["hosts", "train"]


def hosts(
    site: Site, *types: str, name: str = "Queue", shares: FairShares | None = None, **arguments: Any
) -> GpuBatchQueue:
    given = {"max_instances": 4, "network": HostNetwork(placement_group=True), "vpc_subnets": site.one_zone}
    choice = CapacityChoice("Hosts", instance_types=list(types) or ["g6.12xlarge"], **{**given, **arguments})
    return queue(site, choice, name=name, shares=shares)


def train(site: Site, of: GpuBatchQueue, name: str = "Train", **arguments: Any) -> MultiNodeTraining:
    given: dict[str, Any] = {"queue": of, "hosts": 4, "image": site.image, "command": ["train.py"]}
    return MultiNodeTraining(site.stack, name, **{**given, **arguments})
