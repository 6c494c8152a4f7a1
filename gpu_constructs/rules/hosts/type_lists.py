"""Lists of instance types in instance requirements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_constructs.fleet import Pool, PoolKind
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule


@rule(
    "GPU135",
    Severity.ERROR,
    about=Context,
    question="do instance requirements either allow instance types or exclude some?",
    because="EC2 takes AllowedInstanceTypes or ExcludedInstanceTypes and refuses requirements with both",
    source="https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceRequirementsRequest.html",
)
def one_list(context: Context) -> Iterator[Problem]:
    return _both_lists(each for each in context.fleet.pools if each.kind is not PoolKind.MANAGED_INSTANCES)


@rule(
    "GPU189",
    Severity.WARNING,
    about=Context,
    question="are the instance types of ECS Managed Instances either allowed or excluded?",
    because="types are included by one list or excluded by the other; EC2 refuses both together, and the API page of "
    "ECS does not say what becomes of them",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-instance-types.html",
)
def one_list_managed(context: Context) -> Iterator[Problem]:
    return _both_lists(each for each in context.fleet.pools if each.kind is PoolKind.MANAGED_INSTANCES)


def _both_lists(pools: Iterable[Pool]) -> Iterator[Problem]:
    for pool in pools:
        wanted = pool.requirements
        if wanted is not None and wanted.allowed_instance_types and wanted.excluded_instance_types:
            yield Problem(
                about=pool,
                message=f"the requirements allow {and_list(wanted.allowed_instance_types)} and exclude "
                f"{and_list(wanted.excluded_instance_types)}; EC2 takes one of the two lists",
                fix="AllowedInstanceTypes alone: what it does not name is excluded",
            )
