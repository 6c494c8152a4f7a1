"""Python's ``dataclass``, which makes classes in half of the time.

A process that checks one template makes some 180 of them first. Python's own writes, compiles and runs six functions
for each, which took as long as the check. Of these only ``__init__`` has to be written for its class, when the first
value is made: the others are the same for all, or read the values by the names of the fields. All classes of the
package are made with it. For the same reason a room has some names as `loaded_later`.

`by_identity` is a memory of what was derived from such values, found again by the objects themselves. Comparing or
hashing a pool of twenty instance types takes longer than what is asked about it; whether it is the same object takes no
time. The values are frozen, so what was derived from one stays true. `kept` is a method's memory for each object.

`grouped` puts values with the same key together. `Named` and `StrEnum` are enumerations that are printed as AWS writes
their values.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from enum import Enum
from functools import cache, cached_property, partial, wraps
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

__all__ = ["Identical", "Named", "StrEnum", "by_identity", "dataclass", "grouped", "kept", "loaded_later"]


_Key = TypeVar("_Key", bound=Hashable)
_Grouped = TypeVar("_Grouped")


def grouped(pairs: Iterable[tuple[_Key, _Grouped]]) -> dict[_Key, list[_Grouped]]:
    """Values by their keys, both in the order in which they come."""
    found: dict[_Key, list[_Grouped]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


class Named(Enum):
    """Names that AWS or a report has; ``str()`` of one is its value."""

    def __str__(self) -> str:
        return str(self.value)


class StrEnum(str, Enum):
    """The same, and equal to its value, as the one that Python has from 3.11 on."""

    __str__ = Named.__str__


def _dataclass(
    *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True
) -> Callable[[type[Any]], type[Any]]:
    with_fields = partial(dataclasses.dataclass, init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)

    def made(cls: type[Any]) -> type[Any]:
        written = {name for name, value in vars(cls).items() if value is not None}
        # Python writes two functions for what is frozen, and wants to be told where a class inherits from a frozen one.
        value: type[Any] = with_fields(frozen=frozen and dataclasses.is_dataclass(cls))(cls)
        value.__dataclass_params__.frozen = frozen
        when_asked = _WhenAsked(value, frozen=frozen, slots=slots)
        methods = {"__init__": when_asked, "__repr__": _text, **(_FROZEN if frozen else {})}
        methods |= _comparison(value, frozen=frozen) if eq else {}
        for name in methods.keys() - written:
            setattr(value, name, methods[name])
        return value

    return made


class _MadeForEach:
    """Stands in ``__init__`` for a default that is made for each instance."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE_FOR_EACH = _MadeForEach()


class _WhenAsked:
    """An ``__init__`` that is written when it is first asked for: a process makes values of half of its classes."""

    def __init__(self, cls: type[Any], *, frozen: bool, slots: bool) -> None:
        self._cls, self._frozen, self._slots = cls, frozen, slots

    def __get__(self, instance: object, owner: object = None) -> Callable[..., None]:
        made = self._cls.__init__ = _initializer(self._cls, frozen=self._frozen, slots=self._slots)
        found: Callable[..., None] = made if instance is None else made.__get__(instance)
        return found


def _initializer(cls: type[Any], *, frozen: bool, slots: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"__name__": cls.__module__, "made_for_each": _MADE_FOR_EACH}
    by_place: list[str] = ["self"]
    by_name: list[str] = []
    body: list[str] = []
    for each in fields(cls):
        name, default = each.name, f"default_{each.name}"
        if each.default_factory is not MISSING:
            names[default] = each.default_factory
            parameter, value = f"{name}=made_for_each", f"{default}() if {name} is made_for_each else {name}"
        elif each.default is not MISSING:
            names[default] = each.default
            parameter, value = f"{name}={default}", name
        else:
            parameter = value = name
        if each.init:
            (by_name if each.kw_only else by_place).append(parameter)
        if each.init or each.default is not MISSING:
            given = value if each.init else default
            if not frozen:
                body.append(f"self.{name} = {given}")
            elif not slots:
                body.append(f"self.__dict__[{name!r}] = {given}")
            else:  # a third of the time of object.__setattr__
                names[f"set_{name}"] = getattr(cls, name).__set__
                body.append(f"set_{name}(self, {given})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*by_place, *(["*", *by_name] if by_name else [])])
    exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), names)  # noqa: S102 - names of fields alone
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {each.name: each.type for each in fields(cls) if each.init} | {"return": None}
    return made


def _comparison(cls: type[Any], *, frozen: bool) -> Mapping[str, Callable[..., Any] | None]:
    compared = _values_of([each for each in fields(cls) if each.compare])
    hashed = _values_of([each for each in fields(cls) if (each.compare if each.hash is None else each.hash)])

    def equal(self: object, other: object) -> bool:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_of(self: object) -> int:
        return hash(hashed(self))

    return {"__eq__": equal, "__hash__": hash_of if frozen else None}


def _values_of(some: Sequence[Field[Any]]) -> Callable[[object], Any]:
    return attrgetter(*(each.name for each in some)) if some else lambda _: ()


def _text(self: Any) -> str:  # noqa: ANN401 - an instance of any class made here
    values = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({values})"


def _refuse(_: object, name: str, *value: object) -> None:
    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


def _state(self: Any) -> list[Any]:  # noqa: ANN401
    return [getattr(self, each.name) for each in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:  # noqa: ANN401 - copies and pickles cannot assign either
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


_FROZEN: Mapping[str, Callable[..., Any]] = {
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _state,
    "__setstate__": _restore,
}

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass


_Value = TypeVar("_Value")
_Derived = TypeVar("_Derived")
_Method = TypeVar("_Method", bound=Callable[..., Any])


class Identical(Generic[_Value]):
    """A key that is equal to another of the very same objects; it keeps them, so that their ids stay taken."""

    __slots__ = ("_hash", "_ids", "values")

    def __init__(self, *values: _Value) -> None:
        self.values = values
        self._ids = tuple(map(id, values))
        self._hash = hash(self._ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identical) and self._ids == other._ids

    def __hash__(self) -> int:
        return self._hash


def by_identity(maxsize: int) -> Callable[[Callable[[_Value], _Derived]], Callable[[_Value], _Derived]]:
    """Keeps results of a function of one frozen value."""

    def kept(derive: Callable[[_Value], _Derived]) -> Callable[[_Value], _Derived]:
        # Each value is kept with its result, so that its id stays taken.
        known: dict[int, tuple[_Value, _Derived]] = {}

        @wraps(derive)
        def of(value: _Value) -> _Derived:
            found = known.get(id(value))
            if found is not None:
                return found[1]
            derived = derive(value)
            if len(known) >= maxsize:
                known.clear()  # cheaper than to know which was used last
            known[id(value)] = value, derived
            return derived

        return of

    return kept


def kept(find: _Method) -> _Method:
    """A method of which each object keeps the results; its memory is made when it is first asked: few are."""
    return cast("_Method", cached_property(lambda self: cache(find.__get__(self))))


def loaded_later(room: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The ``__getattr__`` of a room that loads a name when it is first asked for, given the module of each."""

    def found(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{room}.{homes[name]}"), name)
        setattr(sys.modules[room], name, value)
        return value

    return found
