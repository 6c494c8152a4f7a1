"""Lists of names in messages."""

from __future__ import annotations

import pytest

from gpu_constructs.rules.finding import and_list, or_list


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
