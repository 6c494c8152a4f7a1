"""Regular expressions: as Java reads them, in bounded time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.hardware import find
from gpu_constructs.placement.query import Attribute, Host, Matches, evaluate, judge, parse
from gpu_constructs.placement.query.automaton import matches_whole, pattern_problem, why_not_judged
from tests.pace import paces

# What java.util.regex of OpenJDK 17 answers to Pattern.compile(pattern).matcher(value).matches().
JAVA_MATCHES = [
    ("g5.*", "g5.xlarge", True),
    ("g5.*", "g5g.xlarge", True),
    ("g5\\..*", "g5g.xlarge", False),
    ("g5", "g5.xlarge", False),
    ("xlarge", "g5.xlarge", False),
    ("(p[2,3]|g[3,4]|f[1]).*", "p3.2xlarge", True),
    ("^*a", "a", True),
    ("^+a", "a", True),
    ("^{2}a", "a", True),
    ("[]a]", "]", True),
    ("[^]a]", "b", True),
    ("[a-]", "-", True),
    ("[-a]", "-", True),
    ("[a-c-e]", "-", True),
    ("[+--]", ",", True),
    ("[a-c-\\d]", "1", True),
    ("[\\d-z]", "-", True),
    ("[a^]", "^", True),
    ("[^^]", "a", True),
    ("[a&b]", "&", True),
    ("[a\\-z]", "-", True),
    ("[ab\\]]", "]", True),
    ("[a]]", "a]", True),
    ("[{]", "{", True),
    ("[\\D]", "a", True),
    ("[^\\W]", "a", True),
    ("[\\x61-c]", "b", True),
    ("[\\u0061-\\u0063]", "b", True),
    ("\\x41", "A", True),
    ("\\u00e9", "é", True),
    ("\\é", "é", True),
    ("\\_", "_", True),
    ("\\d", "\u0663", False),
    ("\\w", "é", False),
    (".", "é", True),
    (".", "\n", False),
    (".", "\u2028", False),
    ("a$", "a\n", False),
    ("a$\\n", "a\n", True),
    ("a$\\r\\n", "a\r\n", True),
    ("a$b", "ab", False),
    ("()*a", "a", True),
    ("(a|^)*", "a", True),
    ("a|", "", True),
    ("(|a)", "a", True),
    ("a{02}", "aa", True),
    ("a{2}?", "aa", True),
    ("a{0}b", "b", True),
    ("(?<ab>a)b", "ab", True),
    ("}", "}", True),
    ("]", "]", True),
    ("#", "#", True),
    ("a b", "a b", True),
]


@pytest.mark.parametrize(("pattern", "value", "answer"), JAVA_MATCHES)
def test_matches_as_java_does(pattern: str, value: str, answer: bool) -> None:
    assert matches_whole(pattern, value) is answer


# What Pattern.compile of OpenJDK 17 throws a PatternSyntaxException for.
JAVA_REFUSES = [
    ("*", 0),
    ("a**", 2),
    ("a*?*", 3),
    ("(*a)", 1),
    ("a|*b", 2),
    ("?", 0),
    ("(", 0),
    ("a(b", 1),
    ("a)", 1),
    ("[a", 0),
    ("[]", 0),
    ("[^]", 0),
    ("[z-a]", 2),
    ("[a--]", 2),
    ("a{2", 1),
    ("a{,3}", 1),
    ("a{3,2}", 1),
    ("a{99999999999}", 1),
    ("a{9999999999999999999999}", 1),
    ("a{ 2}", 1),
    ("\\", 0),
    ("\\y", 0),
    ("\\E", 0),
    ("\\x4", 0),
    ("\\u004", 0),
    ("(?<1>a)", 2),
    ("(?<a", 2),
    ("(?<a>b)(?<a>c)", 9),
]


@pytest.mark.parametrize(("pattern", "position"), JAVA_REFUSES)
def test_refuses_what_java_refuses(pattern: str, position: int) -> None:
    problem = pattern_problem(pattern)
    assert problem is not None
    assert problem.position == position


# What Java reads and this matcher does not judge.
NOT_JUDGED = [
    ("(?=g5)g.*", "look-ahead"),
    ("(?!g5)g.*", "look-ahead"),
    ("g(?<=g)5", "look-behind"),
    ("(?>a)b", "a group that keeps what it took"),
    ("(?i)G5.*", "a flag"),
    ("(a)\\1", "the escape \\1"),
    ("a*+", "a possessive repetition"),
    ("a{2}{3}", "a repetition of a repetition"),
    ("a|{2}", "after nothing that it repeats"),
    ("[a-z&&[^b]]", "a class made of other classes"),
    ("[a[b]]", "a class made of other classes"),
    ("[a-\\d]", "a range that ends in a class"),
    ("\\p{Lower}", "the escape \\p"),
    ("\\Qg5.\\E.*", "the escape \\Q"),
    ("\\bg5", "the escape \\b"),
    ("\\x{41}", "by its number in braces"),
    ("\\ud83d", "half a character"),
    ("(a{1000}){1000}", "more than 1000 states"),
    ("((((a{9}){9}){9}){9}){9}", "more than 1000 states"),
    ("a{2147483647}", "more than 1000 states"),
    ("(" * 41 + "a" + ")" * 41, "nested deeper than 40"),
]


@pytest.mark.parametrize(("pattern", "reason"), NOT_JUDGED)
def test_says_why_a_pattern_is_not_judged(pattern: str, reason: str) -> None:
    assert pattern_problem(pattern) is None
    verdict = judge(Matches(Attribute("x"), pattern), Host(attributes={"x": "g5.xlarge"}))
    assert not isinstance(verdict.holds, bool)
    assert reason in verdict.reasons[0]
    assert reason in str(why_not_judged(pattern))
    assert matches_whole(pattern, "g5.xlarge") is None


# Patterns that take a backtracking matcher exponential time, each with a value that shows it.
CATASTROPHIC = [
    "(a+)+$",
    "(a+)+b",
    "(a*)*b",
    "(a|a)*b",
    "(a|aa)+b",
    "(.*a){25}b",
    "([a-z]+)*1",
    "(a?){60}a{60}b",
    "(((a*)*)*)*b",
    "(x+x+)+y",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(()*)*b",
    "((a{0,20}){0,20})*b",
]


@pytest.mark.parametrize("pattern", CATASTROPHIC)
def test_no_pattern_takes_longer_than_its_value(pattern: str) -> None:
    query = parse(f"attribute:x =~ {pattern}")
    for value in ("a" * 128, "a" * 2000, "x" * 128 + "!"):
        assert evaluate(query, Host(attributes={"x": value + "!"})) is False


# As long as an expression may be, or as large as an automaton may grow, with most of it alive at every character.
LARGE = [
    "(.*)*" * 320,
    "(.*)*" * 400,
    ".?" * 499,
    "(.*g.*)*(.*5.*)*" * 60,
    "(" * 39 + "(.*)*" * 50 + ".?" * 200 + ")*" * 39,
    "^" + ".?" * 300 + "$",
    "(" + "|".join("[a-z]*\\d?" for _ in range(150)) + ")*",
    ".*" + "".join(f"(.*{each}.*)?" for each in "abcdefghijklmnopqrstuvwxyz0123456789.-" * 4),
]


@pytest.mark.parametrize("pattern", LARGE)
def test_a_large_pattern_is_asked_about_every_instance_type_in_no_time(pattern: str) -> None:
    names = [each.name for each in find()]
    answers: set[bool | None] = set()
    # It took over a hundred when every state was followed by itself.
    assert paces(lambda: answers.update(matches_whole(pattern, name) for name in names)) < 25
    assert answers <= {True, False} or answers == {None}


def test_an_empty_repetition_is_free_however_often_it_is_asked_for() -> None:
    assert matches_whole("(){2147483647}a", "a") is True
    assert matches_whole("((){2147483647}|b){3}a", "bba") is True
    assert matches_whole("(a{0}){2147483647}", "") is True


_SINGLE = st.sampled_from(["a", "b", "5", "-", "\\.", "\\-", "\\\\", ".", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S"])
_CLASS = st.sampled_from(["[ab]", "[^a]", "[a-c5]", "[^\\d]", "[\\w-]", "[.\\]]", "[-a]", "[^a-]", "[\\s\\S]", "[a^]"])
_REPEAT = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "{0}", "*?", "+?", "??", "{1,2}?"])
_PATTERNS = st.recursive(
    _SINGLE | _CLASS,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["(", "(?:"]), inner, st.just(")")).map("".join),
        st.tuples(st.sampled_from(["(", "(?:"]), inner, st.just(")"), _REPEAT).map("".join),
        st.tuples(_SINGLE | _CLASS, _REPEAT).map("".join),
        st.lists(inner | st.sampled_from(["^", "$", ""]), min_size=1, max_size=3).map("".join),
        st.lists(inner | st.just(""), min_size=2, max_size=3).map("|".join),
    ),
    max_leaves=6,
)


@given(_PATTERNS, st.lists(st.text(alphabet="ab5-.\\] \n_é", max_size=5), min_size=1, max_size=8))
def test_agrees_with_another_matcher(pattern: str, values: list[str]) -> None:
    compiled = re.compile(pattern, re.ASCII)
    for value in values:
        if "\n" in value and "$" in pattern:
            continue  # the two differ in what they take for the end of a line
        assert matches_whole(pattern, value) is (compiled.fullmatch(value) is not None), (pattern, value)


@given(st.text(alphabet="ab()[]{}*+?|^$.\\-,:<>=!&0123 QEdpx", max_size=25), st.text(alphabet="ab0", max_size=5))
def test_any_pattern_is_judged_refused_or_named_as_not_judged(pattern: str, value: str) -> None:
    if pattern_problem(pattern) is None:
        assert (matches_whole(pattern, value) is None) is (why_not_judged(pattern) is not None)
