"""What ECS does not see of a host: whether its image boots and its agent registers its GPUs, and what these GPUs are.

ECS places by number of GPUs, so a task lands on a host that does not serve its needs as readily as on one that does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from gpu_constructs.errors import GpuConstructsError, shown
from gpu_constructs.facts import Image, InstanceType, OperatingSystem, Vendor, Verdict, compatibility
from gpu_constructs.facts.budget import NAME
from gpu_constructs.facts.cuda import dotted, runs_on
from gpu_constructs.facts.drivers import gib_of, most_gpu_memory_mib
from gpu_constructs.facts.gpu_features import (
    MPS_FIRST_AGENT,
    MPS_FIRST_RELEASE,
    MPS_LEAST_CAPABILITY,
    MPS_SERVICE,
    precision,
)
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import (
    BOUGHT_IN_ADVANCE,
    GPU_SUPPORT,
    RESERVATIONS_FIRST,
    UNKNOWN,
    Container,
    GpuNeeds,
    HostAction,
    HostImage,
    Pool,
    PoolKind,
    Task,
    Unknown,
)
from gpu_constructs.placement.reasons import Doubt, DoubtKind, Obstacle, ObstacleKind

_RELEASE = r"(?<!\d)2023\.0\.(\d{8})(?!\d)"


def of_machine(task: Task, instance_type: InstanceType, pool: Pool) -> Iterator[Obstacle | Doubt]:
    """What keeps a host from running a task though it has room: its image, its agent, what they make of its GPUs."""
    yield from (Obstacle(ObstacleKind.MACHINE, each) for each in of_every_host(task, pool))
    for container in built_for_another(task, instance_type):
        text = (
            f"is {instance_type.architecture}, and the image of container {container.name} is for {container.built_for}"
        )
        yield Obstacle(ObstacleKind.ARCHITECTURE, text)
    if pool.kind is PoolKind.MANAGED_INSTANCES:
        return  # ECS chooses the image for the type
    yield from _of_image(task, instance_type, pool)
    if task.shares_gpu:
        yield from _of_sharing(instance_type, pool)


def built_for_another(task: Task, instance_type: InstanceType) -> tuple[Container, ...]:
    """Containers whose images are known to be built for another processor than that of a type."""
    return tuple(each for each in task.containers if each.built_for not in {None, instance_type.architecture})


def of_every_host(task: Task, pool: Pool) -> tuple[str, ...]:
    """What keeps every host of a pool from running a task, whatever its type is."""
    off = task.wants_gpu and gpu_support_is_off(pool)
    shares, why_not_shared = sharing_of(pool) if task.shares_gpu else (True, "")
    return (
        *([f"registers no GPU: {GPU_SUPPORT} is off"] if off else []),
        *([f"cannot share GPUs: {why_not_shared}"] if shares is False else []),
        *([f"never starts: {why}"] if (why := why_not_reserved(pool)) else []),
    )


def why_not_reserved(pool: Pool) -> str:
    """Why no host certainly starts in the Capacity Reservation that is all a pool may use; empty if one may.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-launch.html
    """
    reservation = pool.bought.reservation
    is_all = pool.bought.option in BOUGHT_IN_ADVANCE
    if reservation is None or not is_all or reservation.preference == RESERVATIONS_FIRST:
        return ""
    if reservation.zone is not None and pool.subnets and all(map(reservation.zone.is_apart, pool.subnets)):
        return "no subnet is in the zone of its Capacity Reservation"
    reserved, names = reservation.instance_type, [each.name for each in pool.instance_types]
    if isinstance(reserved, str) and pool.types_are_known and reserved not in names:
        return f"its Capacity Reservation is of {reserved[:NAME]}"
    return ""


def is_refused_for_certain(image: Image, instance_type: InstanceType) -> bool:
    """Whether a mechanism that no user data can change keeps an image from a type that it cannot drive."""
    if not image.may_boot(instance_type):
        return True
    return image.accelerator is not None and instance_type.accelerators is not None


def has_no_devices(pool: Pool, instance_type: InstanceType) -> bool:
    """Whether a plain image certainly leaves GPUs or Neuron devices out, with what the user data sets and installs."""
    if isinstance(pool.image, Unknown) or instance_type.vendor not in {Vendor.NVIDIA, Vendor.NEURON}:
        return False
    image = pool.image.image
    if image.accelerator is not None:
        return False
    # The agent only looks for GPUs when it is set to; Bottlerocket has no shell to install a driver with.
    # Where it finds no /dev/nvidia it registers none: ecs-init/gpu/nvidia_gpu_manager.go of aws/amazon-ecs-agent.
    installs_none = HostAction.INSTALLS in pool.user_data.actions_never_taken
    if instance_type.vendor is Vendor.NEURON:
        # Without a driver there is no /dev/neuron0: https://github.com/aws-neuron/aws-neuron-sdk/issues/482
        return installs_none and pool.has_image_of_aws
    may_look = (pool.user_data.get(GPU_SUPPORT) is not None and not installs_none) or not pool.user_data.complete
    return not may_look or image.operating_system is OperatingSystem.BOTTLEROCKET


def gpu_support_is_off(pool: Pool) -> bool:
    """Whether user data keeps the agent from registering GPUs."""
    value = pool.user_data.get(GPU_SUPPORT)
    # ecs-init compares with this word alone: PreStartGPU in ecs-init/engine/engine.go of aws/amazon-ecs-agent.
    return isinstance(value, str) and value != "true"


def is_before_volta(instance_type: InstanceType) -> bool:
    """Whether MPS cannot limit what a client takes of the type's GPUs."""
    capability = instance_type.compute_capability
    return capability is not None and capability < MPS_LEAST_CAPABILITY


