r"""Regular expressions: those that Java and Python read alike, matched by Python's `re` in bounded time.

"The matches and not_matches operators expect an argument that conforms to the Java regular expression syntax"
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html, which links
https://docs.oracle.com/javase/8/docs/api/java/util/regex/Pattern.html). Judged are characters, ``.``, classes, ``\d \w
\s``, repetitions of these, and groups of alternatives, as long as there are few ways to match a value; decision 8 says
why. Everything else is not judged, which is unknown and never an error. The parts that are judged were compared with
java.util.regex of OpenJDK 17.

A pattern has to match the whole value. The documentation does not say so; it says it by the names and the examples:
the operator is called ``matches``, as Java's ``String.matches`` is, which takes the whole text, and every pattern it
prints ends in ``.*`` (``g2.*``, ``t2.*``), which only a match of the whole value needs.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gpu_constructs.hardware.aws_limits import MAX_ATTRIBUTE_LENGTH

_TOKEN = re.compile(
    r"""
    (?P<part>
        \((?!\?) | \) | \|
      | [\^$] (?![*+?{])                      # Java repeats these, Python does not
      | \\[dDwWsS] | \\[^\w\s]
      | \[ (?!\^?\]) \^?                      # no sets of sets, no range to a set
           (?: (?!--|&&|~~|\|\|) (?: \\[dDwWsS](?!-[^\]]) | (?:\\[^\w\s]|[^\\\[\]]) (?!-\\) ) )* \]
      | \[ \^? \]? [^\\\[\]&~|-]* \Z | \\ \Z          # never closed: both refuse it
      | [^\\\[{()|^$]
    )
    (?P<repeat> (?: [*+?] | \{[0-9]{1,3}(?:,[0-9]{0,3})?\} ) \?? )?
    """,
    re.VERBOSE,
)
_GREEDY = re.compile(r"[*+?]|\{.*\}")
_MOST_GROUPS = 40
_MOST_WAYS = 1 << 17
"""Ways to match one value, at most: two repetitions without end, and some alternatives. Each takes some 10 ns."""

_WITHOUT_END = MAX_ATTRIBUTE_LENGTH + 1


class MalformedPatternError(Exception):
    """Java does not read the pattern.

    Args:
        problem: What is wrong, in words.
        position: Where, counted from 0.
    """

    def __init__(self, problem: str, position: int) -> None:
        self.problem = problem
        self.position = position
        super().__init__(problem)


@lru_cache(maxsize=1024)
def read_pattern(pattern: str) -> re.Pattern[str] | str:
    """Read a pattern.

    Returns:
        The same for Python; a text that says why it is not judged, if it is not.

    Raises:
        MalformedPatternError: If neither Java nor Python reads it.
    """
    tokens, end = _tokens(pattern)
    if end < len(pattern):
        return f"the pattern `{pattern}` is not judged: Java alone knows what `{pattern[end:][:20]}` means"
    if sum(part == "(" for part, _ in tokens) > _MOST_GROUPS:
        return f"the pattern `{pattern}` is not judged: it has more than {_MOST_GROUPS} groups"
    try:
        read = re.compile(pattern, re.ASCII)
    except re.error as error:
        raise MalformedPatternError(error.msg, error.pos or 0) from None
    if _ways(tokens) > _MOST_WAYS:
        return f"the pattern `{pattern}` is not judged: it can match a value in too many ways"
    return read


def matches_whole(pattern: re.Pattern[str], value: str) -> bool | None:
    """Whether a pattern matches a whole value; None for a value that no attribute of ECS has."""
    if len(value) > MAX_ATTRIBUTE_LENGTH or not value.isprintable():
        return None
    return pattern.fullmatch(value) is not None


def _tokens(pattern: str) -> tuple[list[tuple[str, str]], int]:
    """Parts with their repetitions, as far as the two languages are alike, and where that ends."""
    tokens: list[tuple[str, str]] = []
    at = 0
    while found := _TOKEN.match(pattern, at):
        part, repeat = found["part"], found["repeat"] or ""
        is_possessive = part == "+" and tokens and _GREEDY.fullmatch(tokens[-1][1])
        if is_possessive or (part == ")" and repeat not in {"", "?", "??"}) or (part in "(|" and repeat[:1] == "{"):
            break
        tokens.append((part, repeat))
        at = found.end()
    return tokens, at


def _ways(tokens: list[tuple[str, str]]) -> int:
    """Ways to match a value at most: those of alternatives together, of what follows each other times each other."""
    outer: list[tuple[int, int]] = []
    others, here = 0, 1
    for part, repeat in tokens:
        if part == "(":
            outer.append((others, here))
            others, here = 0, 1
        elif part == "|":
            others, here = others + here, 1
        elif part == ")":
            inside = others + here + bool(repeat)
            others, here = outer.pop()
            here *= inside
        else:
            here *= _lengths(repeat)
        here = min(here, _MOST_WAYS + 1)
    return others + here


def _lengths(repeat: str) -> int:
    least, comma, most = repeat.rstrip("?").strip("{}").partition(",")
    if repeat[:1] == "{":
        return 1 if not comma else int(most) - int(least) + 1 if most else _WITHOUT_END
    return {"": 1, "?": 2}.get(repeat[:1], _WITHOUT_END)
