"""The fleet out of CloudFormation: templates, cloud assemblies and task definitions, as real ones are.

::

    stacks = read_stacks(["cdk.out"])
    fleet = fleet_of(stacks.stacks, tasks=[each.resource for each in stacks.tasks], remarks=stacks.remarks)

Pure: what is read is never executed, everything is bounded, and the only exception that leaves is `UnreadableError`.
"""

from gpu_constructs.template.fleet import fleet_of
from gpu_constructs.template.stacks import Stacks, from_mapping, read_stacks, read_text
from gpu_constructs.template.unreadable import UnreadableError

__all__ = ["Stacks", "UnreadableError", "fleet_of", "from_mapping", "read_stacks", "read_text"]
