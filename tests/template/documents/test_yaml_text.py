"""YAML is read as CloudFormation reads it: short tags, plain words, anchors up to a limit, and nothing that runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # PyYAML has no types
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.template.documents.yaml_text import YamlText
from gpu_constructs.template.model import UnreadableError
from tests.pace import paces
from tests.template.written import read_stacks


def values(text: str) -> Any:
    return YamlText(text, file="file.yaml").data


SHORT_TAGS = [
    ("!Ref A", {"Ref": "A"}),
    ("!Condition A", {"Condition": "A"}),
    ("!Sub '${A}'", {"Fn::Sub": "${A}"}),
    ("!Sub ['${A}', {A: !Ref B}]", {"Fn::Sub": ["${A}", {"A": {"Ref": "B"}}]}),
    ("!GetAtt A.B", {"Fn::GetAtt": ["A", "B"]}),
    ("!GetAtt A.B.C", {"Fn::GetAtt": ["A", "B.C"]}),
    ("!GetAtt [A, B]", {"Fn::GetAtt": ["A", "B"]}),
    ("!If [A, !Ref B, 1]", {"Fn::If": ["A", {"Ref": "B"}, 1]}),
    ("!Join\n- ''\n- - a\n  - !Ref B", {"Fn::Join": ["", ["a", {"Ref": "B"}]]}),
    ("!Select [0, !GetAZs '']", {"Fn::Select": [0, {"Fn::GetAZs": ""}]}),
    ("!Transform {Name: Macro}", {"Fn::Transform": {"Name": "Macro"}}),
    ("!GetStackOutput {StackName: A}", {"Fn::GetStackOutput": {"StackName": "A"}}),
    ("Fn::Base64: !Sub a", {"Fn::Base64": {"Fn::Sub": "a"}}),
]


def test_a_tag_that_cloudformation_does_not_have_is_a_function_that_is_not_known(tmp_path: Path) -> None:
    file = tmp_path / "template.yaml"
    file.write_text("Resources: {S: {Type: AWS::ECS::Service, Properties: {DesiredCount: !Reff c}}}", encoding="utf-8")
    (remark,) = read_stacks([file]).remarks
    assert remark.text == "a function that is not known: Fn::Reff"


def test_a_short_tag_is_its_long_form() -> None:
    wrong = {text: found for text, expected in SHORT_TAGS if (found := values(text)) != expected}
    assert not wrong


WORDS = [
    ("yes", True),
    ("off", False),
    ("'yes'", "yes"),
    ("~", None),
    ("", None),
    ("5", 5),
    ("-5", -5),
    ("1_000", 1000),
    ("0x1F", 31),
    ("0xbeef", 0xBEEF),
    ("0b101", 5),
    ("010", 8),
    ("08", "08"),
    ("012345678901", "012345678901"),
    ("1.5", 1.5),
    (".5", 0.5),
    ("1e3", 1000.0),
    ("1.0e+999", "1.0e+999"),
    (".inf", ".inf"),
    (".nan", ".nan"),
    ("9" * 5000, "9" * 5000),
    ("2010-09-09", "2010-09-09"),
    ("2010-09-09T10:00:00Z", "2010-09-09T10:00:00Z"),
    ("80:80", "80:80"),
    ("1.2.3", "1.2.3"),
    ("-", "-"),
    ("!!str 5", "5"),
    ("!!int '5'", 5),
    ("! 5", "5"),
    ('"5"', "5"),
    ("|\n  a\n  b\n", "a\nb\n"),
]


def test_a_word_means_what_yaml_says() -> None:
    read = [(word, values("a: '-'" if word == "-" else f"a: {word}")["a"]) for word, _ in WORDS]
    assert [(each, type(each[1])) for each in read] == [(each, type(each[1])) for each in WORDS]


def test_the_last_of_two_keys_counts_and_both_are_said() -> None:
    read = YamlText("a: 1\nb:\n- c: 1\n  c: 2\na: 3", file="f")
    assert read.data == {"a": 3, "b": [{"c": 2}]}
    assert tuple(read.twice) == ("c", "a")


def test_anchors_and_merges_are_written_out() -> None:
    text = "base: &base {a: 1, b: 2}\nmore: &more {b: 3, c: 4}\nboth: {<<: [*base, *more], a: 5}\nsame: *base"
    assert values(text) == {
        "base": {"a": 1, "b": 2},
        "more": {"b": 3, "c": 4},
        "both": {"a": 5, "b": 2, "c": 4},
        "same": {"a": 1, "b": 2},
    }


def test_an_alias_can_be_a_key() -> None:
    assert values("a: &name text\n*name : 1") == {"a": "text", "text": 1}


UNREADABLE = [
    ("a: !!python/object/apply:os.system ['true']", 1, "a tag that templates do not have"),
    ("a: !!python/name:os.system", 1, "a tag that templates do not have"),
    ("a: !!binary aGk=", 1, "a tag that templates do not have"),
    ("a: !!set {b}", 1, "a tag that templates do not have"),
    ("a: &a [*a]", 1, r"\*a is a part of itself"),
    ("a: &a {b: {c: *a}}", 1, r"\*a is a part of itself"),
    ("a: *b", 1, "no anchor &b"),
    ("a: {[1]: 2}", 1, "a key that is not text"),
    ("a: &l [1]\n*l : 2", 2, "a key that is not text"),
    ("a: {{ b }}", 1, "a key that is not text; allowed: names; fix: fill the placeholders in first"),
    ("a: 1\n---\nb: 2", 2, "a second document starts here; allowed: one document in a file"),
    ("a: {<<: 5}", 1, "'<<' takes an object"),
    ("a: [1", 1, "not YAML: a list or an object in brackets is not closed"),
    (
        "a: 1\n\tb: 2",
        2,
        "not YAML: a tab in the indentation; fix: indent with spaces|not YAML: no value begins like that",
    ),
    ("a: 'text", 1, "not YAML: a text in quotes is not closed"),
    ("a: b: c", 1, "not YAML: a colon where no key can stand; fix: quote a value"),
    ("a:\n  b: 1\n c: 2", 3, "not YAML: not indented as the lines around it"),
    ("- a\nb: 1", 2, "not YAML: not indented as the items around it|not YAML: not indented as the lines around it"),
    ("a: |\n x\nb", 3, "not YAML: a key without a colon"),
    ("a: @x", 1, "not YAML: no value begins like that"),
    ('a: "\\q"', 1, "not YAML: no such escape in double quotes; fix: use single quotes"),
    ("%YAML 9\n---\na", 1, "not YAML:"),
]


def test_what_cannot_be_read_is_told_with_its_line() -> None:
    for text, line, words in UNREADABLE:
        with pytest.raises(UnreadableError, match=words) as failure:
            values(text)
        assert failure.value.line in {line, line + 1}, text


def test_laughs_in_merges_and_tags_are_counted_too() -> None:
    lines = ["a0: &a0 {k0: [x, x, x, x, x, x, x, x]}"]
    lines += [
        f"a{n}: &a{n} {{<<: *a{n - 1}, k{n}: !Join ['', [{', '.join([f'*a{n - 1}'] * 8)}]]}}" for n in range(1, 30)
    ]
    with pytest.raises(UnreadableError, match="more than 500,000 values"):
        values("\n".join(lines))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 5000, "nested too deeply|not YAML"),
        ("[" * 101 + "]" * 101, "nested too deeply|not YAML"),
        ("\n".join(["a0: &a0 x", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 200))]), "nested too deeply|not YAML"),
        *((each, "not YAML") for each in ("a: \x00", "a: \x07", "\x01")),
    ],
)
def test_deep_nesting_and_characters_that_no_text_holds_are_refused(text: str, words: str) -> None:
    with pytest.raises(UnreadableError, match=words):
        values(text)


def test_without_libyaml_the_same_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: &x !If [b, !Ref c, 010]\nd: {<<: {e: yes}, f: *x}"
    expected = values(text)
    monkeypatch.delattr(yaml, "CSafeLoader")
    assert values(text) == expected


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\x85"])
def test_hundreds_of_directives_are_refused_before_any_is_parsed(line_break: str) -> None:
    text = "".join(f"%TAG !a{index}! tag:x,{index}:{line_break}" for index in range(20_000)) + "---\na: 1"

    def read() -> None:
        with pytest.raises(UnreadableError, match="more than 100 lines that begin with %"):
            values(text)

    assert paces(read) < 25


TEXT = """\
Resources:
  Task:
    Type: T
    Properties:
      List:
        - 1
        - Key: |
            several
            lines
          Other: !If
            - A
            - B
            - C
      Alias: &anchor
        Deep: 1
      Same: *anchor
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [((), 4), (("List",), 5), (("List", 0), 6), (("List", 1, "Other", "Fn::If", 1), 12), (("Same", "Deep"), 15)],
)
def test_a_line_is_that_of_the_deepest_part_that_is_there(path: tuple[str | int, ...], line: int) -> None:
    found = YamlText(TEXT, file="f").find(("Resources", "Task", "Properties", *path))
    assert found is not None
    assert found.line == line


# PyYAML takes 1e3 for a text and writes it without quotes; YAML takes it for a number.
TEXTS = st.text(st.characters(codec="utf-8"), max_size=5).filter(lambda text: not re.fullmatch(r"[-+]?\d+[eE].+", text))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abyes017.:~-", min_size=1), inner, max_size=4),
    max_leaves=20,
)


@given(PLAIN)
def test_what_pyyaml_writes_is_read_back(data: Any) -> None:
    assert values(yaml.safe_dump(data, allow_unicode=True, default_style='"')) == values(yaml.safe_dump(data)) == data
