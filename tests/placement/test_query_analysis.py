from __future__ import annotations

import pytest

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.hardware import accelerated, family
from gpu_constructs.placement.query import (
    Host,
    conditions,
    contradicts,
    families_matched,
    host_of,
    instance_type_patterns,
    matching,
    parse,
    render,
    satisfiable,
)


@pytest.mark.parametrize(
    ("pattern", "families"),
    [
        ("g5.*", {"g5", "g5g"}),
        ("g5\\..*", {"g5"}),
        ("g6.*", {"g6", "g6e", "g6f"}),
        ("p4d.*", {"p4d", "p4de"}),
        ("trn1.*", {"trn1", "trn1n"}),
        ("g5", set()),
        (".*\\.metal-none", set()),
    ],
)
def test_a_pattern_also_matches_other_families(pattern: str, families: set[str]) -> None:
    query = parse(f"attribute:ecs.instance-type =~ {pattern} and attribute:stack == prod")
    (found,) = instance_type_patterns(query)
    assert set(families_matched(found, accelerated())) == families
    # The stack of a host is not known from its type, so the whole expression may hold on the same families.
    assert set(families_matched(query, accelerated())) == families


def test_the_types_that_a_pattern_matches_are_named() -> None:
    (pattern,) = instance_type_patterns(parse("not (attribute:ecs.instance-type =~ g5g\\.[x1-9].*)"))
    assert families_matched(pattern, family("g5g")) == {
        "g5g": tuple(each.name for each in family("g5g") if not each.bare_metal)
    }


def test_conditions_are_given_in_order() -> None:
    text = "attribute:a exists and (attribute:b exists or not (attribute:c exists))"
    assert [render(each) for each in conditions(parse(text))] == [f"attribute:{name} exists" for name in "abc"]


def test_hosts_are_told_apart() -> None:
    yes, no, perhaps = (Host(attributes={"x": value}) for value in ("a", "b", UNKNOWN))
    query = parse("attribute:x == a")
    found = matching(query, [yes, no, perhaps])
    assert found.certain == (yes,)
    assert found.possible == (perhaps,)
    assert satisfiable(query, [no, yes]) is True
    assert satisfiable(query, [no, perhaps]) is UNKNOWN
    assert satisfiable(query, [no]) is False
    assert satisfiable(query, []) is False
    assert satisfiable(parse("attribute:ecs.instance-type == g6.xlarge"), map(host_of, accelerated())) is True


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
        ("attribute:x =~ a.* and attribute:x !~ a.*", ["attribute:x =~ a.*", "attribute:x !~ a.*"]),
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
        ("runningTasksCount < 0", ["runningTasksCount < 0"]),
        ("runningTasksCount > 1 and runningTasksCount < 2", ["runningTasksCount > 1", "runningTasksCount < 2"]),
        (
            "runningTasksCount >= 3 and not (runningTasksCount > 2)",
            ["runningTasksCount >= 3", "not (runningTasksCount > 2)"],
        ),
        ("runningTasksCount == 3 and runningTasksCount < 2", ["runningTasksCount == 3", "runningTasksCount < 2"]),
        ("agentVersion > 1.14.5 and agentVersion < 1.9", ["agentVersion > 1.14.5", "agentVersion < 1.9"]),
        ("agentVersion > 1.14 and agentVersion <= 1.14", ["agentVersion > 1.14", "agentVersion <= 1.14"]),
        ("registeredAt > 2018-06-18 and registeredAt < 2018-06-01", None),
        ("agentConnected == true and agentConnected == false", ["agentConnected == true", "agentConnected == false"]),
        ("ec2InstanceId in [i-1] and ec2InstanceId != i-1", ["ec2InstanceId in [i-1]", "ec2InstanceId != i-1"]),
        ("task:group == a and not (task:group == a)", ["task:group == a", "not (task:group == a)"]),
    ],
)
def test_finds_what_contradicts(text: str, parts: list[str] | None) -> None:
    found = contradicts(parse(text))
    assert found is not None
    if parts is not None:
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
