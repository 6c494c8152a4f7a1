"""The one error of this room: a file that cannot be read at all."""

from __future__ import annotations

from gpu_constructs.errors import GpuConstructsError


class UnreadableError(GpuConstructsError):
    """A file is not a template, a cloud assembly or a task definition, or it is too much to read.

    Args:
        reason: What is wrong with it.
        file: The file as the user named it.
        line: Line where it goes wrong, from 1.
        column: Column there, from 1.
        allowed: What is read instead, in words.
        fix: The change that most likely does what the user meant.

    Attributes:
        read: Every file that was opened until then, this one among them.
    """

    def __init__(
        self,
        reason: str,
        *,
        file: str,
        line: int | None = None,
        column: int | None = None,
        allowed: str | None = None,
        fix: str | None = None,
    ) -> None:
        self.reason = reason
        self.file = file
        self.line = line
        self.column = column
        self.read: tuple[str, ...] = (file,)
        place = ":".join(str(each) for each in (file, line, column) if each is not None)
        super().__init__(f"{place}: {reason}", value=file, allowed=allowed, fix=fix)
