"""Spot placement scores: how likely does a Spot request for all hosts succeed now?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gpu_constructs.account.preflight.check import Ask, Call, Check, Found, Question, Scope, ok, unchecked
from gpu_constructs.account.preflight.zones import type_names
from gpu_constructs.fleet import PARTLY_SPOT, Pool, Unknown

_SCORES = Call(service="ec2", operation="GetSpotPlacementScores")
_MANY = 3
"""Types with which a score says something: that of fewer is always low, as the API reference says."""
_MOST_TYPES = 1000


def _questions(scope: Scope) -> Iterator[Question]:
    for pool in scope.pools:
        if pool.bought.option in PARTLY_SPOT:
            yield Question(subject=pool.name, read=partial(_read, pool, scope.region))


def _read(pool: Pool, region: str, ask: Ask) -> Found:
    names, hosts = type_names(pool)[:_MOST_TYPES], pool.max_instances
    if not names or isinstance(hosts, Unknown) or hosts < 1:
        return unchecked("its types, or how many hosts it can have, are not known")
    arguments = {
        "InstanceTypes": list(names),
        "TargetCapacity": hosts,
        "SingleAvailabilityZone": False,
        "RegionNames": [region],
    }
    rows = ask(_SCORES, arguments).rows("SpotPlacementScores")
    scores = [each.number("Score") for each in rows if each.text("Region") == region]
    if not scores:
        return unchecked(f"AWS gave no score for {hosts} hosts in {region}")
    few = "" if len(names) >= _MANY else "; AWS gives fewer than three types a low score whatever the capacity"
    return ok(f"{scores[0]:g} of 10 for {hosts} hosts now, which promises nothing{few}")


SPOT_SCORES = Check(
    id="spot-scores",
    question="how likely does a Spot request for all hosts succeed now?",
    reads="the score of the region from 1 to 10; AWS promises nothing by it, so it is never short",
    calls=(_SCORES,),
    questions=_questions,
    without="no pool has Spot hosts",
    on_request=True,
)
"""https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetSpotPlacementScores.html"""
