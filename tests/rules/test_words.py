"""The words of a finding: those that constructors call otherwise, marked by the rule, and lists of names."""

from __future__ import annotations

import pytest

from gpu_constructs.cdk.refusal import raise_any
from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.rules import Finding, Severity
from gpu_constructs.rules.finding import Text, Word, and_list, in_arguments, joined, or_list

NAMES = {"MaxSize": "max_instances", "MinSize": "min_instances"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (Text("raise ", Word("MaxSize"), " of hosts to 4"), "raise max_instances of hosts to 4"),
        (Text("raise ", Word("MaxSize"), " of MaxSize to 4"), "raise max_instances of MaxSize to 4"),
        (Text(Text("a ", Word("MinSize")), " of 1"), "a min_instances of 1"),
        (joined(", or ", ["remove it", Text("raise ", Word("MaxSize"))]), "remove it, or raise max_instances"),
        (Text("set ", Word("InstanceType")), "set InstanceType"),
        ("MaxSize is 2", "MaxSize is 2"),
    ],
)
def test_a_constructor_puts_marked_words_into_its_own_and_nothing_else(text: str, said: str) -> None:
    assert in_arguments(text, NAMES) == said


def test_readers_of_files_get_the_words_of_the_file() -> None:
    assert Text("raise ", Word("MaxSize"), " to 4") == "raise MaxSize to 4"


def test_a_name_like_a_property_stays_in_the_error_of_a_constructor() -> None:
    found = Finding(
        rule="GPU009",
        severity=Severity.ERROR,
        subject="MaxSize",
        message=Text("MaxSize is too large: ", Word("MaxSize"), " is 5"),
        property_name="MaxSize",
    )
    with pytest.raises(GpuConstructsError) as refused:
        raise_any([found])
    assert "MaxSize is too large: max_instances is 5" in str(refused.value)
    assert refused.value.argument == "max_instances"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], "none"),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (list("abcdef"), "a, b, c, d, e and f"),
        (list("abcdefgh"), "a, b, c, d, e and 3 more"),
    ],
)
def test_a_list_ends_with_a_word_and_is_cut_short_where_it_is_long(names: list[str], text: str) -> None:
    assert and_list(names) == text
    assert or_list(names) == text.replace(" and ", " or ")
