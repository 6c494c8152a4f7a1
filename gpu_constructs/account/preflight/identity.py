"""Account: are the credentials those of the account that the files are deployed to?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from gpu_constructs.account.preflight.answer import UnansweredError
from gpu_constructs.account.preflight.check import Ask, Call, Check, Found, Question, Scope, ok, short, unchecked
from gpu_constructs.fleet import Pool
from gpu_constructs.placement.costs import place_of
from gpu_constructs.placement.reasons import listed

_WHO = Call(service="sts", operation="GetCallerIdentity")


def _questions(scope: Scope) -> Iterator[Question]:
    if accounts := _accounts(scope.pools):
        yield Question(subject=listed(accounts), read=partial(_read, accounts, _accounts(scope.fleet.pools)))


def _read(accounts: list[str], of_fleet: list[str], ask: Ask) -> Found:
    own = ask(_WHO, {}).first.text("Account")
    others = [each for each in accounts if each != own]
    if not others:
        return ok("the credentials are of this account")
    text = f"the credentials are of account {own}: nothing of {listed(others)} is checked"
    fix = "--profile NAME with credentials of each account that the files are deployed to"
    # Where the app is deployed to several accounts, each is asked about by itself.
    return unchecked(text, fix) if own in of_fleet else short(text, fix, "differs")


def in_account(scope: Scope, ask: Ask) -> Scope:
    """What is deployed to the account of the credentials: the others cannot be asked about.

    Args:
        scope: All that is deployed to the region.
        ask: Asks AWS; where it does not answer, all of it stays.
    """
    if not _accounts(scope.fleet.pools):
        return scope
    try:
        own = ask(_WHO, {}).first.text("Account")
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
    reads=(
        "the account of the credentials, where the files name theirs; pools of another account are left out, and where "
        "all are, it differs"
    ),
    calls=(_WHO,),
    questions=_questions,
    without="the files do not name an account",
)
"""https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html"""
