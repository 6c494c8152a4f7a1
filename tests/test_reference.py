"""The reference has every public name with its arguments."""

from __future__ import annotations

import inspect
import re
from functools import cache

import gpu_constructs
from gpu_constructs.tasks.container_options import PassedOn
from tools.reference_pages import Part, names, parts, reference_pages

pages = cache(reference_pages)


def _arguments(part: Part) -> set[str]:
    """The arguments that stand below the heading of a call."""
    _, _, after = pages()[f"{part.name.partition('.')[0]}.md"].partition(f"# {part.name}\n")
    return set(re.findall(r"^\| `([\w*]+)`", re.split(r"^#+ ", after, flags=re.MULTILINE)[0], re.MULTILINE))


def test_every_name_has_a_page() -> None:
    assert {*gpu_constructs.__all__} <= names().keys()
    assert {f"{each}.md" for each in names()} == pages().keys() - {"index.md"}


def test_every_argument_is_explained_where_the_call_is() -> None:
    for part in parts():
        # A choice has the arguments of `add_capacity`, and some methods those of CDK, which they say. What `PassedOn`
        # names is explained by CDK as well.
        explained = _arguments(part)
        if (
            part.call is not None
            and part.name != "CapacityChoice"
            and not any(each.startswith("**") for each in explained)
        ):
            taken = inspect.signature(part.call).parameters.keys() - {"self", "cls", "options"}
            assert taken - PassedOn.__annotations__.keys() <= explained, part.name
    assert {"instance_types", "max_instances", "purchase"} <= _arguments(
        next(each for each in parts() if each.name == "GpuCluster.add_capacity")
    )
