"""Is the time limit of a training over before the Capacity Block of its hosts is?"""

from __future__ import annotations

from datetime import datetime, timedelta

from gpu_constructs.cdk.durations import in_words
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet import Block, Unknown

# As `capacity.capacity_block` writes times.
_FORM = "%Y-%m-%dT%H:%M:%SZ"


def require_time(name: str, block: Block | None, seconds: int | Unknown) -> None:
    """Refuses a time limit that is longer than a Capacity Block is there.

    Args:
        name: What the hosts are called.
        block: When they are there; None where they are in no Capacity Block.
        seconds: The time limit of an attempt.

    Raises:
        IncompatibleError: The block ends before an attempt that starts with it has to.
    """
    starts, ends = (None, None) if block is None else (_time(block.starts), _time(block.ends))
    if starts is None or ends is None or isinstance(seconds, Unknown):
        return
    there = int((ends - starts).total_seconds())
    if seconds > there:
        raise IncompatibleError(
            f"an attempt may take {seconds // 60} minutes, and the Capacity Block of {name} is there for {there // 60}",
            argument="timeout",
            value=seconds,
            allowed=f"up to {there} seconds",
            fix=f"timeout=cdk.Duration.minutes({there // 60}), and checkpoints",
        )


def latest_start(block: Block | None, seconds: int) -> str | None:
    """What is lost of an attempt that starts late in a Capacity Block, in words; None without a known end.

    Args:
        block: When its hosts are there; None where they are in no Capacity Block.
        seconds: The time limit of an attempt.
    """
    ends = None if block is None else _time(block.ends)
    if block is None or ends is None or _time(block.starts) is not None:
        return None
    last = ends - timedelta(seconds=seconds)
    return (
        f"an attempt may take {in_words(seconds)}, and its hosts leave with their Capacity Block at {block.ends}: one "
        f"that starts after {last.strftime(_FORM)} may not end"
    )


def _time(written: str | Unknown | None) -> datetime | None:
    try:
        return datetime.strptime(written, _FORM) if isinstance(written, str) else None  # noqa: DTZ007 - all are UTC
    except ValueError:  # before the year 1000
        return None
