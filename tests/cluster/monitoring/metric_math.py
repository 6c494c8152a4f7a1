"""What CloudWatch makes of metrics: statistics of periods, and the few functions of metric math that are used.

Written from https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html and
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/search-expression-syntax.html. Arithmetic on two series
has a value where both have one; a series that is compared becomes ones and zeros; IF without a value for false has no
value there; SEARCH finds the metrics that have exactly the dimensions of its schema.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Values = Mapping[int, float]
"""One value for each period, by the second at which it begins."""

_STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "Average": lambda values: sum(values) / len(values),
    "Maximum": max,
    "Minimum": min,
    "SampleCount": len,
    "Sum": sum,
}
_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}
_Key = tuple[str, str, frozenset[tuple[str, str]]]


@dataclass(frozen=True)
class Samples:
    """What was sent to CloudWatch: by metric and second, every value."""

    sent: dict[_Key, dict[int, list[float]]] = field(default_factory=dict)

    def send(self, namespace: str, name: str, dimensions: Mapping[str, str], second: int, *values: float) -> None:
        of_metric = self.sent.setdefault((namespace, name, frozenset(dimensions.items())), {})
        of_metric.setdefault(second, []).extend(values)

    def statistic(self, key: _Key, statistic: str, period: int) -> Values:
        periods: dict[int, list[float]] = {}
        for second, values in self.sent.get(key, {}).items():
            periods.setdefault(second - second % period, []).extend(values)
        return {start: _STATISTICS[statistic](values) for start, values in sorted(periods.items())}

    def found(self, search: str, statistic: str, period: int) -> dict[str, Values]:
        """What SEARCH finds, by the value of the last dimension of its schema."""
        schema, terms = re.fullmatch(r"\{([^}]*)\} (.*)", search).groups()  # type: ignore[union-attr] # else it fails
        namespace, *names = schema.split(",")
        wanted = dict(re.findall(r'(\w+)="([^"]*)"', terms))
        metric = wanted.pop("MetricName")
        found: dict[str, Values] = {}
        for key in self.sent:
            dimensions = dict(key[2])
            matches = key[:2] == (namespace, metric) and set(dimensions) == set(names)
            if matches and wanted.items() <= dimensions.items():
                found[dimensions[names[-1]]] = self.statistic(key, statistic, period)
        return dict(sorted(found.items()))


@dataclass(frozen=True)
class Line:
    """One line of a graph."""

    label: str
    values: Values


def lines_of(metrics: Sequence[Sequence[Any]], samples: Samples, period: int) -> list[Line]:
    """The lines that the ``metrics`` of a graph draw.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
    """
    named: dict[str, Values] = {}
    lines: list[Line] = []
    for each in metrics:
        *path, options = each if isinstance(each[-1], dict) else (*each, {})
        if not path:
            continue
        namespace, name, *dimensions = path
        key = (namespace, name, frozenset(zip(dimensions[::2], dimensions[1::2], strict=True)))
        values = samples.statistic(key, options.get("stat", "Average"), options.get("period", period))
        if "id" in options:
            assert re.fullmatch("[a-z][A-Za-z0-9_]*", options["id"]), "an id begins with a lower-case letter"
            assert options["id"] not in named, "an id is there once"
            named[options["id"]] = values
        if options.get("visible", True):
            lines.append(Line(options.get("label", name), values))
    for (options,) in (each for each in metrics if len(each) == 1):
        lines.extend(_drawn(options["label"], _evaluated(options["expression"], named, samples)))
    return lines


def evaluated(expression: str, named: Mapping[str, Values]) -> Values:
    """Metric math over named series."""
    result = _evaluated(expression, named, Samples())
    assert isinstance(result, dict)
    return result


def _drawn(label: str, result: Any) -> Iterator[Line]:
    if isinstance(result, Found):
        yield from (Line(label.replace("${PROP('Dim.ServiceName')}", name), each) for name, each in result.items())
    else:
        yield Line(label, result)


class Found(dict[str, Values]):
    """What SEARCH found: a list of series, each with a name."""


def _evaluated(expression: str, named: Mapping[str, Values], samples: Samples) -> Any:
    return _value(ast.parse(expression, mode="eval").body, named, samples)


def _value(node: ast.AST, named: Mapping[str, Values], samples: Samples) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        given = [_value(each, named, samples) for each in node.args]
        if node.func.id == "SEARCH":
            return Found(samples.found(*given))
        return _FUNCTIONS[node.func.id](*given)
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return named[node.id]
    function, left, right = _parts(node)
    return _each_moment(function, _value(left, named, samples), _value(right, named, samples))


def _parts(node: ast.AST) -> tuple[Callable[[float, float], float], ast.AST, ast.AST]:
    match node:
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            return _OPERATORS[type(op)], left, right
    raise AssertionError(f"{ast.unparse(node)} is not used, and not known here")


def _each_moment(function: Callable[[float, float], float], one: Any, other: Any) -> Any:
    if isinstance(one, Found):
        return Found({name: _each_moment(function, each, other) for name, each in one.items()})
    if not isinstance(one, dict) and not isinstance(other, dict):
        return function(one, other)
    moments = sorted(set.intersection(*(set(each) for each in (one, other) if isinstance(each, dict))))
    # A division by nothing has no value.
    divides = function is operator.truediv
    return {at: float(function(_at(one, at), _at(other, at))) for at in moments if not divides or _at(other, at)}


def _at(value: Any, moment: int) -> float:
    return float(value[moment] if isinstance(value, dict) else value)


def _chosen(condition: Values, *branches: Any) -> Values:
    """The value of the one branch or of the other; without the other one, none."""
    chosen: dict[int, float] = {}
    for at, is_true in condition.items():
        branch = branches[0] if is_true else (branches[1:] or [{}])[0]
        if not isinstance(branch, dict) or at in branch:
            chosen[at] = _at(branch, at)
    return chosen


def _each_filled(values: Values, filler: float) -> Values:
    """The filler wherever there is no value, as far as the tests look."""
    return {**dict.fromkeys(range(0, 2 * 3600, 60), filler), **values}


_FUNCTIONS: Mapping[str, Callable[..., Values]] = {"FILL": _each_filled, "IF": _chosen}
