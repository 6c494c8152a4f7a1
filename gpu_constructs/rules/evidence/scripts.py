"""Lines of a shell script: which of them are commands, and does every host certainly come to them?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_HERE_DOCUMENT = re.compile(r"<<-?[ \t]*[\"']?(\w+)")
_OPENS = re.compile(r"^\s*(?:if|for|while|until|case|select)\b|[{(]\s*$")
_CLOSES = re.compile(r"(?:^|;)\s*(?:fi|done|esac)\b|^\s*[})]")
_EXIT = re.compile(r"exit\b[ \t\d]*(?:#.*)?")
_STOPS_AT_ERRORS = re.compile(r"#!\S*sh[ \t]+-[a-df-z]*e|set[ \t]+(?:-[a-df-z]*e|-o[ \t]+errexit)")
_GOES_ON = ("\\", "&&", "||", "|")


class Command(NamedTuple):
    """A line that the shell runs.

    Attributes:
        line: The line, as it is written.
        at: Where it begins in the script.
        is_certain: Whether every host comes to it, because it is in no branch, function or text.
        ends_script: Whether the script ends if it fails.
    """

    line: str
    at: int
    is_certain: bool
    ends_script: bool


def commands(script: str) -> Iterator[Command]:
    """The commands of a script up to its end, each character looked at once."""
    depth, at, end = 0, 0, ""
    quoted = goes_on = stops = False
    for line in script.splitlines(keepends=True):
        written, start, at = line.rstrip(), at, at + len(line)
        if end:
            end = "" if written.strip() == end else end
            continue
        stops = stops or (not depth and _STOPS_AT_ERRORS.match(written) is not None)
        if not written or written.lstrip().startswith("#"):
            continue
        here = _HERE_DOCUMENT.search(written)
        end = here[1] if here and "<<<" not in written else ""
        depth = max(0, depth - len(_CLOSES.findall(written)) + len(_OPENS.findall(written)))
        is_certain = not (depth or quoted or goes_on or line[0].isspace())
        if is_certain and _EXIT.fullmatch(written):
            return
        yield Command(written, start, is_certain, stops and is_certain)
        quoted, goes_on = quoted != written.count("'") % 2, written.endswith(_GOES_ON)
