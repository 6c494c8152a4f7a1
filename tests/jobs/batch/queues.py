"""A queue on a site, and a training in it, as the tests of AWS Batch define them."""

from __future__ import annotations

from typing import Any

from gpu_constructs import CapacityChoice, FairShares, GpuBatchJob, GpuBatchQueue, HostNetwork, MultiNodeTraining
from tests.synthesis import Site


def queue(site: Site, *environments: CapacityChoice, name: str = "Queue", **arguments: Any) -> GpuBatchQueue:
    usual = CapacityChoice("L4", instance_types=["g6.xlarge", "g6.2xlarge"], max_instances=4)
    return GpuBatchQueue(site.stack, name, vpc=site.vpc, environments=list(environments) or [usual], **arguments)


def job(site: Site, of: GpuBatchQueue, name: str = "Train", **arguments: Any) -> GpuBatchJob:
    return of.add_job(name, image=site.image, **arguments)


def hosts(
    site: Site, *types: str, name: str = "Queue", shares: FairShares | None = None, **arguments: Any
) -> GpuBatchQueue:
    given = {"max_instances": 4, "network": HostNetwork(placement_group=True), "vpc_subnets": site.one_zone}
    choice = CapacityChoice("Hosts", instance_types=list(types) or ["g6.12xlarge"], **{**given, **arguments})
    return queue(site, choice, name=name, shares=shares)


def train(site: Site, of: GpuBatchQueue, name: str = "Train", **arguments: Any) -> MultiNodeTraining:
    given: dict[str, Any] = {"queue": of, "hosts": 4, "image": site.image, "command": ["train.py"]}
    return MultiNodeTraining(site.stack, name, **{**given, **arguments})
