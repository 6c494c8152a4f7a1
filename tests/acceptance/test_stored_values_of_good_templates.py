"""No value of a good template becomes an error when Parameter Store keeps it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpu_constructs.template.documents.yaml_text import YamlText
from tests.acceptance.stored_values import REF, STORED, WRITTEN, changed, errors, part
from tests.examples import times

GOOD = sorted(each for each in (Path(__file__).parent / "good").iterdir() if each.is_file())


@cache
def template_in(path: Path) -> object:
    return YamlText(path.read_text(encoding="utf-8"), file=path.name).data


_NAMES = ("Ref", "Condition", "Fn::GetAtt")


def scalars(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Places of texts and numbers; what names a part of the template is none."""
    if isinstance(node, dict):
        for key, child in node.items():
            if key not in _NAMES and not key.startswith("Fn::"):
                yield from scalars(child, (*path, key))
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from scalars(child, (*path, index))
    elif node is not None:
        yield path


WAYS = 3  # to store a value
TRIED = times(1)
"""How often a property of a type of resources is tried, over all good templates: with one of the ways after another."""


@cache
def tried_places() -> Mapping[Path, list[tuple[int, tuple[str | int, ...]]]]:
    """The places to try in each template, each with the number of its way; properties begin with different ones."""
    begins: dict[tuple[str, ...], int] = {}
    met: Counter[tuple[str, ...]] = Counter()
    places: dict[Path, list[tuple[int, tuple[str | int, ...]]]] = {}
    for path in GOOD:
        template = template_in(path)
        # A task definition by itself is registered without CloudFormation, which resolves nothing in it.
        resources = template.get("Resources", {}) if isinstance(template, dict) else {}
        for place in scalars(resources):
            if place[1] == "Properties":
                name = (resources[place[0]]["Type"], *(each for each in place[2:] if isinstance(each, str)))
                begin = begins.setdefault(name, len(begins))
                if met[name] < TRIED:
                    places.setdefault(path, []).append((begin + met[name], place))
                met[name] += 1
    return places


def test_no_scalar_of_a_good_template_becomes_an_error_when_it_is_stored() -> None:
    for path, places in tried_places().items():
        template: Any = template_in(path)
        good = {**template, "Parameters": {**(template.get("Parameters") or {}), **STORED}}
        for number, place in places:
            # The beginning alone says that a role's name is another one, and that user data is not encoded.
            is_certain = place[-1] in {"RoleName", "UserData"}
            value = (REF, WRITTEN, REF if is_certain else part("a-${StoredText}"))[number % WAYS]
            found = errors(changed(good, ("Resources", *place), value))
            assert found == set(), (path.name, place, value)


def test_no_parameter_of_a_good_template_brings_an_error_when_it_is_stored() -> None:
    for path in GOOD:
        template: Any = template_in(path)
        parameters = template.get("Parameters") if isinstance(template, dict) else None
        for name, declared in (parameters or {}).items():
            kind = "List<String>" if "List" in str(declared.get("Type")) else "String"
            stored = {"Type": f"AWS::SSM::Parameter::Value<{kind}>", "Default": "/x"}
            assert errors(changed(template, ("Parameters", name), stored)) == set(), (path.name, name)
