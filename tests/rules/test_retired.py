"""Ids that are asked no more stay known, and are never used again."""

from gpu_constructs.rules import RULES
from gpu_constructs.rules.retired import GONE

_ASKED = {each.id for each in RULES}


def test_an_id_that_went_is_not_used_again() -> None:
    assert not _ASKED & GONE.keys()
    assert list(GONE) == sorted(GONE)


def test_each_says_who_asks_now() -> None:
    assert [id_ for id_, gone in GONE.items() if bool(gone.into) == bool(gone.said_by)] == []
    assert [id_ for id_, gone in GONE.items() if gone.into and gone.into not in _ASKED] == []
