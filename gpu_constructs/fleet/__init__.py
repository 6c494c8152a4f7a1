"""What was asked for: pools of hosts and the tasks that are to run on them, as frozen values in AWS's own words.

The constructs build these values and keep them; everything that decides whether something fits reads them. Nothing in
this room knows CDK, and importing it starts no Node process.
"""

from gpu_constructs.fleet.pool import HostImage, Pool, Shape, require_one_shape
from gpu_constructs.fleet.task import Container, Task
from gpu_constructs.fleet.unknown import UNKNOWN, Unknown, known, total

__all__ = [
    "UNKNOWN",
    "Container",
    "HostImage",
    "Pool",
    "Shape",
    "Task",
    "Unknown",
    "known",
    "require_one_shape",
    "total",
]
