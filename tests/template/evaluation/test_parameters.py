"""Parameters become what their type makes of a default or of a given value, and what else could be given is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.template import Inputs, UnreadableError
from tests.template.written import in_service, read, read_stacks, save, template, worked_out


def parameter(declaration: Any, given: str | None = None) -> Any:
    parameters = None if given is None else {"It": given}
    return worked_out({"Ref": "It"}, Parameters={"It": declaration}, parameters=parameters)


@pytest.mark.parametrize(
    ("type_", "default", "expected"),
    [
        ("String", "a", "a"),
        ("String", 5, "5"),
        ("Number", True, UNKNOWN),
        ("Number", "9" * 5000, "9" * 5000),
        ("CommaDelimitedList", ["a", "b"], ["a", "b"]),
        ("List<Number>", "1,2.5", [1, 2.5]),
        ("String", ["a"], UNKNOWN),
        (["odd"], "a", "a"),
    ],
)
def test_a_default_becomes_what_the_type_says(type_: Any, default: Any, expected: Any) -> None:
    assert parameter({"Type": type_, "Default": default}) == expected


@pytest.mark.parametrize("declaration", [None, "String"])
def test_what_is_no_declaration_is_unknown(declaration: Any) -> None:
    assert parameter(declaration) is UNKNOWN


@pytest.mark.parametrize(
    ("type_", "given", "expected"),
    [("String", "b", "b"), ("Number", "8", 8), ("CommaDelimitedList", "x,y", ["x", "y"]), ("String", "", "")],
)
def test_a_value_that_is_given_replaces_the_default(type_: str, given: str, expected: Any) -> None:
    assert parameter({"Type": type_, "Default": "1"}, given) == expected


def test_a_value_can_be_given_to_one_stack() -> None:
    value = {"Ref": "It"}
    parameters = {"It": "all", "template:It": "one"}
    assert worked_out(value, Parameters={"It": {"Type": "String"}}, parameters=parameters) == "one"


def test_an_answer_that_none_of_many_templates_asks_for_is_told_once(tmp_path: Path) -> None:
    files = [save(tmp_path / f"{name}.json", template(1)) for name in "ab"]
    with pytest.raises(UnreadableError, match="^2 templates: no parameter 'It' is declared"):
        read_stacks(files, parameters={"It": "c"})


def test_a_value_for_no_parameter_names_the_nearest() -> None:
    with pytest.raises(UnreadableError, match="template: no parameter 'Cont' is declared; fix: did you mean Count?"):
        read(1, Parameters={"Count": {"Type": "Number"}}, parameters={"Cont": "1"})


def test_a_value_that_is_not_allowed_says_what_is_with_its_line(tmp_path: Path) -> None:
    text = "Resources: {}\nParameters:\n  It:\n    Type: String\n    AllowedValues: [a, b]\n"
    file = save(tmp_path / "app.yaml", text)
    with pytest.raises(UnreadableError, match="parameter 'It' cannot be 'c'; allowed: 'a, b'") as failure:
        read_stacks([file], parameters={"It": "c"})
    assert str(failure.value).startswith(f"{file}:3: ")


def test_every_choice_can_be_read_with() -> None:
    declaration = {"Type": "Number", "Default": 1, "AllowedValues": [1, 2, 4]}
    inputs = Inputs([template({"Ref": "It"}, Parameters={"It": declaration})])
    (choice,) = inputs.stacks().choices
    assert [in_service(inputs.stacks({choice.parameter: value})) for value in choice.values] == [1, 2, 4]
    assert in_service(inputs.stacks()) == 1


def test_what_is_hidden_is_unknown_and_never_printed() -> None:
    declaration = {"Type": "String", "NoEcho": True, "Default": "hush", "AllowedValues": ["hush", "quiet"]}
    inputs = Inputs([template({"Ref": "It"}, Parameters={"It": declaration})])
    assert in_service(inputs.stacks()) is UNKNOWN
    with pytest.raises(UnreadableError) as refusal:
        inputs.stacks({"It": "loud"})
    assert not any(word in str(refusal.value) for word in ("hush", "quiet", "loud"))
