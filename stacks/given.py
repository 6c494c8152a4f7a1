"""What the command line gives an app as ``-c key=value``: read, and refused in one line where it is wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NoReturn

import aws_cdk as cdk

from gpu_constructs import GpuConstructsError

__all__ = ["Given"]

_SHOWN = 60


class Given:
    """The context of an app."""

    def __init__(self, app: cdk.App) -> None:
        self._node = app.node

    def text(self, key: str, default: str = "") -> str:
        """A value as it is written."""
        return str(self._node.try_get_context(key) or default)

    def whole(self, key: str, default: int) -> int:
        """A whole number."""
        try:
            return int(self.text(key, str(default)))
        except ValueError:
            self._refuse(key, f"expects a whole number; fix: -c {key}={default}")

    def time(self, key: str) -> datetime:
        """A time with its zone."""
        try:
            return datetime.fromisoformat(self.text(key))
        except ValueError:
            self._refuse(key, f"expects a time; fix: -c {key}=2027-01-18T11:30:00+00:00")

    def printed(self, key: str, *fields: str) -> list[dict[str, Any]]:
        """Objects with these fields, one or more, as the AWS CLI prints them."""
        try:
            value = json.loads(self.text(key))
        except ValueError:
            value = []
        items = value if isinstance(value, list) else [value]
        if items and all(isinstance(each, dict) and {*fields} <= each.keys() for each in items):
            return items
        return self._refuse(
            key, f"expects JSON with {', '.join(fields)}; fix: the command of docs/existing-clusters.md"
        )

    @contextmanager
    def refused_for(self, key: str) -> Iterator[None]:
        """Ends the app with the key before an error of what its value is used for."""
        try:
            yield
        except GpuConstructsError as error:
            self._refuse(key, str(error))

    def _refuse(self, key: str, problem: str) -> NoReturn:
        sys.exit(f"error: {key}={self.text(key)[:_SHOWN]}: {problem}")
