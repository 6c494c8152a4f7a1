"""How fast this machine is at this moment, as a measure for what must not take forever."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

__all__ = ["paces"]

_ROUNDS = 300_000  # some 10 ms on a machine of 2026 that does nothing else


def paces(work: Callable[[], object]) -> float:
    """CPU time that some work takes, in multiples of four runs of a fixed loop, which runs once, right after it.

    A busy machine slows both alike, so that a limit holds wherever the tests run.

    Args:
        work: What is measured.
    """
    gc.disable()  # a collection goes over everything that the tests before this one have loaded
    try:
        before = time.process_time()
        work()
        between = time.process_time()
        for _ in range(_ROUNDS):
            pass
        after = time.process_time()
    finally:
        gc.enable()
    return (between - before) / max(4 * (after - between), 1e-3)
