"""What an expression can ask about, with which operators, and what an argument of it can say.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html
"""

from __future__ import annotations

import datetime as dt
import re
import string
from enum import Enum

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.hardware.aws_limits import MAX_ATTRIBUTE_LENGTH
from gpu_constructs.values import dataclass

MAX_NESTING = 40
"""How deep expressions may nest: our own bound, ECS documents none."""
NAME_CHARACTERS = frozenset(string.ascii_letters + string.digits + "-_./\\")
"""Characters of an attribute's name.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html#attributes
"""
_COUNT = re.compile(r"[0-9]{1,9}")
_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,9}")
# The page's "valid date formats": 2018-06-18T22:28:28+00:00, 2018-06-18T22:28:28Z, 2018-06-18T22:28:28, 2018-06-18
# (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html).
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:Z|[+-][0-9]{2}:[0-9]{2})?)?")


class Operator(Enum):
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

    def __str__(self) -> str:
        return self.value

    @property
    def word(self) -> str:
        """The form in letters, such as ``not_equals``."""
        return self.name.lower()

    @property
    def is_order(self) -> bool:
        """Whether it asks for more or less."""
        return self.value[0] in "<>"


class Field(Enum):
    """A subject that ECS itself keeps about a container instance."""

    AGENT_CONNECTED = "agentConnected"
    AGENT_VERSION = "agentVersion"
    EC2_INSTANCE_ID = "ec2InstanceId"
    REGISTERED_AT = "registeredAt"
    RUNNING_TASKS_COUNT = "runningTasksCount"
    TASK_GROUP = "task:group"

    def __str__(self) -> str:
        return self.value


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

    Args:
        subject: An attribute, a field or the task group; for the first and the last the page lists none, so all pass.
    """
    return _DOCUMENTED.get(subject, _EVERY) if isinstance(subject, Field) else _EVERY


def is_date(argument: str) -> bool:
    """Whether an argument is a date in one of the four documented formats."""
    try:
        return bool(_DATE.fullmatch(argument)) and bool(dt.datetime.fromisoformat(argument.replace("Z", "+00:00")))
    except ValueError:
        return False


def count_of(argument: str) -> int | None:
    """Read a number of tasks; None if it is none."""
    return int(argument) if _COUNT.fullmatch(argument) else None


def version_of(argument: str) -> tuple[int, ...] | None:
    """Read a version of the agent; None if it is none."""
    return tuple(map(int, argument.split("."))) if _VERSION.fullmatch(argument) else None


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
