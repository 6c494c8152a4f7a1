"""What was asked for: pools of hosts and the tasks that are to run on them, as frozen values in AWS's own words.

The constructs build these values and keep them; everything that decides whether something fits reads them. Nothing in
this room knows CDK, and importing it starts no Node process.
"""

from gpu_constructs.fleet.pool import HostImage, Pool, Shape
from gpu_constructs.fleet.task import UNKNOWN, Container, Task, Unknown

__all__ = ["UNKNOWN", "Container", "HostImage", "Pool", "Shape", "Task", "Unknown"]
