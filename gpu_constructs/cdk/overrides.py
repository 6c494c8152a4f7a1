"""A method of CDK that is overridden here is called by CDK as well, which has its own way to pass arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["called_like"]

_Override = TypeVar("_Override", bound=Callable[..., Any])


def called_like(original: Callable[..., object]) -> Callable[[_Override], _Override]:
    """Makes an override that takes some arguments by name and the rest as ``**options`` callable by CDK.

    A call from CDK brings a struct, of which jsii passes on what the signature of the override names
    (``_handle_callback`` of jsii 1.142); so it shows the signature of the method that it overrides.

    Args:
        original: The method of CDK that is overridden.
    """

    def shown_as_original(override: _Override) -> _Override:
        override.__signature__ = inspect.signature(original)  # type: ignore[attr-defined] # of any callable
        return override

    return shown_as_original
