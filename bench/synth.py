"""`python -m bench.synth`: synth time, round trips and memory of the library beside plain aws-cdk-lib.

Prints what it measures and judges nothing: rows over budget are marked, and the exit status is 0 all the same.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import pickle
import platform
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.kinds import KINDS
from bench.sizes import WORKLOADS
from bench.workloads import Workload

__all__ = ["main"]

BUDGET = 1.05
"""Synth time of the library over the same template by hand, at most."""

_VALIDATED = ("tensorflow-benchmark", "40 capacities")
_UNCHECKED = ("tensorflow-benchmark", "1 capacity", "10 capacities", "40 capacities", *KINDS)
_EXPLAINED = ("tensorflow-benchmark", "10 capacities")
_PROCESSES = 3
_EVERY_KIND = "kinds"
_TAIL = 0.025  # on either side of a 95 % interval
# As in bench.variants, which this process does not import: it would start a Node of its own.
_VARIANTS = ("library", "plain")


Calls = dict[str, dict[str, dict[str, int]]]
"""What is asked of Node how often, by app and variant."""


@dataclass(frozen=True, slots=True)
class Times:
    """How long synth takes.

    Attributes:
        library: Median in milliseconds with the library.
        plain: Median in milliseconds by hand.
        ratio: Median over all blocks of what the two library synths took over what the two plain ones took.
        low: Lower end of a 95 % confidence interval of that median.
        high: Upper end.
        blocks: How many blocks that is.
        fastest: The fastest synth with the library over the fastest by hand; other work on the machine moves it least.
        library_each: Milliseconds for each capacity with its task, beyond the same app without any, from the fastest
            synth of either; None for the reference stack.
        plain_each: The same by hand.
    """

    library: float
    plain: float
    ratio: float
    low: float
    high: float
    blocks: int
    fastest: float
    library_each: float | None
    plain_each: float | None


def main() -> None:
    """Measures everything and prints it."""
    parser = argparse.ArgumentParser(prog="python -m bench.synth", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30, help="for each row of synth times (default: 30)")
    parser.add_argument(
        "--only",
        action="append",
        choices=[*WORKLOADS, _EVERY_KIND, *KINDS],
        help="a workload, a kind of capacity, or all kinds; may be repeated",
    )
    parser.add_argument("--untimed", action="store_true", help="count round trips and compare templates only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure to a file as well")
    arguments = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 160)
    versions = _versions()
    console.print(", ".join(f"{name} {version}" for name, version in versions.items()))

    figures = _Figures()
    with console.status("") as status:
        for workload in _chosen(arguments.only):
            status.update(workload.name)
            if different := _worker(workload, "same"):
                console.print(
                    f"[bold red]The templates of {workload.name} differ, its figures compare nothing:", *different
                )
            figures.count(workload)
            if not arguments.untimed:
                figures.time(workload, arguments.seconds)
        if figures.first:
            figures.first["App() alone"] = {"plain": _first(None)}

    for table in figures.tables():
        console.print(table)
    sizes = [figures.times[name] for name in ("10 capacities", "40 capacities") if name in figures.times]
    if len(sizes) > 1:
        console.print(_flatness(*sizes))
    for line in _extra_calls(figures.calls):
        console.print(line, highlight=False)
    if arguments.json:
        written = {"versions": versions, **asdict(figures)}
        arguments.json.write_text(json.dumps(written, indent=1) + "\n")


@dataclass
class _Figures:
    """Everything that was measured, by app."""

    times: dict[str, Times] = field(default_factory=dict)
    calls: Calls = field(default_factory=dict)
    first: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)

    def count(self, workload: Workload) -> None:
        """Counts round trips, which takes a moment and has no noise."""
        counted = {variant: _worker(workload, "calls", variant) for variant in _VARIANTS}
        if workload.name in _UNCHECKED:
            counted["unchecked"] = _worker(workload, "calls", "library", "--unchecked")
        self.calls[workload.name] = counted

    def time(self, workload: Workload, seconds: float) -> None:
        """Measures times, and of the apps of `bench.sizes` memory as well."""
        name = workload.name
        self.times[name] = _times(workload, seconds)
        if name in _UNCHECKED:
            self.times[f"{name}, unchecked"] = _times(workload, seconds, "--unchecked")
        if name in _VALIDATED:
            self.times[f"{name}, validated"] = _times(workload, seconds, "--validation")
        if name in WORKLOADS:
            self.first[name] = {variant: _first(workload, variant) for variant in _VARIANTS}

    def tables(self) -> list[Table]:
        """What there is to print."""
        return [
            *([_times_table(self.times)] if self.times else []),
            _calls_table(self.calls),
            *([_first_table(self.first)] if self.first else []),
        ]


def _chosen(names: Sequence[str] | None) -> list[Workload]:
    """The workloads of these names; by default all but those of the kinds."""
    found: dict[str, Workload] = {}
    for name in names or WORKLOADS:
        found.update(KINDS if name == _EVERY_KIND else {name: {**WORKLOADS, **KINDS}[name]})
    return list(found.values())


def _worker(workload: Workload | None, *arguments: str) -> Any:  # noqa: ANN401 - JSON
    """What one process measured. What CDK says about the templates on standard error is not of interest here."""
    command = [sys.executable, "-m", "bench.worker", *arguments]
    root = Path(__file__).parents[1]
    # An installed package has its bytecode.
    kept = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, input=pickle.dumps(workload), capture_output=True, check=False, cwd=root, env=kept)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed\n{done.stderr.decode()}")
    return json.loads(done.stdout)


def _times(workload: Workload, seconds: float, *flags: str) -> Times:
    blocks: list[dict[str, list[float]]] = []
    empty: dict[str, list[float]] = {}
    for _ in range(_PROCESSES):
        part = _worker(workload, "times", "--seconds", str(seconds / _PROCESSES), *flags)
        blocks += [_by_variant(block) for block in part["blocks"]]
        for variant, values in _by_variant(part["empty"]).items():
            empty.setdefault(variant, []).extend(values)
    ratios = sorted(sum(block["library"]) / sum(block["plain"]) for block in blocks)
    low, high = _interval(ratios)
    typical = {variant: median(value for block in blocks for value in block[variant]) for variant in blocks[0]}
    quickest = {variant: min(value for block in blocks for value in block[variant]) for variant in blocks[0]}
    each = {variant: (quickest[variant] - min(values)) / workload.capacities for variant, values in empty.items()}
    return Times(
        library=typical["library"],
        plain=typical["plain"],
        ratio=median(ratios),
        low=low,
        high=high,
        blocks=len(blocks),
        fastest=quickest["library"] / quickest["plain"],
        library_each=each.get("library"),
        plain_each=each.get("plain"),
    )


def _by_variant(samples: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for variant, value in samples:
        found.setdefault(variant, []).append(value)
    return found


def _interval(ordered: Sequence[float]) -> tuple[float, float]:
    """Between which two of the values their median lies with 95 % confidence, whatever they are distributed like.

    As many values lie below the median as coins fall heads. Few values give the range of all of them, which is less
    sure than that.
    """
    count = len(ordered)
    below = [sum(math.comb(count, heads) for heads in range(rank + 1)) / 2**count for rank in range(count)]
    rank = max(sum(chance <= _TAIL for chance in below) - 1, 0)
    return ordered[rank], ordered[count - 1 - rank]


def _first(workload: Workload | None, *variant: str) -> dict[str, float]:
    runs = [_worker(workload, "first", *variant) for _ in range(_PROCESSES)]
    return {process: median(run[process] for run in runs) for process in ("ms", "python", "node")}


def _times_table(times: dict[str, Times]) -> Table:
    table = Table(title="Warm synth, both in one process; each: ms per capacity with its task", title_justify="left")
    table.add_column("app")
    for heading in (
        "plain, ms",
        "library, ms",
        "ratio",
        "95 % interval",
        "of fastest",
        "blocks",
        "plain, each",
        "library, each",
    ):
        table.add_column(heading, justify="right")
    table.add_column(f"budget {BUDGET}")
    for name, row in times.items():
        table.add_row(
            name,
            f"{row.plain:.1f}",
            f"{row.library:.1f}",
            f"{row.ratio:.3f}",
            f"{row.low:.3f} to {row.high:.3f}",
            f"{row.fastest:.3f}",
            str(row.blocks),
            "" if row.plain_each is None else f"{row.plain_each:.2f}",
            "" if row.library_each is None else f"{row.library_each:.2f}",
            _verdict(row),
        )
    return table


def _verdict(row: Times) -> str:
    if row.low > BUDGET:
        return "[bold red]OVER"
    if row.ratio > BUDGET:
        return "[red]over, within noise"
    return "kept" if row.high <= BUDGET else "kept, within noise"


def _calls_table(calls: Calls) -> Table:
    table = Table(title="Round trips from Python to Node in one warm synth", title_justify="left")
    table.add_column("app")
    for heading in ("plain", "unchecked", "ratio", "library", "ratio"):
        table.add_column(heading, justify="right")
    for name, counted in calls.items():
        total = {variant: sum(made.values()) for variant, made in counted.items()}
        cells = [
            cell
            for variant in ("unchecked", "library")
            for cell in (
                (str(total[variant]), f"{total[variant] / total['plain']:.3f}") if variant in total else ("", "")
            )
        ]
        table.add_row(name, str(total["plain"]), *cells)
    return table


def _first_table(first: dict[str, dict[str, dict[str, float]]]) -> Table:
    table = Table(
        title="First synth of a fresh process: ms with imports and Node's start, peak resident memory in MiB",
        title_justify="left",
    )
    table.add_column("app")
    for heading in ("plain, ms", "library, ms", "Python, plain", "Python, library", "Node, plain", "Node, library"):
        table.add_column(heading, justify="right")
    for name, of in first.items():
        cells = [
            f"{of[variant][figure]:.{digits}f}" if variant in of else ""
            for figure, digits in (("ms", 0), ("python", 1), ("node", 0))
            for variant in ("plain", "library")
        ]
        table.add_row(name, *cells)
    return table


def _flatness(ten: Times, forty: Times) -> str:
    def ratio(few: float | None, many: float | None) -> str:
        return f"{many / few:.2f}" if few and many else "not measured"

    return (
        "A capacity with its task at 40 over the same at 10: "
        f"{ratio(ten.library_each, forty.library_each)} with the library, "
        f"{ratio(ten.plain_each, forty.plain_each)} by hand; 1 is flat."
    )


def _extra_calls(calls: Calls) -> list[str]:
    """The round trips that one variant makes more often than the other."""
    lines = []
    for name, counted in ((name, calls[name]) for name in _EXPLAINED if name in calls):
        more = Counter(counted["library"])
        more.subtract(counted["plain"])
        listed = ", ".join(
            f"{count:+} {call}" for call, count in sorted(more.items(), key=lambda each: -each[1]) if count
        )
        lines.append(f"[bold]{name}[/bold], library against plain: {listed or 'the same round trips'}")
    return lines


def _versions() -> dict[str, str]:
    packages = {name: importlib.metadata.version(name) for name in ("aws-cdk-lib", "jsii", "constructs")}
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S607 - the one jsii takes
    return {
        "Python": platform.python_version(),
        "Node": node.removeprefix("v"),
        **packages,
        "cores": str(os.cpu_count()),
    }


if __name__ == "__main__":
    main()
