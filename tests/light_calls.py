"""What Python does for each call of CDK, with the same outcome in less time (decision 59)."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, Union

import jsii._kernel
import typeguard
from cattr import Converter
from jsii._kernel import types
from jsii._kernel.providers import process

__all__ = ["OWN", "lighten"]

_NAMES = (
    (process, "json"),
    (Converter, "unstructure"),
    (Converter, "structure"),
    (jsii._kernel, "_make_reference_for_native"),
    (typeguard, "check_type"),
)
OWN: tuple[tuple[Any, str, Any], ...] = tuple((module, name, getattr(module, name)) for module, name in _NAMES)
"""What jsii has by the names that are replaced."""
_, _unstructured, _structured, _sent, _checked = (own for _, _, own in OWN)

_CALLS = {
    types.CreateRequest: "create",
    types.GetRequest: "get",
    types.InvokeRequest: "invoke",
    types.StaticInvokeRequest: "sinvoke",
}


def lighten() -> None:
    """Has each call of this process cost less, to its end."""
    encode = json.JSONEncoder(default=process.jdefault, check_circular=False).encode
    decode = json.JSONDecoder(object_hook=process.ohook).decode
    messages = SimpleNamespace(dumps=lambda sent, **_: encode(sent), loads=lambda line, **_: decode(line.decode()))
    lighter = (messages, _request, _answer, _given, _check_type)
    for (module, name, _), each in zip(OWN, lighter, strict=True):
        setattr(module, name, each)


def _request(converter: object, sent: Any, *kind: Any) -> Any:
    """Leaves arguments as they are, of which cattrs makes a copy: `_given` has made them plain."""
    if type(sent) not in _CALLS or getattr(sent, "overrides", None):
        return _unstructured(converter, sent, *kind)
    call = {"api": _CALLS[type(sent)], **sent.__getstate__()}
    return call | {"objref": _unstructured(converter, sent.objref)} if "objref" in call else call


def _answer(converter: object, got: Any, kind: Any) -> Any:
    if kind is process._ProcessResponse and "ok" in got:
        return process._OkayResponse(got["ok"])
    return kind(**got) if kind in (types.GetResponse, types.InvokeResponse) else _structured(converter, got, kind)


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
