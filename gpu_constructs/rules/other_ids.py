"""Ids that no rule has: of rules that are asked no more, with who says it now, and of warnings of constructs.

What old rules asked: ``docs/decisions/0036-which-rules-stay.md``. An id is never used again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

OfConstructs: TypeAlias = Literal[
    "cpu-units",
    "exit-codes",
    "fixed-tasks",
    "gpus-not-measured",
    "imported-topic",
    "jobs-in-a-circle",
    "no-checkpoints",
    "on-demand-base",
    "own-objects",
    "public-subnets",
]
"""What constructs warn of that no rule finds; check repeats it under the id that an app acknowledges, with a prefix."""


def _by_id(said: Mapping[str, str]) -> dict[str, str]:
    """What a table says of several ids at once, by each of them."""
    return dict(sorted((id_, what) for ids, what in said.items() for id_ in ids.split()))


PART_OF = _by_id(
    {
        "GPU008": "GPU228",
        "GPU021 GPU022 GPU031 GPU133 GPU292": "GPU020",
        "GPU029": "GPU028",
        "GPU038": "GPU025",
        "GPU041 GPU045": "GPU070",
        "GPU044": "GPU040",
        "GPU056": "GPU055",
        "GPU065 GPU066": "GPU064",
        "GPU068 GPU073 GPU390": "GPU060",
        "GPU075": "GPU061",
        "GPU081": "GPU080",
        "GPU086": "GPU084",
        "GPU090 GPU094": "GPU093",
        "GPU091 GPU118": "GPU092",
        "GPU096": "GPU097",
        "GPU105": "GPU003",
        "GPU108 GPU305": "GPU051",
        "GPU109": "GPU100",
        "GPU120 GPU302": "GPU089",
        "GPU121 GPU143": "GPU217",
        "GPU139": "GPU218",
        "GPU141": "GPU130",
        "GPU142": "GPU309",
        "GPU161 GPU169": "GPU104",
        "GPU167": "GPU165",
        "GPU172 GPU176 GPU177": "GPU170",
        "GPU180": "GPU032",
        "GPU187": "GPU166",
        "GPU196": "GPU195",
        "GPU201 GPU286 GPU287": "GPU200",
        "GPU205": "GPU204",
        "GPU207 GPU284": "GPU230",
        "GPU214": "GPU010",
        "GPU215": "GPU231",
        "GPU216 GPU282 GPU343": "GPU095",
        "GPU223": "GPU222",
        "GPU224": "GPU221",
        "GPU238": "GPU317",
        "GPU253": "GPU162",
        "GPU256": "GPU127",
        "GPU265": "GPU264",
        "GPU270": "GPU210",
        "GPU272": "GPU098",
        "GPU274": "GPU268",
        "GPU276": "GPU257",
        "GPU278": "GPU126",
        "GPU299": "GPU298",
        "GPU303": "GPU042",
        "GPU314": "GPU190",
        "GPU320": "GPU132",
        "GPU322": "GPU321",
        "GPU340": "GPU296",
        "GPU341": "GPU362",
        "GPU346": "GPU237",
        "GPU372 GPU373": "GPU376",
    }
)
"""The rule that asks it now. What accepts or ignores the old id counts for that, but for errors: it asked less."""


@cache
def reported_by() -> Mapping[str, str]:
    """Who reports now what the rule with an id asked that none of ours has taken over, such as a rule of cfn-lint."""
    said: Mapping[str, str] = json.loads(Path(__file__).with_name("retired.json").read_text(encoding="utf-8"))
    return said


def is_gone(rule: str) -> bool:
    """Whether an id in capitals, such as ``GPU008``, is that of a rule that is asked no more."""
    return rule in PART_OF or rule in reported_by()


def id_now(rule: str) -> str:
    """The id of the rule that asks now what a rule asked, both in capitals; empty where none does."""
    return "" if rule in reported_by() else PART_OF.get(rule, rule)


def what_became_of(rules: Iterable[str]) -> tuple[str, ...]:
    """A line for each id, in capitals, of a rule that is asked no more."""
    return tuple(
        f"{each} is part of {PART_OF[each]} now, and accepts no error of it"
        if each in PART_OF
        else f"{each} is retired; reported now by: {reported_by()[each]}"
        for each in dict.fromkeys(rules)
        if is_gone(each)
    )
