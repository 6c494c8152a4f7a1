"""The error of a text that is not an expression."""

from __future__ import annotations

from gpu_constructs.errors import GpuConstructsError

__all__ = ["QuerySyntaxError"]

_EXCERPT = 50
"""Characters shown on each side of the column."""


class QuerySyntaxError(GpuConstructsError):
    """A text is not an expression of the cluster query language.

    Args:
        problem: What is wrong, in the user's words.
        expression: The whole text.
        column: Where, counted from 1; one past the end if something is missing there.
        expected: What may stand there instead.
        fix: The change that most likely does what the user meant.
    """

    def __init__(
        self, problem: str, *, expression: str, column: int, expected: str | None = None, fix: str | None = None
    ) -> None:
        self.expression = expression
        self.column = column
        self.expected = expected
        super().__init__(f"column {column}: {problem}", value=expression, allowed=expected, fix=fix)

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.excerpt}"

    @property
    def excerpt(self) -> str:
        """The part of the expression around the column, and under it a line with a caret."""
        at = self.column - 1
        start, end = max(0, at - _EXCERPT), at + _EXCERPT
        before, after = "..." if start else "", "..." if end < len(self.expression) else ""
        # A tab or a line break would move the caret away from its column.
        shown = "".join(each if each.isprintable() else " " for each in self.expression[start:end])
        return f"  {before}{shown}{after}\n  {' ' * (len(before) + at - start)}^"