def sharing_of(pool: Pool) -> tuple[bool | Unknown, str]:
    """Whether the image of a pool can share GPUs, with why it cannot or why that is not known."""
    if pool.kind is PoolKind.MANAGED_INSTANCES:
        return True, ""  # ECS chooses that image
    if isinstance(pool.image, Unknown):
        needs = "sharing needs ECS agent 1.107.0 and the MPS service of the AL2023 GPU image"
        return UNKNOWN, f"its image is not known, {needs}"
    return next(_against_sharing(pool.image), (True, ""))


def _against_sharing(given: HostImage) -> Iterator[tuple[bool | Unknown, str]]:
    image, named, agent, released = given.image, f"image {given.image}", given.image.agent_version, _released(given)
    if given.is_own and agent is not None and _numbers(agent) < _numbers(MPS_FIRST_AGENT):
        yield False, f"{named} is declared with ECS agent {agent}, and {MPS_FIRST_AGENT} is the first"
    if given.is_own and image.has_mps_service is False:
        yield False, f"{named} is declared without {MPS_SERVICE}"
    if image.operating_system is OperatingSystem.AMAZON_LINUX_2 and not image.has_mps_service:
        yield False, f"{named} is Amazon Linux 2, which has no MPS service"
    if released is not None and released < MPS_FIRST_RELEASE:
        day = f"{released[:4]}-{released[4:6]}-{released[6:]}"
        yield False, f"{named} is pinned to the release of {day}, whose ECS agent is older than 1.107.0"
    if image.accelerator is not Vendor.NVIDIA:
        return  # without a driver nothing is shared, which other rules report
    if given.is_own:
        needed = {f"ECS agent {MPS_FIRST_AGENT} or later": agent, MPS_SERVICE: image.has_mps_service}
        if unknown := [each for each, known in needed.items() if known is None]:
            yield UNKNOWN, f"whether {named} has {' and '.join(unknown)} is not known"
    elif image.operating_system is OperatingSystem.BOTTLEROCKET:
        yield UNKNOWN, f"whether {named} can share GPUs is documented nowhere"
    elif given.release is not None and released is None:
        yield UNKNOWN, f"release {given.release[:80]} of {named} does not say whether its ECS agent is 1.107.0"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _of_image(task: Task, instance_type: InstanceType, pool: Pool) -> Iterator[Obstacle | Doubt]:
    wants_devices = task.wants_accelerator
    if isinstance(pool.image, Unknown):
        if wants_devices:
            yield Doubt(DoubtKind.HOSTS, "what its machine image can do is not known")
        return
    image = pool.image.image
    answer = compatibility(image, instance_type, pool.image.release)
    text = f"machine image: {answer.reason}"
    if answer.verdict is Verdict.CANNOT:
        if is_refused_for_certain(image, instance_type) or (wants_devices and has_no_devices(pool, instance_type)):
            if wants_devices or not image.may_boot(instance_type):
                yield Obstacle(ObstacleKind.MACHINE, text)
        elif wants_devices:
            yield Doubt(DoubtKind.HOSTS, text)
    elif answer.verdict is Verdict.UNCONFIRMED and wants_devices:
        yield Doubt(DoubtKind.HOSTS, text)


