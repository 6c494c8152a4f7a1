"""Lists of instance types in instance requirements: is there one list only?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import Pool, PoolKind
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, error, warning


@error(
    "GPU135",
    question="do instance requirements either allow instance types or exclude some?",
    because="EC2 takes AllowedInstanceTypes or ExcludedInstanceTypes, and refuses requirements with both",
    source="https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceRequirementsRequest.html",
)
def one_list(pool: Pool) -> Iterator[Problem]:
    if pool.kind is not PoolKind.MANAGED_INSTANCES:
        yield from _both_lists(pool)


@warning(
    "GPU189",
    question="are the instance types of ECS Managed Instances either allowed or excluded?",
    because="one list includes types and the other excludes types; EC2 refuses both together, and the API page of ECS "
    "does not say what happens",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-instance-types.html",
)
def one_list_managed(pool: Pool) -> Iterator[Problem]:
    if pool.kind is PoolKind.MANAGED_INSTANCES:
        yield from _both_lists(pool)


def _both_lists(pool: Pool) -> Iterator[Problem]:
    wanted = pool.requirements
    if wanted is not None and wanted.allowed_instance_types and wanted.excluded_instance_types:
        yield Problem(
            message=f"the requirements allow {and_list(wanted.allowed_instance_types)} and exclude "
            f"{and_list(wanted.excluded_instance_types)}; EC2 takes one of the two lists",
            fix="AllowedInstanceTypes alone: types that it does not name are excluded",
            property_name="ExcludedInstanceTypes",
            value=list(wanted.excluded_instance_types),
        )
