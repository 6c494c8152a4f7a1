"""Warnings about a pool of hosts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from gpu_constructs.fleet import Pool, Unknown
from gpu_constructs.hardware import RECORDED, InstanceType, OperatingSystem, Verdict, compatibility, regions
from gpu_constructs.rules.finding import Finding

__all__ = ["pool_findings"]


def pool_findings(pool: Pool) -> tuple[Finding, ...]:
    """Every warning about one pool, in the order of the rule ids."""
    rules = (_offered, _offered_here, _pinned, _end_of_life, _driver_confirmed, _all_known, _protection)
    return tuple(finding for rule in rules for finding in rule(pool))


def _offered(pool: Pool) -> Iterator[Finding]:
    missing = [each for each in pool.instance_types if each.accelerators is not None and not each.is_offered_anywhere]
    if missing:
        modern = {each.replaced_by: None for each in missing if each.replaced_by}
        doubt = f" ({missing[0].note})" if missing[0].note else ""
        instead = f"; modern replacements: {', '.join(modern)}" if modern else ""
        yield Finding(
            rule="GPU001",
            message=f"{_names(missing)} was offered in none of the regions recorded on {RECORDED:%Y-%m-%d}{doubt}: "
            f"whether this account may still launch it, only the account can say{instead}",
        )


def _offered_here(pool: Pool) -> Iterator[Finding]:
    if pool.region in regions():
        missing = [each for each in pool.instance_types if each.is_offered_anywhere and pool.region not in each.regions]
        if missing:
            elsewhere = ", ".join(missing[0].regions[:5])
            yield Finding(
                rule="GPU011",
                message=f"{_names(missing)} was not offered in {pool.region} on {RECORDED}, but in {elsewhere}",
            )


def _pinned(pool: Pool) -> Iterator[Finding]:
    if pool.image.is_floating:
        known = pool.image.image.known_release
        fix = f", such as {known}" if known else ""
        yield Finding(
            rule="GPU002",
            message=f"image {pool.image.image.name} follows the newest release, so any deploy may "
            f"change the AMI of hosts that start after it; pin a release{fix}",
        )


def _end_of_life(pool: Pool) -> Iterator[Finding]:
    end: date | None = pool.image.image.end_of_life
    if end is not None and end < RECORDED:
        yield Finding(
            rule="GPU003",
            message=f"image {pool.image.image.name} is past its end of life, {end:%Y-%m-%d}, and gets no more security "
            f"updates; {OperatingSystem.AMAZON_LINUX_2023.value} has taken its place",
        )


def _driver_confirmed(pool: Pool) -> Iterator[Finding]:
    doubts: dict[str, list[InstanceType]] = {}
    for each in pool.instance_types:
        answer = compatibility(pool.image.image, each)
        if answer.verdict is Verdict.UNCONFIRMED:
            doubts.setdefault(answer.reason, []).append(each)
    for reason, types in doubts.items():
        yield Finding(
            rule="GPU004",
            message=f"nobody confirms that image {pool.image.image.name} drives {_names(types)}: {reason}",
        )


def _all_known(pool: Pool) -> Iterator[Finding]:
    values = {
        "instance_types": pool.has_unknown_types,
        "min_instances": isinstance(pool.min_instances, Unknown),
        "max_instances": isinstance(pool.max_instances, Unknown),
    }
    unknown = [argument for argument, is_unknown in values.items() if is_unknown]
    if unknown:
        yield Finding(
            rule="GPU005",
            message=f"{' and '.join(unknown)} of {pool.name} are only known at deploy time, so nothing that depends on "
            "them was checked; take them from context instead",
        )


def _protection(pool: Pool) -> Iterator[Finding]:
    if pool.managed_termination_protection:
        yield Finding(
            rule="GPU007",
            message="managed termination protection stays on the hosts when their capacity provider is gone: a stack "
            "that is deleted while hosts run waits until somebody terminates them (containers-roadmap issue 2862), and "
            "managed draining lets tasks end without it",
        )


def _names(types: Sequence[InstanceType]) -> str:
    return " or ".join(each.name for each in types)
