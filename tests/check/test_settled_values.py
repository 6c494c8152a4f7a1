"""What is not known at first and known with every value that the deploy can have is not said to be unknown."""

from __future__ import annotations

import pytest

from gpu_constructs.check.report import check_files
from tests.acceptance.recall import GOOD

BY_REGION = (GOOD / "127-types-by-region.yaml").read_text(encoding="utf-8")
LOOKED_UP = "!FindInMap [Types, !Ref AWS::Region, Gpu]"
PARAMETERS = "Parameters:\n"
SAYS_WHAT_IS_OPEN = {"GPU005", "GPU229"}


def left_open(template: str) -> set[str]:
    findings = check_files(["-"], stdin=template.encode()).findings
    return {each.rule for each in findings} & SAYS_WHAT_IS_OPEN


def with_type(written: str, parameter: str = "", condition: str = "") -> str:
    declared = BY_REGION.replace(PARAMETERS, f"{condition}{PARAMETERS}{parameter}")
    assert LOOKED_UP in declared
    return declared.replace(LOOKED_UP, written)


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(BY_REGION, id="each region of a mapping"),
        pytest.param(
            with_type("!Ref Gpu", "  Gpu: {Type: String, AllowedValues: [g6.12xlarge, g5.12xlarge]}\n"),
            id="each allowed value",
        ),
        pytest.param(
            with_type("!FindInMap [Types, !Ref Where, Gpu]", "  Where: {Type: String}\n"), id="each key of a mapping"
        ),
    ],
)
def test_what_every_value_settles_is_not_said(template: str) -> None:
    assert left_open(template) == set()


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(with_type("!Ref Gpu", "  Gpu: {Type: String}\n"), id="any value"),
        pytest.param(
            with_type("!FindInMap [Types, !Ref AWS::Region, Gpu, {DefaultValue: g6.12xlarge}]"),
            id="a mapping with a default",
        ),
        pytest.param(
            with_type(
                "!If [Here, g6.12xlarge, g5.12xlarge]",
                condition="Conditions:\n  Here: !Equals [!Ref AWS::Region, us-east-1]\n",
            ),
            id="one region and all others",
        ),
        pytest.param(
            with_type(
                "!If [Here, g6.12xlarge, !Ref Gpu]",
                "  Gpu: {Type: String}\n  Size: {Type: String, AllowedValues: [small, large]}\n",
                "Conditions:\n  Here: !Equals [!Ref Size, small]\n",
            ),
            id="a value that leaves it open",
        ),
    ],
)
def test_what_another_value_may_bring_is_said(template: str) -> None:
    assert left_open(template) == SAYS_WHAT_IS_OPEN
