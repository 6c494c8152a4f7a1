"""Metric math: what an expression names, and whether it can be read at all.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
"""

from __future__ import annotations

import re
from dataclasses import field

from gpu_constructs.budget import DEPTH
from gpu_constructs.values import dataclass

LONGEST = 2048
"""Characters of an expression that CloudWatch takes."""

_NAMES = """
    ABS ANOMALY_DETECTION_BAND AVG CEIL DATAPOINT_COUNT DATE DAY DB_PERF_INSIGHTS DIFF DIFF_TIME EPOCH FILL FIRST FLOOR
    HOUR IF INSIGHT_RULE_METRIC LAMBDA LAST LOG LOG10 MAX METRICS METRIC_COUNT MIN MINUTE MONTH PERIOD RATE REMOVE_EMPTY
    RUNNING_SUM SEARCH SERVICE_QUOTA SLICE SORT STDDEV SUM TIME_SERIES YEAR
"""
FUNCTIONS = frozenset(_NAMES.split())
"""Functions of metric math."""

_WORDS = frozenset({"AND", "OR", "NOT", "REPEAT", "LINEAR", "ASC", "DESC", *FUNCTIONS})
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<text>\"[^\"]*\"|'[^']*'|[“”][^“”]*[“”])|(?P<sign>==|!=|<=|>=|&&|\|\||[-+*/^<>(),\[\]!])|(?P<end>$)"
    r"|(?P<other>.))",
    re.DOTALL,
)
_BINARY = frozenset({"==", "!=", "<=", ">=", "<", ">", "&&", "||", "+", "-", "*", "/", "^", "AND", "OR"})
_UNARY = frozenset({"-", "+", "!", "NOT"})
_QUERY = re.compile(r"\s*SELECT\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricMath:
    """What was read of an expression.

    Attributes:
        names: The ids that it names, each once, in order.
        functions: The functions that it calls.
        problem: Why it cannot be read, in words; empty where it can be.
    """

    names: tuple[str, ...] = ()
    functions: frozenset[str] = frozenset()
    problem: str = ""


def metric_math(text: str) -> MetricMath | None:
    """Reads an expression; None for a query of Metrics Insights and for one that is too long or too deep to judge."""
    if _QUERY.match(text) or len(text) > LONGEST:
        return None
    reader = _Reader(text)
    try:
        reader.whole()
    except _TooDeepError:
        return None
    except _SyntaxError as problem:
        return MetricMath(problem=str(problem))
    return MetricMath(names=tuple(reader.names), functions=frozenset(reader.functions))


class _SyntaxError(Exception):
    """The expression cannot be read."""


class _TooDeepError(Exception):
    """The expression has more inside each other than anybody means."""


@dataclass(slots=True)
class _Reader:
    text: str
    position: int = 0
    kind: str = ""
    found: str = ""
    depth: int = 0
    names: dict[str, None] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)

    def whole(self) -> None:
        self._next()
        self._expression()
        if self.kind != "end":
            raise _SyntaxError(f"{self.found!r} is not expected there")

    def _next(self) -> None:
        found = _TOKEN.match(self.text, self.position)
        if found is None or found.lastgroup is None:  # the last alternative takes any character
            raise _SyntaxError("it cannot be read")
        self.position, self.kind = found.end(), found.lastgroup
        self.found = found[self.kind]
        if self.kind == "other":
            raise _SyntaxError(f"{self.found!r} is not expected there")

    def _expression(self) -> None:
        self.depth += 1
        if self.depth > DEPTH:
            raise _TooDeepError
        self._operand()
        while self.found in _BINARY and self.kind in {"sign", "name"}:
            self._next()
            self._operand()
        self.depth -= 1

    def _operand(self) -> None:
        while self.found in _UNARY and self.kind in {"sign", "name"}:
            self._next()
        kind, found = self.kind, self.found
        if kind in {"number", "text"}:
            self._next()
        elif kind == "name":
            self._next()
            if self.found == "(" and self.kind == "sign":
                self.functions.add(found)
                self._list(")")
            elif found not in _WORDS:
                self.names[found] = None
        elif found in {"(", "["} and kind == "sign":
            self._list(")" if found == "(" else "]")
        else:
            raise _SyntaxError("it ends too early" if kind == "end" else f"{found!r} is not expected there")

    def _list(self, end: str) -> None:
        """What stands between brackets, of which the first is found."""
        self._next()
        if self.found == end and self.kind == "sign":
            self._next()
            return
        while True:
            self._expression()
            if self.found == "," and self.kind == "sign":
                self._next()
                continue
            if self.found != end or self.kind != "sign":
                raise _SyntaxError(
                    f"a {end!r} is missing" if self.kind == "end" else f"{self.found!r} is not expected there"
                )
            self._next()
            return
