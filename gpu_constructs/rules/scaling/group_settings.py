"""Settings of an Auto Scaling group: do they agree with each other and with its capacity provider?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import Pool, PoolKind, Unknown
from gpu_constructs.rules.rule import Problem, error, warning


@warning(
    "GPU123",
    question="can ECS manage termination protection as it is asked to?",
    because="managed termination protection needs managed scaling and an Auto Scaling group that protects new hosts "
    "from "
    "scale-in; ECS has refused capacity providers without them",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_AutoScalingGroupProvider.html",
)
def protection_works(pool: Pool) -> Iterator[Problem]:
    # A maintainer wrote in 2024 that ECS turns the protection on by itself, and the API page asks for it still
    # (https://github.com/aws/containers-roadmap/issues/860): so no error.
    if pool.managed_termination_protection is not True or pool.kind is not PoolKind.AUTO_SCALING_GROUP:
        return
    if pool.managed_scaling is False:
        yield Problem(
            property_name="ManagedTerminationProtection",
            message="managed termination protection is on and managed scaling is off, and the first needs the second",
            fix="ManagedScaling with Status ENABLED, or turn managed termination protection off",
        )
    elif pool.group.scale_in_protection is False:
        yield Problem(
            message="managed termination protection is on, and the Auto Scaling group does not protect new hosts "
            "from scale-in, which ECS requires",
            fix="NewInstancesProtectedFromScaleIn true, or turn managed termination protection off",
        )


@error(
    "GPU129",
    question="is DesiredCapacity within MinSize and MaxSize?",
    because="EC2 Auto Scaling refuses a desired capacity outside MinSize and MaxSize",
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
            message=f"DesiredCapacity is {desired} and MaxSize is {high}",
            fix=f"raise MaxSize to {desired}, or remove DesiredCapacity, which managed scaling sets anyway",
        )
    elif not isinstance(low, Unknown) and desired < low:
        yield Problem(
            message=f"DesiredCapacity is {desired} and MinSize is {low}",
            fix=f"lower MinSize to {desired}, or remove DesiredCapacity, which managed scaling sets anyway",
        )
