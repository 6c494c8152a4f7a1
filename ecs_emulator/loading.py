"""What moto loads when it is imported, in less time: imported before anything of moto."""

from __future__ import annotations

import functools
import importlib
import sys
from types import ModuleType

from botocore.loaders import JSONFileLoader

__all__ = ["OpenAPIValidationError", "prepare", "validate"]

_OPENAPI = "openapi_spec_validator"
_ERRORS = f"{_OPENAPI}.validation.exceptions"


class OpenAPIValidationError(Exception):
    """In place of the validator's own.

    Args:
        message: What it said.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def prepare() -> None:
    """Has each file of botocore read once, and the validator loaded when it is needed.

    When moto is imported, it opens three sessions, and each reads all files: a third of a second. The validator takes
    as long, and moto needs nothing of it before somebody imports an API of API Gateway.
    """
    JSONFileLoader.load_file = staticmethod(functools.cache(JSONFileLoader().load_file))
    if _OPENAPI not in sys.modules:
        for name, part in ((_OPENAPI, validate), (_ERRORS, OpenAPIValidationError)):
            sys.modules[name] = ModuleType(name)
            vars(sys.modules[name])[part.__name__] = part


def validate(document: object) -> None:
    """In place of the validator's own, which it loads."""
    for name in (_OPENAPI, _ERRORS):
        if vars(sys.modules[name]).get("__spec__") is None:
            del sys.modules[name]
    real, errors = importlib.import_module(_OPENAPI), importlib.import_module(_ERRORS)
    try:
        real.validate(document)
    except errors.OpenAPIValidationError as problem:
        raise OpenAPIValidationError(str(problem)) from problem
