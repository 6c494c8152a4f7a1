"""Container images: whether the hosts have the driver and the GPUs for their CUDA and servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod
from typing import NamedTuple

from gpu_constructs.errors import brief, counted
from gpu_constructs.facts import Architecture, drivers_of, image
from gpu_constructs.facts.cuda import (
    CUDA_COMPATIBILITY,
    CUDA_OF_GPUS,
    Cuda,
    CudaImage,
    cuda_image,
    dotted,
    first_branch,
    is_dropped,
    made_for,
    newer_cuda_for,
    runs_on,
    tag_made_for,
)
from gpu_constructs.facts.model_memory import may_split
from gpu_constructs.facts.names import image_name
from gpu_constructs.facts.servers import ServerFacts, server_of_image, tag_instead_of, uses_other_hosts
from gpu_constructs.facts.values import by_identity, grouped
from gpu_constructs.fleet import Container, HostImage, Pool, Task, Unknown
from gpu_constructs.placement.route import Destination
from gpu_constructs.rules.evidence.accelerated import failing_pairs, gpus_in_words
from gpu_constructs.rules.evidence.copies import WHILE_SPARED
from gpu_constructs.rules.evidence.fixes import hosts_for, with_container
from gpu_constructs.rules.evidence.server_commands import (
    arguments_of,
    longer_than_model,
    model_of,
    not_replaced,
    refused_at,
    server_of_entry_point,
    words_of,
)
from gpu_constructs.rules.evidence.torchrun import processes_of_torchrun
from gpu_constructs.rules.finding import Way, and_list, one_way
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning

_OLDER = "an image with an older CUDA"
_OF_12_8 = "nvidia/cuda:12.8.1-cudnn-runtime-ubuntu24.04"
_PUBLIC = frozenset({"docker.io", "gcr.io", "ghcr.io", "nvcr.io", "public.ecr.aws", "quay.io", "registry-1.docker.io"})


@warning(
    "GPU234",
    question="is the driver of the hosts recent enough for the CUDA of the container image?",
    because="a driver runs programs of a newer major version of CUDA only through the forward compatibility package, "
    "which some images bring, and NVIDIA's container toolkit refuses images that require a newer driver",
    source=CUDA_COMPATIBILITY,
    unless=("GPU235",),
)
def recent_driver(context: Context) -> Problems:
    for route, container, found, each in failing_pairs(context, _cuda_of, _older_drivers):
        first = first_branch(found.cuda)
        newer = f"a machine image with driver branch {first} or later"
        yield Problem(
            about=route.task,
            container=container,
            involves=(each.pool,),
            message=f"{_has(route.task, container, found)}, which needs driver branch {first} or later; the hosts "
            f"of {each.pool.name} have {_older_drivers(found, each)}",
            fix=f"{newer}, or {_OLDER}",
            ways=(
                *one_way(
                    f"{newer}, such as al2023-gpu", replace(each.pool, image=HostImage(image=image("al2023-gpu")))
                ),
                (Way(text=_OLDER),),
            ),
            property_name="Image",
        )


@error(
    "GPU235",
    question="does the container image have code for the GPUs of the hosts, and does its server take them?",
    because="CUDA 13 dropped Maxwell, Pascal and Volta, and each CUDA is older than some GPUs, such as 12.6 than B200: "
    "programs that are built with it, and its libraries, have no kernels for them, whatever the driver; "
    "text-embeddings-inference ends on GPUs that its tag is not for, vLLM on those that lack its data type or "
    "quantization, and its image for arm64 on those of g5g, for which it has no code",
    softer="for images of the toolkit alone, in which a program may bring libraries of its own, for programs that may "
    f"bring PTX, which the driver compiles for newer GPUs, where it may get other GPUs, and {WHILE_SPARED}",
    source=CUDA_OF_GPUS,
)
def still_compiled(context: Context) -> Problems:
    yield from _refused_gpus(context)
    for route, container, found, each in failing_pairs(context, _cuda_of, _lacks_kernels):
        if each.is_certain or (route.workload is None and route.is_closed):
            first = _newer_cuda(found, each)
            cuda, sample, other = _OLDER, "nvidia/cuda:12.6.3-cudnn-runtime-ubuntu24.04", "newer"
            if first is not None:
                cuda, sample, other = f"an image with CUDA {dotted(first)} or later", _OF_12_8, "older"
            yield Problem(
                about=route.task,
                container=container,
                involves=(each.pool,),
                message=f"{_has(route.task, container, found)}, which has no code for the GPUs of {each.pool.name} "
                f"({and_list(each.types)})"
                + (f": CUDA compiles for them from {dotted(first)} on" if first is not None else "")
                + (", and only a program with PTX starts" if first is not None and found.has_ptx else ""),
                fix=f"{cuda}, or hosts with {other} GPUs",
                ways=(
                    *one_way(
                        f"{cuda}, such as {sample.partition(':')[2].partition('-')[0]}",
                        with_container(route.task, container, replace(container, image=sample)),
                    ),
                    hosts_for(route.task, each.pool, f"hosts with {other} GPUs,", of_other_families=True),
                ),
                property_name="Image",
                value=container.image,
                is_certain=found.has_kernels and not each.is_spared and (first is None or not found.has_ptx),
            )


def _refused_gpus(context: Context) -> Problems:
    for route, container, targets, each in failing_pairs(context, _targets_of, _refused):
        refused = _refused(targets, each)
        target, there = refused[0][0], and_list(has for _, has in refused)
        tag = tag_made_for(str(container.image), (host.compute_capability or (0, 0) for host in each.types))
        instead = f"the tag {tag} or a newer one" if tag else target.instead
        what = f"{target.needs} compute capability {dotted(target.first)}, and ends on {there} of {each.pool.name}"
        yield replace(
            _problem(route.task, container, what, f"{instead and f'{instead}, or '}hosts with other GPUs"),
            about=route.task,
            involves=(each.pool,),
            property_name=target.property_name,
            is_certain=route.is_closed
            and all(len(_refused(targets, to)) == len(to.types) for to in route.destinations),
        )


class _Target(NamedTuple):
    """A compute capability that an image needs on hosts of some architectures, why, and what may be instead."""

    first: Cuda
    features: str = ""  # as of `runs_on`
    needs: str = "is made for"
    instead: str = ""
    property_name: str = "Image"
    architectures: tuple[Architecture, ...] = (*Architecture,)


@by_identity(maxsize=1 << 16)
def _targets_of(container: Container) -> list[_Target]:
    """What its image needs of GPUs, the most first."""
    image = container.image if isinstance(container.image, str) and container.wants_gpu else ""
    server, made = server_of_image(image), made_for(image)
    found = [] if made is None else [_Target(*made)]
    words = None if server is None else words_of(server, container)
    told = {} if server is None or words is None else arguments_of(server, container, words)
    for argument, first in () if server is None else server.needed_by_arguments(image, told):
        found.append(_Target(first, "", f"has {argument}, which needs", f"another {argument.split(' ')[0]}", "Command"))
    by_image = server_of_entry_point(container)
    if by_image is not None and (on_arm64 := by_image.needed_on_arm64(image)) is not None:
        needs = "has on arm64 no code for GPUs below"
        found.append(_Target(on_arm64, "", needs, "x86_64 hosts", architectures=(Architecture.ARM64,)))
    return sorted(found, key=lambda each: each.first, reverse=True)


def _refused(targets: Iterable[_Target], there: Destination) -> list[tuple[_Target, str]]:
    """Types of hosts, each with the most that it lacks."""
    return [
        (lacked[0], f"{each} ({dotted(has)})")
        for each in there.types
        if (has := each.compute_capability) is not None
        and (lacked := [of for of in targets if each.architecture in of.architectures and not runs_on(has, *of[:2])])
    ]


def _older_drivers(found: CudaImage, there: Destination) -> str:
    """The drivers of hosts and their image, where they are too old for a CUDA."""
    host, first = there.pool.image, first_branch(found.cuda)
    drivers = None if isinstance(host, Unknown) else drivers_of(host.image, host.release)
    is_older = drivers is not None and first is not None and drivers.highest[0] < first and not found.is_compatible
    return f"{drivers} ({host.image.name})" if is_older and not isinstance(host, Unknown) else ""


def _lacks_kernels(found: CudaImage, there: Destination) -> bool:
    known = [each.compute_capability for each in there.types]
    is_dropped_by = all(each is not None and is_dropped(each, found.cuda) for each in known)
    return found.has_libraries and (is_dropped_by or _newer_cuda(found, there) is not None)


def _newer_cuda(found: CudaImage, there: Destination) -> Cuda | None:
    """The first CUDA that compiles for all GPUs of a pool, where that of the image does for none."""
    known = [each.compute_capability for each in there.types]
    needed = [None if each is None else newer_cuda_for(each, found.cuda) for each in known]
    return None if None in needed else max(filter(None, needed), default=None)


def _cuda_of(container: Container) -> CudaImage | None:
    return cuda_image(container.image) if isinstance(container.image, str) and container.wants_gpu else None


def _has(task: Task, container: Container, found: CudaImage) -> str:
    return f"container {container.name} of {task.name} has CUDA {dotted(found.cuda)} ({brief(str(container.image))})"


@error(
    "GPU208",
    question="can hosts without a route out pull the images of their tasks, and write their logs?",
    because="a VPC endpoint leads to private repositories of ECR, not to Docker Hub, nvcr.io, ghcr.io or ECR Public; "
    "it takes ecr.api, ecr.dkr and s3, whose gateway is for the route tables that it names: without them, every task "
    "stops with CannotPullContainerError; awslogs takes logs: without it no log arrives, and no container starts where "
    "mode is blocking",
    softer="where a mirror or a proxy in the VPC, an image that is on the hosts, or another stack that imports the VPC "
    "may help, or only logs are lost",
    source="https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html",
    unless=("GPU228",),
)
def pulls_its_images(context: Context) -> Problems:
    told = set()
    for assignment in context.assignments:
        task, there = assignment.task, [each.pool for each in assignment.destinations]
        pool = next((each for each in there if each.way_out.blocked_by and not each.user_data.names_proxy), None)
        for container in task.containers if pool is not None else ():
            registry = _public_registry(container.image)
            missing = {} if registry or pool is None else _missing(context, task, container, pool)
            if pool is None or id(container) in told or not (registry or missing):
                continue
            told.add(id(container))
            of_logs, names = {*missing} == {"logs"}, and_list(missing)
            what, fix = f"needs {names} for {'awslogs' if of_logs else 'its image'}", f"endpoints for {names}"
            fix += " (the route table of the hosts in RouteTableIds)" if "s3" in missing else ""
            if registry:
                what = f"has an image of {registry} ({brief(str(container.image))})"
                fix = "a copy in ECR, such as by a pull through cache"
            yield Problem(
                about=task,
                involves=(pool,),
                container=container,
                property_name="LogConfiguration" if of_logs else "Image",
                message=f"container {container.name} {what}, and the hosts of {pool.name} have no way out"
                + ("" if registry else ", and no endpoint is open to them"),
                fix=fix if pool.way_out.blocker else f"{fix}, or subnets with a NAT gateway",
                is_certain=any(missing.values())
                and context.fleet.is_whole
                and not any(each.way_out.may_be_opened for each in there)
                and all(missing.keys() <= {*each.way_out.missing_endpoints} for each in there)
                and not any(map(context.may_have_images, there)),
            )


def _missing(context: Context, task: Task, container: Container, pool: Pool) -> dict[str, bool]:
    """Services that a container needs and hosts do not reach, and whether it stops without."""
    from gpu_constructs.template.resources.containers import containers_in, needs_of_aws  # noqa: PLC0415 - of files alone

    definition = context.section(task)
    found = () if definition is None else containers_in(definition)
    needed = [needs_of_aws(each, context.index) for each in found if each.origin == container.origin]
    return {name: stops for each in needed for name, stops in each.items() if name in pool.way_out.missing_endpoints}


def _public_registry(image: str | Unknown | None) -> str:
    """The registry of an image where it certainly is one of the internet; without a host name it is Docker Hub.

    https://docs.docker.com/reference/cli/docker/image/tag/
    """
    host, slash, _ = image.partition("/") if isinstance(image, str) else ("", "", "")
    if slash and ("." in host or ":" in host or host == "localhost"):
        return host if host in _PUBLIC else ""
    return "Docker Hub" if host.strip() else ""


@error(
    "GPU397",
    question="do the images of tasks have the tags that are named?",
    because="an image without a tag is latest; NVIDIA has deleted latest of nvidia/cuda, all tags of CUDA 10 and "
    "before and those of CUDA 11 without a patch version, such as 11.0-base, and makes no latest of tritonserver: the "
    "tasks stop with CannotPullContainerError",
    softer="where hosts or a mirror may have the image already, or are not known, and for a container that is not "
    "essential",
    source="https://gitlab.com/nvidia/container-images/cuda/-/blob/master/doc/README.md",
    unless=("GPU208",),
)
def can_be_pulled(context: Context) -> Problems:
    routes = context.routed(lambda task: any(tag_instead_of(str(each.image)) for each in task.containers))
    for found in grouped((id(route.task), route) for route in routes).values():
        task, there = found[0].task, [each.pool for route in found for each in route.destinations]
        kept = any(context.may_have_images(each) or "mirror" in each.user_data.text for each in there)
        is_pulled = bool(there) and all(each.is_closed for each in found) and not kept
        for container in task.containers:
            if tag := tag_instead_of(str(container.image)):
                repository, written = image_name(str(container.image))
                what = f"names the tag {written or 'latest'}, which {repository} does not have"
                problem = _problem(task, container, what, f"a tag that exists, such as {repository}:{tag}")
                section = context.written(task, container)
                is_certain = is_pulled and (section is None or section.flag("Essential") is not False)
                yield replace(problem, property_name="Image", is_certain=is_certain)


@error(
    "GPU236",
    question="does a model server use all GPUs of its container, and do it and torchrun ask for no more?",
    because="vLLM and SGLang use one GPU unless an argument says otherwise, ComfyUI uses one unless a workflow "
    "places models on others, and a server that is set to use more GPUs than it has does not start; most "
    "programs give each process of torchrun the GPU of its number, and end with invalid device ordinal without it",
    softer="where it uses fewer GPUs than it has, or may see others: privileged, or as a job is submitted; for "
    "torchrun, since processes may share a GPU",
    # of torchrun: https://docs.pytorch.org/docs/stable/elastic/run.html
    source="https://docs.vllm.ai/en/stable/serving/parallelism_scaling.html",
)
def all_used(context: Context) -> Problems:
    for task, container in ((one, each) for one in context.tasks_as_run for each in one.containers):
        gpus = 1 if container.mps or container.gpu_part else container.gpus
        if isinstance(gpus, Unknown) or not gpus:
            continue
        processes = processes_of_torchrun(container)
        server = server_of_image(container.image) if isinstance(container.image, str) else None
        if processes > gpus:
            what = f"starts {processes} processes with torchrun, and has {gpus_in_words(container, gpus)}"
            yield _problem(task, container, what, f"--nproc-per-node {gpus} in Command")
        elif server is not None and not processes:
            yield from _used_by_server(task, container, server, gpus)


def _used_by_server(task: Task, container: Container, server: ServerFacts, gpus: int) -> Problems:
    """Whether a server uses the GPUs of its container, no more and no fewer."""
    if server.max_gpus is not None and gpus > server.max_gpus:
        what = f"uses {server.max_gpus} of its {gpus} GPUs, unless a workflow places models on the others"
        yield _problem(task, container, what, f"{server.max_gpus} GPU")
        return
    words = words_of(server, container)
    if not server.gpu_arguments or words is None:
        return
    said = arguments_of(server, container, words)
    sizes = server.sizes(said)
    used = 0 if uses_other_hosts(said) else prod(size for _, size in sizes.values())
    kind = max(sizes, key=lambda each: sizes[each][1], default="tensor")
    option, size = sizes.get(kind, (server.gpu_arguments[0], 1))
    most = gpus * size // max(used, 1)
    divided = _divided(container, said, most) if kind == "tensor" else most
    if used > gpus:
        of = f" ({and_list(f'{each} {size}' for each, size in sizes.values())})" if len(sizes) > 1 else ""
        what = f"is told to use {used} GPUs{of} and has {gpus_in_words(container, gpus)}, so that it does not start"
        enough = [f"{option} {divided}"] if divided else [f"{each} 1" for each, _ in sizes.values()]
        # With the privileges of its host it sees all GPUs.
        is_alone = container.privileged is not True and all(
            each.containers == task.containers for each in task.submissions
        )
        yield replace(_problem(task, container, what, f"{and_list(enough)} in Command"), is_certain=is_alone)
    elif 0 < used < gpus:
        # Copies within the GPUs of --tp of SGLang: `sizes` does not count them.
        is_open = "data" not in sizes and not said.keys().isdisjoint(server.parallel.get("data", ()))
        is_told = bool(sizes or (words and server.parallel))
        if is_told and not is_open and not server.has_other_copies(said):
            more = f"{option} {most} in Command, or " if divided == most else ""
            yield _problem(task, container, f"uses {used} of its {gpus} GPUs", f"{more}{counted(used, 'GPU')}")


def _divided(container: Container, said: Mapping[str, object], most: int) -> int:
    """The most GPUs, of so many, among which a server can divide its model, as far as that is known."""
    model = model_of(container)
    # With attention that is data parallel, SGLang divides heads among fewer GPUs.
    if model is None or "--enable-dp-attention" in said:
        return most
    return next((each for each in range(min(most, model.shape.heads or 1), 0, -1) if may_split(model.shape, each)), 0)


@error(
    "GPU394",
    question="does a model server start with the arguments of its container?",
    because="the entry point of such an image is the server, and gets the texts of Command as arguments: where these "
    "name the program once more, or a shell, or one text has an option and its value, or an option has none, it ends "
    "at once, with unrecognized arguments or an unknown command; --gpu-memory-utilization is more than 0 and at most "
    "1, --max-model-len of vLLM and --context-length of SGLang no more than max_position_embeddings of the model, and "
    "a model that is a directory needs a volume, since the published images have none",
    softer="for a long context, since a copy of a model may have another config.json, and for a variable that no shell "
    "replaces",
    source="https://github.com/vllm-project/vllm/issues/37133",
)
def started_once(context: Context) -> Problems:
    for task in context.tasks_as_run:
        for container in task.containers:
            if found := refused_at(container):
                yield replace(_problem(task, container, *found), is_certain=True)
            elif context.has_unknown_variables(task, container):
                continue
            elif found := not_replaced(container) or longer_than_model(container):
                yield _problem(task, container, *found)


def _problem(task: Task, container: Container, what: str, fix: str) -> Problem:
    return Problem(
        about=task,
        container=container,
        message=f"container {container.name} of {task.name} ({brief(str(container.image))}) {what}",
        fix=fix,
        property_name="Command",
        is_certain=False,
    )
