"""Settings of an Auto Scaling group, against each other and against its capacity provider."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import Pool, PoolKind, Unknown
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule


@rule(
    "GPU123",
    Severity.WARNING,
    about=Pool,
    question="is managed termination protection on where it works?",
    because="it works with managed scaling only, and the Auto Scaling group must protect its hosts from scale-in; "
    "ECS has refused the capacity provider where it does not",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_AutoScalingGroupProvider.html",
)
def protection_works(pool: Pool) -> Iterator[Problem]:
    # A maintainer wrote in 2024 that ECS turns the protection on by itself, and the API page asks for it still
    # (https://github.com/aws/containers-roadmap/issues/860): so no error.
    if pool.managed_termination_protection is not True or pool.kind is not PoolKind.AUTO_SCALING_GROUP:
        return
    if pool.managed_scaling is False:
        yield Problem(
            about=pool,
            message="managed termination protection is on and managed scaling is off: it does not work without",
            fix="ManagedScaling with Status ENABLED, or no managed termination protection",
        )
    elif pool.group.scale_in_protection is False:
        yield Problem(
            about=pool,
            message="managed termination protection is on, and the Auto Scaling group does not protect new hosts "
            "from scale-in, as ECS asks of it",
            fix="NewInstancesProtectedFromScaleIn true, or no managed termination protection",
        )


@rule(
    "GPU129",
    Severity.ERROR,
    about=Pool,
    question="is DesiredCapacity within MinSize and MaxSize?",
    because="EC2 Auto Scaling takes a desired capacity from the smallest to the largest size and refuses any other",
    source="https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_CreateAutoScalingGroup.html",
    unless=("GPU111",),
)
def desired_within_sizes(pool: Pool) -> Iterator[Problem]:
    desired = pool.group.desired_instances
    if desired is None or isinstance(desired, Unknown):
        return
    low, high = pool.min_instances, pool.max_instances
    if not isinstance(high, Unknown) and desired > high:
        yield Problem(
            about=pool,
            message=f"DesiredCapacity is {desired} and MaxSize is {high}: more are desired than there may be",
            fix=f"a MaxSize of {desired}, or no DesiredCapacity, which managed scaling sets anyway",
        )
    elif not isinstance(low, Unknown) and desired < low:
        yield Problem(
            about=pool,
            message=f"DesiredCapacity is {desired} and MinSize is {low}: fewer are desired than there must be",
            fix=f"a MinSize of {desired}, or no DesiredCapacity, which managed scaling sets anyway",
        )
