"""How names are listed in the messages of rules."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_constructs.placement.reasons import listed


def or_list(names: Iterable[object]) -> str:
    """``a, b or c``, cut short where there are many."""
    return listed(names, "or")


def and_list(names: Iterable[object]) -> str:
    """``a, b and c``, cut short where there are many."""
    return listed(names)


def with_verb(names: Iterable[object], one: str, several: str) -> str:
    """``a asks`` or ``a and b ask``.

    Args:
        names: What does something; at least one.
        one: What goes with one of them: ``asks``.
        several: What goes with more: ``ask``.
    """
    who = tuple(names)
    return f"{and_list(who)} {one if len(who) == 1 else several}"
