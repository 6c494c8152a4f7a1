"""How much is read, followed and quoted at most, so that no input can stall a reader or fill a report.

Every limit is far above what AWS takes (1 MB a template, 500 resources, 200 parameters:
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html) and low enough that
reading and judging 20 MiB of any input takes less than a minute and 1 GiB. What is beyond a limit is refused, or it is
unknown and remarked. Limits of AWS itself are facts and stand elsewhere in ``facts`` or in a rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# -- size: what is opened and parsed -----------------------------------------------------------------------------------

BYTES = 20 * 1024 * 1024
"""Bytes of one file."""

TOTAL_BYTES = 200 * 1024 * 1024
"""Bytes of all files of one call."""

WALKED = 200_000
"""Files below one directory that are looked at."""

SNIFFED = 1024 * 1024
"""Bytes in which a file shows what it is: the size of a template for CloudFormation."""

JSON_MARKS = 2_000_000
"""Commas and opening brackets of a JSON text, which has no more values than these."""

YAML_NODES = 500_000
"""Nodes of a YAML text once every alias is written out, and of a template that somebody else has parsed."""

YAML_DIRECTIVES = 100
"""Lines of a YAML text that begin with ``%``, as directives do: libyaml compares each ``%TAG`` with all before it."""

USER_DATA = 64 * 1024
"""Characters of user data. EC2 takes 16 KB."""

DIGITS = 40
"""Digits of a number; a longer one stays a text. Python refuses to read one of more than 4300."""

# -- depth: Python's stack ---------------------------------------------------------------------------------------------

DEPTH = 100
"""Lists and objects inside each other, commands of a script, parts of a message."""

EVALUATION_DEPTH = 120
"""Lists, objects, functions and what they refer to, inside each other."""

ASSEMBLY_DEPTH = 10
"""Assemblies, or nested stacks, inside each other."""

# -- work: what a short text can multiply ------------------------------------------------------------------------------

STEPS = 3_000_000
"""Steps of one call, see `Work`: seconds, where a call has nothing large to read."""

STEPS_OF_BYTE = 1
"""Steps that each byte of its files adds: 20 MiB make 21 million."""

TEXT = 2_000_000
"""Characters of a text that a function puts together."""

TOTAL_TEXT = 50_000_000
"""Characters of all texts that functions put together in one call."""

STACKS = 1_000
"""Stacks of one call, nested ones among them."""

RESOURCES = 60_000
"""Resources of one call, those of all stacks together."""

HOSTS = 999_999
"""Hosts of one type that a user describes; a cluster has no million."""

DESCRIBED = 5_000
"""Hosts that a user describes: their types, once for each cluster whose hosts no file defines."""

ENTRIES = 400
"""Entries of one list that are compared with every instance type. EC2 takes 400 instance types."""

SEARCHED = 1_000
"""Places in which something is looked for that may be anywhere, such as a reference in an object."""

FOLLOWED = 20
"""References of one resource that are followed to see what is behind them."""

FOUND = 10_000
"""Findings of one rule; a reader has enough of them long before."""

READINGS = 100
"""Other values of parameters that are tried, all parameters together: each is a reading of everything."""

WAITED = 120
"""Seconds that all calls to AWS of one command have together; the five tries of a call that hangs take 100."""

# -- words: what is looked up and quoted -------------------------------------------------------------------------------

NAME = 64
"""Characters of a name that is compared with every name of a table. The longest name there has half as many."""

LABEL = 255
"""Characters of what users call their own things. ECS takes 255."""

MESSAGE = 2_000
"""Characters of one message."""

REMARKS = 200
"""Remarks of one call; what is odd in more places is not explained any better by more of them."""


class Work:
    """What one call may still do, in steps of about a microsecond that are counted where the work is done.

    What short files can multiply draws on it: values that are worked out, fixes and values of parameters that are
    tried, pairs that are compared. Who asks for more than is left does without it, and what was not judged is said.
    """

    __slots__ = ("left",)

    def __init__(self, steps: int = STEPS) -> None:
        self.left = steps

    def takes(self, steps: int) -> bool:
        """Takes steps if there are as many; whether it did."""
        if steps > self.left:
            return False
        self.left -= steps
        return True

    def spend(self, steps: int) -> bool:
        """Takes steps that were needed in any case, and nothing is left where there were fewer; whether there were."""
        self.left -= steps
        if self.left >= 0:
            return True
        self.left = 0
        return False


_OF_THE_CALL: ContextVar[Work] = ContextVar("work of the call")


def work() -> Work:
    """What the call that is running may still do; outside of one, as much as one may."""
    return _OF_THE_CALL.get(None) or Work()


@contextmanager
def one_call(steps: int | None = None) -> Iterator[Work]:
    """Counts all work in this context together: by default up to what is left of the call around it, or `STEPS`."""
    around = _OF_THE_CALL.get(None)
    if steps is None and around is not None:
        yield around
        return
    token = _OF_THE_CALL.set(Work(STEPS if steps is None else steps))
    try:
        yield _OF_THE_CALL.get()
    finally:
        _OF_THE_CALL.reset(token)
