"""Which fleet do these files describe? Reads templates, cloud assemblies, plans and task definitions of anybody.

::

    stacks = Inputs(["cdk.out"]).stacks()
    fleet = fleet_of(stacks.stacks, tasks=stacks.tasks, remarks=stacks.remarks)

The `model` is between two halves: `Stack`, `Resource`, and what a property can be, such as one of the `texts` of which
pieces are unknown. First, files become stacks (`stacks`): `documents` reads them, `terraform` makes a template of a
plan, `evaluation` works their functions out. Then `resources` makes a fleet of them; it knows nothing of files and
functions. `places` says where a change has to be made. `gpu_constructs.facts.budget` limits how much is read.

Pure: what is read is never executed, everything is bounded, and the only exception that leaves is `UnreadableError`.
"""

from typing import TYPE_CHECKING

from gpu_constructs.facts.values import loaded_later

if TYPE_CHECKING:
    from gpu_constructs.template.evaluation.assemble import Stacks as Stacks
    from gpu_constructs.template.evaluation.choices import REGION as REGION
    from gpu_constructs.template.evaluation.choices import Choice as Choice
    from gpu_constructs.template.model import UnreadableError as UnreadableError
    from gpu_constructs.template.places import Places as Places
    from gpu_constructs.template.resources.fleet import Files as Files
    from gpu_constructs.template.resources.fleet import files_of as files_of
    from gpu_constructs.template.resources.fleet import fleet_of as fleet_of
    from gpu_constructs.template.stacks import Input as Input
    from gpu_constructs.template.stacks import Inputs as Inputs

# Rules that read one section of a file need neither the readers nor the functions.
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
}

__getattr__ = loaded_later(__name__, _HOME)
