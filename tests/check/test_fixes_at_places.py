"""A fix can be made where it is said to be: with everything that shares the place, and with the other fixes."""

from __future__ import annotations

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.rules import Severity
from tests.checked_templates import GOOD

_NAMES = ("Launch", "Group", "Provider", "Train", "Service")


def _twice(default: str, allowed: str = "") -> str:
    """Two services on two pools of hosts, of which one parameter says the type."""
    start, _, rest = GOOD.partition("Resources:\n")
    cluster, _, parts = rest.partition("  Launch:\n")
    first = f"  Launch:\n{parts}"
    second = first
    for name in _NAMES:
        for end in (":\n", ".", "\n", "]", "}"):
            second = second.replace(f"  {name}{end}", f"  {name}2{end}").replace(f" {name}{end}", f" {name}2{end}")
    head, _, tail = second.partition("  Association:\n")
    second = head + tail[tail.index("  Train2:") :]
    second = second.replace("Value: '1'", "Value: '4'")
    listed = f"\n    AllowedValues: [{allowed}]" if allowed else ""
    start = start.replace("g6.xlarge\n    AllowedValues: [g6.xlarge]", f"{default}{listed}")
    return f"{start}Resources:\n{cluster}{first}{second}".replace("[!Ref Provider]", "[!Ref Provider, !Ref Provider2]")


def _fixes(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in check_files(["-"], stdin=text.encode()).findings:
        if each.severity is Severity.ERROR:
            found.setdefault(each.rule, set()).add(each.fix.partition(" (")[0])
    return found


def test_the_pair_is_right_with_a_type_for_both() -> None:
    assert not _fixes(_twice("g5.12xlarge"))


@pytest.mark.parametrize(
    ("default", "allowed", "fixes"),
    [
        ("p2.xlarge", "", dict.fromkeys(("GPU052", "GPU060"), "hosts of a type such as g4dn.12xlarge")),
        ("p2.xlarge", "g4dn.xlarge, g5.12xlarge", dict.fromkeys(("GPU052", "GPU060"), "Hosts g5.12xlarge")),
        ("g5.xlarge", "g5.xlarge, g5.12xlarge, g5g.metal", {"GPU060": "Hosts g5.12xlarge"}),
        ("g5.xlarge", "g5.xlarge, g5.2xlarge", {"GPU060": "GPUs no higher than 1"}),
    ],
)
def test_a_type_that_two_pools_share_is_one_that_both_can_have(
    default: str, allowed: str, fixes: dict[str, str]
) -> None:
    assert _fixes(_twice(default, allowed)) == {rule: {fix} for rule, fix in fixes.items()}
