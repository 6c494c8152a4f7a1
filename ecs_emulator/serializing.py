"""How an answer finds its values in moto's models, which is two thirds of writing it.

For each value moto 5.2.5 works out by which names its models may have it, how they are looked up, and the whole path to
it. The first two follow from the class of the model and from what the answer has there; few values need the path.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from moto.core import serialize
from moto.core.constants import MISSING
from moto.core.model import Shape
from moto.core.utils import get_value

__all__ = ["install"]

_Look = Callable[[Any, str, object], Any]
_known: dict[tuple[type, str, Shape], tuple[_Look, tuple[str, ...]]] = {}


def _value(self: serialize.ResponseSerializer, value: Any, key: str, shape: Shape) -> Any:
    """Replaces `ResponseSerializer.get_value` of moto, and what `AttributePicker.__call__` does for it."""
    picker: serialize.AttributePicker = self._value_picker
    how = _known.get(of := (type(value), key, shape))
    if how is None:
        asked = serialize.AttributePickerContext(value, key, shape, self.operation_model, self.service_model)
        names = tuple(dict.fromkeys(picker.get_possible_keys(asked)))
        how = _known[of] = _look(value, names), names
    look, names = how
    found = next((each for name in names if (each := look(value, name, MISSING)) is not MISSING), None)
    transformers = picker.response_transformers
    if key in _ends(tuple(transformers)):
        path = ".".join([*self.path, key])
        return next((to(found) for end, to in transformers.items() if path.endswith(end)), found)
    return found


def _look(value: Any, names: tuple[str, ...]) -> _Look:
    """How values of this class are asked for one of the names."""
    if any("." in each for each in names):
        return get_value
    if type(value) is dict:
        return dict.get
    return get_value if hasattr(value, "__getitem__") else getattr


@functools.cache
def _ends(paths: tuple[str, ...]) -> frozenset[str]:
    return frozenset(each.rpartition(".")[2] for each in paths)


def install() -> None:
    """Has moto find them so."""
    serialize.ResponseSerializer.get_value = _value  # type: ignore[method-assign]
