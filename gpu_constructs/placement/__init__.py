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
