"""What containers ask of the accelerators: whether ECS can read the request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from gpu_constructs.errors import brief, shown
from gpu_constructs.facts.aws_limits import MAX_PERCENT
from gpu_constructs.fleet import GPU, NEURON_DEVICE, Container, ResourceRequirement, Scheduler, Task, Unknown
from gpu_constructs.rules.evidence.accelerated import and_where_submitted, is_gpu
from gpu_constructs.rules.evidence.fixes import with_container
from gpu_constructs.rules.finding import Text, Ways, Word, and_list, first_of, one_way, with_verb
from gpu_constructs.rules.rule import Problem, Problems, error

RIGHT_FORM = '"ResourceRequirements": [{"Type": "GPU", "Value": "1"}]'
"""A request for one GPU, as CloudFormation takes it."""

_ENTRIES = "ResourceRequirements"

_BATCH_NEURON = 'in a job, LinuxParameters.Devices: [{"HostPath": "/dev/neuron0"}] instead of this entry'

_HUGE = r"[1-9][0-9]{6,}"
"""More GPUs than are read as a number of them."""

_ONE = ResourceRequirement.gpus(1)
_ONE_GPU = '{"Type": "GPU", "Value": "1"}'
_COUNT = "the number of GPUs of one host, or fewer"

_ECS_TYPES = (GPU, NEURON_DEVICE, "InferenceAccelerator")
_BATCH_TYPES = (GPU, "MEMORY", "VCPU")
_INSTEAD = {
    **dict.fromkeys(("amount", "count", "limits", "number", "quantity"), " (Value says how many)"),
    "capabilities": " (the environment variable NVIDIA_DRIVER_CAPABILITIES lists what the driver offers)",
}
"""What people write into an entry of ``ResourceRequirements``, in lower case, and what says it instead."""

_USUAL_MIB = (4096, 2048, 1024)  # examples, tried in order
_NO_LIMIT = "leave it out for no limit"

_API = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ResourceRequirement.html"


@and_where_submitted
@error(
    "GPU020",
    question="does each request for GPUs have the form and the values that ECS, or AWS Batch for a job, takes?",
    because="ECS takes ResourceRequirements of type GPU with either a Value, which is a positive whole number, ALL, or "
    "for hosts with a part of a GPU a decimal below 1, or a SharingStrategy with the memory of the share; it refuses a "
    "task definition with another request, or gives it no GPU; AWS Batch takes whole GPUs by number alone",
    source=_API,
)
def taken(task: Task) -> Problems:
    if keys := task.unknown_keys:
        yield Problem(
            message=f"{with_verb(keys, 'is not a key', 'are not keys')} of a task definition: each container asks "
            "for its GPUs",
            fix=f"in the container, {_ENTRIES} of type GPU",
            ways=_in_container(task),
            changes=_ENTRIES,
        )
    for container in task.containers:
        yield from _misformed(task, container)
        for each in container.requirements:
            what = _beyond_whole(each) if is_gpu(each) and task.scheduler is Scheduler.BATCH else ""
            if what and task.wants_gpu and "FARGATE" not in task.compatibilities:
                yield Problem(
                    container=container,
                    message=f"the job {task.name} asks AWS Batch for {what}, and Batch hands out whole GPUs by number",
                    fix="a number of whole GPUs",
                    ways=one_way(_ONE_GPU, _asking(task, container, each, _ONE)),
                    property_name=_ENTRIES,
                    value=each.value,
                )
                continue
            yield from _wrong_amount(task, container, each)
            yield from _wrong_share(task, container, each)
            # CloudFormation turns a number into a string, and Terraform makes no plan with one; the AWS CLI and SDKs
            # refuse it ("Invalid type for parameter").
            if each.is_number and task.scheduler is Scheduler.ECS:
                yield Problem(
                    container=container,
                    value=each.value,
                    message=f"container {brief(container.name)} has the number {each.value} as a value, and the API "
                    "takes a string",
                    fix=f'"value": "{each.value}"',
                    changes=f"{_ENTRIES}.Value",
                )


@and_where_submitted
@error(
    "GPU023",
    question="do all GPU containers of a task ask in the same way?",
    because="all GPU containers of a task must use the same option, value or sharingStrategy; a whole GPU, or the part "
    "of a GPU that a host has, serves one container, so ALL leaves none for other containers",
    source=_API,
)
def one_option(task: Task) -> Problems:
    asking = [each for each in task.containers if each.wants_gpu]
    if len(asking) < 2:  # noqa: PLR2004 - one agrees with itself
        return
    sharing = [each.name for each in asking if each.mps]
    alone = [each.name for each in asking if any(entry.value is not None for entry in each.gpu_requirements)]
    greedy = [each.name for each in asking if each.takes_all_gpus]
    if sharing and alone:
        what = f"{with_verb(sharing, 'shares', 'share')} a GPU through MPS, and {with_verb(alone, 'asks', 'ask')}"
        message = f"{what} for GPUs without sharing; all GPU containers of a task must use the same option"
        options = Word("SharingStrategy"), " for all of them, ", Word("Value")
        fix = Text(*options, " for all of them, or two task definitions")
    elif greedy:
        others = and_list(each.name for each in asking if each.name != greedy[0])
        message = f"{greedy[0]} asks for ALL GPUs of the host, which leaves none for {others} of the same task"
        fix = Text("a number of GPUs for each container, or two task definitions")
    elif task.scheduler is Scheduler.ECS and all(each.gpu_part for each in asking):
        what = f"{and_list(each.name for each in asking)} ask for a part of a GPU each"
        message, fix = f"{what}; a host has one part, which serves one container", Text("a task definition for each")
    else:
        return
    yield Problem(message=message, fix=fix, property_name=_ENTRIES)


def _beyond_whole(asked: ResourceRequirement) -> str:
    """What a requirement asks for that is not a number of whole GPUs; empty if it is one."""
    if asked.nvidia_mps is not None:
        return "a share of a GPU (SharingStrategy)"
    if asked.is_all:
        return "ALL GPUs of its host"
    return f"{shown(asked.value)} of a GPU" if asked.part is not None else ""


def _wrong_amount(task: Task, container: Container, each: ResourceRequirement) -> Problems:
    value = each.value
    if not is_gpu(each) or isinstance(value, Unknown):
        return
    if value is not None and not (each.whole or each.is_all or each.part):
        message, fix, number = _miscounted(container, value, is_of_ecs=task.scheduler is Scheduler.ECS)
        yield Problem(
            container=container,
            message=message,
            fix=_COUNT if number else fix,
            ways=one_way(fix, _asking(task, container, each, ResourceRequirement(value=number))) if number else (),
            property_name=f"{_ENTRIES}.Value",
            value=value,
        )
    if (value is None) is (each.nvidia_mps is None) and not each.unknown_keys:
        what, fix = "says neither how many (Value) nor how one is shared (SharingStrategy)", "Value or SharingStrategy"
        if value is not None:
            what = f"asks for whole GPUs (Value {shown(value)}) and for a share of one (SharingStrategy) in one entry"
            fix = "leave out Value to share a GPU, or SharingStrategy for whole GPUs"
        yield Problem(
            container=container,
            message=f"container {container.name} {what}",
            fix=fix,
            ways=one_way(RIGHT_FORM, _asking(task, container, each, _ONE)) if value is None else (),
            changes=_ENTRIES,
        )


def _wrong_share(task: Task, container: Container, each: ResourceRequirement) -> Problems:
    """What the API refuses of a share.

    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_NvidiaMpsAllocation.html
    """
    share = each.nvidia_mps
    if share is None or each.type != GPU:
        return

    memory, percent = share.memory_mib, share.max_compute_percent
    if memory is None or (not isinstance(memory, Unknown) and memory < 1):
        said = "without a size" if memory is None else f"of {memory} MiB"
        yield Problem(
            container=container,
            message=f"container {container.name} takes a share {said} of a GPU's memory; ECS places it by "
            "memory, at least 1 MiB",
            fix="Memory of NvidiaMps, in MiB",
            ways=first_of(
                (
                    f'"SharingStrategy": {{"NvidiaMps": {{"Memory": {mib}}}}}',
                    _asking(task, container, each, replace(each, nvidia_mps=replace(share, memory_mib=mib))),
                )
                for mib in _USUAL_MIB
            ),
            property_name="SharingStrategy.NvidiaMps.Memory",
            value=memory,
            allowed="1 or more",
            one_value=True,
        )
    if percent is not None and not isinstance(percent, Unknown) and not 1 <= percent <= MAX_PERCENT:
        yield Problem(
            container=container,
            message=f"container {container.name} limits itself to {percent} % of a GPU (MaxComputePercent), "
            "not 1 to 100",
            fix=_NO_LIMIT if percent < 1 else f"{MAX_PERCENT}, or {_NO_LIMIT}",
            property_name="SharingStrategy.NvidiaMps.MaxComputePercent",
            value=percent,
            allowed=f"1 to {MAX_PERCENT}",
            one_value=True,
        )


def _asking(task: Task, container: Container, old: ResourceRequirement, new: ResourceRequirement) -> Callable[[], Task]:
    """Makes the task with another request in the place of one."""

    def made() -> Task:
        requirements = tuple(new if each is old else each for each in container.requirements)
        return with_container(task, container, replace(container, requirements=requirements))()

    return made


def _in_container(task: Task) -> Ways:
    if len(task.containers) != 1:
        return ()
    container = task.containers[0]
    new = replace(container, requirements=(_ONE, *container.requirements))
    return one_way(f"in the container, {RIGHT_FORM}", with_container(replace(task, unknown_keys=()), container, new))


def _miscounted(container: Container, value: str, *, is_of_ecs: bool) -> tuple[str, str, str]:
    """The message, the fix, and the number of GPUs that it names; empty if it names none."""
    if re.fullmatch(_HUGE, value):
        asked = f"container {container.name} asks for {brief(value)} GPUs"
        return f"{asked}; no host has that many", _COUNT, ""
    message = (
        f"container {container.name} asks for GPUs with the value {shown(value)}; ECS takes a whole number from 1, ALL "
        "for all GPUs of the host, or a decimal below 1, such as 0.25, for hosts with a part of a GPU"
        if is_of_ecs
        else f"container {container.name} asks for GPUs with the value {shown(value)}; AWS Batch takes a whole number "
        "from 1"
    )
    if value.strip().upper() == "ALL" and not is_of_ecs:
        return message, _ONE_GPU, "1"
    return message, *_counted(value)


def _counted(value: str) -> tuple[str, str]:
    text = value.strip()
    number = text.lstrip("+0")
    is_number = text.lstrip("+").isdecimal() and text.isascii()
    if text.upper() == "ALL":
        return 'write it "ALL"', "ALL"
    if is_number and number:
        return f'write it "{number}"', number
    if text.startswith("-") or is_number:
        return "leave the entry out for a container without a GPU", ""
    return RIGHT_FORM, "1"


def _misformed(task: Task, container: Container) -> Problems:
    wrong = [f"a container has no key {each}" for each in container.unknown_keys]
    for entry in container.requirements:
        wrong.extend(_wrong_type(entry, task))
        wrong.extend(
            f"a resource requirement has no key {key}{_INSTEAD.get(key.lower(), '')}" for key in entry.unknown_keys
        )
    if not wrong:
        return
    is_neuron = any(isinstance(each.type, str) and "neuron" in each.type.lower() for each in container.requirements)
    is_job = is_neuron and task.scheduler is Scheduler.BATCH
    form = '"ResourceRequirements": [{"Type": "NeuronDevice", "Value": "ALL"}]' if is_neuron else RIGHT_FORM
    request = ResourceRequirement(type=NEURON_DEVICE, value="ALL") if is_neuron else _ONE
    right = replace(container, requirements=(request,), unknown_keys=())
    yield Problem(
        container=container,
        message=f"container {container.name} asks for accelerators in a form that ECS does not know: "
        f"{'; '.join(dict.fromkeys(wrong))}",
        fix=_BATCH_NEURON if is_job else form if is_neuron else f"{_ENTRIES} of type GPU",
        ways=() if is_job else one_way(form, with_container(task, container, right)),
        changes=_ENTRIES,
    )


def _wrong_type(entry: ResourceRequirement, task: Task) -> Iterator[str]:
    allowed = _BATCH_TYPES if task.scheduler is Scheduler.BATCH else _ECS_TYPES
    if entry.type == "":
        if not entry.unknown_keys:
            yield f"an entry has no type; the types are {and_list(allowed)}"
    elif isinstance(entry.type, str) and entry.type not in allowed:
        near = [each for each in allowed if each.lower() == entry.type.lower()]
        right = f"it is written {near[0]}" if near else f"the types are {and_list(allowed)}"
        yield f"the type {shown(entry.type)} does not exist, {right}"
