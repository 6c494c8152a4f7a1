"""Ids of rules that are asked no more, and who says now what they said. An id is never used again."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.values import dataclass


@dataclass(frozen=True, slots=True)
class Gone:
    """A rule that is asked no more.

    Attributes:
        question: What it asked.
        into: Id of the rule that asks it now; empty where none does.
        said_by: Who says it now, such as a rule of another tool; empty where `into` says it.
    """

    question: str
    into: str = ""
    said_by: str = ""


GONE: Mapping[str, Gone] = {
    "GPU390": Gone("do tasks have room on their hosts beside the daemons there?", into="GPU060"),
}
"""The ids, in their order. Where `into` is set, what accepts or ignores the old id counts for that rule."""
