"""GPU jobs, and images and user data of compute environments: does AWS Batch take them, which differs from ECS?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpu_constructs.errors import shown
from gpu_constructs.fleet import (
    Container,
    HostImage,
    Pool,
    PoolKind,
    ResourceRequirement,
    Scheduler,
    Task,
    Unknown,
    UserDataFormat,
)
from gpu_constructs.hardware import Image, InstanceType, OperatingSystem, Vendor, find, image
from gpu_constructs.hardware.aws_limits import CPU_UNITS_PER_VCPU, MIN_JOB_TIMEOUT_SECONDS
from gpu_constructs.rules.change import Way, first_of, one_way
from gpu_constructs.rules.evidence.accelerated import and_where_submitted, is_gpu
from gpu_constructs.rules.evidence.fixes import of_types, with_container
from gpu_constructs.rules.evidence.lists import and_list, or_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning
from gpu_constructs.rules.words import Word

_API = "https://docs.aws.amazon.com/batch/latest/APIReference/API_ResourceRequirement.html"
_ONE_GPU = '{"Type": "GPU", "Value": "1"}'
_MOST_TYPES = 4
_CONFIGURATION = "https://docs.aws.amazon.com/batch/latest/APIReference/API_Ec2Configuration.html"


@and_where_submitted
@error(
    "GPU133",
    question="does a job ask AWS Batch for whole GPUs?",
    because="a resource requirement of AWS Batch has a type and a value, which is the number of physical GPUs; only "
    "ECS has ALL, parts of a GPU and sharing",
    source=_API,
    unless=("GPU028",),
)
def whole_gpus(task: Task) -> Problems:
    if not _is_gpu_job(task):
        return
    for container in task.containers:
        for each in container.requirements:
            what = _beyond_whole(each) if is_gpu(each) else ""
            if what:
                yield Problem(
                    container=container,
                    message=f"the job {task.name} asks AWS Batch for {what}, and Batch hands out whole GPUs by number",
                    fix="a number of whole GPUs",
                    ways=one_way(_ONE_GPU, _with_one_gpu(task, container)),
                    property_name="ResourceRequirements",
                    value=each.value,
                )


@error(
    "GPU134",
    question="does a GPU job set its vCPUs and its memory?",
    because="AWS Batch requires both for every node and refuses the job definition otherwise",
    source=_API,
    unless=("GPU028",),
)
def has_sizes(task: Task) -> Problems:
    if not _is_gpu_job(task) or _may_be_set_elsewhere(task):
        return
    for container in task.containers:
        if any(isinstance(each.type, Unknown) for each in container.requirements):
            continue
        missing = [
            *(["VCPU"] if container.cpu == 0 else []),
            *(["MEMORY"] if container.memory_limit_mib is None else []),
        ]
        if missing:
            yield Problem(
                container=container,
                message=f"the job {task.name} asks for a GPU without {and_list(missing)}, which AWS Batch requires",
                fix=f"entries of type {and_list(missing)}",
                ways=(tuple(_with_sizes(task, container, missing, *each) for each in _SIZES),),
                property_name="ResourceRequirements",
            )


@warning(
    "GPU105",
    question="does a new compute environment use another system than Amazon Linux 2?",
    because="since 2026-06-30 AWS Batch refuses new compute environments on its Amazon Linux 2 AMIs; existing ones "
    "keep running",
    source=_CONFIGURATION,
)
def not_amazon_linux_2(pool: Pool) -> Problems:
    old = _image_of_batch(pool)
    if old is not None and old.operating_system is OperatingSystem.AMAZON_LINUX_2:
        name, kind = ("al2023-gpu", "ECS_AL2023_NVIDIA") if old.accelerator else ("al2023", "ECS_AL2023")
        yield Problem(
            message=f"AWS Batch refuses new compute environments on {old.name} since 2026-06-30",
            fix="an image of Amazon Linux 2023",
            ways=one_way(f"imageType {kind}", replace(pool, image=HostImage(image=image(name)))),
            property_name="ImageType",
        )


@warning(
    "GPU106",
    question="does the Amazon Linux 2023 GPU image of AWS Batch support the instance types?",
    because="AWS Batch lists p3 and g3 as unsupported on ECS_AL2023_NVIDIA, though the ECS image carries their driver",
    source=_CONFIGURATION,
)
def listed(pool: Pool) -> Problems:
    there = _recorded_image(pool)
    unlisted = [each for each in pool.instance_types if each.traits.unsupported_by_batch]
    if there is not None and there.name == "al2023-gpu" and unlisted:  # one that is pinned as well
        yield Problem(
            message=f"AWS Batch does not support {or_list(unlisted)} on ECS_AL2023_NVIDIA",
            fix="a newer type",
            ways=first_of(
                (f"a newer type, such as {each}", of_types(pool, (each,)))
                for each in _newer(pool.instance_types)[:_MOST_TYPES]
            ),
            property_name="InstanceTypes",
            value=[each.name for each in unlisted],
        )


def _newer(types: Sequence[InstanceType]) -> list[InstanceType]:
    """Types with as many GPUs of as much memory as the largest of some has, and with EFA where all have it."""
    found = find(
        vendor=Vendor.NVIDIA,
        architecture=types[0].architecture,
        min_gpus=max(each.gpus for each in types),
        gpu_memory_mib=max(each.gpu_memory_mib or 0 for each in types),
        efa=True if all(each.network.efa_supported for each in types) else None,
    )
    return [each for each in found if each.is_offered_anywhere and not each.traits.unsupported_by_batch]


@error(
    "GPU107",
    question="is the user data of a compute environment a MIME multi-part archive?",
    because="AWS Batch merges the user data of a launch template with its own and takes MIME multi-part only",
    source="https://docs.aws.amazon.com/batch/latest/userguide/launch-templates.html",
)
def mergeable(pool: Pool) -> Problems:
    form = pool.user_data.format
    if pool.kind is PoolKind.BATCH and (form is UserDataFormat.SHELL or form is UserDataFormat.CLOUD_CONFIG):
        yield Problem(
            message=f"the user data is a {form.value}, and AWS Batch takes a MIME multi-part archive only",
            fix="a MIME multi-part archive, which is ec2.MultipartUserData in CDK",
            property_name="UserData",
        )


@error(
    "GPU293",
    question="is the timeout of a job one that AWS Batch accepts?",
    because=f"AWS Batch takes a timeout of {MIN_JOB_TIMEOUT_SECONDS} seconds or more, and refuses the job definition "
    "otherwise",
    source="https://docs.aws.amazon.com/batch/latest/userguide/job_timeouts.html",
)
def long_enough(task: Task) -> Problems:
    seconds = task.attempt_seconds
    if isinstance(seconds, int) and seconds < MIN_JOB_TIMEOUT_SECONDS:
        yield Problem(
            property_name="Timeout.AttemptDurationSeconds",
            value=seconds,
            message=f"the job {task.name} times out after {seconds} seconds, and AWS Batch takes "
            f"{MIN_JOB_TIMEOUT_SECONDS} or more",
            allowed=f"{MIN_JOB_TIMEOUT_SECONDS} or more",
            one_value=True,
            fix="a longer AttemptDurationSeconds",
            ways=one_way(
                Word(f"AttemptDurationSeconds of {MIN_JOB_TIMEOUT_SECONDS} or more"),
                replace(task, attempt_seconds=MIN_JOB_TIMEOUT_SECONDS),
            ),
        )


# vCPUs and MiB for one GPU: examples, tried in order.
_SIZES = ((4, 15_000), (4, 12_000), (2, 6_000), (1, 2_000))


def _with_sizes(task: Task, container: Container, missing: list[str], vcpus: int, mib: int) -> Way:
    sizes = {
        "VCPU": f'{{"Type": "VCPU", "Value": "{vcpus}"}}',
        "MEMORY": f'{{"Type": "MEMORY", "Value": "{mib}"}} in MiB',
    }
    new = replace(
        container,
        cpu=vcpus * CPU_UNITS_PER_VCPU if "VCPU" in missing else container.cpu,
        memory_limit_mib=mib if "MEMORY" in missing else container.memory_limit_mib,
    )
    return Way(text=", ".join(sizes[each] for each in missing), things=(with_container(task, container, new),))


def _with_one_gpu(task: Task, container: Container) -> Callable[[], Task]:
    others = tuple(each for each in container.requirements if not is_gpu(each))
    return with_container(task, container, replace(container, requirements=(*others, ResourceRequirement.gpus(1))))


def _is_gpu_job(task: Task) -> bool:
    return task.scheduler is Scheduler.BATCH and task.wants_gpu


def _beyond_whole(asked: ResourceRequirement) -> str:
    """What a requirement asks for that is not a number of whole GPUs; empty if it is one."""
    if asked.nvidia_mps is not None:
        return "a share of a GPU (SharingStrategy)"
    if asked.is_all:
        return "ALL GPUs of its host"
    return f"{shown(asked.value)} of a GPU" if asked.part is not None else ""


def _may_be_set_elsewhere(task: Task) -> bool:
    """Whether other containers or ranges of nodes may bring what this one lacks: nested ranges override each other."""
    in_range = task.origin is not None and "NodeRangeProperties" in task.origin.path
    return in_range or len(task.containers) > 1


def _image_of_batch(pool: Pool) -> Image | None:
    """The image that AWS Batch itself provides for a compute environment."""
    return None if pool.details.names_image is True else _recorded_image(pool)


def _recorded_image(pool: Pool) -> Image | None:
    """The image of a compute environment, unless somebody made it; a release of AWS's own may be named."""
    if pool.kind is not PoolKind.BATCH or isinstance(pool.image, Unknown) or pool.image.release == "custom":
        return None
    return pool.image.image
