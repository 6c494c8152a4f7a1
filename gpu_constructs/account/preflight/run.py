"""Asks all checks, the regions side by side; what cannot be asked is said with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from threading import Semaphore

from gpu_constructs.account.answers import UnansweredError, text
from gpu_constructs.account.answers import policy as policy_of
from gpu_constructs.account.deadline import in_background
from gpu_constructs.account.preflight.check import Ask, Check, Question, Result, Scope, Verdict, ok, short, unchecked
from gpu_constructs.account.preflight.offers import IMAGES, TYPES
from gpu_constructs.account.preflight.quotas import QUOTAS
from gpu_constructs.account.preflight.reservations import BLOCK_OFFERINGS, RESERVATIONS
from gpu_constructs.check.planning import plan
from gpu_constructs.errors import shown
from gpu_constructs.facts.names import may_be_region, nearest_regions
from gpu_constructs.fleet import Fleet, Pool
from gpu_constructs.placement.costs import place_of
from gpu_constructs.placement.reasons import listed

_WHO = "sts:GetCallerIdentity"


def _identity_questions(scope: Scope) -> Iterator[Question]:
    if accounts := _accounts(scope.pools):
        yield listed(accounts), partial(_identity_found, accounts, _accounts(scope.fleet.pools))


def _identity_found(accounts: list[str], of_fleet: list[str], ask: Ask) -> Result:
    own = text(ask(_WHO, {}).first, "Account")
    others = [each for each in accounts if each != own]
    if not others:
        return ok("the credentials are of this account")
    said = f"the credentials are of account {own}: nothing of {listed(others)} is checked"
    fix = "--profile NAME with credentials of each account that the files are deployed to"
    # Where the app is deployed to several accounts, each is asked about by itself.
    return unchecked(said, fix) if own in of_fleet else short(said, fix, "differs")


def _in_account(scope: Scope, ask: Ask) -> Scope:
    """What is deployed to the account of the credentials; all of it where AWS does not say which that is."""
    if not _accounts(scope.fleet.pools):
        return scope
    try:
        own = text(ask(_WHO, {}).first, "Account")
    except UnansweredError:
        return scope
    fleet = replace(scope.fleet, pools=tuple(each for each in scope.fleet.pools if _may_be_of(each, own)))
    return replace(scope, pools=tuple(each for each in scope.pools if _may_be_of(each, own)), fleet=fleet)


def _accounts(pools: Iterable[Pool]) -> list[str]:
    return sorted({account for each in pools if (account := place_of(each).account) is not None})


def _may_be_of(pool: Pool, account: str) -> bool:
    return place_of(pool).account in {None, account}


ACCOUNT = Check(
    id="account",
    question="are the credentials those of the account that the files are deployed to?",
    calls=(_WHO,),
    questions=_identity_questions,
    without="the files do not name an account",
)
"""https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html"""

CHECKS: tuple[Check, ...] = (ACCOUNT, QUOTAS, TYPES, IMAGES, RESERVATIONS, BLOCK_OFFERINGS)
"""In the order in which they are shown."""

_RESOURCES = {"ssm:GetParameters": "arn:aws:ssm:*::parameter/aws/service/*"}
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
_PARTITIONS = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}


def policy(checks: Sequence[Check] = CHECKS, region: str | None = None) -> Mapping[str, object]:
    """The least policy of IAM that lets checks ask, for the partition of a region."""
    partition = next((name for start, name in _PARTITIONS.items() if (region or "").startswith(start)), "aws")
    actions: dict[str, set[str]] = {}
    for call in (call for check in checks for call in check.calls):
        actions.setdefault(_RESOURCES.get(call, "*").replace("arn:aws:", f"arn:{partition}:"), set()).add(call)
    return policy_of({resource: actions[resource] for resource in sorted(actions)})


_AT_ONCE = 8
"""Regions that are asked at the same time."""


def preflight(fleet: Fleet, asks: Callable[[str], Ask], checks: Sequence[Check] | None = None) -> tuple[Result, ...]:
    """Asks AWS whether the account can have what a fleet asks for.

    By default it runs all checks but those on request. Results are region by region, in the order of the checks.
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
    gate = Semaphore(_AT_ONCE)
    answers = [in_background(partial(_asked, each, asks, wanted, gate)) for each in scopes]
    return (*found, *chain.from_iterable(each.result() for each in answers))


def _without_region(pool: Pool) -> Result:
    if pool.region is None:
        why = unchecked("the files do not say which region it is deployed to", "--region REGION")
    else:
        nearest = nearest_regions(pool.region)
        why = unchecked(
            f"{shown(pool.region)} is not a region", f"did you mean {' or '.join(nearest)}?" if nearest else ""
        )
    return replace(why, check="region", subject=pool.name)


def _asked(scope: Scope, asks: Callable[[str], Ask], checks: Sequence[Check], gate: Semaphore) -> tuple[Result, ...]:
    with gate:
        return tuple(_results(scope, asks(scope.region), checks))


def _results(scope: Scope, ask: Ask, checks: Sequence[Check]) -> Iterator[Result]:
    there = _in_account(scope, ask)
    is_all = len(there.pools) == len(scope.pools)
    for check in checks if is_all or ACCOUNT in checks else (ACCOUNT, *checks):
        questions = list(check.questions(scope if check is ACCOUNT else there))
        for subject, read in questions:
            try:
                found = read(ask)
            except UnansweredError as problem:
                found = unchecked(problem.problem, problem.fix or "")
            yield replace(found, check=check.id, region=scope.region, subject=subject)
        if not questions and there.pools:
            nothing = Verdict.NOTHING_TO_CHECK
            yield Result(check=check.id, region=scope.region, verdict=nothing, text=check.without, word=nothing.value)
