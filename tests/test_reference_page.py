"""``docs/reference.md`` has every public name with its arguments, and says what the docstrings say."""

from __future__ import annotations

import inspect
import re
from functools import cache

import gpu_constructs
from gpu_constructs.tasks.container_options import PassedOn
from tools.build_reference_page import PAGE, names, page, parts


@cache
def _sections() -> dict[str, str]:
    """The text below each heading."""
    _, *found = re.split(r"^##+ (.+)$", page(), flags=re.MULTILINE)
    return dict(zip(found[::2], found[1::2], strict=True))


def _arguments(name: str) -> set[str]:
    """The arguments that stand below a heading, and in the groups that it names."""
    section = _sections()[name]
    _, _, named = section.partition("\nThe arguments of ")
    in_groups = (one for group in re.findall(r"\[`(\w+)`\]", named) for one in _arguments(group))
    return {*re.findall(r"^\| `(\w+)`", section, re.MULTILINE), *in_groups}


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tools.build_reference_page`"


def test_every_name_is_on_it() -> None:
    assert {*gpu_constructs.__all__} <= names().keys() <= _sections().keys()


def test_every_argument_is_explained() -> None:
    for part in parts():
        # A choice has the arguments of `add_capacity`, and some methods those of CDK, which they say. What `PassedOn`
        # names is explained by CDK as well.
        if part.call is not None and part.name != "CapacityChoice" and "\n| `**" not in _sections()[part.name]:
            taken = inspect.signature(part.call).parameters.keys() - {"self", "cls", "options"}
            taken -= PassedOn.__annotations__.keys()
            assert taken <= _arguments(part.name), part.name


def test_every_link_within_the_page_leads_to_a_heading() -> None:
    anchors = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in _sections()}
    assert set(re.findall(r"\(#([^)]+)\)", page())) <= anchors
