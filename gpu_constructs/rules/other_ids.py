"""Ids that no rule has: of rules that are asked no more, and of warnings of constructs.

What old rules asked, and who says it now: ``docs/decisions/0036-which-rules-stay.md``. An id is never used again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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

_NOBODY_HERE = """
    GPU024 GPU026 GPU035 GPU036 GPU048 GPU049 GPU102 GPU103 GPU111 GPU115 GPU119 GPU129 GPU134 GPU135 GPU168 GPU173
    GPU175 GPU186 GPU188 GPU189 GPU193 GPU194 GPU202 GPU209 GPU212 GPU219 GPU225 GPU227 GPU232 GPU233 GPU239 GPU250
    GPU252 GPU255 GPU258 GPU262 GPU266 GPU279 GPU280 GPU281 GPU283 GPU285 GPU288 GPU290 GPU291 GPU293 GPU297 GPU300
    GPU301 GPU308 GPU315 GPU318 GPU330 GPU344 GPU345 GPU348 GPU349 GPU352 GPU353 GPU354 GPU355 GPU356 GPU357 GPU358
    GPU360 GPU361 GPU367 GPU368 GPU369 GPU371 GPU374 GPU375 GPU377 GPU378 GPU379 GPU380 GPU381 GPU382 GPU383 GPU384
    GPU385 GPU392
"""
RETIRED = frozenset(_NOBODY_HERE.split())
"""Ids that none of our rules has taken over."""

WHO_SAYS_IT = "docs/decisions/0036-which-rules-stay.md says who reports it now"


def is_gone(rule: str) -> bool:
    """Whether an id in capitals, such as ``GPU008``, is that of a rule that is asked no more."""
    return rule in PART_OF or rule in RETIRED


def id_now(rule: str) -> str:
    """The id of the rule that asks now what a rule asked, both in capitals; empty where none does."""
    return "" if rule in RETIRED else PART_OF.get(rule, rule)


def what_became_of(rules: Iterable[str]) -> tuple[str, ...]:
    """A line for each id, in capitals, of a rule that is asked no more."""
    return tuple(
        f"{each} is part of {PART_OF[each]} now, and accepts no error of it"
        if each in PART_OF
        else f"{each} is retired; {WHO_SAYS_IT}"
        for each in dict.fromkeys(rules)
        if is_gone(each)
    )
