from __future__ import annotations

import random

import pytest

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.placement.query.ast import And, Comparison, Exists, In, Matches, Not, Or, describe, render
from gpu_constructs.placement.query.parser import QuerySyntaxError, parse
from gpu_constructs.placement.query.subjects import Attribute, Field, Operator
from tests.examples import times

A, B, C = (Exists(Attribute(name)) for name in "abc")


READ = [
    ("attribute:x==prod", Comparison(Attribute("x"), Operator.EQUALS, "prod")),
    ("  attribute:x\t==\n prod ", Comparison(Attribute("x"), Operator.EQUALS, "prod")),
    ("attribute:x == 'a b'", Comparison(Attribute("x"), Operator.EQUALS, "a b")),
    ('attribute:x == "it\'s"', Comparison(Attribute("x"), Operator.EQUALS, "it's")),
    ("attribute:x == 'and'", Comparison(Attribute("x"), Operator.EQUALS, "and")),
    ("attribute:x == in", Comparison(Attribute("x"), Operator.EQUALS, "in")),
    ("attribute:x in[a,'b c' , d]", In(Attribute("x"), ("a", "b c", "d"))),
    ("attribute:a/b\\c.d-e_f!exists", Exists(Attribute("a/b\\c.d-e_f"), negated=True)),
    ("attribute:x =~ g5\\..*", Matches(Attribute("x"), "g5\\..*")),
    ("attribute:x =~ 'g5 .*'", Matches(Attribute("x"), "g5 .*")),
    ("(attribute:x =~ (a|b))", Matches(Attribute("x"), "(a|b)")),
    ("(attribute:x =~ [)])", Matches(Attribute("x"), "[)]")),
    ("(attribute:x =~ []a)])", Matches(Attribute("x"), "[]a)]")),
    ("(attribute:x =~ \\))", Matches(Attribute("x"), "\\)")),
    ("attribute:x =~ a.*&&attribute:a exists", And((Matches(Attribute("x"), "a.*"), A))),
    ("attribute:x =~ (a||b)", Matches(Attribute("x"), "(a||b)")),
    ("runningTasksCount>1", Comparison(Field.RUNNING_TASKS_COUNT, Operator.GREATER_THAN, "1")),
    ("agentConnected == true", Comparison(Field.AGENT_CONNECTED, Operator.EQUALS, "true")),
    ("attribute:a exists or attribute:b exists and attribute:c exists", Or((A, And((B, C))))),
    ("(attribute:a exists or attribute:b exists) and attribute:c exists", And((Or((A, B)), C))),
    ("not attribute:a exists and attribute:b exists", And((Not(A), B))),
    ("not not attribute:a exists", Not(Not(A))),
    ("!!attribute:a exists", Not(Not(A))),
    ("((attribute:a exists))", A),
    ("attribute:a exists and (attribute:b exists and attribute:c exists)", And((A, B, C))),
    ("attribute:not exists", Exists(Attribute("not"))),
]


def test_reads() -> None:
    assert not {text: found for text, query in READ if (found := parse(text)) != query}


