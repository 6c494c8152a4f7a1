"""Which files are slow to check that repeat one thing many times? ``python -m bench.repeated --bytes 100000``.

Of every kind of place in the templates of this repository, see `odd_values`: a list is repeated, as it is and with
another name or another number in each item; an object gets more keys; a text gets long. Each file is checked in this
process, which is stopped after a while: what takes longer, or ends with an exception, is printed.

The promise is 5 seconds of a core for 100 KB and 60 for 20 MiB; one of 20 MiB for each place takes days, so ask for
`--only` some places there.
"""

from __future__ import annotations

import argparse
import gc
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator

from bench.odd_values import Template, kind_of_place, places, put, templates
from gpu_constructs.check.report import check_files
from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.template.documents.node import Node

__all__ = ["main", "repeated"]

_NAMES = frozenset({"ContainerName", "DeviceName", "Id", "InstanceType", "Key", "Label", "Name", "Sid", "SourceVolume"})
_ENDS = ("", ",", "\n", " ", "(", "${A}$", '[{"a":')


class _StoppedError(BaseException):
    """The time of one file is over; not an `Exception`, which somebody might take for one of theirs."""


def repeated(node: Node, size: int) -> Iterator[tuple[str, Callable[[], Node]]]:
    """Ways to make what is at one place as large as a file, each with its name.

    Args:
        node: What is there.
        size: Bytes as JSON.
    """
    if isinstance(node, list) and node:
        yield "same items", lambda: _grown(node, size, lambda item, _: item)
        yield "items of other names", lambda: _grown(node, size, lambda item, number: _numbered(item, number, _NAMES))
        yield "other items", lambda: _grown(node, size, _numbered)
    elif isinstance(node, dict) and node and not _is_function(node):
        yield "same keys", lambda: _more_keys(node, _grown([*node.values()], size, lambda item, _: item))
        yield "other keys", lambda: _more_keys(node, _grown([*node.values()], size, _numbered))
    elif isinstance(node, str):
        for end in _ENDS:
            piece = f"{node}{end}" or "x"
            yield f"long text of {end!r}", lambda piece=piece: (piece * (size // len(piece) + 1))[:size]  # type: ignore[misc]


def _grown(items: list[Node], size: int, made: Callable[[Node, int], Node]) -> list[Node]:
    found: list[Node] = []
    number, left = 0, size
    while left > 0:
        found.append(made(items[number % len(items)], number))
        left -= len(json.dumps(found[-1])) + 2
        number += 1
    return found


def _more_keys(node: dict[str, Node], values: list[Node]) -> dict[str, Node]:
    keys = [*node]
    return {**node, **{f"{keys[number % len(keys)]}{number}": each for number, each in enumerate(values)}}


def _numbered(node: Node, number: int, only: frozenset[str] | None = None, key: str = "") -> Node:
    """The same with a number in each text and added to each number, or only below some keys."""
    if isinstance(node, dict):
        if _is_function(node):
            return node
        return {name: _numbered(each, number, only, name) for name, each in node.items()}
    if isinstance(node, list):
        return [_numbered(each, number, only, key) for each in node]
    if isinstance(node, (bool, float)) or node is None or (only is not None and key not in only):
        return node
    return f"{node}{number}" if isinstance(node, str) else node + number


def _is_function(node: dict[str, Node]) -> bool:
    return len(node) == 1 and next(iter(node)).startswith(("Ref", "Fn::"))


def main() -> int:
    """Checks the files, and prints those that are slow.

    Returns:
        1 if there was one.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=100_000, help="of each file (default: 100000)")
    parser.add_argument("--seconds", type=float, default=5.0, help="of a core for one file (default: 5)")
    parser.add_argument("--only", default="", metavar="KEY", help="places whose last key is this one")
    asked = parser.parse_args()
    signal.signal(signal.SIGVTALRM, _stop)
    tried, slow, slowest = 0, 0, 0.0
    for name, place, kind, template in _files(asked.bytes, asked.only):
        seconds, problem = _checked(json.dumps(template).encode(), asked.seconds)
        tried, slowest = tried + 1, max(slowest, seconds)
        if problem:
            slow += 1
            sys.stdout.write(f"{seconds:.1f} s, {problem}: {kind} at {place} of {name}\n")
    sys.stdout.write(f"{tried} files, {slow} of them slow; the slowest took {slowest:.1f} s\n")
    return int(slow > 0)


def _files(size: int, only: str) -> Iterator[tuple[str, tuple[str | int, ...], str, Node]]:
    seen = set[tuple[tuple[str, ...], str]]()
    for name, template in templates():
        for place, node in places(template):
            for kind, made in repeated(node, size) if not only or str(place[-1]) == only else ():
                if (key := (_kind_of(template, place), kind)) not in seen:
                    seen.add(key)
                    yield name, place, kind, put(template, place, made())


def _kind_of(template: Template, place: tuple[str | int, ...]) -> tuple[str, ...]:
    return kind_of_place(template, place) if len(place) > 1 else ("", str(place[0]))


def _checked(data: bytes, seconds: float) -> tuple[float, str]:
    """How long the check of a file took, and what was wrong with that."""
    gc.collect()
    problem, started = "", time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        check_files(["-"], stdin=data)
    except _StoppedError:
        problem = "slow"
    except GpuConstructsError:
        pass
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        problem = f"{type(error).__name__} {error}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - started, problem


def _stop(*_: object) -> None:
    raise _StoppedError


if __name__ == "__main__":
    raise SystemExit(main())
