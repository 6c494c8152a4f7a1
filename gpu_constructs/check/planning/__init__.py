"""What does a fleet cost, and what does it need of the account? Pure answers over the fleet, the proof and the prices.

::

    from gpu_constructs.check.report import check_files
    from gpu_constructs.check.planning import plan

    found = plan(check_files(["cdk.out"], rules=()).fleet)
    found.maximum.hosts, found.maximum.usd_per_hour    # at MaxSize of every pool
    found.quotas                                       # vCPUs by quota code

What is not known is said and never counted as 0. Where things are: `fleet_plan` makes the plan of a fleet out of what
`host_price` says hosts cost and how many there are, and `starts` says what one start of a job takes. `plan_difference`
compares two plans, and `in_words` puts one into words and holds it against a budget. `updates` says what AWS refuses or
replaces. What GPU memory a model needs is a fact, of `facts.model_memory`, and has a name here as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_constructs.facts.model_memory import gpus_that_hold as gpus_that_hold
from gpu_constructs.facts.model_memory import memory_of_model as memory_of_model
from gpu_constructs.facts.model_shapes import model_shape as model_shape
from gpu_constructs.facts.values import loaded_later

if TYPE_CHECKING:
    from gpu_constructs.check.planning.fleet_plan import plan as plan

# A plan takes all rules with it, which take longer than a whole list of instance types.
__getattr__ = loaded_later(__name__, {"plan": "fleet_plan"})