UNREADABLE = [
    ("", 1, "expected a subject, found the end"),
    ("g6.xlarge", 1, "expected a subject, found `g6.xlarge`"),
    ("ecs.instance-type == x", 1, "did you mean attribute:ecs.instance-type?"),
    ("runningTaskCount > 1", 1, "did you mean runningTasksCount?"),
    ("attribute: == x", 11, "'' is not the name of an attribute"),
    (f"attribute:{'a' * 129} exists", 11, "is not the name of an attribute"),
    ("attribute:stack", 16, "expected an operator, found the end"),
    ("attribute:stack = prod", 17, "`==` compares"),
    ("attribute:stack equals5", 17, "expected an operator, found `equals5`"),
    ("attribute:stack ==", 19, "expected a value, found the end"),
    ("attribute:stack == and attribute:a exists", 20, "expected a value, found `and`"),
    ("attribute:stack == ''", 20, "an argument has at least one character"),
    ("attribute:stack == 'a", 20, "the quote is not closed"),
    ("attribute:stack == === b", 20, "expected a value, found `=`"),
    ("attribute:stack == prod and", 28, "expected a subject, found the end"),
    ("attribute:stack == prod test", 25, "a value with spaces stands in quotes"),
    ("attribute:stack == prod AND attribute:a exists", 25, "write `and`"),
    ("attribute:stack in prod", 20, "expected a list, found `prod`"),
    ("attribute:stack in []", 21, "expected a value, found `]`"),
    ("attribute:stack in [a b]", 23, "the list of column 20 is not closed, found `b`"),
    ("attribute:stack in [a,]", 23, "expected a value, found `]`"),
    ("attribute:stack in [a", 22, "the list of column 20 is not closed, found the end"),
    ("attribute:stack =~", 19, "expected a regular expression, found the end"),
    ("attribute:stack =~ *", 20, "nothing to repeat"),
    ("attribute:stack =~ ab(c", 22, "missing )"),
    ("attribute:stack =~ '[z-a]'", 22, "bad character range z-a"),
    ("attribute:stack =~ 'a\\'", 22, "bad escape (end of pattern)"),
    ("(attribute:stack == prod", 25, "the parenthesis of column 1 is not closed, found the end"),
    ("attribute:stack == prod)", 24, "`)` closes no parenthesis"),
    ("runningTasksCount > many", 21, "`many` is not a number of tasks"),
    ("runningTasksCount exists", 19, "`runningTasksCount` cannot be asked with `exists`"),
    ("agentVersion in [1]", 14, "`agentVersion` cannot be asked with `in`"),
    ("agentVersion < v1", 16, "`v1` is not a version"),
    ("agentConnected > 1", 16, "`agentConnected` cannot be asked with `>`"),
    ("registeredAt < yesterday", 16, "`yesterday` is not a date"),
    ("registeredAt < 2018-02-30", 16, "`2018-02-30` is not a date"),
    ("attribute:a == \x00", 16, "expected a value, found '\\x00'"),
    ("attribute:a == 'b\x00'", 16, "'\\x00' cannot be written"),
    ("attribute:a == b\u00a0", 17, "unexpected '\\xa0'"),
    ("(" * 41 + "attribute:a exists" + ")" * 41, 41, "nested too deep"),
    ("not " * 41 + "attribute:a exists", 1, "nested too deep"),
    ("attribute:" + "a" * 2000 + " exists", 2001, "the expression has 2017 characters"),
]


def test_points_at_what_cannot_be_read() -> None:
    wrong: list[QuerySyntaxError] = []
    for text, column, words in UNREADABLE:
        with pytest.raises(QuerySyntaxError) as caught:
            parse(text)
        error = caught.value
        if (error.column, error.expression) != (column, text) or words not in str(error):
            wrong.append(error)
    assert not wrong


def test_any_text_is_read_or_refused_and_nothing_else() -> None:
    draw = random.Random(20181)  # noqa: S311 # no secret
    pieces = [
        *"()[],'\" !&|=<>~\\*+?{}^$.-:aZ0\n\x00é",
        "attribute:x",
        "attribute:",
        "task:group",
        "runningTasksCount",
        "registeredAt",
        "agentVersion",
        "2018-06-18",
        "1.2",
        *(form for operator in Operator for form in (f" {operator.value} ", f" {operator.word} ")),
        " and ",
        " or ",
        " not ",
        "&&",
        "||",
        "(?i)",
        "(?<a>",
    ]
    refused: list[QuerySyntaxError] = []
    for _ in range(times(2_000)):
        text = "".join(draw.choices(pieces, k=draw.randint(0, 30)))
        try:
            query = parse(text)
        except QuerySyntaxError as error:
            refused.append(error)
        else:
            assert parse(describe(query)) == query
    assert 0 < len(refused) < times(2_000)
    assert all(1 <= error.column <= len(error.expression) + 1 for error in refused)


