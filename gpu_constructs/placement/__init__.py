"""Where may a task go, does it fit there, and why not? Pure decisions over the fleet and the facts.

A model of what the ECS scheduler does, written from the ECS documentation. What it cannot know it calls unknown; it
never calls it a fit. Where things are:

- Both sides: `demand` (what one copy of a task asks for), `pool_profile` (what a pool offers), `host` (what a host
  has), `offers` (what its daemons leave), `reach`, `destinations` and `strategy` (where copies go), `query` (the
  language of placement constraints).
- One copy: whether it fits on a host and on a pool (`fit`), beside daemons (`daemons`) and on its accelerators (`gpu`),
  with `reasons`. `machine` and `needs` hold what ECS does not see, `route` takes all of it together, `alternatives` has
  other types.
- All copies: `prover` proves a fleet, `proof` is the result. `assumptions` are the worst and the best case,
  `pool_load` says who shares a pool, `packing` and `bounds` count hosts, `prices` their cost, `quotas` their vCPUs.
- During a deployment: `rollout`.
- `memo` keeps what was worked out about a value.
"""

from gpu_constructs.placement.alternatives import alternatives, runs_somewhere
from gpu_constructs.placement.assumptions import Assumption
from gpu_constructs.placement.demand import Demand, demand_of
from gpu_constructs.placement.fit import fit
from gpu_constructs.placement.host import (
    ASSUMED_RESERVE_MIB,
    NOTHING_KEPT,
    FairShare,
    cpu_units,
    expected_memory_mib,
    most_memory_mib,
    share_of,
)
from gpu_constructs.placement.needs import NeedKind, UnmetNeed, unmet_needs
from gpu_constructs.placement.pool_profile import PoolProfile, profile_of
from gpu_constructs.placement.prices import cost_of
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
