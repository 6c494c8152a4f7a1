"""Every combination of choices of a capacity is accepted, or refused for a reason that AWS gives."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2

from gpu_constructs import CapacityChoice, GpuCluster, GpuConstructsError
from gpu_constructs.cluster.capacity.plan import plan_capacity
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.rules.trials import Trials
from tests.matrix.choices import (
    Combination,
    every_combination,
)
from tests.matrix.contradictions import CONTRADICTIONS, applying

EVERYTHING = os.environ.get("MATRIX") == "all"
EACH = 1 if EVERYTHING else 7
"""Of the combinations, each of so many: prime to the choices of every dimension, so that they meet in all ways."""

Record = Callable[[str, object], None]


@pytest.fixture(scope="module")
def hosts() -> Callable[[Combination], ClusterHosts]:
    """Hosts of a cluster in as many zones as a combination wants; CDK is asked about each once."""
    stack = cdk.Stack()
    one, two = (
        GpuCluster(stack, f"Cluster{zones}", vpc=ec2.Vpc(stack, f"Vpc{zones}", max_azs=zones)).hosts for zones in (1, 2)
    )
    return lambda combination: two if "two zones" in combination.traits else one


def test_every_combination_is_accepted_or_refused_for_a_reason_that_aws_gives(
    hosts: Callable[[Combination], ClusterHosts], record_property: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The reasons are compared, and not the fixes, so none is tried.
    monkeypatch.setattr(Trials, "working", lambda *_: ())
    accepted = 0
    refused: Counter[str] = Counter()
    wrong = []
    for each in tried():
        contradictions = applying(each.traits)
        error = _error_of(each, hosts(each))
        reasons = [row.name for row in contradictions if error is not None and row.explains(error)]
        if error is None and not contradictions:
            accepted += 1
        elif reasons:
            refused[reasons[0]] += 1
        else:
            expected = " or ".join(row.name for row in contradictions) or "nothing against it"
            wrong.append(f"{each.name}: expected {expected}, got {error!r}")
    assert wrong == []
    record_property("legal", accepted)
    by_name = "; ".join(f"{count} {name}" for name, count in refused.most_common())
    record_property("refused", f"{refused.total()}: {by_name}")


def test_every_contradiction_is_the_only_reason_for_a_refusal_somewhere() -> None:
    alone = {rows[0].name for each in tried() if len(rows := applying(each.traits)) == 1}
    assert [row.name for row in CONTRADICTIONS if row.name not in alone] == []


def tried() -> Iterator[Combination]:
    return islice(every_combination(), 0, None, EACH)


def _error_of(combination: Combination, hosts: ClusterHosts) -> GpuConstructsError | None:
    arguments: dict[str, Any] = combination.arguments
    try:
        plan_capacity(CapacityChoice("Capacity", **arguments), hosts)
    except GpuConstructsError as error:
        return error
    return None
