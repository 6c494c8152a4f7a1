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


def _places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for step, child in node.items() if isinstance(node, dict) else enumerate(node if isinstance(node, list) else ()):
        yield from _places(child, (*path, step))


def _everywhere(node: Any, name: str, odd: Any) -> Any:
    """The same with something odd under every key of a name."""
    if isinstance(node, list):
        return [_everywhere(each, name, odd) for each in node]
    if isinstance(node, dict):
        return {key: odd if key == name else _everywhere(each, name, odd) for key, each in node.items()}
    return node


@pytest.mark.parametrize("number", range(times(40)))
def test_something_odd_anywhere_in_a_plan_is_read_or_refused(number: int) -> None:
    random = Random(number)  # noqa: S311 - no secret
    written = copy.deepcopy(random.choice([simple(), aws_modules(), batch_module()]))
    *above, last = random.choice([each for each in _places(written) if each])
    around: Any = written
    for step in above:
        around = around[step]
    around[last] = odd = random.choice(_ODD)
    if number % 2 and isinstance(last, str):
        written = _everywhere(written, last, odd)
    try:
        check_files([written])
    except UnreadableError as error:
        assert str(error)  # noqa: PT017 - it may also be read
