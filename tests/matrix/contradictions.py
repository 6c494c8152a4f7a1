"""Which traits of `choices` AWS does not let stand together, and what a user should be told then.

Written from the pages and APIs that each row names, read on 2026-11-21, not from the rules of this library.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from gpu_constructs import GpuConstructsError, IncompatibleError
from tests.matrix.choices import Combination, every_combination

__all__ = ["CONTRADICTIONS", "Contradiction", "applying", "legal"]

_EC2 = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide"
_ECS = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide"
_ASG = "https://docs.aws.amazon.com/autoscaling/ec2/userguide"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """One.

    Args:
        name: What it is called in reports.
        all_of: Traits that are there.
        none_of: Traits that are not there.
        said: What the message has in it, a regular expression.
        source: Where AWS says so.
        error: What is raised.
    """

    name: str
    all_of: frozenset[str]
    none_of: frozenset[str]
    said: str
    source: str
    error: type[GpuConstructsError] = IncompatibleError

    def applies(self, traits: Collection[str]) -> bool:
        """Whether a combination with these traits has it."""
        return self.all_of.issubset(traits) and self.none_of.isdisjoint(traits)

    def explains(self, raised: GpuConstructsError) -> bool:
        """Whether an error is about it."""
        return type(raised) is self.error and re.search(self.said, str(raised)) is not None


def _row(name: str, all_of: str, said: str, source: str, *, without: str = "") -> Contradiction:
    absent = frozenset(without.split(", ")) if without else frozenset[str]()
    return Contradiction(name, frozenset(all_of.split(", ")), absent, said, source)


CONTRADICTIONS = (
    # Hardware by itself
    _row(
        "types of two shapes",
        "two shapes",
        r"different shapes",
        f"{_ECS}/managed-scaling-behavior.html: tasks larger than the smallest type never make the group grow",
    ),
    _row(
        "types of two architectures",
        "two architectures",
        r"different shapes .*arm64",
        f"{_EC2}/ami-component-specifications.html: an AMI has one architecture",
    ),
    _row("AMD GPUs", "amd", r"AMD", f"{_ECS}/ecs-gpu.html: NVIDIA GPUs only"),
    _row(
        "no driver in any ECS-optimized AMI",
        "no driver",
        r"driver",
        "NVIDIA ends Kepler with branch 470; github.com/aws/amazon-ecs-ami, README: Kepler AMIs are not published",
    ),
    _row(
        "no ECS-optimized AMI",
        "no image",
        r"p6e-gb200",
        f"{_ECS}/ecs-optimized_AMI.html: no arm64 GPU AMI; bottlerocket.dev, aws-ecs-*-nvidia arm64: G5g only",
    ),
    _row(
        "an image that does not drive the type",
        "other image",
        r"cannot drive|has no driver|is not made for",
        f"{_ECS}/ecs-optimized_AMI.html: one AMI for each architecture and kind of accelerator",
    ),
    # Purchase
    _row(
        "a Capacity Block of a type that has none",
        "block",
        r"sells no Capacity Blocks of",
        f"{_EC2}/ec2-capacity-blocks.html and SupportedUsageClasses of DescribeInstanceTypes",
        without="sold in blocks",
    ),
    _row(
        "several types in one reservation",
        "one reservation, several types",
        r"is of one instance type",
        f"{_EC2}/capacity-reservations-launch.html: instance type, platform, zone and tenancy match",
    ),
    _row(
        "more hosts than are reserved",
        "too few reserved",
        r"max_instances is 2 and 1 host is reserved",
        f"{_ASG}/use-ec2-capacity-reservations.html: capacity-reservations-only fails where no capacity is left",
    ),
    _row(
        "a Capacity Block in several zones",
        "block, two zones",
        r"Capacity Block is in one Availability Zone",
        f"{_ASG}/launch-template-capacity-blocks.html: the zone of the block",
    ),
    _row(
        "a Capacity Block in a placement group",
        "block, wants group",
        r"(can|may) ?not start in (another|a) placement group",
        "github.com/eksctl-io/eksctl/issues/7949: launches of a block with a placement group fail",
    ),
    # Warm hosts
    _row(
        "Spot hosts kept warm",
        "warm, spot",
        r"PutWarmPool refuses a group that requests Spot Instances",
        "https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-warm-pools.html",
    ),
    _row(
        "hosts of a Capacity Block kept warm",
        "warm, block",
        r"a warm pool starts hosts outside the schedule of the block",
        "https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-template-capacity-blocks.html",
    ),
    _row(
        "Bottlerocket kept warm",
        "warm, bottlerocket",
        r"Bottlerocket has no setting that makes the agent wait",
        "github.com/bottlerocket-os/bottlerocket/issues/4888",
    ),
    # Network
    _row(
        "EFA of a type without",
        "wants efa",
        r"supports? no Elastic Fabric Adapter",
        f"{_EC2}/efa.html#efa-instance-types",
        without="efa",
    ),
    _row(
        "EFA at different network cards",
        "wants efa, two layouts of efa",
        r"have them at different network cards",
        f"{_EC2}/efa-acc-inst-types.html and EfaInfo of DescribeInstanceTypes",
    ),
    _row("EFA in several zones", "wants efa, two zones", r"EFA traffic does not leave", f"{_EC2}/efa.html#efa-limits"),
    _row(
        "a cluster placement group in several zones",
        "wants group, two zones",
        r"a cluster placement group is in one Availability Zone",
        f"{_EC2}/placement-strategies.html: a cluster placement group can't span multiple Availability Zones",
    ),
    # Storage
    _row(
        "local disks of a type without",
        "wants local disks",
        r"no local disks",
        f"{_EC2}/instance-store-volumes.html and InstanceStorageInfo of DescribeInstanceTypes",
        without="local disks",
    ),
    _row(
        "scratch on Bottlerocket",
        "wants scratch, bottlerocket",
        r"Bottlerocket uses local disks for system directories only",
        "github.com/bottlerocket-os/bottlerocket-core-kit, apiserver: allowed_bind_dirs",
    ),
)


def applying(traits: Collection[str]) -> list[Contradiction]:
    """Every contradiction of a combination with these traits; none where it is legal."""
    return [each for each in CONTRADICTIONS if each.applies(traits)]


@cache
def legal() -> tuple[Combination, ...]:
    """Every combination that contradicts nothing."""
    return tuple(each for each in every_combination() if not applying(each.traits))
