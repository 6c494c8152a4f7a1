"""Which metrics does AWS publish about ECS, its hosts and its jobs, and under which dimensions?

``data/cloudwatch_metrics.json`` has each namespace with the page that lists its metrics. A value is stored under its
whole set of dimensions, so that another set has no values
(https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html). Of a namespace that is not
there nothing is known. The file is read when first asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from difflib import get_close_matches
from functools import cache, lru_cache

from gpu_constructs.budget import NAME
from gpu_constructs.hardware.records import Row, read
from gpu_constructs.values import dataclass

_NOT_LETTERS = re.compile(r"[^a-z0-9]+")
_ALIKE = 0.75
"""Names of the tables that are less alike than this mean different things."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFacts:
    """What is known of one metric.

    Attributes:
        name: As CloudWatch has it; case matters.
        dimensions: The sets of dimensions under which it has values; None where no source lists all of them.
        insights: The Container Insights that it needs: ``enabled``, ``enhanced``, or empty for none.
        hosts: What alone has it, such as ``Managed Instances``; empty where that does not matter.
        switched_on: The property of the resource that switches it on; empty where it is always on.
        is_sparse: Whether it has values only when something happens.
    """

    name: str
    dimensions: tuple[frozenset[str], ...] | None = None
    insights: str = ""
    hosts: str = ""
    switched_on: str = ""
    is_sparse: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceFacts:
    """What is known of one namespace.

    Attributes:
        name: Such as ``AWS/ECS``.
        source: The page that lists its metrics.
        is_of_aws: Whether only AWS publishes in it, so that a name that AWS does not have has no values.
        is_complete: Whether every metric of the page is among `metrics`.
        dimensions: The sets of dimensions of every metric, also of one that is not known; None where metrics differ.
        metrics: Its metrics by name.
    """

    name: str
    source: str
    is_of_aws: bool
    is_complete: bool
    dimensions: tuple[frozenset[str], ...] | None = None
    metrics: Mapping[str, MetricFacts] = field(default_factory=dict)

    def sets_of(self, metric: str) -> tuple[frozenset[str], ...] | None:
        """The sets of dimensions under which a metric has values; None where that is not known."""
        found = self.metrics.get(metric)
        return self.dimensions if found is None else found.dimensions

    def meant_by(self, metric: str) -> str:
        """The metric that a name is a slip of; empty where it is none, or a name of its own."""
        return _meant(self.name, metric)

    def nearest(self, metric: str) -> str:
        """The metric that a name is most like; empty where it is like none."""
        return _nearest(self.name, metric[:NAME])


@cache
def namespaces() -> Mapping[str, NamespaceFacts]:
    """Every namespace of the data, by name."""
    return {name: _namespace(name, row) for name, row in read("cloudwatch_metrics")["namespaces"].items()}


def namespace_facts(name: object) -> NamespaceFacts | None:
    """What is known of a namespace; None for one of the user's own."""
    return namespaces().get(name) if isinstance(name, str) else None


@lru_cache(maxsize=1_024)
def _meant(namespace: str, metric: str) -> str:
    metrics = namespaces()[namespace].metrics
    return "" if metric in metrics else next((each for each in metrics if is_slip_of(metric, each)), "")


@lru_cache(maxsize=1_024)
def _nearest(namespace: str, metric: str) -> str:
    return next(iter(get_close_matches(metric, namespaces()[namespace].metrics, n=1, cutoff=_ALIKE)), "")


def is_slip_of(written: str, name: str) -> bool:
    """Whether a text is a name in other capitals, with other marks between its words, or with one letter wrong.

    Names of AWS differ in their first letters, in digits, and in whole words.
    """
    if written == name or len(written) > NAME:
        return False
    one, other = _letters(written), _letters(name)
    return one == other or (one[:1] == other[:1] and _differs_by_one(one, other))


def _differs_by_one(one: str, other: str) -> bool:
    """Whether a letter is missing, is another one, is too much, or has changed places with the next."""
    short, long = sorted((one, other), key=len)
    start = next((at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    left, right = short[start:], long[start:]
    if len(short) == len(long):
        swapped = left[:2] == right[1::-1] and left[2:] == right[2:]
        return (left[1:] == right[1:] and left[:1].isalpha() and right[:1].isalpha()) or swapped
    return left == right[1:] and right[:1].isalpha()


def _letters(text: str) -> str:
    return _NOT_LETTERS.sub("", text.lower())


def _namespace(name: str, row: Row) -> NamespaceFacts:
    return NamespaceFacts(
        name=name,
        source=row["source"],
        is_of_aws=row["owner"] == "AWS",
        is_complete=row["complete"],
        dimensions=_sets(row),
        metrics={each: _metric(each, group) for group in row["metrics"] for each in group["names"].split()},
    )


def _metric(name: str, group: Row) -> MetricFacts:
    return MetricFacts(
        name=name,
        dimensions=_sets(group),
        insights=group.get("insights", ""),
        hosts=group.get("hosts", ""),
        switched_on=group.get("switched_on", ""),
        is_sparse=group.get("sparse", False),
    )


def _sets(row: Row) -> tuple[frozenset[str], ...] | None:
    written = row.get("dimensions")
    return None if written is None else tuple(map(frozenset, written))
