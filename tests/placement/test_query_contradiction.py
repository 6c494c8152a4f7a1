from __future__ import annotations

import pytest

from gpu_constructs.placement.query import And, conditions, contradicts, instance_type_in, parse, render


def test_a_list_of_instance_types_names_each_once() -> None:
    query = instance_type_in(["g6.2xlarge", "g6.xlarge", "g6.2xlarge"])
    assert render(query) == "attribute:ecs.instance-type in [g6.2xlarge, g6.xlarge]"


def test_conditions_are_given_in_order() -> None:
    text = "attribute:a exists and (attribute:b exists or not (attribute:c exists))"
    assert [render(each) for each in conditions(parse(text))] == [f"attribute:{name} exists" for name in "abc"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("attribute:x == a and attribute:x == b", ["attribute:x == a", "attribute:x == b"]),
        (
            "attribute:y exists and attribute:x == a and attribute:x != c and attribute:x == b",
            ["attribute:x == a", "attribute:x == b"],
        ),
        ("attribute:x in [a, b] and attribute:x !in [b, a, c]", ["attribute:x in [a, b]", "attribute:x !in [b, a, c]"]),
        ("attribute:x in [a, b] and attribute:x == c", ["attribute:x in [a, b]", "attribute:x == c"]),
        ("attribute:x == a and attribute:x !exists", ["attribute:x == a", "attribute:x !exists"]),
        ("attribute:x exists and not (attribute:x exists)", ["attribute:x exists", "not (attribute:x exists)"]),
        ("attribute:x == b and attribute:x =~ a.*", ["attribute:x == b", "attribute:x =~ a.*"]),
        ("attribute:x == a and not (attribute:x == a)", ["attribute:x == a", "not (attribute:x == a)"]),
        (
            "not (attribute:x != a or attribute:x !exists) and attribute:x == b",
            ["not (attribute:x != a)", "attribute:x == b"],
        ),
        (
            "attribute:x == a and (attribute:x == b or attribute:x == c)",
            ["attribute:x == a", "attribute:x == b", "attribute:x == c"],
        ),
        (
            "(attribute:x == a and attribute:x == b) or (attribute:y == a and attribute:y == b)",
            ["attribute:x == a", "attribute:x == b", "attribute:y == a", "attribute:y == b"],
        ),
        ("runningTasksCount == 3 and runningTasksCount < 2", ["runningTasksCount == 3", "runningTasksCount < 2"]),
        ("agentVersion == 1.14.5 and agentVersion < 1.9", ["agentVersion == 1.14.5", "agentVersion < 1.9"]),
        ("agentConnected == true and agentConnected == false", ["agentConnected == true", "agentConnected == false"]),
        ("ec2InstanceId in [i-1] and ec2InstanceId != i-1", ["ec2InstanceId in [i-1]", "ec2InstanceId != i-1"]),
        ("task:group == a and not (task:group == a)", ["task:group == a", "not (task:group == a)"]),
    ],
)
def test_finds_what_contradicts(text: str, parts: list[str]) -> None:
    found = contradicts(parse(text))
    assert found is not None
    assert [render(each) for each in found.parts] == parts
    assert str(found) == " and ".join(f"`{part}`" for part in parts)


@pytest.mark.parametrize(
    "text",
    [
        "attribute:x == a",
        "attribute:x == a or attribute:x == b",
        "attribute:x == a and attribute:y == b",
        "attribute:x in [a, b] and attribute:x in [b, c]",
        "attribute:x in [a, b] and attribute:x != a",
        "not (attribute:x == a) and not (attribute:x exists)",
        "not (attribute:x == a) and not (attribute:x != a)",
        "attribute:x exists and not (attribute:x == a) and not (attribute:x != a)",
        "attribute:x =~ a.* and attribute:x =~ b.*",
        "attribute:x == a and (attribute:x == b or attribute:y exists)",
        "task:group == a and task:group == b",
        "task:group == a and task:group != a",
        "runningTasksCount >= 0 and runningTasksCount <= 0",
        "agentVersion >= 1.14 and agentVersion < 1.14.0",
        "agentVersion > 1.13 and agentVersion < 1.14",
        "registeredAt > 2018-06-18 and registeredAt < 2018-06-18",
        "attribute:x > b and attribute:x < a",
    ],
)
def test_finds_no_contradiction_where_a_host_may_exist(text: str) -> None:
    assert contradicts(parse(text)) is None


def test_an_expression_of_many_conditions_is_not_searched() -> None:
    # Each condition would be held against all others; ECS takes ten expressions of this length.
    query = parse(" and ".join(f"attribute:x != {number}" for number in range(87)))
    assert contradicts(And((*[query] * 4, parse("attribute:x == a and attribute:x == b")))) is not None
    assert contradicts(And((*[query] * 5, parse("attribute:x == a and attribute:x == b")))) is None
