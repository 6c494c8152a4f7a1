"""What does a fleet cost, and what does it need of the account? Pure answers over the fleet, the proof and the prices.

::

    from gpu_constructs.checking.report import check_files
    from gpu_constructs.planning import plan

    found = plan(check_files(["cdk.out"], rules=()).fleet)
    found.maximum.hosts, found.maximum.usd_per_hour    # at MaxSize of every pool
    found.quotas                                       # vCPUs by quota code

What is not known is said and never counted as 0. Where things are: `fleet_plan` makes the plan of a fleet out of what
`host_price` says hosts cost, `cheaper` looks for a cheaper mix of hosts with the exact search of `host_mix`,
`plan_difference` compares two plans, and `summary` is the line at synth. `model_shapes` has published shapes of models,
and `model_memory` the GPU memory that they need.
"""

from gpu_constructs.planning.fleet_plan import FleetPlan, PoolPlan, plan

__all__ = ["FleetPlan", "PoolPlan", "plan"]
