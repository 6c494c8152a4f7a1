"""Hosts that count their GPUs at boot: whether they have GPUs to count, and a boot to do it in."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import Pool, Unknown
from gpu_constructs.hardware import OperatingSystem, Vendor
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule

# Why nothing can count GPUs at boot there.
_NO_SCRIPT = {
    OperatingSystem.AMAZON_LINUX_2: "Amazon Linux 2 is past its end of life and not supported by the check",
    OperatingSystem.BOTTLEROCKET: "Bottlerocket has no shell for user data",
}


@rule(
    "GPU193",
    Severity.ERROR,
    about=Pool,
    question="can hosts that are to count their GPUs at boot do that?",
    because="they count with nvidia-smi, in a script before the ECS agent starts: that takes NVIDIA GPUs, a shell for "
    "user data, and a curl that signs requests, as on Amazon Linux 2023; a host that cannot answer is abandoned, and "
    "so is every host after it",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/lifecycle-hooks.html",
)
def can_count(pool: Pool) -> Iterator[Problem]:
    if not pool.group.checks_gpus:
        return
    vendor = pool.shape.vendor if pool.shape is not None else None
    if pool.shape is not None and vendor is not Vendor.NVIDIA:
        what = "no GPUs" if vendor is None else f"{vendor} devices, which nvidia-smi does not count"
        yield Problem(about=pool, message=f"its hosts have {what}", fix="leave the check of GPUs at boot out")
    elif not isinstance(pool.image, Unknown) and (why := _NO_SCRIPT.get(pool.image.image.operating_system)):
        yield Problem(
            about=pool,
            message=f"{why}, so hosts of image {pool.image.image.name} cannot count their GPUs at boot",
            fix="an image of Amazon Linux 2023, such as al2023-gpu, or leave the check of GPUs at boot out",
        )


@rule(
    "GPU194",
    Severity.ERROR,
    about=Pool,
    question="do hosts that count their GPUs at boot also boot when they leave the warm pool?",
    because="a launching lifecycle hook holds a host twice, before the warm pool and after it, and the host answers "
    "when it boots: one that waited in another state than Stopped never answers the second time and is abandoned",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/warm-pool-instance-lifecycle.html",
)
def boots_again(pool: Pool) -> Iterator[Problem]:
    if not pool.group.checks_gpus or pool.group.warm_pool is None or pool.group.warm_pool.state == "Stopped":
        return
    if not isinstance(pool.group.warm_pool.state, Unknown):
        yield Problem(
            about=pool,
            message=f"its hosts count their GPUs when they boot, and they leave a warm pool of state "
            f"{pool.group.warm_pool.state} without a boot",
            fix="a warm pool of state Stopped, or leave the check of GPUs at boot out",
        )
