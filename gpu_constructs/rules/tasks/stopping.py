"""Stopping: do containers have the time that they are promised?"""

from __future__ import annotations

from gpu_constructs.budget import brief
from gpu_constructs.fleet import PARTLY_SPOT, Unknown
from gpu_constructs.hardware.aws_limits import SPOT_NOTICE_SECONDS
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, Problems, warning


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
                    value=timeout,
                    message=f"container {brief(container.name)} of {assignment.task.name} has {timeout} seconds to "
                    f"stop, and Spot hosts of {spot[0].name} are gone {SPOT_NOTICE_SECONDS} seconds after the notice",
                    fix=f"StopTimeout {SPOT_NOTICE_SECONDS} or less, with checkpoints that are written in that time",
                )
