"""The cluster query language: expressions at random, against an evaluator written from the documentation alone."""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.placement.query.ast import And, Comparison, Exists, In, Matches, Not, Or, Query, describe
from gpu_constructs.placement.query.evaluate import Host, evaluate
from gpu_constructs.placement.query.parser import parse
from gpu_constructs.placement.query.subjects import Attribute, Field, Operator, Subject

NAMES = ["x", "y", "ecs.instance-type", "a/b\\c"]
VALUES = ["a", "b", "g5.xlarge", "g5g.xlarge", "and", "it's", 'a "b', "a, b]", "(a)", "&&", "=a", "-1"]
PATTERNS = ["a", "g5.*", "g5\\..*", "(a|b)", "[^)]+", ".*", "a||b", "and", "[ab'] *", "=a"]
WHOLE_PATTERNS = [*PATTERNS, "(?i)(", "\\p{L}\\", "(?=a", "[a[b]"]
EQUALITY = [Operator.EQUALS, Operator.NOT_EQUALS]
ORDER = [Operator.GREATER_THAN, Operator.GREATER_THAN_EQUAL, Operator.LESS_THAN, Operator.LESS_THAN_EQUAL]
COUNTS = ["0", "1", "2", "10"]
VERSIONS = ["1.9.0", "1.14.5", "1.100.0"]

attributes = st.sampled_from(NAMES).map(Attribute)
texts = st.sampled_from(VALUES)
any_texts = st.text(
    st.characters(exclude_categories=("C", "Z"), include_characters=" "), min_size=1, max_size=20
).filter(lambda text: "'" not in text or '"' not in text)
listed: st.SearchStrategy[Subject] = attributes | st.sampled_from([Field.EC2_INSTANCE_ID, Field.TASK_GROUP])


def trees(conditions: st.SearchStrategy[Query]) -> st.SearchStrategy[Query]:
    return st.recursive(
        conditions,
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=4).map(lambda terms: And(tuple(terms))),
            st.lists(inner, min_size=2, max_size=4).map(lambda terms: Or(tuple(terms))),
            inner.map(Not),
        ),
        max_leaves=10,
    )


def conditions_of(
    values: st.SearchStrategy[str], patterns: st.SearchStrategy[str], compared: list[Operator]
) -> st.SearchStrategy[Query]:
    return st.one_of(
        st.builds(Comparison, attributes, st.sampled_from(compared), values),
        st.builds(Comparison, listed, st.sampled_from(EQUALITY), values),
        st.builds(In, listed, st.lists(values, min_size=1, max_size=4).map(tuple), st.booleans()),
        st.builds(Exists, attributes, st.booleans()),
        st.builds(Matches, listed, patterns, st.booleans()),
        st.builds(
            Comparison, st.just(Field.RUNNING_TASKS_COUNT), st.sampled_from(EQUALITY + ORDER), st.sampled_from(COUNTS)
        ),
        st.builds(
            Comparison, st.just(Field.AGENT_VERSION), st.sampled_from(EQUALITY + ORDER), st.sampled_from(VERSIONS)
        ),
    )


queries = trees(conditions_of(texts, st.sampled_from(PATTERNS), EQUALITY))
written = trees(conditions_of(texts | any_texts, st.sampled_from(WHOLE_PATTERNS), EQUALITY + ORDER))

hosts = st.builds(
    Host,
    attributes=st.dictionaries(st.sampled_from(NAMES), texts),
    agent_version=st.sampled_from(VERSIONS),
    ec2_instance_id=texts,
    running_tasks_count=st.sampled_from(COUNTS).map(int),
)


def by_the_guide(query: Query, host: Host) -> bool | None:  # noqa: PLR0911 # one branch for each sentence of the guide
    """What the guide says of a host that is known; None where it says nothing."""
    if isinstance(query, And | Or):
        answers = [by_the_guide(term, host) for term in query.terms]
        decisive = isinstance(query, Or)
        if decisive in answers:
            return decisive
        return None if None in answers else not decisive
    if isinstance(query, Not):
        answer = by_the_guide(query.term, host)
        return None if answer is None else not answer
    subject, symbol = query.subject, str(query.operator)
    if isinstance(subject, Attribute) and symbol in {"exists", "!exists"}:
        return (subject.name in host.attributes) == (symbol == "exists")
    if subject is Field.TASK_GROUP:
        return None  # it is unknown before the deploy which tasks run on a host
    if isinstance(subject, Attribute):
        value = host.attributes.get(subject.name)
        return isinstance(value, str) and holds(query, value)
    if subject is Field.EC2_INSTANCE_ID:
        return holds(query, str(host.ec2_instance_id))
    assert isinstance(query, Comparison)
    if subject is Field.AGENT_VERSION and query.operator in ORDER:
        return in_order(query.operator, numbers(str(host.agent_version)), numbers(query.argument))
    if subject is Field.RUNNING_TASKS_COUNT and query.operator in ORDER:
        return in_order(query.operator, numbers(str(host.running_tasks_count)), numbers(query.argument))
    return holds(query, str(host.agent_version if subject is Field.AGENT_VERSION else host.running_tasks_count))


def holds(query: Query, value: str) -> bool:
    if isinstance(query, In):
        return (value in query.values) != query.negated
    if isinstance(query, Matches):
        return bool(re.fullmatch(query.pattern, value)) != query.negated
    assert isinstance(query, Comparison)
    return (value == query.argument) == (query.operator is Operator.EQUALS)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(".")]


def in_order(operator: Operator, one: list[int], other: list[int]) -> bool:
    answers: dict[str, Callable[[], bool]] = {
        ">": lambda: one > other,
        ">=": lambda: one >= other,
        "<": lambda: one < other,
        "<=": lambda: one <= other,
    }
    return answers[operator.value]()


@given(written)
def test_what_is_printed_is_read_back(query: Query) -> None:
    assert parse(describe(query)) == query


@given(queries, hosts)
def test_evaluates_as_the_guide_says(query: Query, host: Host) -> None:
    expected = by_the_guide(query, host)
    assert evaluate(query, host) is (UNKNOWN if expected is None else expected)


@given(queries, hosts, st.data())
def test_what_is_known_of_part_of_a_host_is_true_of_the_whole(query: Query, host: Host, data: st.DataObject) -> None:
    forgotten = data.draw(st.sets(st.sampled_from(sorted(host.attributes)))) if host.attributes else set()
    unlisted = data.draw(st.booleans())
    part = Host(
        attributes={
            name: UNKNOWN if name in forgotten else value
            for name, value in host.attributes.items()
            if not (unlisted and name in forgotten)
        },
        complete=not unlisted,
        agent_version=data.draw(st.sampled_from([UNKNOWN, host.agent_version])),
        running_tasks_count=data.draw(st.sampled_from([UNKNOWN, host.running_tasks_count])),
    )
    if unlisted and "ecs.instance-type" not in host.attributes:
        return  # every real host has the built-in attributes
    answer = evaluate(query, part)
    assert answer is UNKNOWN or answer is evaluate(query, host)
