"""Ids of rules that are asked no more, and who says now what they said. An id is never used again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    "GPU205": Gone(
        "does the task have the container and the port that load balancers send requests to?",
        into="GPU204",
    ),
    "GPU285": Gone(
        "do load balancers say between what a deployment shifts their traffic?",
        said_by="Amazon ECS, when it creates the service (advancedConfiguration field is required)",
    ),
    "GPU299": Gone("is the listener there before the service?", into="GPU298"),
    "GPU390": Gone("do tasks have room on their hosts beside the daemons there?", into="GPU060"),
}
"""The ids, in their order. Where `into` is set, what accepts or ignores the old id counts for that rule."""


def id_now(rule: str) -> str:
    """The id of the rule that asks now what a rule asked; empty where none does.

    Args:
        rule: An id in capitals, such as ``GPU002``.
    """
    gone = GONE.get(rule)
    return rule if gone is None else gone.into


def what_became_of(rules: Iterable[str]) -> tuple[str, ...]:
    """A line for each id of a rule that is asked no more.

    Args:
        rules: Ids in capitals; of those that are asked nothing is said.
    """
    return tuple(
        f"{each} is part of {GONE[each].into} now"
        if GONE[each].into
        else f"{each} is no rule any more: {GONE[each].said_by} says it"
        for each in dict.fromkeys(rules)
        if each in GONE
    )
