from __future__ import annotations

import pytest
from ecs_emulator.expressions import ExpressionError, Subjects, parse

HOST = Subjects(
    {"ecs.instance-type": "g6.xlarge", "ecs.availability-zone": "us-east-1a", "stack": "prod", "bare": None},
    instance_id="i-1",
    running_tasks=2,
    task_groups=frozenset({"service:web"}),
)


@pytest.mark.parametrize(
    "text",
    [
        "attribute:ecs.instance-type == g6.xlarge",
        "attribute:ecs.instance-type equals g6.xlarge",
        'attribute:ecs.instance-type == "g6.xlarge"',
        "attribute:ecs.instance-type != g5.xlarge",
        "attribute:ecs.instance-type =~ g6.*",
        "attribute:ecs.instance-type =~ (g5|g6)\\.xlarge",
        "attribute:ecs.instance-type !~ g5.*",
        "attribute:ecs.instance-type in [g6.xlarge, g6.2xlarge]",
        "attribute:ecs.instance-type in [g6.xlarge]",
        "attribute:ecs.instance-type !in [g5.xlarge,g5.2xlarge]",
        "attribute:ecs.instance-type not_in [g5.xlarge]",
        "attribute:stack exists",
        "attribute:bare exists",
        "attribute:gone !exists",
        "attribute:gone not_exists",
        "not attribute:gone != anything",
        "attribute:stack != test",
        "attribute:stack==prod and attribute:ecs.availability-zone==us-east-1a",
        "attribute:stack == test or attribute:ecs.instance-type =~ g6.*",
        "attribute:stack == test || attribute:stack == prod && attribute:gone !exists",
        "not attribute:stack == test",
        "!(attribute:stack == test)",
        "not (attribute:stack == prod and attribute:gone exists)",
        "(attribute:stack == test or attribute:stack == prod) and not attribute:gone exists",
        "(attribute:ecs.instance-type =~ g6.*)",
        "task:group == service:web",
        "not task:group == service:api",
        "runningTasksCount <= 2",
        "runningTasksCount > 1",
        "ec2InstanceId in [i-1, i-2]",
        "agentConnected == true",
    ],
)
def test_a_true_expression_accepts_the_host(text: str) -> None:
    assert parse(text)(HOST)
    assert not parse(f"not ({text})")(HOST)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "g6.xlarge",
        "attribute:stack",
        "attribute:stack = prod",
        "attribute:stack == ",
        "attribute:stack == prod and",
        "attribute:stack == prod stack",
        "attribute:stack in prod",
        "attribute:stack in []",
        "attribute:stack in [prod",
        "attribute:stack =~ (",
        "attribute:stack =~ *",
        "attribute:stack > 3",
        "(attribute:stack == prod",
        "attribute:stack == prod)",
        "runningTasksCount > many",
        "runningTasksCount exists",
        "registeredAt > 2026-01-01",
        "gpus == 1",
        "attribute:" + "a" * 2000 + " exists",
    ],
)
def test_what_cannot_be_read_is_an_error_and_never_true(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


def test_a_pattern_must_match_the_whole_value() -> None:
    assert not parse("attribute:ecs.instance-type =~ g6")(HOST)
