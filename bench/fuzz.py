"""Do the two readers of foreign text keep their word on whatever they are given?

``python -m bench.fuzz --runs 10000`` throws texts at the parser of placement expressions and at the reader of
templates: with hypothesis from strategies that know the words of both, and with atheris, where it is installed, guided
by which lines a text reaches. A reader may refuse a text with one of this library's own errors; what it takes must come
out the same when it is written and read again (expressions), or be put to every rule without an exception (templates).

After the texts come values: one of another kind at each place of every template that this repository has, see
`odd_values`. Places are alike by the type of their resource and the keys; ``--each 1000`` tries every one.

atheris is no dependency of this project: ``pip install atheris`` brings it for CPython 3.10 to 3.13 on Linux. What it
finds lands in ``crash-*`` in the working directory, and ``--replay FILE --target NAME`` reads that once more.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rich.console import Console

from bench import odd_values
from bench.fuzz_texts import QUERY_SEEDS, QUERY_TEXTS, TEMPLATE_SEEDS, TEMPLATE_TEXTS
from gpu_constructs.check.report import check_files
from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.placement.query.ast import describe, render
from gpu_constructs.placement.query.parser import parse

__all__ = ["TARGETS", "Tally", "Target", "main", "tried"]

SLOWEST = 5.0
"""Seconds that one text may take; more is a failure, since a reader has to be bounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Something that reads foreign text.

    Attributes:
        read: Reads one; raises this library's errors where it refuses it and anything else where it is wrong.
        texts: Texts that get past the first check.
        seeds: What atheris starts from.
    """

    read: Callable[[str], None]
    texts: st.SearchStrategy[str]
    seeds: tuple[str, ...]


@dataclass(slots=True)
class Tally:
    """What was tried.

    Attributes:
        inputs: Texts.
        accepted: Those that were not refused.
        slowest: Seconds of the one that took longest.
    """

    inputs: int = 0
    accepted: int = 0
    slowest: float = field(default=0.0, compare=False)


def tried(target: Target, text: str, tally: Tally) -> None:
    """Tries one text.

    Args:
        target: What reads it.
        text: What to read.
        tally: Where to count it.

    Raises:
        AssertionError: It took too long, or came out otherwise than it went in.
    """
    started = perf_counter()
    try:
        target.read(text)
    except GpuConstructsError:
        pass
    else:
        tally.accepted += 1
    tally.inputs += 1
    took = perf_counter() - started
    tally.slowest = max(tally.slowest, took)
    if took > SLOWEST:
        raise AssertionError(f"{took:.1f} s for {len(text)} characters")


def _read_query(text: str) -> None:
    query = parse(text)
    written = render(query)
    if parse(written) != query:
        raise AssertionError(f"{text!r} is written as {written!r}, which is read as something else")
    describe(query)


def _read_template(text: str) -> None:
    check_files(["-"], stdin=text.encode(errors="surrogatepass"))


# Only what is imported within the block is guided by.
_GUIDED = """\
import atheris
with atheris.instrument_imports(include=["gpu_constructs"]):
    from bench.fuzz import main
main()
"""


TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        "query": Target(read=_read_query, texts=QUERY_TEXTS, seeds=QUERY_SEEDS),
        "template": Target(read=_read_template, texts=TEMPLATE_TEXTS, seeds=TEMPLATE_SEEDS),
    }
)
"""What is fuzzed, by name."""


def main(arguments: list[str] | None = None) -> None:
    """Tries as many texts as it is told to, and prints how many that were."""
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="texts for each target and tool (default: 2000)")
    parser.add_argument("--target", action="append", choices=TARGETS, help="one of them only; may be repeated")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="read one file that atheris left, and nothing else")
    parser.add_argument("--each", type=int, default=2, help="places of one kind for values (default: 2)")
    parser.add_argument("--in-process", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    for name in asked.target or TARGETS:
        if asked.replay:
            tried(TARGETS[name], _text(asked.replay.read_bytes()), Tally())
        elif asked.in_process:
            _guided(TARGETS[name], asked.runs)
        else:
            console.print(f"{name}, hypothesis: {_told(_at_random(TARGETS[name], asked.runs))}")
            console.print(f"{name}, atheris: {_guided_apart(name, asked.runs)}")
    if not (asked.target or asked.replay):
        tried_values, wrong = odd_values.everywhere(asked.each)
        console.print(f"values: {tried_values} templates, {len(wrong)} with an internal error", *wrong, sep="\n")
        sys.exit(bool(wrong))


def _at_random(target: Target, runs: int) -> Tally:
    tally = Tally()

    @settings(
        max_examples=runs,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(target.texts)
    def search(text: str) -> None:
        tried(target, text, tally)

    search()
    return tally


def _told(tally: Tally) -> str:
    return f"{tally.inputs} inputs, {tally.accepted} accepted, slowest {tally.slowest * 1000:.0f} ms"


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _guided_apart(name: str, runs: int) -> str:
    """Runs atheris in a process of its own, which it ends itself."""
    if importlib.util.find_spec("atheris") is None:
        return "not installed (pip install atheris)"
    command = [sys.executable, "-c", _GUIDED, "--in-process", "--target", name, "--runs", str(runs)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed\n{done.stdout}{done.stderr}")
    inputs = re.search(r"Done (\d+) runs in (\d+) second", done.stderr)
    covered = re.findall(r"cov: (\d+)", done.stderr)
    return (
        f"{inputs[1] if inputs else 'some'} inputs, {covered[-1] if covered else 'unknown'} places of the code reached"
    )


def _guided(target: Target, runs: int) -> None:
    # Not in the lock, and without types.
    atheris: Any = importlib.import_module("atheris")
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(target.seeds):
            Path(folder, str(number)).write_text(seed)
        atheris.Setup(
            [sys.argv[0], f"-runs={runs}", "-max_len=4000", f"-timeout={SLOWEST:.0f}", folder],
            lambda data: tried(target, _text(data), tally),
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
