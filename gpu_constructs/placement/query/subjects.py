r"""What an expression can ask about, with which operators, and what an argument of it can say.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html

A pattern is judged where Java and Python read it alike, matched by Python's `re` in bounded time.
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

import datetime as dt
import re
import string
from functools import lru_cache

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.facts.aws_limits import MAX_ATTRIBUTE_LENGTH
from gpu_constructs.facts.values import Named, dataclass

MAX_NESTING = 40
"""How deep expressions may nest: our own bound, ECS documents none."""
NAME_CHARACTERS = frozenset(string.ascii_letters + string.digits + "-_./\\")
"""Characters of an attribute's name.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html#attributes
"""
_VERSION = r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,9}"
# The page's "valid date formats": 2018-06-18T22:28:28+00:00, 2018-06-18T22:28:28Z, 2018-06-18T22:28:28, 2018-06-18
# (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html).
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:Z|[+-][0-9]{2}:[0-9]{2})?)?"


class Operator(Named):
    """An operator; its value is the form that is printed, `word` the other one that ECS reads."""

    EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = ">"
    GREATER_THAN_EQUAL = ">="
    LESS_THAN = "<"
    LESS_THAN_EQUAL = "<="
    EXISTS = "exists"
    NOT_EXISTS = "!exists"
    IN = "in"
    NOT_IN = "!in"
    MATCHES = "=~"
    NOT_MATCHES = "!~"

    @property
    def word(self) -> str:
        """The form in letters, such as ``not_equals``."""
        return self.name.lower()

    @property
    def is_order(self) -> bool:
        """Whether it asks for more or less."""
        return self.value[0] in "<>"


class Field(Named):
    """A subject that ECS itself keeps about a container instance."""

    AGENT_CONNECTED = "agentConnected"
    AGENT_VERSION = "agentVersion"
    EC2_INSTANCE_ID = "ec2InstanceId"
    REGISTERED_AT = "registeredAt"
    RUNNING_TASKS_COUNT = "runningTasksCount"
    TASK_GROUP = "task:group"


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a container instance: one that ECS or its agent sets, or one of the user's own."""

    name: str

    def __post_init__(self) -> None:
        if not 1 <= len(self.name) <= MAX_ATTRIBUTE_LENGTH or not NAME_CHARACTERS.issuperset(self.name):
            raise InvalidValueError(
                f"{self.name!r} is not the name of an attribute",
                value=self.name,
                allowed=f"1 to {MAX_ATTRIBUTE_LENGTH} letters, digits, - _ . / \\",
            )

    def __str__(self) -> str:
        return f"attribute:{self.name}"


Subject = Attribute | Field
_EQUALITY = frozenset({Operator.EQUALS, Operator.NOT_EQUALS})
_ORDER = frozenset(each for each in Operator if each.is_order)
_LIST_AND_PATTERN = frozenset({Operator.IN, Operator.NOT_IN, Operator.MATCHES, Operator.NOT_MATCHES})
_EVERY = frozenset(Operator)
_DOCUMENTED = {
    Field.AGENT_CONNECTED: _EQUALITY | _LIST_AND_PATTERN,
    Field.AGENT_VERSION: _EQUALITY | _ORDER,
    Field.EC2_INSTANCE_ID: _EQUALITY | _LIST_AND_PATTERN,
    Field.REGISTERED_AT: _EQUALITY | _ORDER,
    Field.RUNNING_TASKS_COUNT: _EQUALITY | _ORDER,
}


def operators_of(subject: Subject) -> frozenset[Operator]:
    """The operators that a subject can be asked with: the page lists them for every field but the task group.

    For attributes and the task group the page lists none, so all pass.
    """
    return _DOCUMENTED.get(subject, _EVERY) if isinstance(subject, Field) else _EVERY


def is_date(argument: str) -> bool:
    """Whether an argument is a date in one of the four documented formats."""
    try:
        has_form = re.fullmatch(_DATE, argument) is not None
        return has_form and bool(dt.datetime.fromisoformat(argument.replace("Z", "+00:00")))
    except ValueError:
        return False


def count_of(argument: str) -> int | None:
    """Read a number of tasks; None if it is none."""
    return int(argument) if re.fullmatch(r"[0-9]{1,9}", argument) else None


def version_of(argument: str) -> tuple[int, ...] | None:
    """Read a version of the agent; None if it is none."""
    return tuple(map(int, argument.split("."))) if re.fullmatch(_VERSION, argument) else None


def text_problem(text: str) -> str | None:
    """What keeps a text from being written as an argument, in words; None if nothing does."""
    if not text:
        return "an argument has at least one character"
    odd = next((each for each in text if not each.isprintable()), None)
    if odd is not None:
        return f"the character {odd!r} cannot be written in an expression"
    if "'" in text and '"' in text:
        return "a text with both kinds of quotes cannot be written in an expression"
    return None


def argument_problem(subject: Subject, operator: Operator, argument: str) -> str | None:
    """What is wrong with an argument, in words; None if it can be compared with the subject."""
    problem = text_problem(argument)
    if problem is None and subject is Field.RUNNING_TASKS_COUNT and count_of(argument) is None:
        problem = f"`{argument}` is not a number of tasks"
    if problem is None and subject is Field.REGISTERED_AT and not is_date(argument):
        problem = f"`{argument}` is not a date such as 2018-06-18 or 2018-06-18T22:28:28Z"
    if problem is None and subject is Field.AGENT_VERSION and operator.is_order and version_of(argument) is None:
        problem = f"`{argument}` is not a version such as 1.14.5"
    return problem


_LEXEME = r"""(?x)
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
    """
_MOST_GROUPS = 40
_MOST_WAYS = 1 << 17
"""Ways to match one value, at most: two repetitions without end, and some alternatives. Each takes some 10 ns."""

_WITHOUT_END = MAX_ATTRIBUTE_LENGTH + 1


class MalformedPatternError(Exception):
    """Java does not read the pattern.

    Args:
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
    while found := re.compile(_LEXEME).match(pattern, at):
        part, repeat = found["part"], found["repeat"] or ""
        is_possessive = part == "+" and tokens and re.fullmatch(r"[*+?]|\{.*\}", tokens[-1][1])
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
