"""Ids that are asked no more stay known, and are never used again."""

from gpu_constructs.rules import RULES
from gpu_constructs.rules.retired import PART_OF, SAID_BY

_ASKED = {each.id for each in RULES}


def test_an_id_that_went_is_not_used_again() -> None:
    assert not _ASKED & {*PART_OF, *SAID_BY}
    assert not PART_OF.keys() & SAID_BY.keys()
    assert [list(each) for each in (PART_OF, SAID_BY)] == [sorted(each) for each in (PART_OF, SAID_BY)]


def test_each_says_who_asks_now() -> None:
    assert [id_ for id_, now in PART_OF.items() if now not in _ASKED] == []
    assert all(SAID_BY.values())
