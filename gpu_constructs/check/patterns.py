"""Patterns as in a ``.gitignore``: which files below a directory they mean.

https://git-scm.com/docs/gitignore
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate

_ANY_STEPS = None  # `**` between slashes: any number of directories, none among them
_Rule = tuple[Sequence["re.Pattern[str] | None"], bool, bool]


class Patterns:
    """Lines of patterns, of which the last that fits decides.

    Args:
        lines: What is written; comments and blank lines mean nothing.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._rules = [rule for line in lines if (rule := _rule(line)) is not None]

    def decides(self, path: str, *, is_folder: bool) -> bool | None:
        """Whether a path from the directory of the patterns is meant, by the last that fits it; None if none does."""
        steps = path.split("/")
        for wanted, only_folders, means in reversed(self._rules):
            if (is_folder or not only_folders) and _fits(wanted, steps):
                return means
        return None

    def means(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether a path is meant, or a directory that it is in."""
        steps = path.split("/")
        above = any(self.decides("/".join(steps[:end]), is_folder=True) for end in range(1, len(steps)))
        return above or bool(self.decides(path, is_folder=is_folder))


def _rule(line: str) -> _Rule | None:
    """The steps of a pattern, whether it means directories alone, and whether it means or excepts what fits."""
    text = re.sub(r"(?<!\\) +$", "", line.rstrip("\r\n"))
    if not text or text.startswith("#"):
        return None
    means = not text.startswith("!")
    text = text if means else text[1:]
    only_folders = text.endswith("/")
    text = text[:-1] if only_folders else text
    *before, last = text.removeprefix("/").split("/")
    is_anchored = bool(before) or text.startswith("/")
    wanted = [_ANY_STEPS if step == "**" else _step(step) for step in before]
    end = [_step("*"), _ANY_STEPS] if last == "**" and is_anchored else [_step(last)]
    return ([*wanted, *end] if is_anchored else [_ANY_STEPS, *end]), only_folders, means


def _step(text: str) -> re.Pattern[str]:
    """One step, in Python's patterns of file names, which know no backslash and another sign for what is not meant."""
    named = re.sub(r"\\(.)", lambda found: found[1] if found[1] not in "*?[" else f"[{found[1]}]", text)
    return re.compile(translate(named.replace("[^", "[!")))


def _fits(wanted: Sequence[re.Pattern[str] | None], steps: Sequence[str]) -> bool:
    """Whether steps fit; each is compared with each part of the pattern once at most."""
    first, *others = wanted
    if first is _ANY_STEPS and len(others) == 1 and others[0] is not None:  # as most are
        return others[0].match(steps[-1]) is not None
    at = set(_reached(wanted, 0))
    for step in steps:
        at = {
            after
            for place in at
            if place < len(wanted)
            for part in [wanted[place]]
            if part is _ANY_STEPS or part.match(step)
            for after in _reached(wanted, place if part is _ANY_STEPS else place + 1)
        }
    return len(wanted) in at


def _reached(wanted: Sequence[re.Pattern[str] | None], place: int) -> Iterator[int]:
    """A place in a pattern, and those behind it that no step is needed for."""
    yield place
    while place < len(wanted) and wanted[place] is _ANY_STEPS:
        place += 1
        yield place
