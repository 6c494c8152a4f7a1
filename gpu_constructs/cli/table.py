"""Rows as columns that stand under each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpu_constructs.cli.terminal import Line, clean, wrapped

__all__ = ["table"]


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, width: int, right: Sequence[str] = ()
) -> Iterator[Line]:
    """The lines of a table; the last column takes what room is left, on as many lines as it needs.

    Args:
        head: Titles of the columns.
        rows: A cell for each title.
        width: Columns of the whole line.
        right: Titles of the columns of numbers.
    """
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
