"""Lists of instance types in instance requirements."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import Fleet, PoolKind
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, Rule, rule
from gpu_constructs.rules.wording import both

__all__ = ["RULES"]


@rule(
    "GPU135",
    Severity.ERROR,
    question="do instance requirements either allow instance types or exclude some?",
    because="EC2 takes AllowedInstanceTypes or ExcludedInstanceTypes and refuses requirements with both",
    source="https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceRequirementsRequest.html",
)
def one_list(fleet: Fleet) -> Iterator[Problem]:
    for pool in fleet.pools:
        wanted = pool.requirements
        # The page of the ECS API, for Managed Instances, has no such sentence.
        if wanted is None or pool.kind is PoolKind.MANAGED_INSTANCES:
            continue
        if wanted.allowed_instance_types and wanted.excluded_instance_types:
            yield Problem(
                about=pool,
                message=f"the requirements allow {both(wanted.allowed_instance_types)} and exclude "
                f"{both(wanted.excluded_instance_types)}; EC2 takes one of the two lists",
                fix="AllowedInstanceTypes alone: what it does not name is excluded",
            )


RULES: tuple[Rule, ...] = (one_list,)
