"""Registries of container images: can the hosts of a task pull from them?"""

from __future__ import annotations

from gpu_constructs.budget import brief
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, Problems, warning

# Registries on the internet; VPC endpoints for ECR are for private repositories alone.
_DOCKER_HUB = "Docker Hub"
_PUBLIC = {
    "docker.io": _DOCKER_HUB,
    "index.docker.io": _DOCKER_HUB,
    "registry-1.docker.io": _DOCKER_HUB,
    **{each: each for each in ("gcr.io", "ghcr.io", "nvcr.io", "public.ecr.aws", "quay.io")},
}


@warning(
    "GPU208",
    question="can hosts without a route out pull the images of their tasks?",
    because="a VPC endpoint leads to private repositories of ECR, not to Docker Hub, nvcr.io, ghcr.io or ECR Public; "
    "without a mirror in the VPC, the task stops with CannotPullContainerError",
    source="https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html",
    unless=("GPU228",),
)
def pulls_its_images(context: Context) -> Problems:
    told = set()
    for assignment in context.assignments:
        task = assignment.task
        pool = next((each.pool for each in assignment.destinations if each.pool.has_no_route_out), None)
        if pool is None or task.name in told:
            continue
        told.add(task.name)
        for container in task.containers:
            registry = _public_registry(container.image) if isinstance(container.image, str) else None
            if registry is not None:
                yield Problem(
                    about=task,
                    involves=(pool,),
                    container=container,
                    property_name="Image",
                    value=container.image,
                    message=f"container {container.name} has an image of {registry} ({brief(str(container.image))}), "
                    f"and the subnets of {pool.name} have no route out",
                    fix="a copy in ECR, such as by a pull through cache, or subnets with a NAT gateway",
                )


def _public_registry(image: str) -> str | None:
    """The registry of an image where it is one on the internet; None where that is not certain.

    Without a host name, it is Docker Hub (https://docs.docker.com/reference/cli/docker/image/tag/).
    """
    host, slash, _ = image.partition("/")
    if slash and ("." in host or ":" in host or host == "localhost"):
        return _PUBLIC.get(host)
    return _DOCKER_HUB if image.strip() else None
