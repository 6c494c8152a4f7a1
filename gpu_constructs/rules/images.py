"""Machine images: whether they drive the hosts, stay the same, and are still kept up."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet import Fleet, Pool, Unknown, Workload
from gpu_constructs.hardware import (
    RECORDED,
    Image,
    InstanceType,
    OperatingSystem,
    Vendor,
    Verdict,
    compatibility,
    default_image,
)
from gpu_constructs.rules.demand import gpu_demand
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, Rule, rule
from gpu_constructs.rules.wording import both, either

__all__ = ["RULES"]


@rule(
    "GPU002",
    Severity.WARNING,
    question="is the machine image pinned to a release?",
    because="an image that follows the newest release is resolved at every deploy, so any deploy may change the AMI of "
    "hosts that start after it, and with it the driver",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/retrieve-ecs-optimized_AMI.html",
)
def pinned(fleet: Fleet) -> Iterator[Problem]:
    for pool in fleet.pools:
        if not isinstance(pool.image, Unknown) and pool.image.is_floating:
            known = pool.image.image.known_release
            yield Problem(
                about=pool,
                message=f"image {pool.image.image.name} follows the newest release, so any deploy may change the AMI "
                "of hosts that start after it",
                fix=f"pin a release{f', such as {known}' if known else ''}",
            )


@rule(
    "GPU003",
    Severity.WARNING,
    question="is the machine image still kept up?",
    because="past its end of life an image gets no more security updates",
    source="https://github.com/aws/amazon-ecs-ami",
)
def kept_up(fleet: Fleet) -> Iterator[Problem]:
    for pool, image in _known(fleet):
        end: date | None = image.end_of_life
        if end is not None and end < RECORDED:
            yield Problem(
                about=pool,
                message=f"image {image.name} is past its end of life, {end:%Y-%m-%d}, and gets no more security "
                "updates",
                fix=f"{OperatingSystem.AMAZON_LINUX_2023.value} has taken its place",
            )


@rule(
    "GPU004",
    Severity.WARNING,
    question="does somebody confirm that the machine image drives the instance types?",
    because="a type that is newer than the list of what an image supports may find no driver that loads",
    source="UNCONFIRMED: no list of the image's makers names the type",
)
def confirmed(fleet: Fleet) -> Iterator[Problem]:
    for pool, image in _known(fleet):
        for reason, types in _doubts(pool, image, Verdict.UNCONFIRMED).items():
            yield Problem(
                about=pool, message=f"nobody confirms that image {image.name} drives {either(types)}: {reason}"
            )


@rule(
    "GPU052",
    Severity.ERROR,
    question="can the machine image drive the instance types?",
    because="an image of another architecture does not boot, and a GPU without a driver that knows it is never "
    "registered with ECS",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html",
)
def drives(fleet: Fleet) -> Iterator[Problem]:
    for each, waiting in _judged(fleet):
        if each.is_certain:
            yield Problem(
                about=each.pool,
                message=f"image {each.image.name} cannot drive {either(each.types)}: {each.reason}",
                fix=_instead(each.types),
            )
        elif waiting:
            yield Problem(
                about=each.pool,
                message=f"{both(workload.name for workload in waiting)} asks for GPUs, and image {each.image.name} has "
                f"no driver for {either(each.types)}: without ECS_ENABLE_GPU_SUPPORT=true its hosts register no GPU",
                fix=_instead(each.types),
            )


@rule(
    "GPU099",
    Severity.WARNING,
    question="is the machine image made for what the instance types carry?",
    because="a plain image leaves GPUs idle unless the user data installs a driver; a GPU image on a host without GPUs "
    "waits for devices that never come, and older agents do not start at all",
    source="https://github.com/aws/amazon-ecs-agent/issues/2424",
)
def made_for(fleet: Fleet) -> Iterator[Problem]:
    for each, waiting in _judged(fleet):
        if each.is_certain or waiting:
            continue
        image, devices = each.image, each.types[0].accelerators
        if devices is None:
            message = f"image {image.name} is for hosts with accelerators, which {either(each.types)} does not have"
        else:
            message = (
                f"image {image.name} has no driver for the {devices.model} of {either(each.types)}: nobody uses it, "
                "unless the user data installs one"
            )
        yield Problem(about=each.pool, message=message, fix=_instead(each.types))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refused:
    """Types of one kind that the image of their pool is not made for, and why for the first of them."""

    pool: Pool
    image: Image
    types: tuple[InstanceType, ...]
    reason: str

    @property
    def is_certain(self) -> bool:
        """Whether a mechanism that no user data can change keeps the image from them."""
        first = self.types[0]
        if self.image.architecture is not first.architecture:
            return True
        return self.image.accelerator is not None and first.accelerators is not None

    @property
    def registers_no_gpu(self) -> bool:
        """Whether a plain image certainly leaves NVIDIA GPUs out, whatever the user data installs."""
        devices = self.types[0].accelerators
        if self.image.accelerator is not None or devices is None or devices.vendor is not Vendor.NVIDIA:
            return False
        # The agent only looks for GPUs when it is told to; Bottlerocket has no shell to install a driver with.
        user_data = self.pool.user_data
        told = user_data.get("ECS_ENABLE_GPU_SUPPORT") is not None or not user_data.complete
        return not told or self.image.operating_system is OperatingSystem.BOTTLEROCKET


def _judged(fleet: Fleet) -> Iterator[tuple[_Refused, tuple[Workload, ...]]]:
    """What images are not made for, with the workloads that wait for the GPUs of hosts that register none."""
    refused = list(_refused(fleet))
    demand = gpu_demand(fleet) if any(each.registers_no_gpu for each in refused) else {}
    for each in refused:
        yield each, demand.get(each.pool.name, ()) if each.registers_no_gpu else ()


def _known(fleet: Fleet) -> Iterator[tuple[Pool, Image]]:
    return ((pool, pool.image.image) for pool in fleet.pools if not isinstance(pool.image, Unknown))


def _doubts(pool: Pool, image: Image, verdict: Verdict) -> dict[str, list[InstanceType]]:
    found: dict[str, list[InstanceType]] = {}
    for each in pool.instance_types:
        answer = compatibility(image, each)
        if answer.verdict is verdict:
            found.setdefault(answer.reason, []).append(each)
    return found


def _refused(fleet: Fleet) -> Iterator[_Refused]:
    for pool, image in _known(fleet):
        groups: dict[Hashable, list[InstanceType]] = {}
        reasons: dict[Hashable, str] = {}
        for each in pool.instance_types:
            answer = compatibility(image, each)
            devices = each.accelerators
            if answer.verdict is Verdict.CANNOT and not _declared(image, each):
                kind: Hashable = (each.architecture, devices and (devices.vendor, devices.generation))
                groups.setdefault(kind, []).append(each)
                reasons.setdefault(kind, answer.reason)
        for key, types in groups.items():
            yield _Refused(pool=pool, image=image, types=tuple(types), reason=reasons[key])


def _declared(image: Image, instance_type: InstanceType) -> bool:
    """Whether an image of the user's own is said to drive devices that no published image drives."""
    devices = instance_type.accelerators
    return (
        devices is not None
        and devices.vendor not in {Vendor.NVIDIA, Vendor.NEURON}
        and image.accelerator is devices.vendor
        and image.architecture is instance_type.architecture
    )


def _instead(types: Iterable[InstanceType]) -> str:
    try:
        names = dict.fromkeys(default_image(each).name for each in types)
    except IncompatibleError as error:
        return error.fix or ""
    return f"image {either(names)}"


RULES: tuple[Rule, ...] = (pinned, kept_up, confirmed, drives, made_for)
