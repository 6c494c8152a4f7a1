"""Instance types that a template declares, in the metadata of whatever launches them.

::

    Metadata:
      gpu-constructs:
        InstanceTypes:
          g9.xlarge: {Vcpus: 4, MemoryMib: 16384, Gpus: 1, GpuModel: R200}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_constructs.budget import ENTRIES
from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.fleet import DECLARED_TYPES, METADATA_KEY
from gpu_constructs.hardware import InstanceType
from gpu_constructs.hardware.catalogue import for_one_check
from gpu_constructs.hardware.declared import declared_type_of, instance_types_of_declarations
from gpu_constructs.template.model import Stack
from gpu_constructs.template.resources.purchases import own_metadata
from gpu_constructs.template.resources.section import Notes, Section


def declared_in(stacks: Sequence[Stack], notes: Notes) -> dict[str, InstanceType]:
    """The types that templates declare, by name; what is wrong is noted, and so is what differs from another."""
    found: dict[str, InstanceType] = {}
    for stack in stacks:
        for resource in stack.resources.values():
            written = own_metadata(resource).get(DECLARED_TYPES)
            if written is not None:
                section = Section({}, resource.origin, ("Metadata", METADATA_KEY, DECLARED_TYPES), notes)
                _read(written, section, found)
    return found


def _read(written: object, section: Section, found: dict[str, InstanceType]) -> None:
    if not isinstance(written, Mapping):
        section.note("expects instance types by name", written)
        return
    if len(found) + len(written) > ENTRIES:
        section.note(f"expects {ENTRIES} instance types at most", written)
        return
    for name, facts in written.items():
        keys = {str(key): value for key, value in facts.items()} if isinstance(facts, Mapping) else {}
        try:
            declared = declared_type_of(str(name), keys)
            with for_one_check(found):
                found.update(instance_types_of_declarations([declared]))
        except GpuConstructsError as error:
            section.note(str(error), facts, str(name), *(key for key in keys if key == error.argument))
