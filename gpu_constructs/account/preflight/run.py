"""Asks all checks, the regions side by side; what cannot be asked is said with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from gpu_constructs.account.preflight.answer import UnansweredError
from gpu_constructs.account.preflight.check import Ask, Check, Found, Question, Result, Scope, unchecked
from gpu_constructs.account.preflight.identity import ACCOUNT, in_account
from gpu_constructs.account.preflight.table import CHECKS
from gpu_constructs.fleet import Fleet
from gpu_constructs.hardware.aws_limits import is_region
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
    regions = sorted({each.region for each in fleet.pools if each.region is not None and is_region(each.region)})
    found = [_without_region(each.name) for each in fleet.pools if each.region not in regions]
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


def _without_region(pool: str) -> Result:
    return Result(
        check="region",
        region="",
        subject=pool,
        verdict=unchecked("").verdict,
        text="the files do not say which region it is deployed to",
        fix="--region REGION",
    )


def _asked(scope: Scope, asks: Callable[[str], Ask], checks: Sequence[Check], *, is_first: bool) -> Iterator[Result]:
    ask = asks(scope.region)
    there = in_account(scope, ask)
    is_all = len(there.pools) == len(scope.pools)
    for check in checks if is_all or ACCOUNT in checks else (ACCOUNT, *checks):
        if check.is_global and not is_first:
            continue
        for question in check.questions(scope if check is ACCOUNT else there):
            found = _answer(question, ask)
            yield Result(
                check=check.id,
                region=scope.region,
                subject=question.subject,
                verdict=found.verdict,
                text=found.text,
                fix=found.fix,
            )


def _answer(question: Question, ask: Ask) -> Found:
    try:
        return question.read(ask)
    except UnansweredError as problem:
        return unchecked(problem.why, problem.fix)
