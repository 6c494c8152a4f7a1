"""Checkpoints: is what a job resumes from still there when its host is not?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from gpu_constructs.budget import brief
from gpu_constructs.fleet import PARTLY_SPOT, Container, Unknown
from gpu_constructs.placement.route import Route
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, Problems, warning


@warning(
    "GPU370",
    question="does a GPU task on Spot hosts mount a volume where it keeps its checkpoints?",
    because="what a container writes outside of its volumes is deleted with it, so that nothing is left to resume from "
    "after an interruption",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using_data_volumes.html",
)
def mounts_its_checkpoints(context: Context) -> Problems:
    said: set[tuple[int, str]] = set()
    for route in context.routed(lambda task: task.wants_gpu):
        spot = [each.pool for each in route.destinations if each.pool.bought.option in PARTLY_SPOT]
        for container, name, path in _directories(route) if spot else ():
            paths = container.relations.mount_paths
            # Volumes of another container are mounted where that one has them.
            is_open = any(isinstance(each, Unknown) for each in paths) or bool(container.relations.volumes_from)
            if is_open or _is_below(path, paths) or (id(route.task), path) in said:
                continue
            said.add((id(route.task), path))
            directory = brief(path.rstrip("/"))
            yield Problem(
                about=route.task,
                container=container,
                involves=(route.sender, spot[0]),
                property_name="MountPoints",
                message=f"container {brief(container.name)} of {route.task.name} keeps checkpoints in {directory} "
                f"({brief(name)}), where it mounts no volume, and {spot[0].name} has Spot hosts",
                fix=f"MountPoints with ContainerPath {directory} and a volume of EFS or FSx for Lustre (in CDK "
                f'container.add_mount_points(ecs.MountPoint(container_path="{directory}", source_volume=…, '
                "read_only=False))), or a bucket",
            )


def _directories(route: Route) -> Iterator[tuple[Container, str, str]]:
    """Containers with the variables that name a directory for checkpoints, and that directory."""
    overrides = route.workload.variables if route.workload is not None else ()
    for container in route.task.containers:
        own = {name: value for name, value in container.environment if isinstance(value, str)}
        own.update({name: value for of, name, value in overrides if of == container.name})
        for name, value in own.items():
            if "CHECKPOINT" in name.upper() and value.startswith("/") and value.strip("/"):
                yield container, name, value


def _is_below(path: str, mounted: tuple[str | Unknown, ...]) -> bool:
    return any(isinstance(each, str) and PurePosixPath(path).is_relative_to(each) for each in mounted)
