"""Does it fit, and why not: pure decisions over the fleet and the facts.

A model of what the ECS scheduler does, written from the ECS documentation. What it cannot know it calls unknown; it
never calls it a fit.
"""

from gpu_constructs.placement.alternatives import alternatives, runs_somewhere
from gpu_constructs.placement.demand import Demand, demand_of
from gpu_constructs.placement.fit import Fit, fit, fit_on, held_against
from gpu_constructs.placement.host import (
    RESERVED_MEMORY_MIB,
    FairShare,
    cpu_units,
    expected_memory_mib,
    fair_share,
    most_memory_mib,
    tasks_per_host,
)
from gpu_constructs.placement.needs import NeedKind, UnmetNeed, unmet_needs
from gpu_constructs.placement.offer import Offer, offer_of
from gpu_constructs.placement.prices import Cost, cost_of
from gpu_constructs.placement.proof import Counts, Idle, Place, PoolProof, Proof, Stranded, WorkloadProof
from gpu_constructs.placement.prover import prove
from gpu_constructs.placement.readings import Reading
from gpu_constructs.placement.rollout import Rollout, beside, can_go_on, rollout, task_slots
from gpu_constructs.placement.shortfall import Doubt, DoubtKind, Obstacle, ObstacleKind, Resource, Shortfall
from gpu_constructs.placement.smallest import shortfalls, uncertainties

__all__ = [
    "RESERVED_MEMORY_MIB",
    "Cost",
    "Counts",
    "Demand",
    "Doubt",
    "DoubtKind",
    "FairShare",
    "Fit",
    "Idle",
    "NeedKind",
    "Obstacle",
    "ObstacleKind",
    "Offer",
    "Place",
    "PoolProof",
    "Proof",
    "Reading",
    "Resource",
    "Rollout",
    "Shortfall",
    "Stranded",
    "UnmetNeed",
    "WorkloadProof",
    "alternatives",
    "beside",
    "can_go_on",
    "cost_of",
    "cpu_units",
    "demand_of",
    "expected_memory_mib",
    "fair_share",
    "fit",
    "fit_on",
    "held_against",
    "most_memory_mib",
    "offer_of",
    "prove",
    "rollout",
    "runs_somewhere",
    "shortfalls",
    "task_slots",
    "tasks_per_host",
    "uncertainties",
    "unmet_needs",
]
