"""A good configuration is left in peace, and so are the defaults of every type that can be had."""

from __future__ import annotations

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.facts import Image, InstanceType, accelerated, default_image
from gpu_constructs.fleet import Fleet
from gpu_constructs.rules import Severity, check
from tests.rules.given import a_pool, of_image


def _defaults() -> list[tuple[InstanceType, Image]]:
    return [(each, row) for each in accelerated() for row in _default(each)]


def _default(each: InstanceType) -> tuple[Image, ...]:
    try:
        return (default_image(each),)
    except IncompatibleError:
        return ()


def test_a_good_pool_has_no_finding() -> None:
    assert check(Fleet(pools=(a_pool(),))) == ()


def test_a_type_with_its_default_image_has_no_error() -> None:
    for each, row in _defaults():
        findings = check(Fleet(pools=(a_pool(each.name, image=of_image(row.name)),)))
        assert [finding for finding in findings if finding.severity is Severity.ERROR] == [], each


def test_defaults_that_are_offered_are_silent_but_for_what_nobody_confirms() -> None:
    loud = {
        (finding.rule, each.family)
        for each, row in _defaults()
        if each.is_offered_anywhere
        for finding in check(Fleet(pools=(a_pool(each.name, image=of_image(row.name)),)))
        if finding.severity is not Severity.INFO
    }
    assert loud == {("GPU004", "g7")}
