"""What is not known at first and known with every value that the deploy can have is not said to be unknown."""

from __future__ import annotations

import pytest

from gpu_constructs.check.report import check_files
from tests.acceptance.recall import GOOD

BY_REGION = (GOOD / "127-types-by-region.yaml").read_text(encoding="utf-8")
LOOKED_UP = "!FindInMap [Types, !Ref AWS::Region, Gpu]"
PARAMETERS = "Parameters:\n"
SAYS_WHAT_IS_OPEN = {"GPU005", "GPU229"}


def with_type(written: str, parameter: str = "", condition: str = "") -> str:
    declared = BY_REGION.replace(PARAMETERS, f"{condition}{PARAMETERS}{parameter}")
    assert LOOKED_UP in declared
    return declared.replace(LOOKED_UP, written)


HERE = "Conditions:\n  Here: !Equals [!Ref AWS::Region, us-east-1]\n"
SMALL = "Conditions:\n  Here: !Equals [!Ref Size, small]\n"
ANY = "  Gpu: {Type: String}\n"
SIZES = "  Size: {Type: String, AllowedValues: [small, large]}\n"
BY_DEFAULT = "!FindInMap [Types, !Ref AWS::Region, Gpu, {DefaultValue: g6.12xlarge}]"


@pytest.mark.parametrize(
    ("template", "is_said"),
    [
        (BY_REGION, False),  # each region of a mapping
        (with_type("!Ref Gpu", "  Gpu: {Type: String, AllowedValues: [g6.12xlarge, g5.12xlarge]}\n"), False),
        (with_type("!FindInMap [Types, !Ref Where, Gpu]", "  Where: {Type: String}\n"), False),
        (with_type("!Ref Gpu", ANY), True),
        (with_type(BY_DEFAULT), True),
        (with_type("!If [Here, g6.12xlarge, g5.12xlarge]", condition=HERE), True),  # one region and all others
        (with_type("!If [Here, g6.12xlarge, !Ref Gpu]", ANY + SIZES, SMALL), True),
    ],
)
def test_what_every_value_settles_is_not_said_and_what_another_may_bring_is(template: str, is_said: bool) -> None:
    found = {each.rule for each in check_files(["-"], stdin=template.encode()).findings}
    assert found & SAYS_WHAT_IS_OPEN == (SAYS_WHAT_IS_OPEN if is_said else set())
