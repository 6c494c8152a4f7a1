"""Signatures that say more than Python would: of overrides that CDK calls, and of arguments declared elsewhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

_Override = TypeVar("_Override", bound=Callable[..., Any])


def called_like(original: Callable[..., object]) -> Callable[[_Override], _Override]:
    """Makes an override that takes some arguments by name and the rest as ``**options`` callable by CDK.

    A call from CDK brings a struct, of which jsii passes on what the signature of the override names
    (``_handle_callback`` of jsii 1.142); so it shows the signature of the method that it overrides.
    """

    def shown_as_original(override: _Override) -> _Override:
        override.__signature__ = inspect.signature(original)  # type: ignore[attr-defined] # of any callable
        return override

    return shown_as_original


def naming(
    options: type[Mapping[str, object]], *, like: Callable[..., object] | None = None
) -> Callable[[_Override], _Override]:
    """Makes ``help`` and editors show each argument of a typed mapping that a method takes as ``**options``.

    Args:
        options: The ``TypedDict`` with the arguments.
        like: What has the same arguments, with their defaults. By default each is None.
    """
    defaults = {} if like is None else inspect.signature(like).parameters

    def shown_by_name(method: _Override) -> _Override:
        signature = inspect.signature(method)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        named = [
            defaults.get(name, inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint))
            for name, hint in _texts_of(options).items()
        ]
        method.__signature__ = signature.replace(parameters=[*own, *named])  # type: ignore[attr-defined] # of any callable
        return method

    return shown_by_name


def _texts_of(options: type[Mapping[str, object]]) -> Mapping[str, object]:
    """The annotations as they are written; to resolve them loads modules of CDK that few apps use."""
    return {name: getattr(hint, "__forward_arg__", hint) for name, hint in options.__annotations__.items()}
