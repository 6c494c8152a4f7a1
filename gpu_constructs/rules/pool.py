"""Warnings about a pool of hosts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from gpu_constructs.fleet import Pool
from gpu_constructs.hardware import RECORDED, OperatingSystem, Verdict, compatibility
from gpu_constructs.rules.finding import Finding

__all__ = ["pool_findings"]


def pool_findings(pool: Pool) -> tuple[Finding, ...]:
    """Every warning about one pool, in the order of the rule ids."""
    rules = (_offered, _pinned, _end_of_life, _driver_confirmed, _types_known, _protection)
    return tuple(finding for rule in rules for finding in rule(pool))


def _offered(pool: Pool) -> Iterator[Finding]:
    for each in pool.instance_types:
        if each.accelerators is not None and not each.is_offered_anywhere:
            modern = f"; {each.replaced_by} is its modern replacement" if each.replaced_by else ""
            doubt = f" ({each.note})" if each.note else ""
            yield Finding(
                rule="GPU001",
                message=f"{each} was offered in none of the regions recorded on {RECORDED:%Y-%m-%d}{doubt}: whether "
                f"this account may still launch it, only the account can say{modern}",
            )


def _pinned(pool: Pool) -> Iterator[Finding]:
    if pool.image.is_floating:
        known = pool.image.image.known_release
        fix = f", such as {known}" if known else ""
        yield Finding(
            rule="GPU002",
            message=f"image {pool.image.image.name} follows the newest release, so any deploy may replace the hosts, "
            f"and scarce capacity may not come back; pin a release{fix}",
        )


def _end_of_life(pool: Pool) -> Iterator[Finding]:
    end: date | None = pool.image.image.end_of_life
    if end is not None and end <= RECORDED:
        yield Finding(
            rule="GPU003",
            message=f"image {pool.image.image.name} is past its end of life, {end:%Y-%m-%d}, and gets no more security "
            f"updates; {OperatingSystem.AMAZON_LINUX_2023.value} has taken its place",
        )


def _driver_confirmed(pool: Pool) -> Iterator[Finding]:
    for each in pool.instance_types:
        answer = compatibility(pool.image.image, each)
        if answer.verdict is Verdict.UNCONFIRMED:
            yield Finding(
                rule="GPU004",
                message=f"nobody confirms that image {pool.image.image.name} drives {each}: {answer.reason}",
            )


def _types_known(pool: Pool) -> Iterator[Finding]:
    if pool.has_unknown_types:
        yield Finding(
            rule="GPU005",
            message=f"instance types of {pool.name} are only known at deploy time, so nothing about them was checked; "
            "take them from context instead",
        )


def _protection(pool: Pool) -> Iterator[Finding]:
    if pool.managed_termination_protection:
        yield Finding(
            rule="GPU007",
            message="managed termination protection stays on the hosts when their capacity provider is gone: a stack "
            "that is deleted while hosts run waits until somebody terminates them (containers-roadmap issue 2862), and "
            "managed draining lets tasks end without it",
        )
