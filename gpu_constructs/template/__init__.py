"""Which fleet do these files describe? Reads templates, cloud assemblies, plans and task definitions of anybody.

::

    stacks = read_stacks(["cdk.out"])
    fleet = fleet_of(stacks.stacks, tasks=stacks.tasks, remarks=stacks.remarks)

The `model` is between two halves: `Stack`, `Resource`, and what a property can be. First, files become stacks
(`stacks`): `documents` reads them, `terraform` makes a template of a plan, `evaluation` works their functions out.
Then `resources` makes a fleet of them; it knows nothing of files and functions. `places` says where a change has to be
made.
`gpu_constructs.facts.budget` limits how much is read.

Pure: what is read is never executed, everything is bounded, and the only exception that leaves is `UnreadableError`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpu_constructs.template.evaluation.assemble import Stacks
    from gpu_constructs.template.evaluation.choices import REGION, Choice
    from gpu_constructs.template.model import UnreadableError
    from gpu_constructs.template.places import Places
    from gpu_constructs.template.resources.fleet import Files, files_of, fleet_of
    from gpu_constructs.template.stacks import Input, Inputs, read_stacks

# Loaded when first asked for: rules that read one section of a file need neither the readers nor the functions.
_HOME = {
    "REGION": "evaluation.choices",
    "Choice": "evaluation.choices",
    "Files": "resources.fleet",
    "Input": "stacks",
    "Inputs": "stacks",
    "Places": "places",
    "Stacks": "evaluation.assemble",
    "UnreadableError": "model",
    "files_of": "resources.fleet",
    "fleet_of": "resources.fleet",
    "read_stacks": "stacks",
}

__all__ = [
    "REGION",
    "Choice",
    "Files",
    "Input",
    "Inputs",
    "Places",
    "Stacks",
    "UnreadableError",
    "files_of",
    "fleet_of",
    "read_stacks",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
