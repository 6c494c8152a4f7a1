"""A deadline for all calls of a command: an endpoint that hangs, or answers a byte a second, holds up no command."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Lock, Thread
from time import monotonic
from typing import TypeVar

from gpu_constructs.account.answers import UnansweredError
from gpu_constructs.facts.budget import WAITED

REACH = "check the name of the region, the network, the proxy, and whether AWS has the service there"
"""What to do where a service does not answer."""

_QUIET = 10.0
"""Seconds after which a call that has no answer is said."""

_Answer = TypeVar("_Answer")


def in_background(make: Callable[[], _Answer]) -> Future[_Answer]:
    """The answer of a thread that does not hold up the end of the program: Ctrl-C waits for no answer."""
    answer: Future[_Answer] = Future()

    def run() -> None:
        try:
            answer.set_result(make())
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is taken
            answer.set_exception(error)

    Thread(target=run, daemon=True).start()
    return answer


class Deadline:
    """The time that all calls of a command have together, from the first one on.

    `told` gets a word about each call that takes long; with None, nothing is said.
    """

    def __init__(self, seconds: float = WAITED, told: Callable[[str], None] | None = None) -> None:
        self._seconds = seconds
        self._told = told
        self._lock = Lock()
        self._ends: float | None = None

    def call(self, what: str, make: Callable[[], _Answer]) -> _Answer:
        """The answer of a call, or what it raises; what it answers after the deadline is dropped.

        Raises:
            UnansweredError: There was no answer in time.
        """
        if self._left() <= 0:
            raise UnansweredError(f"AWS was not asked {what}: {self._over}")
        # The time-outs of boto3 are those of one read; only a thread can be left behind in the middle of an answer.
        answer = in_background(make)
        if self._told is not None and not wait([answer], min(_QUIET, self._left())).done:
            self._told(f"waiting for {what}, for {self._left():.0f} seconds at most")
        if not wait([answer], max(0.0, self._left())).done:
            raise UnansweredError(f"AWS did not answer {what}: {self._over}", fix=REACH)
        return answer.result()

    @property
    def _over(self) -> str:
        return f"the {self._seconds:g} seconds of the command were over"

    def _left(self) -> float:
        with self._lock:
            if self._ends is None:
                self._ends = monotonic() + self._seconds
            return self._ends - monotonic()
