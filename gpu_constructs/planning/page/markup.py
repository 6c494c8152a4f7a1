"""Text in a page: escaped, cut where it is too long, and free of characters that change the direction of others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from gpu_constructs.budget import DRAWN_ROWS, LABEL, MESSAGE, brief, clean

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
UNNAMED = "without a name"


def text(value: object, most: int = MESSAGE) -> str:
    """A text, for elements and for attributes."""
    return escape(clean(brief(str(value), most)))


def name(value: str, most: int = LABEL) -> str:
    """A name that users gave, whose direction of writing stays its own."""
    return f"<bdi>{text(value, most) or UNNAMED}</bdi>"


def hidden(value: str) -> str:
    """A text for screen readers alone."""
    return f'<span class="sr">{text(value)}</span>'


def items(lines: Iterable[str], style: str = "", most: int = DRAWN_ROWS) -> str:
    """Lines of markup as a list, cut where there are too many."""
    found: Sequence[str] = tuple(lines)
    more = [f"{len(found) - most:,} more"] if len(found) > most else []
    return f'<ul class="{style}">{"".join(f"<li>{each}</li>" for each in [*found[:most], *more])}</ul>' if found else ""


def table(
    style: str, caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, names: int = 0, numbers: str = ""
) -> str:
    """Rows of markup as a table.

    Args:
        style: Its class.
        caption: What it is of, in markup.
        head: The titles of the columns.
        rows: A cell of markup for each title.
        names: The column that names each row.
        numbers: Titles of the columns with numbers, with spaces between them.
    """
    styles = [' class="number"' if title and title in numbers.split() else "" for title in head]
    titles = "".join(
        f'<th scope="col"{style}>{title}</th>' if title else "<td></td>"
        for title, style in zip(head, styles, strict=True)
    )
    body = "".join(
        f"<tr>{''.join(_cell(cell, styles[place], is_name=place == names) for place, cell in enumerate(cells))}</tr>"
        for cells in rows
    )
    head_and_body = f"<thead><tr>{titles}</tr></thead><tbody>{body}</tbody>"
    return f'<table class="{style}"><caption>{caption}</caption>{head_and_body}</table>'


def _cell(cell: str, style: str, *, is_name: bool) -> str:
    return f'<th scope="row">{cell}</th>' if is_name else f"<td{style}>{cell}</td>"


def key_of(place: int) -> str:
    """The letters that stand for a task of a pool: A to Z, then AA, AB and so on."""
    letters = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, len(_LETTERS))
        letters = _LETTERS[letter] + letters
    return letters