def _of_sharing(instance_type: InstanceType, pool: Pool) -> Iterator[Obstacle | Doubt]:
    answer, doubt = sharing_of(pool)
    if is_before_volta(instance_type):
        text = f"MPS limits no client of the GPUs of {instance_type}, which are older than Volta"
        yield Doubt(DoubtKind.UNDOCUMENTED, f"{text}, and whether ECS shares them is not documented")
    if isinstance(answer, Unknown):
        yield Doubt(DoubtKind.HOSTS, doubt)


def _released(image: HostImage) -> str | None:
    if image.image.operating_system is not OperatingSystem.AMAZON_LINUX_2023 or image.release is None:
        return None
    found = re.search(_RELEASE, image.release)
    return found[1] if found else None


# What else runs code, by the letter of what it was compiled for.
_AND = {"": " or higher", "a": " and no other", "f": " or higher of {}.x"}


class NeedKind(Enum):
    """What a container can need of its GPUs besides their number."""

    GPU_MEMORY = "memory per GPU"
    COMPUTE_CAPABILITY = "CUDA compute capability"
    PRECISION = "number format"
    NVLINK = "NVLink between its GPUs"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmetNeed:
    """A need that the GPUs of a host do not serve.

    Attributes:
        asked: How much, in words: ``40 GiB``.
        has: What the GPUs of the host have, in words: ``22.3 GiB (L4)``.
    """

    need: NeedKind
    asked: str
    has: str
    instance_type: InstanceType
    container: str

    def __str__(self) -> str:
        return f"{self.need.value}: {self.asked} needed, {self.instance_type} has {self.has}"


def unmet_needs(task: Task, instance_type: InstanceType) -> tuple[UnmetNeed, ...]:
    """Needs of a task's containers that the GPUs of a host do not serve; none on a host without NVIDIA GPUs."""
    if instance_type.vendor is not Vendor.NVIDIA:
        return ()
    return tuple(
        UnmetNeed(need=need, asked=asked, has=has, instance_type=instance_type, container=container.name)
        for container in task.containers
        if container.needs is not None
        for need, asked, has in _unmet(container, container.needs, instance_type)
    )


def _unmet(container: Container, needs: GpuNeeds, instance_type: InstanceType) -> Iterator[tuple[NeedKind, str, str]]:
    devices = instance_type.accelerators
    if devices is None:
        return
    memory = devices.memory_mib
    if needs.memory_mib is not None and needs.memory_mib > (most_gpu_memory_mib(instance_type) or memory or 0):
        has = f"{gib_of(memory):g} GiB" if memory is not None else "an unknown amount"
        asked = -(-(needs.memory_mib - 1) * 100 // 1024) / 100  # it was rounded up to whole MiB
        yield NeedKind.GPU_MEMORY, f"{asked:g} GiB", f"{has} ({devices.model})"
    capability = devices.compute_capability
    here = "an unknown one" if capability is None else f"{dotted(capability)} ({devices.model})"
    target = needs.compute_capability
    if target is not None and not runs_on(capability or (0, 0), target, needs.compute_features):
        yield NeedKind.COMPUTE_CAPABILITY, f"{dotted(target)}{_AND[needs.compute_features].format(target[0])}", here
    if needs.precision is not None:
        lowest = _lowest(needs.precision)
        if lowest is None:
            yield NeedKind.PRECISION, f"{shown(needs.precision)}, which is not a known number format,", here
        elif lowest > (capability or (0, 0)):
            yield (
                NeedKind.PRECISION,
                f"{needs.precision.strip().lower()}, which takes compute capability {dotted(lowest)},",
                here,
            )
    gpus = instance_type.gpus if container.takes_all_gpus else container.gpus
    if needs.nvlink and not isinstance(gpus, Unknown) and gpus > 1 and not devices.has_nvlink:
        yield NeedKind.NVLINK, "NVLink", devices.interconnect or "an unknown one"


def _lowest(name: str) -> tuple[int, int] | None:
    try:
        return precision(name).lowest
    except GpuConstructsError:
        return None
