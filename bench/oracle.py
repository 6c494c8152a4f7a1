"""`python -m bench.oracle --examples 30000`: the proof and the check, compared with an exhaustive search at random.

Of small fleets the proof is asked, and with `--worlds 20000` of small worlds the whole check: services without hosts,
several files, parameters, scheduled tasks, hosts that are described by hand.

A proof that says yes where the search finds no placement, or no where it finds one, is a bug: it is printed with its
seed and ends the run with status 1. How often the proof cannot say what the search can is counted.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections import Counter
from random import Random

from rich.console import Console
from rich.table import Table

from gpu_constructs.fleet import Unknown
from gpu_constructs.placement.prover import prove
from tests.properties.judged_worlds import checked, disagreements, is_not_worked_out, truth_of
from tests.properties.oracle import always, ever, runs_daemons
from tests.properties.small_fleets import small_fleet
from tests.properties.small_worlds import small_world

__all__ = ["main"]


def main() -> int:
    """Runs it.

    Returns:
        1 if a proof was wrong.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=10_000, help="how many fleets")
    parser.add_argument("--seed", type=int, default=0, help="the first fleet's; the others count from it")
    parser.add_argument("--worlds", type=int, default=0, help="how many worlds, after the fleets")
    chosen = parser.parse_args()
    console = Console(soft_wrap=True)
    wrong = _fleets(chosen, console) if chosen.examples else 0
    wrong += _worlds(chosen, console) if chosen.worlds else 0
    return int(wrong > 0)


def _fleets(chosen: argparse.Namespace, console: Console) -> int:
    counts, began = Counter[tuple[str, str]](), time.perf_counter()
    for seed in range(chosen.seed, chosen.seed + chosen.examples):
        fleet, world = small_fleet(Random(seed))  # noqa: S311 - no secrets
        answer = prove(fleet).answer
        truth = "always" if always(world) else "for some hosts" if ever(world) and runs_daemons(world) else "never"
        said = "unknown" if isinstance(answer, Unknown) else "yes" if answer else "no"
        counts[said, truth] += 1
        if (said, truth) in {("yes", "for some hosts"), ("yes", "never"), ("no", "always"), ("no", "for some hosts")}:
            console.print(f"[red]seed {seed}: the proof says {said}, the search finds a placement {truth}")
    truths = ("always", "for some hosts", "never")
    table = Table("the proof says", *(f"the search: {each}" for each in truths))
    for said in ("yes", "unknown", "no"):
        table.add_row(said, *(str(counts[said, each]) for each in truths))
    console.print(table)
    console.print(f"{chosen.examples} fleets in {time.perf_counter() - began:.0f} s")
    wrong = sum(counts["yes", each] for each in truths[1:]) + sum(counts["no", each] for each in truths[:2])
    console.print(f"wrong: {wrong}")
    return wrong


def _worlds(chosen: argparse.Namespace, console: Console) -> int:
    """Which errors have no reason, and which tasks find no place without a word about it."""
    counts, wrong, began = Counter[str](), 0, time.perf_counter()
    gc.freeze()  # what is read once is not looked at again
    for seed in range(chosen.seed, chosen.seed + chosen.worlds):
        design = small_world(Random(seed))  # noqa: S311 - no secrets
        report = checked(design)
        counts[f"{design.where}, {truth_of(design)}"] += 1
        counts["values of parameters"] += sum(len(each.values) - 1 for each in design.knobs)
        counts["no room for all, and not worked out"] += is_not_worked_out(design, report)
        for each in disagreements(design, report):
            wrong += 1
            console.print(f"[red]seed {seed}:[/red] {each}", markup=True)
    table = Table("hosts, what the search says", "worlds")
    for name, number in sorted(counts.items()):
        table.add_row(name, str(number))
    console.print(table)
    console.print(f"{chosen.worlds} worlds in {time.perf_counter() - began:.0f} s")
    console.print(f"wrong: {wrong}")
    return wrong


if __name__ == "__main__":
    raise SystemExit(main())
