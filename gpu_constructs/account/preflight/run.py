"""Asks all checks, the regions side by side; what cannot be asked is said with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from gpu_constructs.account.preflight.answer import UnansweredError
from gpu_constructs.account.preflight.check import (
    Ask,
    Check,
    Found,
    Question,
    Result,
    Scope,
    Verdict,
    unchecked,
)
from gpu_constructs.account.preflight.identity import ACCOUNT, in_account
from gpu_constructs.account.preflight.table import CHECKS
from gpu_constructs.errors import shown
from gpu_constructs.fleet import Fleet, Pool
from gpu_constructs.hardware.region_names import may_be_region, nearest_regions
from gpu_constructs.planning import plan

__all__ = ["preflight"]

_AT_ONCE = 8
"""Regions that are asked at the same time."""


def preflight(fleet: Fleet, asks: Callable[[str], Ask], checks: Sequence[Check] | None = None) -> tuple[Result, ...]:
    """Asks AWS whether the account can have what a fleet asks for.

    Args:
        fleet: What was asked for, such as `gpu_constructs.checking.report.Report.fleet`.
        asks: What asks AWS, by region.
        checks: The checks. By default all but those on request.

    Returns:
        What was found out, region by region, in the order of the checks.
    """
    wanted = tuple(each for each in CHECKS if not each.on_request) if checks is None else tuple(checks)
    regions = sorted({each.region for each in fleet.pools if each.region is not None and may_be_region(each.region)})
    found = [_without_region(each) for each in fleet.pools if each.region not in regions]
    if not regions:
        return tuple(found)
    of_fleet = plan(fleet)
    scopes = [
        Scope(
            region=region,
            pools=tuple(each for each in fleet.pools if each.region == region),
            fleet=fleet,
            plan=of_fleet,
        )
        for region in regions
    ]
    with ThreadPoolExecutor(min(_AT_ONCE, len(scopes))) as threads:
        answers = threads.map(lambda scope: tuple(_asked(scope, asks, wanted, is_first=scope is scopes[0])), scopes)
        return (*found, *(each for of_region in answers for each in of_region))


def _without_region(pool: Pool) -> Result:
    if pool.region is None:
        why = unchecked("the files do not say which region it is deployed to", "--region REGION")
    else:
        nearest = nearest_regions(pool.region)
        why = unchecked(
            f"{shown(pool.region)} is not a region", f"did you mean {' or '.join(nearest)}?" if nearest else ""
        )
    return _result("region", "", pool.name, why)


def _result(check: str, region: str, subject: str, found: Found) -> Result:
    return Result(
        check=check,
        region=region,
        subject=subject,
        verdict=found.verdict,
        text=found.text,
        fix=found.fix,
        word=found.word or found.verdict.value,
    )


def _asked(scope: Scope, asks: Callable[[str], Ask], checks: Sequence[Check], *, is_first: bool) -> Iterator[Result]:
    ask = asks(scope.region)
    there = in_account(scope, ask)
    is_all = len(there.pools) == len(scope.pools)
    for check in checks if is_all or ACCOUNT in checks else (ACCOUNT, *checks):
        if check.is_global and not is_first:
            continue
        questions = list(check.questions(scope if check is ACCOUNT else there))
        for question in questions:
            yield _result(check.id, scope.region, question.subject, _answer(question, ask))
        if not questions and there.pools:
            yield _result(check.id, scope.region, "", Found(verdict=Verdict.NOTHING_TO_CHECK, text=check.without))


def _answer(question: Question, ask: Ask) -> Found:
    try:
        return question.read(ask)
    except UnansweredError as problem:
        return unchecked(problem.why, problem.fix)
