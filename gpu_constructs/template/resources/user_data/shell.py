"""A shell script as its commands: words, what they stand behind, and the files that they write to.

Nothing is executed and nothing is expanded. Each character is looked at once, so that no script can stall a reader;
what is not closed goes to the end of the script. Grammar:
https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Command", "commands_of"]

_SPACE = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_HERE = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([A-Za-z0-9_.@!-]+))")
_REDIRECT = re.compile(r"(?:[0-9]{1,3}(?=[<>]))?(?:<<<|&>>|&>|>>|>\||[<>]&|<>|<|>)")
_OPERATOR = re.compile(r"&&|\|\||;;&?|;&|;|\|&|\||&|\(|\)|\n")
_PIECE = re.compile(r"[^\s;&|<>()'\"\\`$]+|'[^']*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|\\.|`[^`]*`|\$(?![(])", re.DOTALL)
_BRACKET = re.compile(r"[()]")
_OUT = frozenset({">", ">>", ">|", "&>", "&>>"})


@dataclass(slots=True)
class Command:
    """One simple command, with the brackets that stand before it; ``(`` ends a command, and ``)`` begins one.

    Attributes:
        before: The operator that it stands behind: ``&&``, ``|``, ``;``, a newline; empty for the first.
        words: Its words with their quotes.
        writes: Files that it writes to, with the operator.
        reads: Files that it reads from.
        documents: Lines of its here-documents.
        is_open: Whether a quote or a bracket of it is never closed.
    """

    before: str = ""
    words: list[str] = field(default_factory=list)
    writes: list[tuple[str, str]] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    documents: list[tuple[str, ...]] = field(default_factory=list)
    is_open: bool = False


def commands_of(text: str) -> Iterator[Command]:
    """The commands of a script in order.

    Args:
        text: The script.
    """
    position, depth, here = 0, 0, Command()
    waiting: list[tuple[Command, re.Match[str]]] = []
    while position < len(text):
        skipped = _SPACE.match(text, position) or _COMMENT.match(text, position)
        document = None if text.startswith("<<<", position) else _HERE.match(text, position)
        redirect = _REDIRECT.match(text, position)
        operator = _OPERATOR.match(text, position)
        if skipped:
            position = skipped.end()
        elif document:
            waiting.append((here, document))
            position = document.end()
        elif redirect:
            position = _redirected(here, redirect, text)
        elif operator:
            position = operator.end()
            if operator[0] == "\n":
                position = _read_documents(waiting, text, position)
            if operator[0] == "(":
                depth += 1
                here.words.append("(")
            # What stands before a bracket that nothing opened is a pattern of "case".
            if operator[0] != ")" or depth > 0:
                yield here
            here = Command(before=operator[0])
            if operator[0] == ")" and depth > 0:
                depth -= 1
                here.words.append(")")
        else:
            word, position, is_open = _word(text, position)
            here.words.append(word)
            here.is_open |= is_open
    yield here


def _redirected(command: Command, redirect: re.Match[str], text: str) -> int:
    """Adds a redirection to its command; where it ends."""
    target, position, is_open = _word(text, _skip(text, redirect.end()))
    command.is_open |= is_open
    operator = redirect[0].lstrip("0123456789")
    if operator in _OUT and not redirect[0].startswith("2"):
        command.writes.append((operator, target))
    elif operator in {"<", "<>"}:
        command.reads.append(target)
    return position


def _read_documents(waiting: list[tuple[Command, re.Match[str]]], text: str, position: int) -> int:
    """Gives commands of a line their here-documents, which follow it; where those end."""
    for command, found in waiting:
        mark = next(each for each in found.groups()[1:] if each is not None)
        lines, position = _document(text, position, mark, strips=bool(found[1]))
        command.documents.append(lines)
    waiting.clear()
    return position


def _skip(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _word(text: str, position: int) -> tuple[str, int, bool]:
    """A word, where it ends, and whether it is never closed."""
    start = position
    while position < len(text):
        if text.startswith("$(", position):
            closed = _closed(text, position + 1)
            if closed is None:
                return text[start:], len(text), True
            position = closed
            continue
        piece = _PIECE.match(text, position)
        if piece is None:
            if text[position] in "'\"`\\":
                return text[start:], len(text), True
            break
        position = piece.end()
    return text[start:position], position, False


def _closed(text: str, position: int) -> int | None:
    """Where the bracket that opens here is closed."""
    depth = 0
    for found in _BRACKET.finditer(text, position):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return found.end()
    return None


def _document(text: str, position: int, mark: str, *, strips: bool) -> tuple[tuple[str, ...], int]:
    lines: list[str] = []
    while position < len(text):
        newline = text.find("\n", position)
        stop = len(text) if newline < 0 else newline
        line = text[position:stop].rstrip("\r")
        position = stop + 1
        if (line.lstrip("\t") if strips else line) == mark:
            break
        lines.append(line)
    return tuple(lines), min(position, len(text))
