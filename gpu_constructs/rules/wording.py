"""How lists are written in the messages of rules."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["both", "either"]

_MOST = 6


def either(names: Iterable[object]) -> str:
    """``a, b or c``, cut short where there are many.

    Args:
        names: What to list.
    """
    return _listed(names, "or")


def both(names: Iterable[object]) -> str:
    """``a, b and c``, cut short where there are many.

    Args:
        names: What to list.
    """
    return _listed(names, "and")


def _listed(names: Iterable[object], word: str) -> str:
    texts = [str(each) for each in names]
    if len(texts) > _MOST:
        texts = [*texts[: _MOST - 1], f"{len(texts) - _MOST + 1} more"]
    *before, last = texts or ["none"]
    return f"{', '.join(before)} {word} {last}" if before else last
