"""The instance types of EC2 that this library knows: looked up by name and family.

Types that users declare are found by name, but are not in the lists of recorded types. They are laid over the
catalogue for the process, or for one check: a fact like those of the data, for every look-up alike, so they are held
here and not handed through every reader and every rule. The recorded ones are read from the package's own data on
first use and kept, and a type is made of its row when it is asked for. The accelerated types are a separate file, so
that asking for a GPU type does not read the thousand types without one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType

from gpu_constructs.errors import InvalidValueError, UnknownNameError, shown
from gpu_constructs.facts.budget import NAME
from gpu_constructs.facts.model import Accelerators, InstanceType
from gpu_constructs.facts.names import letters_of, name_problem, nearest_families, nearest_types
from gpu_constructs.facts.records import InstanceTypes, read
from gpu_constructs.facts.values import grouped

CONFIGURATION_FILES = ("gpu-constructs.yaml", "gpu-constructs.yml", "gpu-constructs.json", "gpu-constructs.toml")
"""Names of the configuration; the nearest one counts."""

CONFIGURATION_TABLE = r"""(?m)^[ \t]*\[+[ \t]*tool[ \t]*\.[ \t]*["']?gpu[-_]constructs\b"""
"""Where a ``pyproject.toml`` says the same, by the name of its table; what is nearly that name is refused."""

RECORDED = dt.date.fromisoformat(read("accelerated")["recorded"])
"""The day the data is from."""


def instance_type(name: str) -> InstanceType:
    """The type of a name as AWS prints it, such as ``g6.xlarge``; upper case and blanks are not accepted, as by AWS.

    Raises:
        InvalidValueError: If it is not a string, or blank.
        UnknownNameError: If no type has this name; carries the nearest names.
    """
    _require_name(name, "instance type", "g6.xlarge")
    found = known_type(name)
    if found is not None:
        return found
    wanted = name.strip().lower()
    if known_type(wanted) is not None:
        raise UnknownNameError(f"no instance type is spelled {shown(name)}", value=name, nearest=(wanted,))
    if wanted in _families():
        sizes = tuple(each.name for each in _families()[wanted][:3])
        raise UnknownNameError(f"{shown(name)} is a family, an instance type has a size too", value=name, nearest=sizes)
    if having := _families_having(wanted):
        smallest = tuple(_families()[each][0].name for each in having)
        raise UnknownNameError(f"{shown(name)} is an accelerator, not an instance type", value=name, nearest=smallest)
    nearest = near_types(wanted)
    problem = name_problem(wanted)
    if problem:
        raise UnknownNameError(f"{shown(name)} cannot be an instance type: {problem}", value=name, nearest=nearest)
    raise UnknownNameError(
        f"the catalogue of {RECORDED} does not have an instance type {shown(name)}",
        value=name,
        nearest=nearest,
        otherwise=how_to_declare(wanted),
    )


def known_type(name: str) -> InstanceType | None:
    """The type of a name, or None; it does not look for similar names, as `instance_type` does."""
    return recorded_type(name) or declared_type(name)


def recorded_type(name: str) -> InstanceType | None:
    """The type of a name as the catalogue has it, whatever is declared; or None."""
    return _accelerated().get(name) or _general().get(name)


def recorded_names() -> Iterator[str]:
    """The names of all types of the catalogue, those with accelerators first."""
    yield from _accelerated()
    yield from _general()


def known_gpu(model: str) -> Accelerators | None:
    """Accelerators of an NVIDIA model, in any case, of the first type that has it; or None."""
    nvidia = (each.accelerators for each in accelerated() if each.gpus)
    return next((each for each in nvidia if each and each.model.lower() == model.lower()), None)


def may_exist(name: object) -> bool:
    """Whether a type can have this name, and none that is known has it."""
    return isinstance(name, str) and not name_problem(name) and known_type(name) is None


def near_types(name: str) -> tuple[str, ...]:
    """Names of types that a name may stand for, see `gpu_constructs.facts.names.nearest_types`."""
    return nearest_types(name, {family: [each.name for each in types] for family, types in _families().items()})


def family(name: str) -> tuple[InstanceType, ...]:
    """All types of a family such as ``g6``, smallest first: by whole devices, part of a device, vCPUs, memory, name.

    Raises:
        InvalidValueError: If it is not a string, or blank.
        UnknownNameError: If no family has this name; carries the nearest names.
    """
    _require_name(name, "family", "g6")
    found = _accelerated_families().get(name) or _families().get(name)
    declared = [each for each in declared_types() if each.family == name]
    if found is not None or declared:
        return tuple(sorted((*(found or ()), *declared), key=by_size)) if declared else found or ()
    if having := _families_having(name.strip().lower()):
        raise UnknownNameError(f"{shown(name)} is an accelerator, not an instance family", value=name, nearest=having)
    wanted = name.strip().lower().partition(".")[0]
    nearest = (wanted,) if wanted in _families() else nearest_families(wanted, _families())
    otherwise = "" if nearest else "one of gpu_constructs.facts.families(), such as g6"
    problem = f"no instance family {shown(name)} in the catalogue of {RECORDED}"
    raise UnknownNameError(problem, value=name, nearest=nearest, otherwise=otherwise)


@cache
def families() -> tuple[str, ...]:
    """Names of all families, accelerated and general, sorted."""
    return tuple(sorted(_families()))


@cache
def accelerated() -> tuple[InstanceType, ...]:
    """All types with accelerators of any vendor, by family and then smallest first."""
    return tuple(_accelerated().values())


@cache
def general() -> tuple[InstanceType, ...]:
    """All types without accelerators, by family and then smallest first."""
    return tuple(_general().values())


def may_be_accelerated(name: str) -> bool:
    """Whether a type that is not in the catalogue may have accelerators: its family begins as one that has some."""
    return letters_of(name) in _accelerated_letters()


@cache
def models() -> tuple[str, ...]:
    """Models of all accelerators, as the API names them, sorted."""
    return tuple(sorted({each.accelerators.model for each in accelerated() if each.accelerators is not None}))


@cache
def regions() -> tuple[str, ...]:
    """Regions whose offerings were recorded, sorted; newer ones and other partitions are not among them."""
    return tuple(read("accelerated")["recorded_regions"])


def is_offered(instance_type: InstanceType, region: str | None) -> bool:
    """Whether AWS sells a type in a region, as far as that was recorded."""
    return instance_type.is_offered_anywhere and (region not in regions() or region in instance_type.regions)


@cache
def _accelerated() -> Mapping[str, InstanceType]:
    return InstanceTypes(read("accelerated"))


@cache
def _general() -> Mapping[str, InstanceType]:
    return InstanceTypes(read("general"))


@cache
def _accelerated_families() -> Mapping[str, tuple[InstanceType, ...]]:
    return _by_family(_accelerated().values())


@cache
def _accelerated_letters() -> frozenset[str]:
    return frozenset(map(letters_of, _accelerated_families()))


@cache
def _families() -> Mapping[str, tuple[InstanceType, ...]]:
    return _by_family((*_accelerated().values(), *_general().values()))


def _by_family(types: Iterable[InstanceType]) -> Mapping[str, tuple[InstanceType, ...]]:
    groups = grouped((each.family, each) for each in types)
    return MappingProxyType({name: tuple(sorted(group, key=by_size)) for name, group in groups.items()})


def by_size(each: InstanceType) -> tuple[int, float, int, int, str]:
    """What puts instance types in order, the smallest first."""
    devices = each.accelerators
    count, partition = (devices.count, devices.partition) if devices is not None else (0, 0.0)
    return count, partition, each.vcpus, each.memory_mib, each.name


def _require_name(name: object, what: str, example: str) -> None:
    if not isinstance(name, str) or not name.strip():
        raise InvalidValueError(
            f"{shown(name)} is no {what}", value=name, allowed=f"the name AWS prints, such as {example}"
        )


def known_name(names: Callable[[], tuple[str, ...]], argument: str, value: object) -> str:
    """A name as the catalogue spells it.

    Raises:
        InvalidValueError: If it is not a string.
        UnknownNameError: If it is none of them; carries the nearest names.
    """
    if not isinstance(value, str):
        raise InvalidValueError(f"got {value!r}", argument=argument, value=value, allowed="a string")
    spelled = {name.lower(): name for name in names()}
    if value.lower() in spelled:
        return spelled[value.lower()]
    # difflib compares a name with every other in time that grows with its length; no name is longer than 64.
    nearest = tuple(spelled[name] for name in get_close_matches(value.lower()[:NAME], spelled, n=3, cutoff=0.6))
    raise UnknownNameError(
        f"the catalogue of {RECORDED} has no {value!r}",
        argument=argument,
        value=value,
        nearest=nearest,
        otherwise="" if nearest else f"one of {', '.join(spelled.values())}",
    )


def _families_having(model: str) -> tuple[str, ...]:
    """The families with an accelerator, those of whole GPUs first; none for another name."""
    of_model = [each for each in accelerated() if each.accelerators and each.accelerators.model.lower() == model]
    return tuple(
        dict.fromkeys(each.family for each in sorted(of_model, key=lambda each: (each.gpus == 0, each.family)))
    )


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
