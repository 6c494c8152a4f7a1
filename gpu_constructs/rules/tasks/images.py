"""Container images: whether the hosts have the driver and the GPUs for their CUDA and servers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from gpu_constructs.errors import brief
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
from gpu_constructs.facts.names import image_name
from gpu_constructs.facts.servers import server_of_image, tag_instead_of
from gpu_constructs.facts.values import by_identity, grouped
from gpu_constructs.fleet import Container, HostImage, Pool, Task, Unknown, Workload
from gpu_constructs.placement.route import Destination
from gpu_constructs.rules.evidence.accelerated import failing_pairs
from gpu_constructs.rules.evidence.copies import WHILE_SPARED
from gpu_constructs.rules.evidence.fixes import hosts_for, with_container
from gpu_constructs.rules.evidence.server_commands import arguments_of, server_of_entry_point, words_of
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
            container_problem(route.task, container, what, f"{instead and f'{instead}, or '}hosts with other GPUs"),
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
                problem = container_problem(task, container, what, f"a tag that exists, such as {repository}:{tag}")
                section = context.written(task, container)
                is_certain = is_pulled and (section is None or section.flag("Essential") is not False)
                yield replace(problem, property_name="Image", is_certain=is_certain)


def container_problem(asking: Task | Workload, container: Container, what: str, fix: str) -> Problem:
    """What is wrong with the command of a container, named with its image."""
    return Problem(
        about=asking,
        container=container,
        message=f"container {container.name} of {asking.name} ({brief(str(container.image))}) {what}",
        fix=fix,
        property_name="Command",
        is_certain=False,
    )
