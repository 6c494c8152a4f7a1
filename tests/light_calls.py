"""What Python does for each call of CDK, with the same outcome in less time (decision 59)."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, Union

import jsii._kernel
import typeguard
from jsii._kernel.providers import process

__all__ = ["OWN", "lighten"]

_NAMES = ((process, "json"), (jsii._kernel, "_make_reference_for_native"), (typeguard, "check_type"))
OWN: tuple[tuple[Any, str, Any], ...] = tuple((module, name, getattr(module, name)) for module, name in _NAMES)
"""What jsii has by the names that are replaced."""
_, _sent, _checked = (own for _, _, own in OWN)


def lighten() -> None:
    """Has each call of this process cost less, to its end."""
    encode = json.JSONEncoder(default=process.jdefault).encode
    decode = json.JSONDecoder(object_hook=process.ohook).decode
    messages = SimpleNamespace(dumps=lambda sent, **_: encode(sent), loads=lambda line, **_: decode(line.decode()))
    for (module, name, _), lighter in zip(OWN, (messages, _given, _check_type), strict=True):
        setattr(module, name, lighter)


def _given(kernel: object, value: Any) -> Any:
    """Sends only the properties of a struct that are set; jsii reads one for each name, and sends null for most."""
    names = getattr(value, "__jsii_name_mapping__", None)
    if names is None or not hasattr(value, "_values"):
        return _sent(kernel, value)
    held = {name: value._values.get(each) for each, name in names.items()}
    data = {name: _given(kernel, each) for name, each in held.items() if each is not None}
    return {"$jsii.struct": {"fqn": value.__jsii_type__, "data": data}}


def _check_type(argname: str, value: object, expected_type: Any, *memo: Any) -> None:
    """Tests the types of a union before typeguard does: most arguments are optional, and None or of one type."""
    if getattr(expected_type, "__origin__", None) is not Union or type(value) not in expected_type.__args__:
        _checked(argname, value, expected_type, *memo)
