"""Whatever stands in a plan is read, or refused with a text: nothing else leaves."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.template import UnreadableError
from tests.examples import times
from tests.template.terraform.module_plans import (
    aws_modules,
    batch_module,
)
from tests.template.terraform.test_forms import simple

_ODD: list[Any] = [
    None,
    7,
    "x",
    "",
    [],
    {},
    [[]],
    [None],
    True,
    {"references": []},
    {"references": ["module.", "data.", "each.value.a"]},
]


@pytest.mark.parametrize("node", [None, 7, "text", [], {}, [[]], [None], {"references": [{}]}, True])
@pytest.mark.parametrize(
    "key",
    [
        "resource_changes",
        "configuration",
        "prior_state",
        "variables",
        "change",
        "after_unknown",
        "expressions",
        "index",
    ],
)
def test_whatever_stands_in_a_plan_nothing_but_a_refusal_leaves(key: str, node: Any) -> None:
    def replaced(value: Any) -> Any:
        if isinstance(value, list):
            return [replaced(each) for each in value]
        if isinstance(value, dict):
            return {name: node if name == key else replaced(each) for name, each in value.items()}
        return value

    try:
        check_files([replaced(simple())])
    except UnreadableError as error:
        assert str(error)  # noqa: PT017 - it may also be read


def _places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for step, child in node.items() if isinstance(node, dict) else enumerate(node if isinstance(node, list) else ()):
        yield from _places(child, (*path, step))


@pytest.mark.parametrize("number", range(times(40)))
def test_something_odd_anywhere_in_a_plan_is_read_or_refused(number: int) -> None:
    random = Random(number)  # noqa: S311 - no secret
    written = copy.deepcopy(random.choice([simple(), aws_modules(), batch_module()]))
    *above, last = random.choice([each for each in _places(written) if each])
    around: Any = written
    for step in above:
        around = around[step]
    around[last] = random.choice(_ODD)
    try:
        check_files([written])
    except UnreadableError as error:
        assert str(error)  # noqa: PT017 - it may also be read
