from __future__ import annotations

import datetime as dt

import pytest

from gpu_constructs.facts import instance_type
from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.placement.query import BUILT_IN_ATTRIBUTES, Host, evaluate, host_of, judge, parse

G6 = host_of(instance_type("g6.xlarge"), attributes={"stack": "prod", "token": UNKNOWN, "bare": None})
UTC = dt.timezone.utc


@pytest.mark.parametrize(
    "text",
    [
        "attribute:stack == prod",
        "attribute:stack != test",
        "attribute:stack =~ pro.",
        "attribute:stack in [test, prod]",
        "attribute:stack !in [test]",
        "attribute:ecs.cpu-architecture == x86_64",
        "attribute:token exists",
        "attribute:bare exists",
        "attribute:ecs.availability-zone exists",
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
        ("attribute:token == a", "`attribute:token` is unknown at synth"),
        ("attribute:ecs.availability-zone == us-east-1a", "`attribute:ecs.availability-zone` is unknown at synth"),
        ("attribute:other exists", "`attribute:other` may be set on the host"),
        ("attribute:other !exists", "`attribute:other` may be set on the host"),
        ("attribute:other != a", "`attribute:other` may be set on the host"),
        ("attribute:bare != a", "`attribute:bare` has no value, `attribute:bare != a` is not documented for that"),
        ("attribute:bare !in [a]", "`attribute:bare` has no value"),
        ("attribute:bare !~ a", "`attribute:bare` has no value"),
        ("attribute:stack > a", "no order of attribute values is documented"),
        ("attribute:stack =~ (?i)PROD", "the pattern `(?i)PROD` is not judged"),
        ("runningTasksCount == 0", "`runningTasksCount` is unknown at synth"),
        ("agentConnected == true", "`agentConnected` is unknown at synth"),
        ("task:group == web", "the tasks on the host are unknown at synth"),
        ("attribute:stack == prod and attribute:token == a", "`attribute:token` is unknown at synth"),
        ("attribute:stack == test or attribute:token == a", "`attribute:token` is unknown at synth"),
        ("not (attribute:token == a)", "`attribute:token` is unknown at synth"),
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


@pytest.mark.parametrize("operator", ["== a", "!= a", "in [a]", "!in [a]", "=~ .*", "!~ .*", "> a", "<= a", "exists"])
def test_no_question_about_an_absent_attribute_holds(operator: str) -> None:
    assert evaluate(parse(f"attribute:x {operator}"), Host()) is False
    assert evaluate(parse(f"not (attribute:x {operator})"), Host()) is True


def test_an_absent_attribute_does_not_exist() -> None:
    assert evaluate(parse("attribute:x !exists"), Host()) is True


@pytest.mark.parametrize("name", sorted(BUILT_IN_ATTRIBUTES))
def test_a_built_in_attribute_always_exists(name: str) -> None:
    assert evaluate(parse(f"attribute:{name} exists"), Host(complete=False)) is True


@pytest.mark.parametrize(
    ("text", "version", "answer"),
    [
        ("agentVersion == 1.14.5", "1.14.5", True),
        ("agentVersion == 1.14", "1.14.0", False),
        ("agentVersion < 1.14.5", "1.14.4", True),
        ("agentVersion < 1.14.5", "1.2.0", True),
        ("agentVersion >= 1.14", "1.14.1", True),
        ("agentVersion > 1.100", "1.106.1", True),
        ("agentVersion > 1", "10.0.0", True),
        ("agentVersion < 1.14", "1.14.0", False),
        ("agentVersion > 1.14", "1.14.0", UNKNOWN),
        ("agentVersion < 1.14", "dev", UNKNOWN),
    ],
)
def test_versions_compare_by_their_numbers(text: str, version: str, answer: object) -> None:
    assert evaluate(parse(text), Host(agent_version=version)) is answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("agentConnected == true", True),
        ("agentConnected != true", False),
        ("agentConnected == false", False),
        ("agentConnected in [true, false]", True),
        ("agentConnected =~ t.*", True),
        ("agentConnected == True", UNKNOWN),
        ("agentConnected in [True, true]", True),
    ],
)
def test_an_agent_is_connected_or_not(text: str, answer: object) -> None:
    assert evaluate(parse(text), Host(agent_connected=True)) is answer


def test_a_count_compares_as_a_number() -> None:
    assert evaluate(parse("runningTasksCount == 01"), Host(running_tasks_count=1)) is True
    assert evaluate(parse("runningTasksCount != 10"), Host(running_tasks_count=9)) is True
    assert evaluate(parse("runningTasksCount < 10"), Host(running_tasks_count=9)) is True


def test_a_host_is_frozen() -> None:
    attributes: dict[str, str | None] = {"a": "1"}
    host = Host(attributes={**attributes})
    attributes["a"] = "2"
    assert host.attributes == {"a": "1"}
    assert host == Host(attributes={"a": "1"})
    assert len({host, Host(attributes={"a": "1"})}) == 1
