"""Account: are the credentials those of the account that the files are deployed to?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gpu_constructs.account.preflight.check import Ask, Call, Check, Found, Question, Scope, ok, short
from gpu_constructs.placement.quotas import place_of
from gpu_constructs.placement.reasons import listed

__all__ = ["ACCOUNT"]

_WHO = Call(service="sts", operation="GetCallerIdentity")


def _questions(scope: Scope) -> Iterator[Question]:
    accounts = sorted({account for each in scope.pools if (account := place_of(each).account) is not None})
    if accounts:
        yield Question(subject=listed(accounts), read=partial(_read, accounts))


def _read(accounts: list[str], ask: Ask) -> Found:
    own = ask(_WHO, {}).first.text("Account")
    others = [each for each in accounts if each != own]
    if not others:
        return ok("the credentials are of this account")
    return short(
        f"the credentials are of account {own}: what follows is not about {listed(others)}",
        "--profile NAME with credentials of the account that the files are deployed to",
    )


ACCOUNT = Check(
    id="account",
    question="are the credentials those of the account that the files are deployed to?",
    reads="the account of the credentials, where the files name theirs",
    calls=(_WHO,),
    questions=_questions,
)
"""https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html"""
