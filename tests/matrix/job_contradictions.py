"""Which choices of `job_choices` cannot stand together, and what a user should be told then.

Written from the pages and APIs that each row names, read on 2026-11-21, not from the rules of this library.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

from gpu_constructs import GpuConstructsError, IncompatibleError, InvalidValueError, UnknownNameError
from tests.matrix.contradictions import Contradiction
from tests.matrix.covering import Pair, pairs_of
from tests.matrix.job_choices import JobCombination, every_job

__all__ = ["CONTRADICTIONS", "applying", "legal", "one_of_each_illegal_pair"]

_ECS = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide"
_BATCH = "https://docs.aws.amazon.com/batch/latest"


def _row(
    all_of: str, error: type[GpuConstructsError], said: str, source: str, *, without: str | None = None
) -> Contradiction:
    absent = frozenset[str]() if without is None else frozenset({without})
    return Contradiction(all_of, frozenset(all_of.split(", ")), absent, said, source, error)


CONTRADICTIONS: tuple[Contradiction, ...] = (
    # Hosts and what is asked of them
    _row(
        "block",
        IncompatibleError,
        r"sells no Capacity Blocks of g6f\.2xlarge",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html, supported instance types",
        without="sold in blocks",
    ),
    _row(
        "managed, efa",
        IncompatibleError,
        r"^efa: the hosts of .* have no Elastic Fabric Adapter",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ManagedInstancesNetworkConfiguration.html: "
        "subnets and security groups",
    ),
    _row(
        "family, efa",
        IncompatibleError,
        r"different numbers of Elastic Fabric Adapters \(.*: 1, .*: 32\)",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Device.html: the path of a device of the host; "
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html",
    ),
    _row(
        "managed, bridge",
        IncompatibleError,
        r"network mode bridge is not valid.*GPU047\)",
        f"{_ECS}/managed-instances-tasks-services.html",
    ),
    # AWS Batch
    _row(
        "batch, mixed",
        IncompatibleError,
        r"^purchase: a compute environment of AWS Batch is either spot or on demand",
        f"{_BATCH}/APIReference/API_ComputeResource.html: type EC2 or SPOT",
    ),
    _row(
        "batch, warm",
        InvalidValueError,
        r"^scaling: AWS Batch starts and ends the hosts of its queues itself",
        f"{_BATCH}/APIReference/API_ComputeResource.html: no warm pool",
    ),
    _row(
        "batch, managed",
        InvalidValueError,
        r"^environments: expects a list of CapacityChoice, got \[ManagedGpuCapacity",
        f"{_BATCH}/APIReference/API_ComputeResource.html: type EC2, SPOT, FARGATE or FARGATE_SPOT",
    ),
    *(
        _row(
            f"batch, {trait}",
            InvalidValueError,
            r"^gpus: expects a whole number of GPUs, got .*GPU020\)",
            f"{_BATCH}/APIReference/API_ResourceRequirement.html: the number of physical GPUs",
            without=without,
        )
        for trait, without in (("part", "nodes"), ("share", None))
    ),
    _row(
        "batch, a mode",
        UnknownNameError,
        r"^network_mode: (GpuBatchQueue\.add_job|MultiNodeTraining) has no such argument",
        f"{_BATCH}/APIReference/API_ContainerProperties.html: no network mode, hosts share theirs",
    ),
    # AWS Batch itself takes up to ten containers, as EcsProperties: a job of this library has one.
    _row(
        "batch, several containers",
        UnknownNameError,
        r"^containers: (GpuBatchQueue\.add_job|MultiNodeTraining) has no such argument",
        f"{_BATCH}/userguide/multi-container-jobs.html",
    ),
    # Several hosts of AWS Batch
    _row(
        "nodes, part",
        IncompatibleError,
        r"^queue: each host of a training has whole GPUs, and g6f\.2xlarge has none",
        f"{_BATCH}/APIReference/API_ResourceRequirement.html: the number of physical GPUs",
    ),
    _row(
        "nodes, spot",
        IncompatibleError,
        r"every compute environment here is Spot, where AWS Batch does not run multi-node jobs.*GPU294\)",
        f"{_BATCH}/userguide/mnp-ce.html",
    ),
    _row(
        "nodes, family",
        IncompatibleError,
        r"^queue: all hosts of a training are of one type, and",
        f"{_BATCH}/userguide/mnp-node-groups.html",
    ),
)


def applying(its: JobCombination) -> list[Contradiction]:
    """Why it cannot be; empty where it can."""
    return [each for each in CONTRADICTIONS if each.applies(its.traits)]


@cache
def legal() -> tuple[JobCombination, ...]:
    """Every combination that can be."""
    return tuple(each for each in every_job() if not applying(each))


@cache
def one_of_each_illegal_pair() -> list[JobCombination]:
    """For each two choices that never stand together, a combination with the fewest reasons against it."""
    possible = pairs_of(legal())
    first: dict[Pair, JobCombination] = {}
    for each in sorted(every_job(), key=lambda its: len(applying(its))):
        for pair in map(frozenset, combinations(each.choices, 2)):
            first.setdefault(pair, each)
    return list(dict.fromkeys(each for pair, each in first.items() if pair not in possible))
