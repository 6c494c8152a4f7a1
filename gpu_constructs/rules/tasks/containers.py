"""Memory, CPU, environment and time to stop of the containers of GPU tasks."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from gpu_constructs.errors import brief, shown
from gpu_constructs.facts import InstanceType, OperatingSystem
from gpu_constructs.facts.aws_limits import CPU_UNITS_PER_VCPU, SPOT_NOTICE_SECONDS
from gpu_constructs.facts.servers import MadeFor, made_for_devices
from gpu_constructs.fleet import PARTLY_SPOT, Container, Pool, Scheduler, Task, Unknown
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.pool_profile import cpu_units
from gpu_constructs.placement.route import Route
from gpu_constructs.rules.evidence.accelerated import MANAGED_INSTANCES, asks_for_accelerator
from gpu_constructs.rules.evidence.fixes import with_container
from gpu_constructs.rules.finding import Changed, Text, Word, either, first_of
from gpu_constructs.rules.rule import Context, Problem, Problems, error, info, warning
from gpu_constructs.rules.tasks.requests import RIGHT_FORM

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the mount of every Linux container
_DEFAULT_SHARED_MEMORY_MIB = 64
_VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_OVERWRITTEN = "the ECS agent overwrites it with the ids of the GPUs that it reserved"
# `void` leaves the container alone, which is what a task without GPUs gets anyway.
_HIDING = frozenset({"", "void", "none"})
_DEFAULT_RUNTIME = re.compile(r"default-runtime|set-as-default")
_OF_A_DAEMON = "nvidia as the default Docker runtime of its hosts; a GPU that a daemon asks for is lost to other tasks"
_USUAL_MIB = (8192, 2048, 512)  # examples, tried in order
_LEAST_FOR_CUDA_MIB = 128
# Programs that read what the driver knows and run nothing on a GPU; AWS's example gives nvidia-smi 80 MiB
# (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu-specifying.html).
_MONITORS = ("dcgm", "exporter", "nvidia-smi")
_PLENTY_FOR_A_GPU = 4  # vCPUs of the host for each GPU


@warning(
    "GPU312",
    question="does a GPU container have enough memory to start CUDA?",
    because="a container is stopped above its Memory, and a program first loads the libraries of CUDA into it, 1.9 GB "
    f"in a test of PyTorch (a heuristic: a limit below {_LEAST_FOR_CUDA_MIB} MiB is reported)",
    source="https://github.com/pytorch/pytorch/issues/12873",
)
def memory_for_cuda(task: Task) -> Problems:
    for container in task.containers:
        is_of_task = container.memory_limit_mib is None
        limit = task.memory_limit_mib if is_of_task else container.memory_limit_mib
        words = [str(each) for each in (container.image, *container.entry_point, *container.command)]
        runs_cuda = container.wants_gpu and not any(each in word for word in words for each in _MONITORS)
        if runs_cuda and isinstance(limit, int) and 0 < limit < _LEAST_FOR_CUDA_MIB:
            yield Problem(
                container=None if is_of_task else container,
                message=f"container {container.name} asks for GPUs and is stopped above {limit} MiB of memory"
                f"{' of its task' if is_of_task else ''}, in which a program with CUDA does not start",
                fix="more Memory, in MiB",
                ways=first_of(_with_memory(task, None if is_of_task else container, each) for each in _USUAL_MIB),
                property_name="Memory",
            )


@error(
    "GPU037",
    question="does a GPU container leave it to ECS which GPUs it sees?",
    because="the ECS agent overwrites NVIDIA_VISIBLE_DEVICES of a container that asks for GPUs with the ids of the "
    "GPUs that it reserved; programs see none where CUDA_VISIBLE_DEVICES is empty or begins with an index that the "
    "GPUs of the container, which count from 0, do not have",
    softer="for NVIDIA_VISIBLE_DEVICES, without which the container sees the same GPUs",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html",
)
def left_to_ecs(task: Task) -> Problems:
    for container in task.containers:
        for name, value in container.environment if container.wants_gpu else ():
            is_hidden = name == "CUDA_VISIBLE_DEVICES" and _hides_all(container, value)
            if is_hidden or name == _VISIBLE:
                yield Problem(
                    container=container,
                    message=Text(
                        Word(f"container {container.name}"),
                        f" sets {name} to {_quoted(value)} and asks for GPUs: ",
                        "its programs see none of them" if is_hidden else _OVERWRITTEN,
                    ),
                    fix=Text(f"leave {name} out; ", Word("ResourceRequirements"), " says how many GPUs"),
                    property_name="Environment",
                    value=value,
                    one_value=True,
                    is_certain=is_hidden,
                )


@warning(
    "GPU025",
    question="does a container that is to see GPUs or Neuron devices get them, and do its hosts have those?",
    because="ECS places a task that asks for no GPU on any host; the agent sets the NVIDIA runtime only for tasks that "
    "ask for GPUs, and the scheduler counts only GPUs that are asked for: such a container sees no GPU, or GPUs of "
    "other tasks where NVIDIA is Docker's default runtime; Neuron devices of EC2 hosts come by LinuxParameters; "
    "programs with CUDA see no Neuron devices, nor those with ROCm or Neuron NVIDIA GPUs",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html",
    changes="ResourceRequirements",
)
def asked_of_ecs(context: Context) -> Problems:
    daemons = {each.task.name for each in context.fleet.workloads if each.daemon is True and each.task is not None}
    landing = _devices_of_hosts(context)
    yield from _blind(context)
    for task in context.tasks:
        there = landing.get(task.name, ())
        yield from (each for one in there if one and len(there) == 1 for each in _on_other_devices(task, one))
        if asks_for_accelerator(task):
            continue
        at_gpus = MadeFor.NVIDIA in there and task.name not in daemons
        has_other_words = any(each.unknown_keys for each in task.containers)
        asks_not = f"and no container of {task.name} asks for a GPU"
        for container in task.containers:
            value = dict(container.environment).get(_VISIBLE)
            if value is not None and (isinstance(value, Unknown) or value.strip().lower() not in _HIDING):
                what = (
                    f"sets {_VISIBLE} to {_quoted(value)}, {asks_not}: ECS places it on any host and reserves no GPU, "
                    "and it sees none unless NVIDIA is the default runtime there"
                )
                fix = _OF_A_DAEMON if task.name in daemons else f"{RIGHT_FORM} instead of the variable"
                yield _problem(task, container, what, fix)
            elif not has_other_words and (sign := _sign_of_gpu(container, at_gpus=at_gpus)):
                what = f"{sign} {asks_not}: it is placed on any host, and sees no GPU there"
                yield _problem(task, container, what, RIGHT_FORM)
            elif MadeFor.NEURON in there and _lacks_device(context, task, container):
                what = f"has an image for Neuron devices ({brief(str(container.image))}), and is not given any"
                fix = "LinuxParameters.Devices with the HostPath /dev/neuron0"
                yield _problem(task, container, what, fix, changes="LinuxParameters")


@info(
    "GPU039",
    question="is /dev/shm large enough for several GPUs?",
    because="Docker gives a container 64 MiB of shared memory, through which NCCL and the workers of a PyTorch "
    "DataLoader pass data",
    source="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory",
    unless=("GPU023", "GPU020"),
)
def shared_memory(task: Task) -> Problems:
    for container in task.containers:
        gpus = container.gpus
        several = "all GPUs of its host" if container.takes_all_gpus else f"{gpus} GPUs"
        if not container.takes_all_gpus and (isinstance(gpus, Unknown) or gpus <= 1):
            continue
        mounts = any(each.lower().endswith("tmpfs") for each in container.used_keys)
        given, most = container.shared_memory_mib or _DEFAULT_SHARED_MEMORY_MIB, _DEFAULT_SHARED_MEMORY_MIB
        if not isinstance(given, Unknown) and given <= most and task.ipc_mode is None and not mounts:
            whose = "Docker's " if container.shared_memory_mib is None else ""
            yield Problem(
                container=container,
                message=f"container {container.name} has {several} and {whose}{given} MiB of "
                f"{_SHARED_MEMORY}, through which NCCL and the workers of a DataLoader pass data",
                fix="ECS Managed Instances cannot enlarge it; EC2 hosts can, with LinuxParameters.SharedMemorySize"
                if MANAGED_INSTANCES in task.compatibilities
                else "LinuxParameters.SharedMemorySize, in MiB; half of the container's memory is usual",
            )


@warning(
    "GPU074",
    question="does a task with a CPU limit have at least one vCPU for each GPU?",
    because="the CPU of a task definition is a hard limit for all its containers together; with less than one vCPU for "
    "each GPU, the GPUs wait for data and for kernels to be launched (a heuristic: instance types have four vCPUs or "
    "more for each GPU)",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_definition_parameters.html#task_size",
    changes="Cpu",
)
def fed(context: Context) -> Problems:
    reported = set()
    for route in context.routed(lambda task: bool(task.cpu_limit)):
        task = route.task
        limit = task.cpu_limit
        if limit is None or isinstance(limit, Unknown) or not limit or task.name in reported:
            continue
        hosts = [host for each in route.destinations for host in each.types if host.gpus]
        asked = [(host, gpus) for host in hosts if (gpus := _gpus(route, host))]
        thin = [(host, gpus) for host, gpus in asked if limit < gpus * CPU_UNITS_PER_VCPU]
        if thin and all(host.vcpus >= _PLENTY_FOR_A_GPU * host.gpus for host, _ in thin):
            host, gpus = thin[0]
            reported.add(task.name)
            share = cpu_units(host) * gpus // host.gpus
            yield Problem(
                about=task,
                message=f"{task.name} has a hard limit of {limit} CPU units, {limit / CPU_UNITS_PER_VCPU:g} vCPU, for "
                f"all containers with {gpus} GPUs together, while {host} has {host.vcpus // host.gpus} vCPUs for each "
                "GPU",
                fix="more Cpu, or no Cpu of the task",
                ways=either(
                    (f"Cpu of {share}, the share of {gpus} GPUs", replace(task, cpu_limit=share)),
                    ("no Cpu of the task", replace(task, cpu_limit=None)),
                ),
            )


@warning(
    "GPU261",
    question="do containers on Spot hosts stop within the notice of an interruption?",
    because=f"EC2 takes a Spot host back {SPOT_NOTICE_SECONDS} seconds after it says so, whatever time a container "
    "has left",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/spot-instance-draining-linux-container.html",
)
def stop_in_time(context: Context) -> Problems:
    for assignment in context.assignments:
        spot = [each.pool for each in assignment.destinations if each.pool.bought.option in PARTLY_SPOT]
        for container in assignment.task.containers if spot else ():
            timeout = container.stop_timeout_seconds
            if timeout is not None and not isinstance(timeout, Unknown) and timeout > SPOT_NOTICE_SECONDS:
                yield Problem(
                    about=assignment.task,
                    container=container,
                    involves=(assignment.workload, spot[0]),
                    property_name="StopTimeout",
                    message=f"container {brief(container.name)} of {assignment.task.name} has {timeout} seconds to "
                    f"stop, and Spot hosts of {spot[0].name} are gone {SPOT_NOTICE_SECONDS} seconds after the notice",
                    fix=f"StopTimeout {SPOT_NOTICE_SECONDS} or less, with checkpoints that are written in that time",
                )


def _with_memory(task: Task, container: Container | None, mib: int) -> tuple[str, Changed]:
    if container is None:
        return f"Memory of {mib} of the task, in MiB", replace(task, memory_limit_mib=mib)
    larger = replace(container, memory_limit_mib=mib, memory_reservation_mib=None)
    return Text(Word("Memory"), f" of {mib}, in MiB"), with_container(task, container, larger)


@error(
    "GPU127",
    question="does a container that waits for another one to be healthy ever start?",
    because="the agent knows the health of a container only by the health check in the task definition, not by that of "
    "its image, so that what waits for HEALTHY never starts without one",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html",
    changes="ContainerDefinitions",
)
def becomes_healthy(task: Task) -> Problems:
    is_ours = task.scheduler is Scheduler.ECS and asks_for_accelerator(task)
    others = {each.name: each for each in task.containers if is_ours}
    for container in others.values():
        for each in container.relations.depends_on:
            other = others.get(each.container)
            if other is not None and each.condition == "HEALTHY" and other.has_health_check is False:
                is_circle = any(back.container == container.name for back in other.relations.depends_on)
                circle = f", and no DependsOn of it on {brief(container.name)}: each waits for the other"
                yield Problem(
                    container=other,
                    property_name="HealthCheck",
                    message=f"container {brief(container.name)} of {task.name} waits until container "
                    f"{brief(other.name)} is HEALTHY, and {brief(other.name)} has no health check, so that it never "
                    "starts; a health check of the image does not count",
                    fix=f"a HealthCheck for {brief(other.name)}, or the condition START{circle if is_circle else ''}",
                )


def _devices_of_hosts(context: Context) -> Mapping[str, Collection[MadeFor | None]]:
    """What all hosts of each service have, by the task, if its image is for some devices; None for other hosts."""
    found: dict[str, set[MadeFor | None]] = {}
    for route in context.routed(lambda task: any(made_for_devices(str(each.image)) for each in task.containers)):
        places = [each for each in route.destinations if each.fit.answer is not False]
        vendors = {str(host.vendor).upper() for each in places for host in each.types}
        if vendors and (route.workload is not None or route.is_closed):
            made = MadeFor.__members__.get(vendors.pop()) if len(vendors) == 1 else None
            found.setdefault(route.task.name, set()).add(made)
    return found


def _on_other_devices(task: Task, there: MadeFor) -> Problems:
    for container in task.containers:
        made = made_for_devices(str(container.image))
        # An image for CPUs may run beside a container that gets the GPUs.
        is_asked = asks_for_accelerator(container) or not (made is MadeFor.CPUS or asks_for_accelerator(task))
        # A program that installs Neuron itself may use any image.
        words = (*container.entry_point, *container.command)
        installs = any(isinstance(each, Unknown) or "neuron" in each for each in words)
        if made is not None and made is not there and is_asked and not installs:
            image, hosts = brief(str(container.image)), f"all hosts of {task.name} have {there}"
            what = f"has an image for {made} ({image}), and {hosts}, which it does not use"
            yield _problem(task, container, what, f"an image for {there}, or hosts with {made}", changes="Image")


def _lacks_device(context: Context, task: Task, container: Container) -> bool:
    """Whether its image is for Neuron, and neither LinuxParameters nor AWS_NEURON_VISIBLE_DEVICES gives it a device."""
    # https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-inference.html; a hook of AMIs reads the variable.
    is_told = any(name == "AWS_NEURON_VISIBLE_DEVICES" for name, _ in container.environment)
    is_given = is_told or container.devices or container.may_have_other_devices
    return made_for_devices(str(container.image)) is MadeFor.NEURON and not (
        is_given or context.has_unknown_variables(task, container)
    )


def _problem(task: Task, container: Container, what: str, fix: str, changes: str = "") -> Problem:
    message = f"container {container.name} {what}"
    return Problem(about=task, container=container, message=message, fix=fix, changes=changes)


def _sign_of_gpu(container: Container, *, at_gpus: bool) -> str:
    if container.devices or container.privileged is True:
        return ""
    if at_gpus and made_for_devices(str(container.image)) is MadeFor.NVIDIA:
        return f"has an image for GPUs ({brief(str(container.image))}) on hosts that have some,"
    if container.needs is not None:
        return "states what it needs of a GPU,"
    if any(name == "NVIDIA_DRIVER_CAPABILITIES" for name, _ in container.environment):
        return "sets NVIDIA_DRIVER_CAPABILITIES,"
    return ""


def _blind(context: Context) -> Problems:
    """Exporters without the variable by which the agent gives the NVIDIA runtime to containers of a GPU task.

    https://github.com/aws/amazon-ecs-agent/blob/master/agent/api/task/task.go
    """
    for route in context.routed(lambda task: task.wants_gpu):
        is_plain = bool(route.destinations) and all(_has_plain_docker(each.pool) for each in route.destinations)
        for container in filter(_exports, route.task.containers if is_plain else ()):
            if context.has_unknown_variables(route.task, container):
                continue
            what = f"asks for no GPU and has no {_VISIBLE}: it sees none to export"
            fix = f"{_VISIBLE} with the value all in its Environment, which reserves no GPU"
            yield _problem(route.task, container, what, fix, changes="Environment")


def _exports(container: Container) -> bool:
    """Whether it certainly reads GPUs by itself: it has no other way to them, and asks no DCGM that runs elsewhere."""
    words = " ".join(map(str, (*container.entry_point, *container.command))).split()
    asks = any(re.fullmatch(r"(-r|--?remote-hostengine-info)(=.*)?", word) for word in words)
    has = asks or container.wants_gpu or container.devices or container.privileged is True or container.relations.mounts
    names = {_VISIBLE, "DCGM_REMOTE_HOSTENGINE_INFO"}.intersection(name for name, _ in container.environment)
    return isinstance(container.image, str) and "/dcgm-exporter:" in container.image and not has and not names


def _has_plain_docker(pool: Pool) -> bool:
    is_of_aws = pool.has_image_of_aws and pool.operating_system is OperatingSystem.AMAZON_LINUX_2023
    return is_of_aws and pool.user_data.complete and not _DEFAULT_RUNTIME.search(pool.user_data.text)


def _hides_all(container: Container, value: str | Unknown) -> bool:
    """Whether CUDA_VISIBLE_DEVICES certainly leaves no GPU, unless a command sets it anew.

    https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
    """
    # A privileged container has the devices of all GPUs, and one with a share of a GPU has no whole ones.
    has_others = container.privileged or container.devices or container.may_have_other_devices
    gpus = 0 if has_others or isinstance(container.gpus, Unknown) else container.gpus
    found = re.fullmatch(r"-?[0-9]{1,6}|", str(value).partition(",")[0].strip())
    index = 0 if found is None else int(found[0] or -1)
    words = (*container.entry_point, *container.command)
    may_change = any(isinstance(each, Unknown) or "CUDA" in each for each in words)
    return (index < 0 or 0 < gpus <= index) and not may_change


def _quoted(value: str | Unknown) -> str:
    return "a value that is only known at deploy time" if isinstance(value, Unknown) else shown(value)


def _gpus(route: Route, host: InstanceType) -> int:
    demand = demand_of(route.task)
    if demand.shared_memory_mib is not None or "ResourceRequirements" in demand.unknown:
        return 0
    return host.gpus if demand.all_gpus else demand.gpus
