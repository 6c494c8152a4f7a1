"""What all stacks of one call share: what is odd about them, and how much may still be worked out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpu_constructs.budget import REMARKS, RESOURCES, TOTAL_TEXT, work
from gpu_constructs.fleet import Origin, Remark, RemarkKind
from gpu_constructs.template.evaluation.exports import Exports, Publisher


class Shared:
    """The state of one call.

    Attributes:
        stacks: All stacks, nested ones among them.
        exports: What they export.
        work: What may still be worked out, a step for each value.
        text: Characters that may still be put together.
        resources: Resources that may still be met.
        depth: How deep the working out is right now.
        is_complete: Whether nothing was met that lies outside of what was read.
    """

    def __init__(self) -> None:
        self.stacks: list[Publisher] = []
        self.exports = Exports(self.stacks)
        self.work = work()
        self.text = TOTAL_TEXT
        self.resources = RESOURCES
        self.depth = 0
        self.is_complete = True
        self._remarks: dict[Remark, None] = {}
        self._is_quiet = False

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What was odd, in the order in which it was met."""
        return tuple(self._remarks)

    def remark(self, kind: RemarkKind, text: str, origin: Origin) -> None:
        """Notes what is odd, unless enough is noted."""
        if self.takes_remarks:
            self._remarks[Remark(kind=kind, text=text, origin=origin)] = None

    @property
    def takes_remarks(self) -> bool:
        """Whether one more remark would be kept."""
        return not self._is_quiet and len(self._remarks) < REMARKS

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Takes no remarks: what is worked out later, or only to look at it, has been reported or is of no interest."""
        before, self._is_quiet = self._is_quiet, True
        try:
            yield
        finally:
            self._is_quiet = before
