"""Queues of AWS Batch: their compute environments, their policy, and whether they end jobs that wait too long.

https://docs.aws.amazon.com/batch/latest/APIReference/API_CreateJobQueue.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpu_constructs.fleet import UNKNOWN, JobQueue, Unknown
from gpu_constructs.template.model import Reference, Resource
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.names import Names
from gpu_constructs.template.resources.section import Section, given

ENVIRONMENT = "AWS::Batch::ComputeEnvironment"
QUEUE = "AWS::Batch::JobQueue"
_POLICY = "AWS::Batch::SchedulingPolicy"


def environments_of(queue: Resource, index: Index) -> list[Resource | None]:
    """The compute environments of a queue, in order; None for each that is not among the files."""
    order = Section.of(queue, []).sections("ComputeEnvironmentOrder")
    return [index.find(each.get("ComputeEnvironment"), ENVIRONMENT, each.resource.place) for each in order]


def is_managed(environment: Resource) -> bool:
    """Whether AWS Batch certainly launches the hosts of a compute environment."""
    return str(environment.properties.get("Type")).upper() == "MANAGED"


def job_queues(
    index: Index, names: Names, names_of_pools: Mapping[Reference, str]
) -> Iterator[tuple[Reference, JobQueue]]:
    """Reads every queue."""
    queues = tuple(index.all(QUEUE))
    for resource, name in zip(queues, names.unique([(each, "") for each in queues]), strict=True):
        properties = Section.of(resource, [])
        yield (
            resource.reference,
            JobQueue(
                name=name,
                environments=tuple(
                    names_of_pools.get(each.reference, each.logical_id)
                    for each in environments_of(resource, index)
                    if each is not None
                ),
                has_shares=_has_shares(properties, index),
                wait_seconds=tuple(
                    given(each.integer("MaxTimeSeconds"), UNKNOWN)
                    for each in properties.sections("JobStateTimeLimitActions")
                ),
                origin=resource.origin,
            ),
        )


def _policy(properties: Section, index: Index) -> Resource | None:
    return index.find(properties.get("SchedulingPolicyArn"), _POLICY, properties.resource.place)


def _has_shares(properties: Section, index: Index) -> bool | Unknown:
    """Whether its policy is one of fair shares; there are others."""
    if not properties.has("SchedulingPolicyArn"):
        return False
    policy = _policy(properties, index)
    return True if policy is not None and "FairsharePolicy" in policy.properties else UNKNOWN
