"""Does it fit, and why not: pure decisions over the fleet and the facts.

A model of what the ECS scheduler does, written from the ECS documentation. What it cannot know it calls unknown; it
never calls it a fit.
"""

from gpu_constructs.placement.fit import Resource, Shortfall, shortfalls, uncertainties
from gpu_constructs.placement.host import (
    RESERVED_MEMORY_MIB,
    FairShare,
    cpu_units,
    expected_memory_mib,
    fair_share,
    most_memory_mib,
    tasks_per_host,
)
from gpu_constructs.placement.rollout import Rollout, beside, can_go_on, rollout, task_slots

__all__ = [
    "RESERVED_MEMORY_MIB",
    "FairShare",
    "Resource",
    "Rollout",
    "Shortfall",
    "beside",
    "can_go_on",
    "cpu_units",
    "expected_memory_mib",
    "fair_share",
    "most_memory_mib",
    "rollout",
    "shortfalls",
    "task_slots",
    "tasks_per_host",
    "uncertainties",
]
