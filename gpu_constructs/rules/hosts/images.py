"""Machine images: do they drive the hosts, stay the same, and still get updates?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.facts import (
    IMAGES,
    Image,
    OperatingSystem,
    Verdict,
    compatibility,
    default_image,
    is_supported,
    newest_release,
)
from gpu_constructs.facts.gpu_features import NEED_OVERCOMMIT
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import GPU_SUPPORT, HostImage, Pool, PoolKind, Scheduler, Task, Unknown, Workload
from gpu_constructs.rules.finding import Way, one_way, or_list, with_verb
from gpu_constructs.rules.hosts.undriven_types import (
    OF_BATCH,
    UndrivenTypes,
    is_of_batch,
    undriven_types,
    with_image,
)
from gpu_constructs.rules.rule import Context, Problem, Problems, error, info, warning

_PROPERTY = "ImageId"
_OVERCOMMIT = "overcommit_memory"


@info(
    "GPU002",
    question="is the machine image pinned to a release?",
    because="an image that follows the newest release is resolved at every deploy, so any deploy may change the AMI of "
    "hosts that start after it, and with it the driver",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/retrieve-ecs-optimized_AMI.html",
    changes="ImageId",
    unless=("GPU003", "GPU052"),
)
def pinned(pool: Pool) -> Problems:
    # AWS Batch keeps the AMI of a compute environment until somebody updates it
    # (https://docs.aws.amazon.com/batch/latest/userguide/compute_resource_AMIs.html).
    if not isinstance(pool.image, Unknown) and pool.image.is_floating and pool.kind is not PoolKind.BATCH:
        known = newest_release(pool.image.image, pool.region)
        yield Problem(
            message=f"image {pool.image.image.name} follows the newest release, so any deploy may change the AMI "
            "of hosts that start after it",
            fix=f"pin a release{f', such as {known}' if known else ''}",
        )


@error(
    "GPU003",
    question="does the machine image still get security updates?",
    because="AWS promises no security updates for an image past its end of life; where it still publishes releases, "
    "they may stop on any day, and AWS Batch refuses new compute environments on its own images of Amazon Linux 2",
    softer="outside of AWS Batch, and where an environment exists already or names its image",
    source="https://github.com/aws/amazon-ecs-ami",
    unless=("GPU033", "GPU052"),
)
def kept_up(context: Context) -> Problems:
    for pool in context.fleet.pools:
        if isinstance(pool.image, Unknown) or is_supported(image := pool.image.image):
            continue
        is_provided = is_of_batch(pool, image) and pool.has_image_of_aws and not context.exists(pool)
        if image.operating_system is OperatingSystem.AMAZON_LINUX_2 and is_provided:
            # https://docs.aws.amazon.com/batch/latest/APIReference/API_Ec2Configuration.html
            name = "al2023-gpu" if image.accelerator else "al2023"
            new = replace(pool, image=HostImage(image=next(each for each in IMAGES if each.name == name)))
            yield Problem(
                about=pool,
                message=f"AWS Batch refuses new compute environments on {image.name} since 2026-06-30",
                fix="an image of Amazon Linux 2023",
                ways=one_way(f"ImageType {OF_BATCH[name]}", new),
                property_name="ImageType",
            )
            continue
        yield Problem(
            about=pool,
            message=f"image {image.name} is past its end of life, {image.end_of_life}, and AWS promises no "
            "more security updates",
            fix="an image that AWS still supports",
            ways=() if _lacks_gpus(context, pool) else (_successors(pool, image),),
            property_name=_PROPERTY,
            is_certain=False,
        )


@warning(
    "GPU004",
    question="is the machine image confirmed to drive the instance types?",
    because="a type that is newer than the list of what an image supports may find no driver that loads; g6f.large "
    "runs tasks with GPUs only where the kernel overcommits memory (README of github.com/aws/amazon-ecs-ami)",
    source="UNCONFIRMED: no list of the image's makers names the type",
)
def confirmed(pool: Pool) -> Problems:
    if isinstance(pool.image, Unknown):
        return
    image, release = pool.image.image, pool.image.release
    answers = ((compatibility(image, each, release), each) for each in pool.instance_types)
    doubts = grouped((answer.reason, each) for answer, each in answers if answer.verdict is Verdict.UNCONFIRMED)
    for reason, types in doubts.items():
        yield Problem(
            message=f"no source confirms that image {image.name} drives {or_list(types)}: {reason}",
            property_name=_PROPERTY,
        )
    needing = [each for each in pool.instance_types if each.name in NEED_OVERCOMMIT]
    told = pool.user_data.commands.replace(f"vm.{_OVERCOMMIT}=0", "") if pool.user_data.complete else ""
    if needing and pool.operating_system is OperatingSystem.AMAZON_LINUX_2023 and told and _OVERCOMMIT not in told:
        yield Problem(
            message=f"{or_list(needing)} runs tasks with GPUs on image {image.name} only with vm.{_OVERCOMMIT}=1, "
            "which the user data does not set",
            fix=f"sysctl -w vm.{_OVERCOMMIT}=1 in the user data, and in a file of /etc/sysctl.d for the next start",
            property_name="UserData",
        )


@error(
    "GPU052",
    question="can the machine image drive the instance types?",
    because="an image of another architecture does not boot, and a GPU without a driver that knows it is never "
    "registered with ECS; without a driver there is no /dev/neuron0, and Docker starts no container that is given it",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html",
)
def drives(context: Context) -> Problems:
    undriven = [each for pool in context.fleet.pools for each in undriven_types(pool)]
    for each in undriven:
        waiting = _waiting(context, undriven, each) if each.has_no_devices else ()
        if each.is_certain and not each.leaves_others:
            yield each.problem(f"image {each.image.name} cannot drive {or_list(each.types)}: {each.reason}")
        elif waiting:
            yield each.problem(
                f"{with_verb((one.name for one in waiting), 'asks', 'ask')} for "
                f"{'Neuron devices' if each.is_neuron else 'GPUs'}, and image "
                f"{each.image.name} has no driver for {or_list(each.types)}: {_registers_none(each)}",
                ways=(each.images,),
            )


@warning(
    "GPU117",
    question="can the machine image drive every instance type of the pool?",
    because="the group launches whichever type has capacity, and a host whose GPUs the image has no driver for costs "
    "money and registers none of them; the other types work",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html",
    unless=("GPU060", "GPU101"),
)
def drives_all(pool: Pool) -> Problems:
    for each in undriven_types(pool):
        if each.is_certain and each.leaves_others:
            yield each.problem(
                f"of the types of {pool.name}, image {each.image.name} cannot drive {or_list(each.types)}: "
                f"{each.reason}"
            )


@warning(
    "GPU099",
    question="is the machine image made for the accelerators of the instance types, or for hosts without any?",
    because="a plain image leaves GPUs and Neuron devices idle unless the user data installs a driver; on a host "
    "without GPUs the agents of GPU images from before October 2024 do not start",
    source="https://github.com/aws/amazon-ecs-agent/issues/2424",
    unless=("GPU052",),
)
def made_for(context: Context) -> Problems:
    for each in (each for pool in context.fleet.pools for each in undriven_types(pool)):
        if each.is_certain:
            continue
        name, devices = each.image.name, each.types[0].accelerators
        if devices is None:
            yield each.problem(
                f"image {name} is not made for {or_list(each.types)}: {each.reason}",
                ways=() if _lacks_gpus(context, each.pool) else None,
            )
        else:
            yield each.problem(
                f"image {name} has no driver for the {devices.model} of {or_list(each.types)}: {_idle(each)}",
                ways=(each.images,),
            )


def _successors(pool: Pool, old: Image) -> tuple[Way, ...]:
    """The images that AWS recommends today for the types of a pool; none without the driver that its image has."""
    found: list[Image] = []
    for each in pool.instance_types:
        with suppress(IncompatibleError):
            found.append(default_image(each))
    kept = (each for each in dict.fromkeys(found) if each.accelerator or not old.accelerator)
    # An image with the driver is not what comes after one without.
    return tuple(
        with_image(pool, each, ", which has taken its place" * (not each.accelerator or bool(old.accelerator)))
        for each in kept
    )


def _lacks_gpus(context: Context, pool: Pool) -> bool:
    """Whether a GPU task waits on hosts without GPUs, which need other types before another image."""
    return not any(each.accelerators for each in pool.instance_types) and pool.name in context.gpu_workloads


def _waiting(context: Context, undriven: Iterable[UndrivenTypes], wanted: UndrivenTypes) -> Sequence[Workload | Task]:
    if wanted.pool.kind is PoolKind.BATCH:
        return _jobs(context, undriven, wanted)
    return _with_neuron(context, wanted.pool) if wanted.is_neuron else context.gpu_workloads.get(wanted.pool.name, ())


def _with_neuron(context: Context, pool: Pool) -> list[Workload | Task]:
    """Tasks on a pool that are given Neuron devices, where no daemon can install a driver."""
    if any(each.daemon is not False for each in context.fleet.workloads):
        return []
    routes = [each for each in context.routed(_has_paths) if each.workload is None or each.workload.has_copies]
    return [route.sender for route in routes for each in route.destinations if each.pool is pool and each.is_certain]


def _has_paths(task: Task) -> bool:
    """Whether it is given Neuron devices by path: GPU027 refuses NeuronDevice but where the image is of AWS."""
    return any(each.neuron_devices for each in task.containers)


def _jobs(context: Context, undriven: Iterable[UndrivenTypes], wanted: UndrivenTypes) -> list[Task]:
    """Jobs of AWS Batch for such devices, where everything was read and no compute environment has any."""
    vendor, asks = wanted.types[0].vendor, _has_paths if wanted.is_neuron else lambda task: task.wants_gpu
    idle = {each.pool.name for each in undriven if each.has_no_devices}
    may_have = (
        not each.types_are_known or (each.name not in idle and any(one.vendor is vendor for one in each.instance_types))
        for each in context.fleet.pools
        if each.kind is PoolKind.BATCH
    )
    if not context.fleet.is_whole or any(may_have):
        return []
    return [each for each in context.fleet.tasks if each.scheduler is Scheduler.BATCH and asks(each)]


def _idle(undriven: UndrivenTypes) -> str:
    if undriven.has_no_devices:
        what = "have no Neuron device" if undriven.is_neuron else "register no GPU"
        return f"its hosts {what}, and no task gets one"
    if undriven.pool.user_data.get(GPU_SUPPORT) is not None:
        return "ECS_ENABLE_GPU_SUPPORT registers it only if the user data installs one"
    return "no task gets it, unless the user data installs one"


def _registers_none(undriven: UndrivenTypes) -> str:
    if undriven.is_neuron:
        return "nothing installs one, so that Docker finds no /dev/neuron0 and starts no container that is given it"
    if undriven.image.operating_system is OperatingSystem.BOTTLEROCKET:
        return "its hosts register no GPU, and no script can install one"
    if undriven.pool.user_data.get(GPU_SUPPORT) is not None:
        return "the user data installs none, so its hosts register no GPU"
    return "without ECS_ENABLE_GPU_SUPPORT=true its hosts register no GPU"
