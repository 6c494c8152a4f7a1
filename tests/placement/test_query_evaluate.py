from __future__ import annotations

import pytest

from gpu_constructs.facts import instance_type
from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.placement.query.evaluate import Host, evaluate, host_of, judge
from gpu_constructs.placement.query.parser import parse

G6 = host_of(instance_type("g6.xlarge"), attributes={"stack": "prod", "token": UNKNOWN, "bare": None})


@pytest.mark.parametrize(
    "text",
    [
        "attribute:stack !in [test]",
        "not (attribute:bare == prod)",
        "attribute:stack == prod or attribute:token == a",
        "not (attribute:stack == test and attribute:token == a)",
    ],
)
def test_what_is_known_to_hold(text: str) -> None:
    assert evaluate(parse(text), G6) is True
    assert evaluate(parse(f"not ({text})"), G6) is False


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("attribute:other exists", "`attribute:other` may be set on the host"),
        ("attribute:other !exists", "`attribute:other` may be set on the host"),
        ("attribute:bare !~ a", "`attribute:bare` has no value"),
        ("attribute:stack > a", "no order of attribute values is documented"),
        ("attribute:stack =~ (?i)PROD", "the pattern `(?i)PROD` is not judged"),
        ("agentConnected == true", "`agentConnected` is unknown at synth"),
    ],
)
def test_what_cannot_be_known_says_why(text: str, reason: str) -> None:
    verdict = judge(parse(text), G6)
    assert verdict.holds is UNKNOWN
    assert reason in verdict.reasons[0]
    assert evaluate(parse(f"not ({text})"), G6) is UNKNOWN


def test_every_reason_is_given_once() -> None:
    verdict = judge(parse("attribute:token == a or attribute:token == b or attribute:other == c"), G6)
    assert verdict.reasons == ("`attribute:token` is unknown at synth", "`attribute:other` may be set on the host")


@pytest.mark.parametrize("operator", ["== a", "!= a", "exists"])
def test_no_question_about_an_absent_attribute_holds(operator: str) -> None:
    assert evaluate(parse(f"attribute:x {operator}"), Host()) is False
    assert evaluate(parse(f"not (attribute:x {operator})"), Host()) is True


@pytest.mark.parametrize(
    ("text", "host", "answer"),
    [
        ("agentVersion == 1.14", Host(agent_version="1.14.0"), False),
        ("agentVersion < 1.14.5", Host(agent_version="1.14.4"), True),
        ("agentVersion > 1.14", Host(agent_version="1.14.0"), UNKNOWN),
        ("agentVersion < 1.14", Host(agent_version="dev"), UNKNOWN),
        ("agentConnected == true", Host(agent_connected=True), True),
        ("agentConnected != true", Host(agent_connected=True), False),
        ("agentConnected == True", Host(agent_connected=True), UNKNOWN),
        ("runningTasksCount == 01", Host(running_tasks_count=1), True),
        ("runningTasksCount != 10", Host(running_tasks_count=9), True),
        ("runningTasksCount < 10", Host(running_tasks_count=9), True),
    ],
)
def test_versions_and_counts_compare_by_their_numbers_and_an_agent_is_connected_or_not(
    text: str, host: Host, answer: object
) -> None:
    assert evaluate(parse(text), host) is answer
