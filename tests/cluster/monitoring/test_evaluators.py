"""The evaluators of these tests, on what the pages of CloudWatch say."""

from __future__ import annotations

import pytest

from .alarm_states import state_of
from .metric_math import Samples, evaluated

ONE = {0: 4.0, 60: 0.0, 120: 2.0}
OTHER = {0: 2.0, 120: 0.0, 180: 9.0}


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("one + other", {0: 6, 120: 2}),
        ("one / other", {0: 2}),
        ("one * 100 / 4", {0: 100, 60: 0, 120: 50}),
        ("one > 0 AND other > 0", {0: 1, 120: 0}),
        ("IF(one > 0, one)", {0: 4, 120: 2}),
        ("IF(one >= 2, 1, 0)", {0: 1, 60: 0, 120: 1}),
        ("MAX([one, other])", {0: 4, 60: 0, 120: 2, 180: 9}),
    ],
)
def test_metric_math(expression: str, values: dict[int, float]) -> None:
    assert evaluated(expression, {"one": ONE, "other": OTHER}) == values


def test_a_search_finds_metrics_with_exactly_its_dimensions() -> None:
    samples = Samples()
    for dimensions in ({"C": "a", "S": "x"}, {"C": "a", "S": "y"}, {"C": "b", "S": "z"}, {"C": "a"}):
        samples.send("N", "Use", dimensions, 30, 1.0, 3.0)
    assert samples.found('{N,C,S} C="a" MetricName="Use"', "Average", 60) == {"x": {0: 2.0}, "y": {0: 2.0}}


X, GOOD, NONE = True, False, None


@pytest.mark.parametrize(
    ("points", "bad_periods", "states"),
    [
        # The tables of the page about missing data; the columns are missing, breaching and notBreaching.
        ([GOOD, NONE, X, NONE, X], 3, "OK OK OK"),
        ([NONE, NONE, NONE, NONE, GOOD], 3, "OK OK OK"),
        ([NONE] * 5, 3, "INSUFFICIENT_DATA ALARM OK"),
        ([GOOD, X, X, NONE, X], 3, "ALARM ALARM ALARM"),
        ([NONE, NONE, X, NONE, NONE], 3, "ALARM ALARM OK"),
        ([GOOD, NONE, X, NONE, X], 2, "ALARM ALARM ALARM"),
        ([GOOD, GOOD, X, GOOD, X], 2, "ALARM ALARM ALARM"),
        ([GOOD, NONE, X, NONE, NONE], 2, "OK ALARM OK"),
        ([NONE, NONE, NONE, NONE, GOOD], 2, "OK ALARM OK"),
        ([NONE, NONE, NONE, X, NONE], 2, "ALARM ALARM OK"),
    ],
)
def test_missing_data(points: list[bool | None], bad_periods: int, states: str) -> None:
    found = [
        state_of(points, bad_periods=bad_periods, periods=3, missing=missing)
        for missing in ("missing", "breaching", "notBreaching")
    ]
    assert " ".join(found) == states
