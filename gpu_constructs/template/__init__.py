"""Which fleet do these files describe? Reads templates, cloud assemblies and task definitions that anybody wrote.

::

    stacks = read_stacks(["cdk.out"])
    fleet = fleet_of(stacks.stacks, tasks=stacks.tasks, remarks=stacks.remarks)

A wall of values stands in the middle, the `model`: `Stack`, `Resource` and what a property can be. Before it, files
become stacks (`stacks`): `documents` reads them, `evaluation` works their functions out. Behind it, `resources` makes
the fleet of them, and knows nothing of files and functions. `budget` says how much is read at most.

Pure: what is read is never executed, everything is bounded, and the only exception that leaves is `UnreadableError`.
"""

from gpu_constructs.template.resources import fleet_of
from gpu_constructs.template.stacks import Input, Inputs, Stacks, read_stacks
from gpu_constructs.template.unreadable import UnreadableError

__all__ = ["Input", "Inputs", "Stacks", "UnreadableError", "fleet_of", "read_stacks"]
