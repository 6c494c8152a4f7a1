"""A queue on a site, as the tests of AWS Batch define it."""

from __future__ import annotations

from typing import Any

from gpu_constructs import CapacityChoice, GpuBatchJob, GpuBatchQueue
from tests.synthesis import Site

__all__ = ["job", "queue"]


def queue(site: Site, *environments: CapacityChoice, name: str = "Queue", **arguments: Any) -> GpuBatchQueue:
    usual = CapacityChoice("L4", instance_types=["g6.xlarge", "g6.2xlarge"], max_instances=4)
    return GpuBatchQueue(site.stack, name, vpc=site.vpc, environments=list(environments) or [usual], **arguments)


def job(site: Site, of: GpuBatchQueue, name: str = "Train", **arguments: Any) -> GpuBatchJob:
    return of.add_job(name, image=site.image, **arguments)
