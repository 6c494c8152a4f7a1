"""Frozen classes are made faster than Python makes them, and are the same."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gpu_constructs
from gpu_constructs.facts.values import dataclass

_FROZEN = {"frozen": True, "slots": True}
_MADE = "@dataclass(frozen=True, slots=True"
_IMPORTED = re.compile(r"^from gpu_constructs\.facts\.values import .*\bdataclass\b", re.MULTILINE)
_PACKAGE = Path(gpu_constructs.__file__).parent


def _pair(make: Callable[..., Any]) -> type[Any]:
    @make(**_FROZEN)
    class First:
        name: str
        sizes: tuple[int, ...] = ()

    @make(**_FROZEN, kw_only=True)
    class Pair(First):
        notes: dict[str, str] = dataclasses.field(default_factory=dict, hash=False)
        origin: str | None = dataclasses.field(default=None, compare=False, repr=False)
        total: int = dataclasses.field(init=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", sum(self.sizes))

    return Pair


Ours, Pythons = _pair(dataclass), _pair(dataclasses.dataclass)


@dataclass(frozen=True, slots=True)
class Travels:
    name: str
    sizes: tuple[int, ...] = ()


def _refused(change: Callable[[], object]) -> str:
    with pytest.raises(dataclasses.FrozenInstanceError) as refused:
        change()
    return str(refused.value)


@pytest.mark.parametrize(
    "seen",
    [
        lambda made: str(inspect.signature(made)),
        lambda made: made.__match_args__,
        lambda made: made.__init__.__qualname__,
        lambda made: repr(made("a", (1, 2), notes={"k": "v"}, origin="file")),
        lambda made: made("a", (1, 2)).total,
        lambda made: made("a", origin="one") == made("a", origin="two"),
        lambda made: made("a") == made("b"),
        lambda made: made("a").__eq__("a"),
        lambda made: hash(made("a", notes={"k": "v"})) == hash(made("a", origin="file")),
        lambda made: made("a").notes is made("a").notes,
        lambda made: repr(dataclasses.replace(made("a"), name="b")),
        lambda made: repr(copy.deepcopy(made("a", (1,)))),
        lambda made: dataclasses.asdict(made("a", (1,))),
        lambda made: hasattr(made("a"), "__dict__"),
        lambda made: _refused(lambda: setattr(made("a"), "name", "b")),
        lambda made: _refused(lambda: delattr(made("a"), "name")),
    ],
)
def test_a_frozen_class_is_as_python_makes_it(seen: Callable[[Any], object]) -> None:
    assert seen(Ours) == seen(Pythons)


def test_a_value_that_is_missing_is_named_with_its_class() -> None:
    with pytest.raises(TypeError, match=r"Pair\.__init__\(\) missing 1 required positional argument: 'name'"):
        Ours()


def test_values_travel_between_processes() -> None:
    assert pickle.loads(pickle.dumps(Travels("a", (1,)))) == Travels("a", (1,))  # noqa: S301 - our own


def test_what_the_command_line_loads_is_made_fast() -> None:
    rooms = ("account", "check", "cli", "facts", "fleet", "placement", "rules", "template")
    modules = [each for room in rooms for each in (_PACKAGE / room).rglob("*.py")]
    texts = {each: each.read_text(encoding="utf-8") for each in modules}
    slow = [each for each, text in texts.items() if _MADE in text and not _IMPORTED.search(text)]
    assert slow == []
