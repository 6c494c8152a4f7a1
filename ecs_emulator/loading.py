"""What moto loads when it is imported, in less time."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

from botocore.loaders import JSONFileLoader

__all__ = ["files_read_once"]


@contextmanager
def files_read_once() -> Iterator[None]:
    """Has each file of botocore read once while this lasts: moto asks three sessions for the same, for 0.3 s."""
    read = JSONFileLoader.load_file
    JSONFileLoader.load_file = staticmethod(functools.cache(JSONFileLoader().load_file))
    try:
        yield
    finally:
        JSONFileLoader.load_file = read
