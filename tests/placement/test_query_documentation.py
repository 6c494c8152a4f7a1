"""Every form of expression that the ECS developer guide prints, and what the guide says of it."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.placement.query.ast import render
from gpu_constructs.placement.query.evaluate import Host, evaluate
from gpu_constructs.placement.query.parser import parse

# cluster-query-language.html, task-placement-constraints.html and their examples of list-container-instances:
# the expression, a host that it "selects" and one that it does not.
PRINTED = [
    (
        "attribute:ecs.instance-type == t2.small",
        Host(attributes={"ecs.instance-type": "t2.small"}),
        Host(attributes={"ecs.instance-type": "t2.smallish"}),
    ),
    (
        "attribute:ecs.availability-zone in [us-east-1a, us-east-1b]",
        Host(attributes={"ecs.availability-zone": "us-east-1b"}),
        Host(attributes={"ecs.availability-zone": "us-east-1c"}),
    ),
    (
        "attribute:ecs.instance-type =~ g2.* and attribute:ecs.availability-zone != us-east-1d",
        Host(attributes={"ecs.instance-type": "g2.2xlarge", "ecs.availability-zone": "us-east-1a"}),
        Host(attributes={"ecs.instance-type": "g2.2xlarge", "ecs.availability-zone": "us-east-1d"}),
    ),
    ("runningTasksCount == 1", Host(running_tasks_count=1), Host(running_tasks_count=10)),
    ("agentVersion < 1.14.5", Host(agent_version="1.9.12"), Host(agent_version="1.14.5")),
    (
        "ec2InstanceId in ['i-abcd1234', 'i-wxyx7890']",
        Host(ec2_instance_id="i-wxyx7890"),
        Host(ec2_instance_id="i-0"),
    ),
    ("attribute:stack == prod", Host(attributes={"stack": "prod"}), Host()),
    ("attribute:stack != prod", Host(attributes={"stack": "test"}), Host(attributes={"stack": "prod"})),
    # "lists the instances with the custom attribute stack unless the attribute value is prod"
    ("attribute:stack != prod", Host(attributes={"stack": "test"}), Host(attributes={"other": "x"})),
    (
        "attribute:ecs.instance-type =~ t2.*",
        Host(attributes={"ecs.instance-type": "t2.nano"}),
        Host(attributes={"ecs.instance-type": "m2.nano"}),
    ),
    # Precedence: the guide's "(expression1 or expression2) and expression3".
    (
        "(attribute:a exists or attribute:b exists) and attribute:c exists",
        Host(attributes={"b": "1", "c": "1"}),
        Host(attributes={"a": "1"}),
    ),
]


@pytest.mark.parametrize(("expression", "selected", "other"), PRINTED)
def test_an_expression_of_the_guide_means_what_the_guide_says(expression: str, selected: Host, other: Host) -> None:
    query = parse(expression)
    assert evaluate(query, selected) is True
    assert evaluate(query, other) is False
    assert parse(render(query)) == query


@pytest.mark.parametrize(
    "expression",
    ["task:group == service:production", "not(task:group == database)", "registeredAt < 2018-02-13"],
)
def test_when_a_host_registers_and_what_runs_on_it_is_unknown_before_the_deploy(expression: str) -> None:
    query = parse(expression)
    assert evaluate(query, Host()) is UNKNOWN
    assert parse(render(query)) == query


# The table of operators: both forms of each, and a host with the value b.
OPERATORS = [
    ("== b", "equals b", True),
    ("!= b", "not_equals b", False),
    ("exists", "exists", True),
    ("!exists", "not_exists", False),
    ("in [a, b]", "in [a, b]", True),
    ("!in [a, b]", "not_in [a, b]", False),
    ("=~ [b-z]", "matches [b-z]", True),
    ("!~ [b-z]", "not_matches [b-z]", False),
]


@pytest.mark.parametrize(("symbol", "word", "answer"), OPERATORS)
def test_both_forms_of_an_operator_are_one(symbol: str, word: str, answer: bool) -> None:
    query = parse(f"attribute:x {symbol}")
    assert parse(f"attribute:x {word}") == query
    assert evaluate(query, Host(attributes={"x": "b"})) is answer


ORDERS = [(">", "greater_than"), (">=", "greater_than_equal"), ("<", "less_than"), ("<=", "less_than_equal")]


@pytest.mark.parametrize(("symbol", "word"), ORDERS)
def test_both_forms_of_an_order_are_one(symbol: str, word: str) -> None:
    query = parse(f"runningTasksCount {symbol} 9")
    assert parse(f"runningTasksCount {word} 9") == query
    answers = [evaluate(query, Host(running_tasks_count=count)) for count in (8, 9, 10)]
    assert answers == [symbol in {"<", "<="}, "=" in symbol, symbol in {">", ">="}]


def test_a_pattern_with_groups_as_flotilla_sends_it_is_read_whole() -> None:
    # stitchfix/flotilla, execution/adapter/ecs_adapter.go: its constraint for GPU hosts.
    query = parse("attribute:ecs.instance-type =~ (p[2,3]|g[3,4]|f[1]).*")
    assert evaluate(query, Host(attributes={"ecs.instance-type": "g4dn.xlarge"})) is True
    assert evaluate(query, Host(attributes={"ecs.instance-type": "m5.xlarge"})) is False
