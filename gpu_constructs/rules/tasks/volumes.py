"""Volumes that a task mounts: do the hosts have what mounts them?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.errors import brief
from gpu_constructs.facts import OperatingSystem
from gpu_constructs.fleet import EfsVolume, HostAction, Pool
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, error
from gpu_constructs.rules.words import and_list

_ON = "ENABLED"
_SETTING = "EFSVolumeConfiguration"


@error(
    "GPU317",
    question="do the hosts have what mounts the volumes of a task?",
    because="the agent registers a host with the volume plugins that Docker has when the agent starts, and ECS places "
    'a task only where the driver of its volumes is among them; else it reports "is missing an attribute required by '
    'your task"; Bottlerocket for ECS does not have amazon-efs-utils, which encryption in transit, access points and '
    "the task role need",
    softer="where hosts of other files may take the task, and for EFS on Bottlerocket",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DockerVolumeConfiguration.html",
)
def mountable(context: Context) -> Iterator[Problem]:
    yield from _on_bottlerocket(context)
    if any(each.daemon is not False for each in context.fleet.workloads):
        return  # a daemon may install plugins
    for route in context.routed(lambda task: bool(task.docker_volumes)):
        without = [each.pool for each in route.destinations if _adds_no_plugin(each.pool)]
        if without and (route.every or len(without) == len(route.destinations)):
            volume = route.task.docker_volumes[0]
            yield Problem(
                about=route.task,
                involves=tuple(without),
                message=f"volume {brief(volume.name)} of {route.task.name} is one of the Docker plugin "
                f"{brief(volume.driver)}, which nothing installs on the hosts of "
                f"{and_list(each.name for each in without)}",
                fix=f"docker plugin install {brief(volume.driver)} in the user data, before the ECS agent starts, or "
                "an EFSVolumeConfiguration",
                property_name="Driver",
                value=volume.driver,
                origin=volume.origin,
                is_certain=route.is_closed,
            )


def _on_bottlerocket(context: Context) -> Iterator[Problem]:
    """See https://github.com/bottlerocket-os/bottlerocket/issues/1080."""
    for assignment in context.assignments:
        task = assignment.task
        found = [each for each in task.efs_volumes if _wants_encryption(each) or each.transit_encryption == _ON]
        for destination in assignment.destinations if found else ():
            pool = destination.pool
            if pool.operating_system is OperatingSystem.BOTTLEROCKET and pool.runs_launch_type_ec2:
                yield Problem(
                    about=task,
                    involves=(pool,),
                    message=f"volume {brief(found[0].name)} of {task.name} is a file system of EFS with encryption in "
                    f"transit or authorization, which Bottlerocket, the system of {pool.name}, does not mount",
                    fix="hosts of Amazon Linux 2023, or weights that are copied from S3",
                    property_name=_SETTING,
                    origin=found[0].origin,
                    is_certain=False,
                )


def _adds_no_plugin(pool: Pool) -> bool:
    return pool.has_image_of_aws and HostAction.INSTALLS in pool.user_data.actions_never_taken


def _wants_encryption(volume: EfsVolume) -> str:
    """What is only used with encryption in transit; empty for nothing, as far as is known."""
    if volume.access_point is not None:
        return "through an access point"
    return "with the task role (IAM)" if volume.iam == _ON else ""
