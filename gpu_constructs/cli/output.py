"""How a report gets to a reader: in which form and file, and on a terminal as wide as that is and in its colours."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TextIO, cast

from gpu_constructs.errors import brief, clean
from gpu_constructs.facts.budget import MESSAGE

Line = Sequence[tuple[str, str]]
"""Pieces of text with their styles; an empty style is plain."""

_WIDE = 100
_NARROW = 40
_GOES_ON = " \\"
_QUOTED, _HELD = re.compile(r"""'[^']*'|"[^"]*\""""), "\N{SYMBOL FOR SPACE}"
# Select Graphic Rendition of ECMA-48: bold red, yellow, cyan, green, bold and dim.
_STYLES = {"error": "1;31", "warning": "33", "info": "36", "good": "32", "title": "1", "aside": "2"}


def show(lines: Iterable[Line], stream: TextIO) -> None:
    """Writes lines: in colours where the stream is a terminal that wants some."""
    write = _coloured if _wants_colour(stream) else unstyled
    stream.writelines(f"{write(line)}\n" for line in lines)


def _coloured(line: Line) -> str:
    styled = ((clean(piece), _STYLES.get(style)) for piece, style in line)
    return "".join(piece if code is None else f"\x1b[{code}m{piece}\x1b[0m" for piece, code in styled)


def unstyled(line: Line) -> str:
    """A line without its styles."""
    return clean("".join(piece for piece, _ in line))


def width_of(stream: TextIO) -> int:
    """Columns to fill: those of the terminal or of ``COLUMNS``, else 100."""
    is_wide = not stream.isatty() and not os.environ.get("COLUMNS")
    return _WIDE if is_wide else max(_NARROW, columns(_WIDE))


def columns(otherwise: int) -> int:
    """Columns of ``COLUMNS``, or of the terminal of this process; what Python has for it loads compression."""
    with suppress(ValueError):
        if (written := int(os.environ.get("COLUMNS", ""))) > 0:
            return written
    with suppress(AttributeError, ValueError, OSError):
        return os.get_terminal_size(cast("TextIO", sys.__stdout__).fileno()).columns or otherwise
    return otherwise


def wrapped(text: str, *, width: int, indent: int) -> Iterator[str]:
    """A text as lines that leave room for an indent, without the indent."""
    room = max(_NARROW // 2, width - indent)
    shown = clean(text).rstrip()
    if len(shown) <= room:  # most texts, and wrapping is slow
        return iter([shown])
    import textwrap  # noqa: PLC0415 - for long texts alone

    return iter(textwrap.wrap(shown, room, break_long_words=False, break_on_hyphens=False))


def headed(line: Line, *, width: int) -> Iterator[Line]:
    """A heading; each piece of one that is too wide is on lines of its own."""
    if sum(len(clean(piece)) for piece, _ in line) <= width:
        yield line
        return
    for number, (piece, style) in enumerate(line):
        indent = 2 if number else 0
        for part in wrapped(piece.strip(" ,"), width=width, indent=indent):
            if part:
                yield [(f"{' ' * indent}{part}", style)]


def pieces(start: str, text: str, width: int, *, style: str = "", mark: str = "") -> Iterator[Line]:
    """A text on as many lines as it needs, under its own beginning; empty where there is none."""
    return hanging([(start, mark)], text, width, style=style)


def fix_lines(indent: int, fix: str, width: int) -> Iterator[Line]:
    """What to do, behind a label; a command that goes on in the next line can still be pasted."""
    return hanging([(f"{' ' * indent}fix: ", "good")], fix, width, wrap=wrapped_fix)


def hanging(
    head: Line, text: str, width: int, *, style: str = "", wrap: Callable[..., Iterator[str]] | None = None
) -> Iterator[Line]:
    """A text behind what stands before its first line; empty where there is none."""
    indent, (_, mark) = sum(len(piece) for piece, _ in head), head[0]
    for place, part in enumerate((wrap or wrapped)(text, width=width, indent=indent) if text else ()):
        yield [*([(" " * indent, mark)] if place else head), (part, style)]


def wrapped_fix(text: str, *, width: int, indent: int) -> Iterator[str]:
    """What to do as lines without their indent; a command that goes on in the next line can still be pasted."""
    if not text.startswith(("aws ", "gpu-constructs why ")):
        yield from wrapped(text, width=width, indent=indent)
        return
    held = _QUOTED.sub(lambda found: found[0].replace(" ", _HELD), text)
    *lines, last = (each.replace(_HELD, " ") for each in wrapped(held, width=width - len(_GOES_ON), indent=indent))
    yield from (f"{each}{_GOES_ON}" for each in lines)
    yield last


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, width: int, right: Sequence[str] = ()
) -> Iterator[Line]:
    """The lines of a table; the last column takes what room is left, on as many lines as it needs."""
    cells = [[clean(cell) for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in [list(head), *cells]) for index in range(len(head))]
    indent = sum(widths[:-1]) + 2 * (len(head) - 1)
    is_right = [title in right for title in head]
    for number, row in enumerate([list(head), *cells]):
        *before, last = row
        start = "".join(
            f"{cell:>{size}}  " if numeric else f"{cell:<{size}}  "
            for cell, size, numeric in zip(before, widths, is_right, strict=False)
        )
        style = "" if number else "title"
        if is_right[-1]:
            yield [(f"{start}{last:>{widths[-1]}}".rstrip(), style)]
            continue
        for index, part in enumerate(wrapped(last, width=width, indent=indent)):
            yield [(f"{' ' * indent if index else start}{part}".rstrip(), style)]


def _wants_colour(stream: TextIO) -> bool:
    # https://no-color.org and https://force-color.org: any value that is not empty
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def write_report(
    arguments: argparse.Namespace, facts: Callable[[], object], lines: Callable[[int], Iterable[Line]]
) -> None:
    """Writes what was found to stdout in the form that was asked for: as JSON, or as lines of a width."""
    if arguments.format == "json":
        sys.stdout.write(json_text(facts()))
    else:
        show(lines(width_of(sys.stdout)), sys.stdout)


def json_text(facts: object) -> str:
    """Facts as JSON, for people to look at as well."""
    return f"{json.dumps(facts, indent=2)}\n"


def say(text: str) -> None:
    """Writes a message to stderr; if stderr is closed, the exit code alone reports it."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"gpu-constructs: {clean(brief(text, MESSAGE))}\n")
