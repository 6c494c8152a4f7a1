"""Ids that are asked no more stay known, and are never used again."""

import re

from gpu_constructs.rules import RULES
from gpu_constructs.rules.retired import PART_OF, SAID_BY
from tests.synthesis import ROOT

_ASKED = {each.id for each in RULES}


def test_an_id_that_went_is_not_used_again() -> None:
    assert not _ASKED & {*PART_OF, *SAID_BY}
    assert not PART_OF.keys() & SAID_BY.keys()
    assert [list(each) for each in (PART_OF, SAID_BY)] == [sorted(each) for each in (PART_OF, SAID_BY)]


def test_each_says_who_asks_now() -> None:
    assert [id_ for id_, now in PART_OF.items() if now not in _ASKED] == []
    assert all(SAID_BY.values())


def test_the_decision_says_which_id_is_free() -> None:
    decision = (ROOT / "docs" / "decisions" / "0036-which-rules-stay.md").read_text(encoding="utf-8")
    last = max(int(each.removeprefix("GPU")) for each in {*_ASKED, *PART_OF, *SAID_BY})
    assert re.findall(r"GPU(\d+) and those above it are free", decision) == [str(last + 1)]
