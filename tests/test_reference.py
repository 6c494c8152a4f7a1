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
    """The arguments that stand on the page of a call."""
    return set(re.findall(r"^\| `([\w*]+)`", pages()[f"{part.name}.md"], re.MULTILINE))


def test_every_name_and_every_call_has_a_page() -> None:
    assert {*gpu_constructs.__all__} <= names().keys()
    every = {each.name for each in parts()}
    assert {f"{each}.md" for each in names().keys() | every} == pages().keys() - {"index.md"}
    assert "[`GpuCluster.add_capacity`](GpuCluster.add_capacity.md)" in pages()["GpuCluster.md"]


def test_every_argument_is_explained_where_the_call_is() -> None:
    for part in parts():
        # Some methods have the arguments of CDK, which they say.
        explained = _arguments(part)
        if part.call is not None and not any(each.startswith("**") for each in explained):
            taken = inspect.signature(part.call).parameters.keys() - {"self", "cls", "options"}
            assert taken <= explained, part.name
    of_calls = {each.name: _arguments(each) for each in parts()}
    assert {"instance_types", "max_instances", "purchase"} <= of_calls["GpuCluster.add_capacity"]
    assert PassedOn.__annotations__.keys() <= of_calls["GpuTaskDefinition.add_gpu_container"]  # explained by CDK alone


def test_what_cdk_alone_explains_has_its_sentence_and_its_default() -> None:
    rows = pages()["ContainerOptions.md"].splitlines()
    of_cdk = [each for name in PassedOn.__annotations__ for each in rows if each.startswith(f"| `{name}` |")]
    assert [each for each in of_cdk if not re.search(r"\| [A-Z][^|]{15,}\. By default: [^|]+\. \|$", each)] == []
