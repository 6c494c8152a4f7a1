"""Parameters become what their type makes of a default, of a value that is given, or of neither."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.template import Stacks, UnreadableError
from gpu_constructs.template.parameters import Choice
from tests.template.written import in_service, read, worked_out


def parameter(declaration: Any, given: str | None = None) -> Any:
    parameters = None if given is None else {"It": given}
    return worked_out({"Ref": "It"}, Parameters={"It": declaration}, parameters=parameters)


@pytest.mark.parametrize(
    ("type_", "default", "expected"),
    [
        ("String", "a", "a"),
        ("String", 5, "5"),
        ("String", True, "true"),
        ("String", "", ""),
        ("Number", "5", 5),
        ("Number", " 5 ", 5),
        ("Number", "0.5", 0.5),
        ("Number", 7, 7),
        ("Number", "five", UNKNOWN),
        ("Number", True, UNKNOWN),
        ("Number", "9" * 5000, "9" * 5000),
        ("CommaDelimitedList", "a, b,c", ["a", "b", "c"]),
        ("CommaDelimitedList", ["a", "b"], ["a", "b"]),
        ("List<Number>", "1,2.5", [1, 2.5]),
        ("List<AWS::EC2::Subnet::Id>", "subnet-1,subnet-2", ["subnet-1", "subnet-2"]),
        ("AWS::EC2::Image::Id", "ami-1", "ami-1"),
        ("AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "/aws/ami", "{{resolve:ssm:/aws/ami}}"),
        ("AWS::SSM::Parameter::Value<List<String>>", "/list", UNKNOWN),
        ("AWS::SSM::Parameter::Name", "/name", "/name"),
        ("String", ["a"], UNKNOWN),
        ("String", {"a": 1}, UNKNOWN),
        ("String", None, UNKNOWN),
        (["odd"], "a", "a"),
    ],
)
def test_a_default_becomes_what_the_type_says(type_: Any, default: Any, expected: Any) -> None:
    assert parameter({"Type": type_, "Default": default}) == expected


@pytest.mark.parametrize("declaration", [None, "String", [], 5])
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
    parameters = {"It": "all", "stack:It": "one"}
    assert worked_out(value, Parameters={"It": {"Type": "String"}}, parameters=parameters) == "one"


def test_a_value_for_no_parameter_names_the_nearest() -> None:
    with pytest.raises(UnreadableError, match="no template has a parameter 'Cont'; fix: did you mean Count?"):
        read(1, Parameters={"Count": {"Type": "Number"}}, parameters={"Cont": "1"})


def test_a_value_that_is_not_allowed_says_what_is() -> None:
    declaration = {"Type": "String", "Default": "a", "AllowedValues": ["a", "b"]}
    with pytest.raises(UnreadableError, match="parameter 'It' cannot be 'c'; allowed: 'a, b'"):
        read(1, Parameters={"It": declaration}, parameters={"It": "c"})


def test_a_parameter_with_a_default_and_other_values_is_a_choice() -> None:
    declarations = {
        "Type": {"Type": "String", "Default": "g6.xlarge", "AllowedValues": ["g6.xlarge", "p3.2xlarge"]},
        "Count": {"Type": "Number", "Default": 1, "AllowedValues": [1, 2]},
        "Single": {"Type": "String", "Default": "a", "AllowedValues": ["a"]},
        "Open": {"Type": "String", "AllowedValues": ["a", "b"]},
        "Free": {"Type": "String", "Default": "a"},
    }
    assert read(1, Parameters=declarations).choices == (
        Choice(parameter="Type", stack="stack", default="g6.xlarge", values=("g6.xlarge", "p3.2xlarge")),
        Choice(parameter="Count", stack="stack", default="1", values=("1", "2")),
    )


def test_a_parameter_that_is_answered_is_no_choice() -> None:
    declaration = {"Type": "String", "Default": "a", "AllowedValues": ["a", "b"]}
    assert read(1, Parameters={"It": declaration}, parameters={"It": "b"}).choices == ()


def test_every_choice_can_be_read_with() -> None:
    declaration = {"Type": "Number", "Default": 1, "AllowedValues": [1, 2, 4]}
    stacks = read({"Ref": "It"}, Parameters={"It": declaration})
    (choice,) = stacks.choices
    again = [stacks.with_parameters({choice.parameter: value}) for value in choice.values]
    assert [in_service(each) for each in again] == [1, 2, 4]
    assert in_service(stacks) == in_service(again[2].with_parameters({})) == 1


def test_stacks_of_nothing_stay_as_they_are() -> None:
    assert Stacks().with_parameters({}) == Stacks()


def test_another_value_that_is_not_allowed_is_told() -> None:
    stacks = read(1, Parameters={"It": {"Type": "String", "AllowedValues": ["a"]}})
    with pytest.raises(UnreadableError, match="parameter 'It' cannot be 'c'"):
        stacks.with_parameters({"It": "c"})
