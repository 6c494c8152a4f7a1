"""JSON is read as CloudFormation reads it, and whatever else it is gives an error with its place."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.template.documents.document import Document
from gpu_constructs.template.documents.json_text import JsonLines, parse_json
from gpu_constructs.template.model import UnreadableError


def values(text: str) -> Any:
    return parse_json(text, file="file.json")[0]


def test_the_last_of_two_keys_counts_and_both_are_said() -> None:
    data, twice = parse_json('{"a": 1, "b": [{"c": 1, "c": 2, "c": 3}], "a": 4}', file="f")
    assert data == {"a": 4, "b": [{"c": 3}]}
    assert twice == ["c", "a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("[1e999]", ["1e999"]), ("[" + "9" * 5000 + "]", ["9" * 5000])],
)
def test_numbers_that_are_none_stay_texts(text: str, expected: Any) -> None:
    assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{\n "a": 1,\n', 3, "not JSON: a key in double quotes is missing"),
        ('{\n "a":', 2, "the file ends there"),
        ('{"a": 1\n "b": 2}', 2, "not JSON: a comma or a closing bracket is missing"),
        ('{"cpu": ${cpu}}', 1, "a value is missing; fix: fill the placeholders in first"),
    ],
)
def test_broken_json_is_told_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(UnreadableError, match=words) as failure:
        values(text)
    assert (failure.value.file, failure.value.line) == ("file.json", line)
    assert str(failure.value).startswith(f"file.json:{line}:")


@pytest.mark.parametrize("depth", [101, 5_000, 200_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    with pytest.raises(UnreadableError, match="nested too deeply; allowed: at most 100 levels"):
        values("[" * depth + "]" * depth)


def test_a_hundred_levels_are_read() -> None:
    assert values("[" * 100 + "]" * 100)


def test_more_values_than_any_template_has_are_refused() -> None:
    with pytest.raises(UnreadableError, match="more than 2,000,000 values"):
        values("[" + "1," * 2_100_000 + "1]")


def test_half_a_character_is_refused_and_a_whole_one_is_not() -> None:
    with pytest.raises(UnreadableError, match="half a character"):
        values(r'["\ud83d"]')
    assert values(r'["\ud83d\ude00"]') == ["\U0001f600"]


TEXT = """{
  "Resources": {
    "Task": {
      "Type": "T",
      "Properties": {
        "List": [
          1,
          {"Key": "a,]}\\"",
           "Other": 2}
        ]
      }
    },
    "Task": {"Type": "U"}
  }
}
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("Resources",), 2),
        (("Resources", "Task", "Type"), 13),
        (("Resources", "Task", "nothing", 3), 13),
        (("nothing",), None),
        ((), None),
    ],
)
def test_a_line_is_that_of_the_deepest_part_that_is_there(path: tuple[str | int, ...], line: int | None) -> None:
    assert Document.read(TEXT.encode(), file="template.json").line(path) == line


@pytest.mark.parametrize(
    ("path", "line"),
    [(("List", 0), 7), (("List", 1, "Other"), 9), (("List", 5), 6)],
)
def test_items_and_names_in_another_case_are_found(path: tuple[str | int, ...], line: int) -> None:
    text = TEXT.replace('"Task": {"Type": "U"}', '"Last": {}')
    found = JsonLines(text).find(("Resources", "Task", "Properties", *path))
    assert found is not None
    assert found.line == line


def test_lines_are_right_on_either_side_of_a_long_text() -> None:
    long = {"Metadata": "x" * 100_000, "Lines": [0] * 50_000, "Resources": {"A": 1}}
    text = json.dumps(long, indent=1)
    lines = JsonLines(text)
    assert lines.find(("Lines", 20_000)) == (("Lines", 20_000), 20_004, 3)
    assert lines.find(("Resources", "A")) == (("Resources", "A"), 50_006, 3)


def test_thousands_of_lines_are_found_in_a_large_file_in_no_time() -> None:
    resources = {f"R{index}": {"Type": "T"} for index in range(4000)}
    text = json.dumps({"Metadata": "x" * 14_000_000, "Resources": resources}, indent=1)
    lines = JsonLines(text)
    before = time.process_time()
    assert lines.find(("Resources", "R3999", "Type")) == (("Resources", "R3999", "Type"), 12_002, 4)
    assert len({lines.find(("Resources", name)) for name in resources}) == 4000
    assert time.process_time() - before < 1  # 14 s when lines were counted from the top for each


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(st.characters(codec="utf-8"), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON, st.sampled_from([None, 1, 4]))
def test_any_json_is_read_and_every_value_of_it_has_a_line(data: Any, indent: int | None) -> None:
    text = json.dumps(data, indent=indent)
    assert values(text) == data
    lines = JsonLines(text)
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        if path:
            found = lines.find(path)
            assert found is not None
            assert found.path == path
            name = "" if isinstance(path[-1], int) else json.dumps(path[-1])
            assert text.split("\n")[found.line - 1][found.column - 1 :].startswith(name)
        if isinstance(value, dict):
            waiting += [((*path, key), child) for key, child in value.items()]
        elif isinstance(value, list):
            waiting += [((*path, index), child) for index, child in enumerate(value)]
