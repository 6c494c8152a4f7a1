"""The front door: files, texts and parsed templates in, stacks out, and one kind of error."""

from __future__ import annotations

import codecs
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Origin
from gpu_constructs.template import UnreadableError
from gpu_constructs.template.model import Reference
from tests.template.written import in_service, not_read, only_stack, read, read_stacks, read_text, save, template

YAML = "Resources:\n  Task:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      Family: a\n      Family: b\n"


@pytest.mark.parametrize(
    ("file", "name"),
    [("folder.d/Web.YAML", "Web"), ("web", "web"), (".json", ".json")],
)
def test_a_stack_is_called_after_its_file(tmp_path: Path, file: str, name: str) -> None:
    path = save(tmp_path / file, template(1))
    found = only_stack(read_stacks([path]))
    assert (found.name == name) or (name == ".json" and found.name == str(path))
    assert found.resources["Service"].origin.file == str(path)


def test_one_path_needs_no_list(tmp_path: Path) -> None:
    assert in_service(read_stacks(save(tmp_path / "web.json", template(1)))) == 1  # type: ignore[arg-type]


def test_the_pipe_of_a_shell_is_read_and_a_named_one_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(UnreadableError, match=r"pipe.json: a named pipe, .* allowed: a plain file, or -"):
        read_stacks([tmp_path / "pipe.json"])
    reading, writing = os.pipe()
    os.write(writing, json.dumps(template(1)).encode())
    os.close(writing)
    assert in_service(read_stacks([f"/dev/fd/{reading}"])) == 1
    os.close(reading)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("-", "-: nothing came from the standard input"),
        ("/dev/zero", "/dev/zero: larger than 20 MiB"),  # it has no end
        *((each, "cannot be read") for each in ("a\0b", "", "x" * 5000)),
    ],
)
def test_a_path_with_nothing_to_read_is_told(path: str, words: str) -> None:
    with pytest.raises(UnreadableError, match=words):
        read_stacks([path])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (codecs.BOM_UTF16_LE + "a: 1".encode("utf-16-le"), "UTF-16 or UTF-32; allowed: UTF-8"),
        ("a: 1".encode("utf-16-be"), "a binary file"),
        (b"a: \xff\xfe", "not a text in UTF-8"),
        (b"[1, 2]", "a list, not an object"),
        (b"[]", "a list, not an object"),
        (b"just a text", "a single value, not an object"),
        (b'{"Resources": {', "not JSON"),
    ],
)
def test_what_is_no_template_is_told(content: bytes, words: str) -> None:
    with pytest.raises(UnreadableError, match=words):
        read_text(content)


def test_yaml_in_flow_style_is_read_where_the_file_says_so(tmp_path: Path) -> None:
    text = "{Resources: {Service: {Type: 'AWS::ECS::Service', Properties: {Value: !Ref Service}}}}"
    assert in_service(read_stacks([save(tmp_path / "a.yaml", text)])) == Reference("a", "Service")
    with pytest.raises(UnreadableError, match="not JSON"):
        read_stacks([save(tmp_path / "a.json", text)])


def test_a_large_text_in_a_template_is_read() -> None:
    large = "x" * 10_000_000
    assert in_service(read_text(json.dumps(template(large)))) == large


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"Resources": []}, "Resources is not an object"),
        ({"Resources": {"A": None}}, "resource 'A' has no type"),
        ({"Resources": {"A": {}}}, "resource 'A' has no type"),
        (
            {"Resources": {"A": {"Type": "AWS::ECS::Service", "Properties": []}}},
            "the properties of 'A' are not an object",
        ),
        (
            {"Resources": {"A": {"Type": "AWS::ECS::Service", "Properties": {"Fn::Transform": {"Name": "Ours"}}}}},
            "what A defines is not known here",
        ),
    ],
)
def test_a_part_of_the_wrong_type_is_remarked_and_the_rest_is_read(content: Any, words: str) -> None:
    content["Resources"] = (
        content["Resources"]
        if not isinstance(content["Resources"], dict)
        else {**content["Resources"], "Good": {"Type": "AWS::ECS::Cluster"}}
    )
    stacks = read_stacks([content])
    assert not_read(stacks) == [words]
    assert ("Good" in only_stack(stacks).resources) == isinstance(content["Resources"], dict)


