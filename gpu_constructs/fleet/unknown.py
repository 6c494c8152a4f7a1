"""A value that is only known at deploy time, and sums that may hold one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from gpu_constructs.facts.values import Named

RESOLVED_LATER: Final = re.compile(r"\{\{resolve:[^{}]*\}\}|dummy-value-for-\S*")
"""The parts of a text that stand for another text.

CloudFormation replaces a dynamic reference
(https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references.html) at every deploy. CDK writes the
other one until its command line has looked a parameter up (``valueFromLookup`` in aws-ssm/lib/parameter.ts).
"""

_STARTS = ("{{resolve:", "dummy-value-for-")


class Unknown(Named):
    """A value that only exists at deploy time, such as a CloudFormation parameter: it is never taken for a fit."""

    UNKNOWN = "unknown at synth"


UNKNOWN = Unknown.UNKNOWN


def is_resolved_later(text: str) -> bool:
    """Whether a text, or a part of it, stands for another text that is only known at deploy time."""
    return _STARTS[0] in text or _STARTS[1] in text


def total(values: Iterable[int | Unknown]) -> int | Unknown:
    """The sum; unknown if a summand is."""
    result = 0
    for value in values:
        if isinstance(value, Unknown):
            return UNKNOWN
        result += value
    return result


def all_of(answers: Iterable[bool | Unknown]) -> bool | Unknown:
    """No where one answer is no, yes where all are yes, else not known."""
    found = tuple(answers)
    if any(each is False for each in found):
        return False
    return UNKNOWN if any(isinstance(each, Unknown) for each in found) else True


def known(value: int | Unknown, otherwise: int = 0) -> int:
    """The value where it is known, and what stands for it where it is not."""
    return otherwise if isinstance(value, Unknown) else value
