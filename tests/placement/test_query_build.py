from __future__ import annotations

from collections.abc import Callable

import pytest

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.placement.query import (
    Query,
    all_of,
    any_of,
    attribute_absent,
    attribute_equals,
    attribute_exists,
    attribute_in,
    attribute_not_equals,
    attribute_not_in,
    expressions,
    instance_type_in,
    matches,
    not_,
    parse,
    render,
    runs_task_group,
)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (
            instance_type_in(["g6.2xlarge", "g6.xlarge", "g6.2xlarge"]),
            "attribute:ecs.instance-type in [g6.2xlarge, g6.xlarge]",
        ),
        (attribute_equals("ecs.availability-zone", "us-east-1a"), "attribute:ecs.availability-zone == us-east-1a"),
        (attribute_equals("team", "deep learning"), "attribute:team == 'deep learning'"),
        (attribute_equals("word", "and"), "attribute:word == 'and'"),
        (attribute_not_equals("stack", "prod"), "attribute:stack != prod"),
        (attribute_in("stack", iter(["a", "b"])), "attribute:stack in [a, b]"),
        (attribute_not_in("stack", ("a",)), "attribute:stack !in [a]"),
        (attribute_exists("stack"), "attribute:stack exists"),
        (attribute_absent("stack"), "attribute:stack !exists"),
        (matches("ecs.instance-type", "g5\\..*"), "attribute:ecs.instance-type =~ g5\\..*"),
        (runs_task_group("service:web"), "task:group == service:web"),
        (not_(runs_task_group("database")), "not (task:group == database)"),
        (not_(not_(attribute_exists("a"))), "attribute:a exists"),
        (all_of(attribute_exists("a")), "attribute:a exists"),
        (
            all_of(any_of(attribute_exists("a"), attribute_exists("b")), attribute_exists("c")),
            "(attribute:a exists or attribute:b exists) and attribute:c exists",
        ),
        (
            any_of(all_of(attribute_exists("a"), attribute_exists("b")), attribute_exists("c")),
            "(attribute:a exists and attribute:b exists) or attribute:c exists",
        ),
    ],
)
def test_builds(query: Query, text: str) -> None:
    assert render(query) == text
    assert parse(text) == query


@pytest.mark.parametrize(
    "build",
    [
        lambda: instance_type_in([]),
        lambda: instance_type_in("g6.xlarge"),
        lambda: instance_type_in(["g6.xlarge]"]),
        lambda: instance_type_in(["${Token[TOKEN.7]}"]),
        lambda: instance_type_in([None]),  # type: ignore[list-item]
        lambda: attribute_equals("a b", "c"),
        lambda: attribute_equals("a", ""),
        lambda: attribute_equals("a", " b"),
        lambda: attribute_equals("a", "b'"),
        lambda: attribute_equals("a", "b\n"),
        lambda: attribute_equals("a", "b" * 129),
        lambda: matches("a", "(a|b)"),
        lambda: matches("a", "a b"),
        lambda: matches("a", "a["),
        lambda: matches("a", "a*+"),
        lambda: matches("a", ""),
        all_of,
        any_of,
        lambda: expressions(*[attribute_exists("a")] * 11),
    ],
)
def test_refuses_what_cannot_be_written(build: Callable[[], object]) -> None:
    with pytest.raises(InvalidValueError):
        build()


def test_ten_constraints_are_the_most() -> None:
    assert expressions(*[attribute_exists("a")] * 10) == ("attribute:a exists",) * 10