@pytest.mark.parametrize("odd", [{"A": 5}, {"A": {"Export": {}, "Value": []}}])
def test_odd_outputs_hurt_nobody(odd: Any) -> None:
    assert in_service(read({"Fn::ImportValue": "x"}, Outputs=odd)) is UNKNOWN


def test_a_resource_that_does_not_matter_is_worked_out_when_somebody_looks() -> None:
    queue = {
        "Type": "AWS::SQS::Queue",
        "Properties": {"Name": {"Fn::Sub": "q-${AWS::Region}"}, "Odd": {"Ref": "Nothing"}},
    }
    stacks = read(1, Resources={"Queue": queue}, region="eu-west-1")
    found = only_stack(stacks).resources["Queue"].properties
    assert found == {"Name": "q-eu-west-1", "Odd": UNKNOWN}
    assert (len(found), list(found), found.get("Nothing")) == (2, ["Name", "Odd"], None)
    assert stacks.remarks == ()


def test_a_place_has_its_line_once_somebody_asks(tmp_path: Path) -> None:
    path = save(tmp_path / "web.yaml", YAML)
    stacks = read_stacks([path])
    origin = only_stack(stacks).resources["Task"].origin
    assert origin.line is None
    assert stacks.locate(origin).line == 2
    assert stacks.locate(origin.at("Properties", "Family")).line == 6
    assert stacks.locate(origin.at("Properties", line=77)).line == 77


def test_a_place_elsewhere_has_no_line() -> None:
    stacks = read_stacks([template(1)])
    for origin in (
        only_stack(stacks).resources["Service"].origin,
        Origin(resource="A", file="other"),
        Origin(resource="A"),
    ):
        assert stacks.locate(origin) == origin
        assert stacks.locate(origin).line is None


class _Text(str):
    __slots__ = ()


class _Object(dict[Any, Any]):
    pass


def test_a_parsed_template_may_be_of_other_types() -> None:
    value = _Object({_Text("Ref"): _Text("Other")})
    assert in_service(read_stacks([_Object(template((value, 5, 10**50, float("inf"), {1: b"x"})))])) == [
        Reference("template", "Other"),
        5,
        str(10**50),
        "inf",
        {"1": "b'x'"},
    ]


def test_a_parsed_template_that_holds_itself_is_refused() -> None:
    circle: dict[str, Any] = template(1)
    circle["Resources"]["Circle"] = circle
    wide: list[Any] = []
    for _ in range(40):
        wide = [wide, wide]
    for content in (circle, template(wide)):
        with pytest.raises(UnreadableError, match="nested too deeply, or too large"):
            read_stacks([content])


def test_a_text_that_multiplies_is_unknown_before_it_is_made() -> None:
    parameters = {"Long": {"Type": "String", "Default": "x" * 100_000}}
    tracemalloc.start()
    assert in_service(read({"Fn::Sub": "${Long}" * 20_000}, Parameters=parameters)) is UNKNOWN
    assert tracemalloc.get_traced_memory()[1] < 1e9
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("long", "function", "made"),
    [
        ("x" * 1_000_000, {"Fn::Sub": "${Long}y"}, "x" * 1_000_000 + "y"),
        ("," * 100_000, {"Fn::Split": [",", {"Ref": "Long"}]}, [""] * 100_001),
    ],
    ids=["Sub", "Split"],
)
def test_what_is_made_too_often_is_unknown(long: str, function: Any, made: object) -> None:
    found = in_service(read([function] * 100, Parameters={"Long": {"Type": "String", "Default": long}}))
    assert isinstance(found, list)
    assert (found[0] == made, found[-1]) == (True, UNKNOWN)
