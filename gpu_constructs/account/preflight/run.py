"""Asks all checks, the regions side by side; what cannot be asked is said with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import chain
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeAlias

from gpu_constructs.account.preflight.account import ACCOUNT, SETTINGS, in_account
from gpu_constructs.account.preflight.check import (
    Ask,
    Check,
    Found,
    Question,
    Result,
    Scope,
    UnansweredError,
    Verdict,
    unchecked,
)
from gpu_constructs.account.preflight.networks import SUBNETS
from gpu_constructs.account.preflight.offers import IMAGES, TYPES
from gpu_constructs.account.preflight.quotas import QUOTAS
from gpu_constructs.account.preflight.reservations import BLOCK_OFFERINGS, RESERVATIONS
from gpu_constructs.check.planning import plan
from gpu_constructs.errors import shown
from gpu_constructs.facts.names import may_be_region, nearest_regions
from gpu_constructs.fleet import Fleet, Pool

CHECKS: tuple[Check, ...] = (
    ACCOUNT,
    QUOTAS,
    TYPES,
    SUBNETS,
    IMAGES,
    RESERVATIONS,
    SETTINGS,
    BLOCK_OFFERINGS,
)
"""In the order in which they are shown."""


# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
_PARTITIONS = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}


def policy(checks: Sequence[Check] = CHECKS, region: str | None = None) -> Mapping[str, object]:
    """The least policy of IAM that lets checks ask.

    Args:
        checks: The checks.
        region: A region of the partition that it is for; None for those outside of China and GovCloud.
    """
    partition = next((name for start, name in _PARTITIONS.items() if (region or "").startswith(start)), "aws")
    actions: dict[str, set[str]] = {}
    for call in (call for check in checks for call in check.calls):
        actions.setdefault(call.resource.replace("arn:aws:", f"arn:{partition}:"), set()).add(call.permission)
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": sorted(allowed),
                "Resource": resource,
            }
            for resource, allowed in sorted(actions.items())
        ],
    }


_Job: TypeAlias = Callable[[], tuple[Result, ...]]
_Answer: TypeAlias = "Future[tuple[Result, ...]]"

_AT_ONCE = 8
"""Regions that are asked at the same time."""


def preflight(fleet: Fleet, asks: Callable[[str], Ask], checks: Sequence[Check] | None = None) -> tuple[Result, ...]:
    """Asks AWS whether the account can have what a fleet asks for.

    Args:
        fleet: What was asked for, such as `gpu_constructs.check.report.Report.fleet`.
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
    answers = _side_by_side([partial(_asked, each, asks, wanted) for each in scopes])
    return (*found, *chain.from_iterable(answers))


def _side_by_side(jobs: Sequence[_Job]) -> list[tuple[Result, ...]]:
    """The results of jobs, from threads that do not hold up the end of the program: Ctrl-C waits for no answer."""
    waiting: SimpleQueue[tuple[_Job, _Answer]] = SimpleQueue()
    answers: list[_Answer] = [Future() for _ in jobs]
    for each in zip(jobs, answers, strict=True):
        waiting.put(each)
    for _ in range(min(_AT_ONCE, len(jobs))):
        Thread(target=_work, args=(waiting,), daemon=True).start()
    return [each.result() for each in answers]


def _work(waiting: SimpleQueue[tuple[_Job, _Answer]]) -> None:
    with suppress(Empty):
        while True:
            job, answer = waiting.get_nowait()
            try:
                answer.set_result(job())
            except BaseException as error:  # noqa: BLE001 - it is raised where the answer is taken
                answer.set_exception(error)


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


def _asked(scope: Scope, asks: Callable[[str], Ask], checks: Sequence[Check]) -> tuple[Result, ...]:
    return tuple(_results(scope, asks(scope.region), checks))


def _results(scope: Scope, ask: Ask, checks: Sequence[Check]) -> Iterator[Result]:
    there = in_account(scope, ask)
    is_all = len(there.pools) == len(scope.pools)
    for check in checks if is_all or ACCOUNT in checks else (ACCOUNT, *checks):
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
