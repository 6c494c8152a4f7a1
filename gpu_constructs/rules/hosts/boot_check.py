"""Hosts that count their GPUs at boot: do they have GPUs to count, and a boot to do it in?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import Pool, Unknown
from gpu_constructs.hardware import OperatingSystem, Vendor
from gpu_constructs.rules.rule import Problem, error

_PROPERTY = "LifecycleHookSpecificationList"
_LEAVE_OUT = "leave the count of GPUs at boot out"

# Why no script counts GPUs at boot there.
_NO_SCRIPT = {
    OperatingSystem.AMAZON_LINUX_2: "Amazon Linux 2 is past its end of life, and the check does not support it",
    OperatingSystem.BOTTLEROCKET: "Bottlerocket has no shell for user data",
}


@error(
    "GPU193",
    question="can hosts that are to count their GPUs at boot do so?",
    because="hosts count their GPUs with nvidia-smi, in a script before the ECS agent starts: that takes NVIDIA GPUs, "
    "a shell for user data, and a curl that signs requests, as on Amazon Linux 2023; a host that cannot answer is "
    "abandoned, and so is every host after it",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/lifecycle-hooks.html",
)
def can_count(pool: Pool) -> Iterator[Problem]:
    if not pool.group.checks_gpus:
        return
    vendor = pool.shape.vendor if pool.shape is not None else None
    if pool.shape is not None and vendor is not Vendor.NVIDIA:
        what = "no GPUs" if vendor is None else f"{vendor} devices, which nvidia-smi does not count"
        yield Problem(message=f"its hosts have {what}", fix=_LEAVE_OUT, property_name=_PROPERTY, value=True)
    elif not isinstance(pool.image, Unknown) and (why := _NO_SCRIPT.get(pool.image.image.operating_system)):
        yield Problem(
            message=f"{why}, so hosts of image {pool.image.image.name} cannot count their GPUs at boot",
            fix=f"an image of Amazon Linux 2023, such as al2023-gpu, or {_LEAVE_OUT}",
            property_name=_PROPERTY,
            value=True,
        )


@error(
    "GPU194",
    question="do hosts that count their GPUs at boot also boot when they leave the warm pool?",
    because="a launching lifecycle hook holds a host twice, before the warm pool and after it, and the host answers "
    "when it boots: a host that waited in another state than Stopped never answers the second time and is abandoned",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/warm-pool-instance-lifecycle.html",
)
def boots_again(pool: Pool) -> Iterator[Problem]:
    warm = pool.group.warm_pool
    if pool.group.checks_gpus and warm is not None and not isinstance(warm.state, Unknown) and warm.state != "Stopped":
        yield Problem(
            message="its hosts count their GPUs when they boot, and they leave a warm pool of state "
            f"{warm.state} without a boot",
            fix=f"a warm pool of state Stopped, or {_LEAVE_OUT}",
            property_name=_PROPERTY,
            value=True,
        )
