"""What Python does for each call of CDK, with the same outcome in less time (decision 59)."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, Union

import jsii._kernel
import typeguard
from jsii._kernel.providers import process

__all__ = ["lighten"]

_KERNEL: Any = jsii._kernel
_sent, _checked = _KERNEL._make_reference_for_native, typeguard.check_type


def lighten(messages: Any = process, checks: Any = typeguard) -> None:
    """Has each call of this process cost less."""
    encode = json.JSONEncoder(default=process.jdefault).encode
    decode = json.JSONDecoder(object_hook=process.ohook).decode
    messages.json = SimpleNamespace(dumps=lambda sent, **_: encode(sent), loads=lambda line, **_: decode(line.decode()))
    _KERNEL._make_reference_for_native = _given
    checks.check_type = _check_type


def _given(kernel: object, value: Any) -> Any:
    """Of a struct what it holds, where jsii reads a typed property for each name and sends null for most of them."""
    names = getattr(value, "__jsii_name_mapping__", None)
    if names is None or not hasattr(value, "_values"):
        return _sent(kernel, value)
    held = {name: value._values.get(each) for each, name in names.items()}
    data = {name: _given(kernel, each) for name, each in held.items() if each is not None}
    return {"$jsii.struct": {"fqn": value.__jsii_type__, "data": data}}


def _check_type(argname: str, value: object, expected_type: Any, *memo: Any) -> None:
    """Looks first whether the kind is one of several, which is so for most arguments: they are optional, and None."""
    if getattr(expected_type, "__origin__", None) is not Union or type(value) not in expected_type.__args__:
        _checked(argname, value, expected_type, *memo)