def test_a_broken_expression_is_read_or_refused_and_nothing_else() -> None:
    draw = random.Random(7)  # noqa: S311 # no secret
    whole = (
        "(attribute:ecs.instance-type =~ (g5|g6)\\.[0-9]+xlarge or not(task:group == 'a b')) and "
        "attribute:stack !in [a, 'b c'] && registeredAt >= 2018-06-18T22:28:28+00:00 or agentVersion < 1.14.5"
    )
    kept = 0
    for _ in range(times(500)):
        at = draw.randrange(len(whole))
        text = whole[:at] + draw.choice(["", *"()[]'\" !=~\\*{"]) + whole[at + draw.randint(0, 2) :]
        try:
            query = parse(text)
        except QuerySyntaxError:
            continue
        kept += 1
        assert parse(render(query)) == query
    assert times(15) < kept < times(500)


@pytest.mark.parametrize(
    "piece", ["(", "!", "not ", "[", "'", "attribute:x =~ (", "attribute:x in [a,", "((((((", "\\"]
)
def test_the_longest_texts_of_one_piece_are_refused(piece: str) -> None:
    with pytest.raises(QuerySyntaxError):
        parse((piece * 2000)[:2000])


@pytest.mark.parametrize("piece", ["(", "[", "(a*)*", "x?"])
def test_the_longest_patterns_of_one_piece_end(piece: str) -> None:
    start = "attribute:x =~ "
    text = start + (piece * 2000)[: 1990 - len(start)]
    try:
        query = parse(text)
    except QuerySyntaxError as error:
        column = error.column
    else:
        column = len(text)
        assert parse(render(query)) == query
    assert column > len(start)


PRINTED = [
    ("attribute:x equals 'prod'", "attribute:x == prod"),
    ("attribute:x == 'a b'", "attribute:x == 'a b'"),
    ('attribute:x == "it\'s"', 'attribute:x == "it\'s"'),
    ("attribute:x not_in ['a', \"b,c\"]", "attribute:x !in [a, 'b,c']"),
    ("!(attribute:a exists)", "not (attribute:a exists)"),
    ("((attribute:a exists)) && (attribute:b exists)", "attribute:a exists and attribute:b exists"),
    (
        "attribute:a exists or attribute:b exists and attribute:c exists",
        "attribute:a exists or (attribute:b exists and attribute:c exists)",
    ),
    (
        "(attribute:a exists or attribute:b exists) and attribute:c exists",
        "(attribute:a exists or attribute:b exists) and attribute:c exists",
    ),
    ("attribute:x =~ 'a||b'", "attribute:x =~ 'a||b'"),
    ("attribute:x =~ '(a||b)'", "attribute:x =~ (a||b)"),
    ("attribute:x =~ '(?i)('", "attribute:x =~ '(?i)('"),
    ("attribute:x =~ '=a'", "attribute:x =~ '=a'"),
]


def test_prints_the_form_of_the_guide() -> None:
    assert not {text: found for text, printed in PRINTED if (found := render(parse(text))) != printed}


def test_a_text_longer_than_ecs_takes_is_not_printed() -> None:
    query = In(Attribute("ecs.instance-type"), tuple(f"g{number}.xlarge" for number in range(300)))
    with pytest.raises(InvalidValueError, match="at most 2000 characters"):
        render(query)
    assert len(describe(query)) > 2000


def test_an_expression_of_exactly_2000_characters_is_read_and_printed() -> None:
    text = f"attribute:x == {'a' * 1985}"
    assert len(text) == 2000
    assert render(parse(text)) == text


@pytest.mark.parametrize(
    "make",
    [
        lambda: Attribute(""),
        lambda: Attribute("a b"),
        lambda: And((A,)),
        lambda: Or(()),
    ],
)
def test_a_name_has_the_characters_of_one_and_a_connective_joins_two(make: object) -> None:
    assert callable(make)
    with pytest.raises(InvalidValueError):
        make()


def test_no_tree_is_made_that_is_too_deep() -> None:
    query: Not | Exists = A
    for _ in range(40):
        query = Not(query)
    assert parse(render(query)) == query
    with pytest.raises(InvalidValueError, match="nested too deep"):
        Not(query)
