"""`python -m bench.proof`: time of a proof, of all rules and of a plan, and how far a packing is from the best.

Prints what it measures and judges nothing. The best packing is found by an exact solver (scipy's HiGHS), which shares
nothing with the library's first fit.
"""

from __future__ import annotations

import argparse
import gc
import platform
import time
from collections.abc import Callable, Sequence
from random import Random
from statistics import median
from typing import TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import Bounds, LinearConstraint, milp

from bench.fleets import fleet_of
from gpu_constructs.check.planning import plan
from gpu_constructs.placement.packing import Load, Need, Room, pack
from gpu_constructs.placement.proof import least_hosts
from gpu_constructs.placement.prover import prove
from gpu_constructs.rules import check

__all__ = ["main"]

PROOF_BUDGET_MS = 100
"""The proof of 1,000 workloads on 100 pools, at most."""

RULES_BUDGET_MS = 150
"""All rules on such a fleet, its proof among them, at most."""

PLAN_BUDGET_MS = 500
"""The plan of such a fleet, with two proofs."""

_Result = TypeVar("_Result")

_SIZES = ((10, 5), (100, 20), (1000, 100))
_SECONDS_PER_SOLUTION = 20.0
_HOST = Room(units=(8, 0, 192 * 1024, 700_000, 14))  # about a g6.48xlarge


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="fleets of each size")
    parser.add_argument("--instances", type=int, default=60, help="packings of each size for the exact solver")
    chosen = parser.parse_args()
    console = Console()
    console.print(f"Python {platform.python_version()}, {platform.machine()}")
    console.print(_times(chosen.repeats))
    console.print(_gaps(chosen.instances))


def _times(repeats: int) -> Table:
    columns = ("workloads", "pools", "providers", "proof, ms", "again", "proved", "rules, ms", "findings", "plan, ms")
    table = Table(*columns, title="time of a proof, first and again, of all rules and of a plan, each on a new fleet")
    for workloads, pools in _SIZES:
        for providers in (1, 3):
            first, again, rules, found, plans, yes = [], [], [], [], [], 0
            for seed in range(repeats):
                fleet = fleet_of(workloads, pools, seed=seed, providers=providers)
                proof, taken = _timed(lambda: prove(fleet))  # noqa: B023 - called at once
                first.append(taken)
                again.append(_timed(lambda: prove(fleet))[1])  # noqa: B023
                yes += proof.answer is True
                fresh = fleet_of(workloads, pools, seed=seed, providers=providers)
                findings, taken = _timed(lambda: check(fresh))  # noqa: B023
                rules.append(taken)
                found.append(len(findings))
                unplanned = fleet_of(workloads, pools, seed=seed, providers=providers)
                _, taken = _timed(lambda: plan(unplanned))  # noqa: B023
                plans.append(taken)
            is_largest = workloads == _SIZES[-1][0]
            table.add_row(
                f"{workloads:,}",
                f"{pools}",
                f"1 to {providers}" if providers > 1 else "1",
                _judged(first, PROOF_BUDGET_MS if is_largest else None),
                _judged(again),
                f"{yes}/{repeats}",
                _judged(rules, RULES_BUDGET_MS if is_largest else None),
                f"{median(found):.0f}",
                _judged(plans, PLAN_BUDGET_MS if is_largest else None),
            )
    return table


def _timed(work: Callable[[], _Result]) -> tuple[_Result, float]:
    """What it returned, and how many milliseconds it took."""
    gc.collect()
    began = time.perf_counter()
    result = work()
    return result, 1000 * (time.perf_counter() - began)


def _judged(taken: Sequence[float], budget: float | None = None) -> str:
    return f"{median(taken):.1f}{' over budget' if budget is not None and median(taken) > budget else ''}"


def _gaps(instances: int) -> Table:
    columns = ("copies", "instances", "as few hosts", "one more", "more", "other orders too", "bound is exact", "hosts")
    table = Table(*columns, title="first fit, the largest first, against an exact solver (hosts: first fit / best)")
    for copies in (6, 12, 20):
        gaps, orders, exact_bounds, hosts, best_hosts = [], 0, 0, 0, 0
        for seed in range(instances):
            needs = _needs(copies, Random(seed))  # noqa: S311 - no secrets
            loads = [Load(need=need, copies=1) for need in needs]
            found, bound = pack(loads, _HOST).hosts, least_hosts(loads, _HOST)
            best = _best(needs, found)
            if best is None or bound is None:
                continue
            gaps.append(found - best)
            orders += sum(pack(loads, _HOST, most_hosts=best).placed) == copies
            exact_bounds += bound.hosts == best
            hosts, best_hosts = hosts + found, best_hosts + best
        table.add_row(
            f"{copies}",
            f"{len(gaps)}",
            *(f"{sum(map(each, gaps))}" for each in (lambda gap: gap == 0, lambda gap: gap == 1, lambda gap: gap > 1)),
            f"{orders}",
            f"{exact_bounds}",
            f"{hosts} / {best_hosts}",
        )
    return table


def _needs(copies: int, random: Random) -> list[Need]:
    """Tasks whose GPUs, CPU and memory do not go together, which is what makes packing hard."""
    return [
        Need(
            units=(
                random.choice((0, 1, 1, 2, 2, 3, 4, 5)),
                0,
                random.randint(2, 90) * 1024,
                random.randint(8, 330) * 1000,
                random.choice((0, 1)),
            )
        )
        for _ in range(copies)
    ]


def _best(needs: Sequence[Need], most: int) -> int | None:
    """Hosts of the best packing; None if the solver did not get there in time.

    Variables: for each task and host whether it is there, then for each host whether it is used.
    """
    asked = np.array([need.units for need in needs])
    copies = len(needs)
    variables = copies * most + most
    once = np.zeros((copies, variables))
    for task in range(copies):
        once[task, task * most : (task + 1) * most] = 1
    room = np.zeros((most * len(_HOST.units), variables))
    for host in range(most):
        for unit, available in enumerate(_HOST.units):
            row = host * len(_HOST.units) + unit
            room[row, host : copies * most : most] = asked[:, unit]
            room[row, copies * most + host] = -available
    order = np.zeros((max(0, most - 1), variables))  # hosts are alike, so the first ones are used
    for host in range(most - 1):
        order[host, copies * most + host], order[host, copies * most + host + 1] = -1, 1
    solution = milp(
        np.concatenate([np.zeros(copies * most), np.ones(most)]),
        constraints=[
            LinearConstraint(once, 1, 1),
            LinearConstraint(room, -np.inf, 0),
            LinearConstraint(order, -np.inf, 0),
        ],
        integrality=np.ones(variables),
        bounds=Bounds(0, 1),
        options={"time_limit": _SECONDS_PER_SOLUTION},
    )
    return round(solution.fun) if solution.status == 0 else None


if __name__ == "__main__":
    main()
