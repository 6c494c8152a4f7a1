"""Regular expressions: as Java reads them, in bounded time, and not judged where the two may differ."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.placement.query.ast import Matches
from gpu_constructs.placement.query.evaluate import Host, evaluate, judge
from gpu_constructs.placement.query.parser import parse
from gpu_constructs.placement.query.subjects import Attribute, MalformedPatternError, matches_whole, read_pattern
from tests.pace import paces

# What java.util.regex of OpenJDK 17 answers to Pattern.compile(pattern).matcher(value).matches().
JAVA_MATCHES = [
    ("g5.*", "g5.xlarge", True),
    ("g5.*", "g5g.xlarge", True),
    ("g5\\..*", "g5g.xlarge", False),
    ("g5", "g5.xlarge", False),
    ("xlarge", "g5.xlarge", False),
    ("(p[2,3]|g[3,4]|f[1]).*", "p3.2xlarge", True),
    ("[a-]", "-", True),
    ("[-a]", "-", True),
    ("[a-c-e]", "-", True),
    ("[a^]", "^", True),
    ("[^^]", "a", True),
    ("[a&b]", "&", True),
    ("[a\\-z]", "-", True),
    ("[ab\\]]", "]", True),
    ("[a]]", "a]", True),
    ("[{]", "{", True),
    ("[\\D]", "a", True),
    ("[^\\W]", "a", True),
    ("\\d", "\u0663", False),
    ("\\w", "é", False),
    (".", "é", True),
    ("a$b", "ab", False),
    ("a|", "", True),
    ("(|a)", "a", True),
    ("a{02}", "aa", True),
    ("a{2}?", "aa", True),
    ("a{0}b", "b", True),
    ("}", "}", True),
    ("]", "]", True),
    ("#", "#", True),
    ("a b", "a b", True),
]


def test_matches_as_java_does() -> None:
    wrong = [
        (pattern, value, read)
        for pattern, value, answer in JAVA_MATCHES
        if not isinstance(read := read_pattern(pattern), re.Pattern) or matches_whole(read, value) is not answer
    ]
    assert not wrong


# What Pattern.compile of OpenJDK 17 throws a PatternSyntaxException for.
JAVA_REFUSES = [
    ("*", 0),
    ("a**", 2),
    ("a*?*", 3),
    ("a*?+", 3),
    ("(*a)", 1),
    ("a|*b", 2),
    ("?", 0),
    ("(", 0),
    ("a(b", 1),
    ("a)", 1),
    ("[a", 0),
    ("[]", 0),
    ("[z-a]", 1),
    ("a{3,2}", 2),
    ("\\", 0),
]


def test_refuses_what_java_refuses() -> None:
    for pattern, position in JAVA_REFUSES:
        with pytest.raises(MalformedPatternError) as caught:
            read_pattern(pattern)
        assert caught.value.position == position, pattern


HOST = Host(attributes={"x": "g5.xlarge"})

# What Java reads otherwise than Python, or in a way that few people know; and what would take long.
NOT_JUDGED = [
    ("(?=g5)g.*", "`(?=g5)g.*`"),
    ("g5(?i)G5.*", "`(?i)G5.*`"),
    ("(?:a)", "`(?:a)`"),
    ("(a)\\1", "`\\1`"),
    ("a*+", "`+`"),
    ("a?+", "`+`"),
    ("a{2}+", "`+`"),
    ("a{2}{3}", "`{3}`"),
    ("a{1000}", "`{1000}`"),
    ("a|{2}", "`|{2}`"),
    ("^*a", "`^*a`"),
    ("(a|b)*", "`)*`"),
    ("[a-z&&[^b]]", "`[a-z&&[^b]]`"),
    ("[a[b]]", "`[a[b]]`"),
    ("[]a]", "`[]a]`"),
    ("[^]a]", "`[^]a]`"),
    ("[a-\\d]", "`[a-\\d]`"),
    ("[+--]", "`[+--]`"),
    ("\\p{Lower}", "`\\p{Lower}`"),
    ("\\Qg5.\\E.*", "`\\Qg5.\\E.*`"),
    ("\\bg5", "`\\bg5`"),
    ("(" * 41 + "a" + ")" * 41, "more than 40 groups"),
    (".*.*.*", "too many ways"),
    ("a?" * 18, "too many ways"),
    ("(a|aa)" * 18, "too many ways"),
    ("(.*|a.*)(.*|b.*)(a|b|c)", "too many ways"),
]


def test_says_what_is_not_judged() -> None:
    wrong = {
        pattern: verdict
        for pattern, reason in NOT_JUDGED
        if isinstance((verdict := judge(Matches(Attribute("x"), pattern), HOST)).holds, bool)
        or reason not in verdict.reasons[0]
    }
    assert not wrong


@pytest.mark.parametrize("value", ["a" * 129, "a\n", "a\u2028"])
def test_a_value_that_no_attribute_has_is_not_judged(value: str) -> None:
    assert judge(Matches(Attribute("x"), ".*"), Host(attributes={"x": value})).holds not in {True, False}


# As many ways to match the longest value as there may be.
LONGEST = [
    "[a-z]*3.7.*2",
    ".*.*(a|a|a|a|a|a)b",
    "(a|a|a)?(a|aa)?" + "a?" * 12 + "b",
    ".{1,128}.{1,128}a{0,6}b",
    "a?" * 16 + "b",
]


@pytest.mark.parametrize("pattern", LONGEST)
def test_a_pattern_that_is_judged_is_judged_in_no_time(pattern: str) -> None:
    query = parse(f"attribute:x =~ {pattern}")
    host = Host(attributes={"x": "a" * 127 + "!"})
    assert paces(lambda: evaluate(query, host)) < 1
    assert evaluate(query, host) is False


_SINGLE = st.sampled_from(["a", "b", "5", "-", "\\.", "\\-", "\\\\", ".", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S"])
_CLASS = st.sampled_from(["[ab]", "[^a]", "[a-c5]", "[^\\d]", "[\\w-]", "[.\\]]", "[-a]", "[^a-]", "[a^]"])
_REPEAT = st.sampled_from(["", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "{0}", "*?", "{1,2}?"])
_PIECES = st.tuples(_SINGLE | _CLASS, _REPEAT).map("".join)
_GROUPS = st.lists(_PIECES | st.just(""), min_size=1, max_size=3).map(lambda options: f"({'|'.join(options)})")


@given(st.lists(_PIECES | _GROUPS, max_size=4).map("".join))
def test_what_people_write_is_judged_or_has_too_many_ways(pattern: str) -> None:
    read = read_pattern(pattern)
    assert isinstance(read, re.Pattern) or "too many ways" in read


@given(st.text(alphabet="ab()[]{}*+?|^$.\\-,:<>=!&0123 QEdpx", max_size=25))
def test_any_pattern_is_judged_refused_or_named_as_not_judged(pattern: str) -> None:
    try:
        answer = read_pattern(pattern)
    except MalformedPatternError as error:
        answer = error.problem
    assert answer
    assert isinstance(answer, re.Pattern) or "not judged" in answer or not is_read(pattern)


def is_read(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True
