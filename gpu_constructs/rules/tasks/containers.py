"""Memory, CPU and environment of the containers of GPU tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from gpu_constructs.budget import brief
from gpu_constructs.errors import shown
from gpu_constructs.fleet import Container, Scheduler, Task, Unknown, known
from gpu_constructs.hardware import InstanceType
from gpu_constructs.hardware.aws_limits import CPU_UNITS_PER_VCPU, MIN_CONTAINER_MEMORY_MIB, MIN_JOB_MEMORY_MIB
from gpu_constructs.placement import cpu_units, demand_of
from gpu_constructs.placement.route import Route
from gpu_constructs.rules.change import Way, either, one_way
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import MANAGED_INSTANCES, asks_for_accelerator
from gpu_constructs.rules.evidence.fixes import with_container
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, error, info, warning
from gpu_constructs.rules.tasks.key_names import plain
from gpu_constructs.rules.words import Text, Word

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the mount of every Linux container
_DEFAULT_SHARED_MEMORY_MIB = 64
_VISIBLE = "NVIDIA_VISIBLE_DEVICES"
# `void` leaves the container alone, which is what a task without GPUs gets anyway.
_HIDING = frozenset({"", "void", "none"})
_ASKED = '"ResourceRequirements": [{"Type": "GPU", "Value": "1"}] instead of the variable'
_OF_A_DAEMON = "nvidia as the default Docker runtime of its hosts; a GPU that a daemon asks for is lost to other tasks"
_CONTAINER = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html"
_GPUS = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html"
# "Valid namespace values" of
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_definition_parameters.html#container_definition_systemcontrols
_IPC_PARAMETERS = ("fs.mqueue.", "kernel.msg", "kernel.sem", "kernel.shm")
_NETWORK_PARAMETERS = ("net.",)
_USUAL_MIB = (8192, 2048, 512)  # examples, tried in order
_LEAST_FOR_CUDA_MIB = 128
# Programs that read what the driver knows and run nothing on a GPU; AWS's example gives nvidia-smi 80 MiB
# (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu-specifying.html).
_MONITORS = ("dcgm", "exporter", "nvidia-smi")
_IMAGE = "nvidia/cuda:12.8.1-base-ubuntu24.04"
_LESS = "less in the containers"
_PLENTY_FOR_A_GPU = 4  # vCPUs of the host for each GPU


@error(
    "GPU035",
    question="does every container have memory?",
    because="without a memory value of the task, each container must have memory or memoryReservation, and not 0; ECS "
    "refuses the task definition otherwise",
    source=_CONTAINER,
)
def has_memory(task: Task) -> Problems:
    if task.scheduler is not Scheduler.ECS or task.memory_limit_mib is not None or task.is_part:
        return
    for container in task.containers:
        sizes = (container.memory_limit_mib, container.memory_reservation_mib)
        if all(each is None or each == 0 for each in sizes):
            yield Problem(
                container=container,
                message=Text(
                    f"container {container.name} has no memory: neither ",
                    Word("Memory"),
                    " nor ",
                    Word("MemoryReservation"),
                    ", and the task has none either",
                ),
                fix=Text(Word("Memory"), ", in MiB"),
                ways=(tuple(_with_memory(task, container, each) for each in _USUAL_MIB),),
                property_name="Memory",
                one_value=True,
            )


@error(
    "GPU250",
    question="does every container name an image?",
    because='ECS refuses a container with an empty image: "Container.image should not be null or empty"',
    source="https://github.com/aws/aws-cli/issues/5924",
)
def has_image(task: Task) -> Iterator[Problem]:
    for container in task.containers:
        if container.image == "":
            yield Problem(
                container=container,
                message=f"container {container.name} has an empty image",
                fix="the name of an image",
                ways=one_way(
                    f"the name of an image, such as {_IMAGE}",
                    with_container(task, container, replace(container, image=_IMAGE)),
                ),
                property_name="Image",
                value=container.image,
                one_value=True,
            )


@error(
    "GPU036",
    question="do the CPU and memory of containers match each other, and those of the task?",
    because=f"a container reserves no more memory than its limit, which is at least {MIN_CONTAINER_MEMORY_MIB} MiB, "
    "and all containers together have no more CPU and memory than their task; ECS or Docker refuses other sizes",
    softer=f"where AWS Batch, which takes {MIN_JOB_MEMORY_MIB} MiB, accepts what Docker refuses",
    source=_CONTAINER,
    changes="Memory",
)
def sizes(task: Task) -> Problems:
    for container in task.containers:
        yield from _sizes(task, container)
    # ECS ignores the CPU and memory of a Windows task.
    if demand_of(task).windows:
        return
    for name, unit, limit, total in (
        ("Cpu", " CPU units", task.cpu_limit, sum(known(each.cpu) for each in task.containers)),
        ("Memory", " MiB", task.memory_limit_mib, sum(known(each.memory_mib) for each in task.containers)),
    ):
        if isinstance(limit, int) and total > limit:
            yield Problem(
                message=f"the containers of {task.name} ask for {total}{unit} together, and the task has {limit}",
                fix=_LESS,
                ways=(
                    *either(
                        (f"{name} of the task at least {total}", _of_size(task, name, total)),
                        (f"no {name} of the task", _of_size(task, name, None)),
                    ),
                    (Way(text=_LESS),),
                ),
            )


@warning(
    "GPU312",
    question="does a GPU container have enough memory to start CUDA?",
    because="a container is stopped above its Memory, and a program first loads the libraries of CUDA into it, 1.9 GB "
    f"in a test of PyTorch (a heuristic: a limit below {_LEAST_FOR_CUDA_MIB} MiB is reported)",
    source="https://github.com/pytorch/pytorch/issues/12873",
    unless=("GPU036",),
)
def memory_for_cuda(task: Task) -> Problems:
    for container in task.containers:
        is_of_task = container.memory_limit_mib is None
        limit = task.memory_limit_mib if is_of_task else container.memory_limit_mib
        if (
            container.wants_gpu
            and isinstance(limit, int)
            and 0 < limit < _LEAST_FOR_CUDA_MIB
            and not _monitors(container)
        ):
            yield Problem(
                container=None if is_of_task else container,
                message=f"container {container.name} asks for GPUs and is stopped above {limit} MiB of memory"
                f"{' of its task' if is_of_task else ''}, in which a program with CUDA does not start",
                fix="more Memory, in MiB",
                ways=(
                    tuple(
                        Way(text=f"Memory of {each} of the task, in MiB", things=(_of_size(task, "Memory", each),))
                        for each in _USUAL_MIB
                    )
                    if is_of_task
                    else tuple(_with_memory(task, container, each) for each in _USUAL_MIB),
                ),
                property_name="Memory",
                value=limit,
            )


@warning(
    "GPU037",
    question="does a GPU container leave it to ECS which GPUs it sees?",
    because="the ECS agent overwrites NVIDIA_VISIBLE_DEVICES of a container that asks for GPUs with the ids of the "
    "GPUs that it reserved",
    source=_GPUS,
)
def left_to_ecs(task: Task) -> Problems:
    for container in task.containers:
        value = _visible(container)
        if value is not None and container.wants_gpu:
            yield Problem(
                container=container,
                message=Text(
                    Word(f"container {container.name}"),
                    f" sets {_VISIBLE} to {_quoted(value)} and asks for GPUs: the ECS agent overwrites it with the ids "
                    "of the GPUs that it reserved",
                ),
                fix=Text(f"leave {_VISIBLE} out; ", Word("ResourceRequirements"), " says how many GPUs"),
                property_name="Environment",
                value=value,
                one_value=True,
            )


@warning(
    "GPU038",
    question="does a container that is to see GPUs also ask ECS for them?",
    because="the agent sets the NVIDIA runtime only for tasks that ask for GPUs, and the scheduler counts only GPUs "
    "that are asked for: such a container sees no GPU, or GPUs of other tasks where NVIDIA is Docker's default runtime",
    source=_GPUS,
)
def asked_of_ecs(context: Context) -> Problems:
    daemons = {each.task.name for each in context.fleet.workloads if each.daemon is True and each.task is not None}
    for task in context.tasks:
        if any(asks_for_accelerator(each) for each in task.containers):
            continue
        for container in task.containers:
            value = _visible(container)
            if value is not None and (isinstance(value, Unknown) or value.strip().lower() not in _HIDING):
                yield Problem(
                    about=task,
                    container=container,
                    message=f"container {container.name} sets {_VISIBLE} to {_quoted(value)}, and no container of "
                    f"{task.name} asks for a GPU: ECS places it on any host and reserves no GPU, and it sees none "
                    "unless NVIDIA is the default runtime there",
                    fix=_OF_A_DAEMON if task.name in daemons else _ASKED,
                )


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
        mounts = any(plain(each).endswith("tmpfs") for each in container.used_keys)
        if container.shared_memory_mib is None and task.ipc_mode is None and not mounts:
            yield Problem(
                container=container,
                message=f"container {container.name} has {several} and Docker's {_DEFAULT_SHARED_MEMORY_MIB} MiB of "
                f"{_SHARED_MEMORY}, through which NCCL and the workers of a DataLoader pass data",
                fix=_larger(task),
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
        thin = [
            (host, gpus) for host in _hosts(route) if (gpus := _gpus(route, host)) and limit < gpus * CPU_UNITS_PER_VCPU
        ]
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
    "GPU209",
    question="does a container set only kernel parameters of namespaces that its task has for itself?",
    because="ECS does not support kernel parameters of the IPC namespace with IPC mode host, and of the network "
    "namespace with network mode host, where they would be those of the host",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_SystemControl.html",
)
def own_kernel_parameters(task: Task) -> Problems:
    shared: dict[str, tuple[str, ...]] = {"IpcMode": _IPC_PARAMETERS} if task.ipc_mode == "host" else {}
    if task.network_mode == "host":
        shared["NetworkMode"] = _NETWORK_PARAMETERS
    for container in task.containers:
        for mode, parameters in shared.items():
            set_there = [each for each in container.system_controls if each.startswith(parameters)]
            if set_there:
                yield Problem(
                    container=container,
                    property_name="SystemControls",
                    value=set_there,
                    message=Text(
                        f"container {container.name} sets {and_list(map(brief, set_there))}, and {task.name} shares "
                        "that namespace with its host (",
                        Word(mode),
                        " host)",
                    ),
                    fix=Text("leave it out, or another ", Word(mode)),
                )


def _with_memory(task: Task, container: Container, mib: int) -> Way:
    larger = replace(container, memory_limit_mib=mib, memory_reservation_mib=None)
    return Way(text=Text(Word("Memory"), f" of {mib}, in MiB"), things=(with_container(task, container, larger),))


def _of_size(task: Task, name: str, size: int | None) -> Task:
    return replace(task, cpu_limit=size) if name == "Cpu" else replace(task, memory_limit_mib=size)


def _of_gib(task: Task, container: Container, name: str, gib: int) -> Callable[[], Task]:
    mib = gib * 1024
    is_limit = name == "Memory"
    new = replace(container, memory_limit_mib=mib) if is_limit else replace(container, memory_reservation_mib=mib)
    return with_container(task, container, new)


def _sizes(task: Task, container: Container) -> Problems:
    limit, kept = container.memory_limit_mib, container.memory_reservation_mib
    is_job = task.scheduler is Scheduler.BATCH
    of_batch = f", and AWS Batch no less than {MIN_JOB_MEMORY_MIB}" if is_job else ""
    for name, size in (("Memory", limit), ("MemoryReservation", kept)):
        if isinstance(size, int) and 0 < size < MIN_CONTAINER_MEMORY_MIB:
            yield Problem(
                container=container,
                message=Text(
                    Word(f"container {container.name}"),
                    f" has {size} MiB (",
                    Word(name),
                    f"); Docker takes no less than {MIN_CONTAINER_MEMORY_MIB} MiB{of_batch}",
                ),
                is_certain=not is_job or size < MIN_JOB_MEMORY_MIB,
                fix=Text(Word(name), " in MiB"),
                ways=one_way(
                    Text(Word(name), f" in MiB: {size} GiB are {size * 1024}"), _of_gib(task, container, name, size)
                ),
                property_name=name,
                value=size,
                allowed=f"{MIN_CONTAINER_MEMORY_MIB} or more",
                one_value=True,
            )
    if isinstance(limit, int) and isinstance(kept, int) and 0 < limit < kept:
        yield Problem(
            container=container,
            message=Text(
                Word(f"container {container.name}"),
                f" reserves {kept} MiB (",
                Word("MemoryReservation"),
                f") and is stopped above {limit} MiB (",
                Word("Memory"),
                ")",
            ),
            fix=Text("more ", Word("Memory"), ", or a lower ", Word("MemoryReservation")),
            ways=either(
                (
                    Text(Word("Memory"), f" of {kept} or more"),
                    with_container(task, container, replace(container, memory_limit_mib=kept)),
                ),
                (
                    Text(Word("MemoryReservation"), f" of {limit} or less"),
                    with_container(task, container, replace(container, memory_reservation_mib=limit)),
                ),
            ),
            property_name="MemoryReservation",
            value=kept,
            allowed=f"up to {limit}",
        )


def _monitors(container: Container) -> bool:
    words = map(str, (container.image, *container.entry_point, *container.command))
    return any(each in word for word in words for each in _MONITORS)


def _larger(task: Task) -> str:
    if MANAGED_INSTANCES in task.compatibilities:
        return "ECS Managed Instances cannot enlarge it; EC2 hosts can, with LinuxParameters.SharedMemorySize"
    return "LinuxParameters.SharedMemorySize, in MiB; half of the container's memory is usual"


def _visible(container: Container) -> str | Unknown | None:
    return dict(container.environment).get(_VISIBLE)


def _quoted(value: str | Unknown) -> str:
    return "a value that is only known at deploy time" if isinstance(value, Unknown) else shown(value)


def _hosts(route: Route) -> Iterator[InstanceType]:
    return (host for each in route.destinations for host in each.types if host.gpus)


def _gpus(route: Route, host: InstanceType) -> int:
    demand = demand_of(route.task)
    if demand.shared_memory_mib is not None or "ResourceRequirements" in demand.unknown:
        return 0
    return host.gpus if demand.all_gpus else demand.gpus
