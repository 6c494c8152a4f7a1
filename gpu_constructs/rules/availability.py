"""Whether what was asked for can be had: in a region, in an account, from the values that exist at synth."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import Fleet, Unknown
from gpu_constructs.hardware import RECORDED, regions
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, Rule, rule
from gpu_constructs.rules.wording import both, either

__all__ = ["RULES"]

_OFFERINGS = "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypeOfferings.html"


@rule(
    "GPU001",
    Severity.WARNING,
    question="does any recorded region offer the instance type?",
    because="sources disagree on whether an account may still launch an old type; only the account can say",
    source=_OFFERINGS,
)
def offered(fleet: Fleet) -> Iterator[Problem]:
    for pool in fleet.pools:
        missing = [
            each for each in pool.instance_types if each.accelerators is not None and not each.is_offered_anywhere
        ]
        if missing:
            modern = dict.fromkeys(each.replaced_by for each in missing if each.replaced_by)
            doubt = f" ({missing[0].note})" if missing[0].note else ""
            yield Problem(
                about=pool,
                message=f"{either(missing)} was offered in none of the regions recorded on {RECORDED:%Y-%m-%d}{doubt}: "
                "whether this account may still launch it, only the account can say",
                fix=f"modern replacements: {', '.join(modern)}" if modern else "",
            )


@rule(
    "GPU011",
    Severity.WARNING,
    question="does the stack's region offer the instance type?",
    because="a region that does not offer a type launches none of it; offerings change, so this is what was recorded",
    source=_OFFERINGS,
)
def offered_here(fleet: Fleet) -> Iterator[Problem]:
    for pool in fleet.pools:
        if pool.region not in regions():
            continue
        missing = [each for each in pool.instance_types if each.is_offered_anywhere and pool.region not in each.regions]
        if missing:
            yield Problem(
                about=pool,
                message=f"{either(missing)} was not offered in {pool.region} on {RECORDED}, but in "
                f"{', '.join(missing[0].regions[:5])}",
            )


@rule(
    "GPU005",
    Severity.WARNING,
    question="are instance types and numbers of hosts known before the deploy?",
    because="nothing that depends on a value of the deploy can be checked",
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html",
)
def known_before_deploy(fleet: Fleet) -> Iterator[Problem]:
    for pool in fleet.pools:
        values = {
            "instance_types": pool.has_unknown_types,
            "min_instances": isinstance(pool.min_instances, Unknown),
            "max_instances": isinstance(pool.max_instances, Unknown) and pool.requirements is None,
        }
        unknown = [argument for argument, is_unknown in values.items() if is_unknown]
        if unknown:
            yield Problem(
                about=pool,
                message=f"{both(unknown)} of {pool.name} are only known at deploy time, so nothing that depends on "
                "them was checked",
                fix="take them from context instead",
            )


RULES: tuple[Rule, ...] = (offered, known_before_deploy, offered_here)
