"""Parameters become what their type makes of a default, of a value that is given, or of neither."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN
from tests.template.written import worked_out


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
