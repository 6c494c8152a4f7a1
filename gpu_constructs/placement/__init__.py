"""Where may a task go, does it fit there, and why not? Pure decisions over the fleet and the facts.

A model of what the ECS scheduler does, written from the ECS documentation. What it cannot know it calls unknown; it
never calls it a fit. Where things are:

- Both sides: `demand` (what one copy of a task asks for), `pool_profile` (what a pool and its hosts offer), `reach`
  (which pools copies come to, and what daemons leave there), `query` (the language of placement constraints).
- One copy: whether it fits on a host (`one_host`) and on a pool (`fit`), with `reasons`. `machine` holds what ECS does
  not see, `route` takes all of it together, `destinations` finds the routes of a fleet.
- All copies: `prover` proves a fleet, `proof` is the result. `assumptions` are the worst and the best case, `packing`
  counts hosts, `costs` says what they cost and count against quotas.
- During a deployment: `rollout`.
"""

from gpu_constructs.placement.assumptions import Assumption
from gpu_constructs.placement.costs import cost_of
from gpu_constructs.placement.demand import Demand, demand_of
from gpu_constructs.placement.fit import alternatives, fit, runs_somewhere
from gpu_constructs.placement.machine import NeedKind, UnmetNeed, unmet_needs
from gpu_constructs.placement.pool_profile import (
    ASSUMED_RESERVE_MIB,
    NOTHING_KEPT,
    FairShare,
    PoolProfile,
    cpu_units,
    expected_memory_mib,
    most_memory_mib,
    profile_of,
    share_of,
)
from gpu_constructs.placement.proof import Counts, PoolProof, Proof, Stranded
from gpu_constructs.placement.prover import prove
from gpu_constructs.placement.reasons import Doubt, DoubtKind, Fit, HostResource, Obstacle, ObstacleKind, Shortfall
from gpu_constructs.placement.rollout import (
    Rollout,
    can_go_on,
    copies_beside,
    copies_beside_all,
    may_stop,
    percentages_of,
    pool_needs,
    rollout,
    rollout_percentages,
    slots_taken,
    task_slots,
)

__all__ = [
    "ASSUMED_RESERVE_MIB",
    "NOTHING_KEPT",
    "Assumption",
    "Counts",
    "Demand",
    "Doubt",
    "DoubtKind",
    "FairShare",
    "Fit",
    "HostResource",
    "NeedKind",
    "Obstacle",
    "ObstacleKind",
    "PoolProfile",
    "PoolProof",
    "Proof",
    "Rollout",
    "Shortfall",
    "Stranded",
    "UnmetNeed",
    "alternatives",
    "can_go_on",
    "copies_beside",
    "copies_beside_all",
    "cost_of",
    "cpu_units",
    "demand_of",
    "expected_memory_mib",
    "fit",
    "may_stop",
    "most_memory_mib",
    "percentages_of",
    "pool_needs",
    "profile_of",
    "prove",
    "rollout",
    "rollout_percentages",
    "runs_somewhere",
    "share_of",
    "slots_taken",
    "task_slots",
    "unmet_needs",
]
