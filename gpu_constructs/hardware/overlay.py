"""The instance types that users declare, laid over the catalogue: for the process, or for one check.

What is declared is a fact like those of the data, for every look-up alike, so it is held here and not handed through
every reader and every rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from gpu_constructs.configuration_files import CONFIGURATION_FILES
from gpu_constructs.hardware.model import InstanceType
from gpu_constructs.hardware.type_names import letters_of

_OF_THE_PROCESS: dict[str, InstanceType] = {}
_OF_THE_CHECK: ContextVar[Mapping[str, InstanceType]] = ContextVar("declared instance types")
_NOTHING: Mapping[str, InstanceType] = {}
_DEVICES = {"g": "gpus=…, gpu_model=…", "p": "gpus=…, gpu_model=…"} | dict.fromkeys(
    ("inf", "trn"), "neuron_devices=…, neuron_model=…"
)


def declared_type(name: str) -> InstanceType | None:
    """The type that was declared with this name; that of the check that is running before that of the process."""
    return _OF_THE_CHECK.get(_NOTHING).get(name) or _OF_THE_PROCESS.get(name)


def declared_types() -> tuple[InstanceType, ...]:
    """Every type that was declared, in the order of the declarations."""
    return tuple({**_OF_THE_PROCESS, **_OF_THE_CHECK.get(_NOTHING)}.values())


def for_the_process(types: Mapping[str, InstanceType]) -> None:
    """Adds types that hold until the process ends."""
    _OF_THE_PROCESS.update(types)


@contextmanager
def for_one_check(types: Mapping[str, InstanceType]) -> Iterator[None]:
    """Adds types that hold within this context, after those of the check around it."""
    token = _OF_THE_CHECK.set({**types, **_OF_THE_CHECK.get(_NOTHING)})
    try:
        yield
    finally:
        _OF_THE_CHECK.reset(token)


def how_to_declare(name: str) -> str:
    """What to write about a type that the catalogue does not have, for an error or a fix."""
    facts = ["vcpus=…", "memory_mib=…", *filter(None, [_DEVICES.get(letters_of(name))])]
    return (
        f"if it is newer, declare_instance_types(DeclaredInstanceType({name!r}, {', '.join(facts)})), or "
        f"instance_types in {CONFIGURATION_FILES[0]} for the command line"
    )
