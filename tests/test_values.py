"""Classes of values are made faster than Python makes them, and are the same."""

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

_KINDS = ({"frozen": True, "slots": True}, {"frozen": True}, {"slots": True})
_MADE = "@dataclass("
_IMPORTED = re.compile(r"^from gpu_constructs\.facts\.values import .*\bdataclass\b", re.MULTILINE)
_PACKAGE = Path(gpu_constructs.__file__).parent


def _pair(make: Callable[..., Any], kind: dict[str, bool]) -> type[Any]:
    @make(**kind)
    class First:
        name: str
        sizes: tuple[int, ...] = ()

    @make(**kind, kw_only=True)
    class Pair(First):
        notes: dict[str, str] = dataclasses.field(default_factory=dict, hash=False)
        origin: str | None = dataclasses.field(default=None, compare=False, repr=False)
        total: int = dataclasses.field(init=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", sum(self.sizes))

    return Pair


@dataclass(frozen=True, slots=True)
class Travels:
    name: str
    sizes: tuple[int, ...] = ()


def _outcome(seen: Callable[[Any], object], made: type[Any]) -> object:
    try:
        return seen(made)
    except (TypeError, dataclasses.FrozenInstanceError) as error:
        return repr(error)


@pytest.mark.parametrize("kind", _KINDS, ids=str)
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
        lambda made: setattr(made("a"), "name", "b"),
        lambda made: delattr(made("a"), "name"),
        lambda made: dataclasses.is_dataclass(dataclasses.dataclass(frozen=True)(type("Own", (made,), {}))),
    ],
)
def test_a_class_is_as_python_makes_it(seen: Callable[[Any], object], kind: dict[str, bool]) -> None:
    assert _outcome(seen, _pair(dataclass, kind)) == _outcome(seen, _pair(dataclasses.dataclass, kind))


def test_a_value_that_is_missing_is_named_with_its_class() -> None:
    with pytest.raises(TypeError, match=r"Pair\.__init__\(\) missing 1 required positional argument: 'name'"):
        _pair(dataclass, _KINDS[0])()


def test_values_travel_between_processes() -> None:
    assert pickle.loads(pickle.dumps(Travels("a", (1,)))) == Travels("a", (1,))  # noqa: S301 - our own


def test_what_the_package_makes_is_made_fast() -> None:
    texts = {each: each.read_text(encoding="utf-8") for each in _PACKAGE.rglob("*.py")}
    slow = [each for each, text in texts.items() if _MADE in text and not _IMPORTED.search(text)]
    assert slow == []
