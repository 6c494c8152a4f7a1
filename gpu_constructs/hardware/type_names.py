"""The form of an instance type's name, and which names of a catalogue a wrong one may stand for.

https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches

from gpu_constructs.budget import NAME
from gpu_constructs.errors import shown

# `p6-b200`, `u7in-16tb`, `mac-m4`; every family in use has a generation.
_FAMILY = re.compile(r"[a-z]+-?[a-z]*[0-9][a-z0-9-]*")
# Every size that EC2 has used; a new number before `xlarge` or `xl` is not a surprise, another word would be.
_SIZE = re.compile(r"nano|micro|small|medium|large|([1-9][0-9]{0,3})?xlarge|metal(-[1-9][0-9]{0,2}xl)?")
_LETTERS_AND_GENERATION = re.compile(r"([a-z]{1,20})([0-9]{0,3})")
_MOST = 3
_ALIKE = 0.8


def is_family_name(name: str) -> bool:
    """Whether a family can have this name."""
    return len(name) <= NAME and _FAMILY.fullmatch(name) is not None


def name_problem(name: str) -> str:
    """Why no instance type can have this name; empty if one can."""
    family, dot, size = name[:NAME].partition(".")
    if len(name) > NAME or not dot or not _FAMILY.fullmatch(family):
        return "a name is a family, a dot and a size, in lower case"
    return "" if _SIZE.fullmatch(size) else f"EC2 has never had a size {shown(size)}"


def matches(pattern: str, name: str) -> bool:
    """Whether a name matches a pattern of the EC2 API; its one wildcard is ``*``, and each piece is looked for once."""
    first, *pieces = pattern.split("*")
    if not pieces:
        return pattern == name
    *middle, last = pieces
    if not name.startswith(first):
        return False
    position = len(first)
    for piece in middle:
        found = name.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    return len(name) - len(last) >= position and name.endswith(last)


def letters_of(family: str) -> str:
    """What stands before the generation: ``p`` of ``p6-b200``, ``trn`` of ``trn2``; empty without a generation."""
    found = _LETTERS_AND_GENERATION.match(family)
    return found[1] if found and found[2] else ""


def nearest_families(wanted: str, families: Collection[str]) -> tuple[str, ...]:
    """Families that a name may stand for: of the same letters, or one letter too many, too few or swapped."""
    wanted = wanted[:NAME]
    letters = letters_of(wanted)
    alike = [each for each in families if letters and letters_of(each) == letters] or [
        each for each in families if _is_slip(wanted, each)
    ]
    return tuple(sorted(alike, key=lambda each: _distance(wanted, each))[:_MOST])


def nearest_types(wanted: str, families: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Types that a name may stand for: another size of its family, or the same size of a family like it.

    Args:
        wanted: A name in lower case that no type has.
        families: Names of the types of each family, the smallest first.
    """
    wanted = wanted[:NAME]
    before, dot, size = wanted.partition(".")
    if dot and before in families:
        return tuple(get_close_matches(wanted, families[before], n=_MOST)) or tuple(families[before][:_MOST])
    if dot and is_family_name(before):
        return tuple(_of_size(size, before=each, names=families[each]) for each in nearest_families(before, families))
    return tuple(get_close_matches(wanted, [each for names in families.values() for each in names], cutoff=_ALIKE))


def _of_size(size: str, *, before: str, names: Sequence[str]) -> str:
    near = get_close_matches(f"{before}.{size}", names, n=1)
    return near[0] if near else names[0]


def _distance(wanted: str, family: str) -> tuple[float, int, str]:
    generations = (_LETTERS_AND_GENERATION.match(each) for each in (wanted, family))
    asked, has = (int(found[2]) if found and found[2] else 0 for found in generations)
    return -SequenceMatcher(None, wanted, family).ratio(), abs(asked - has), family


def _is_slip(written: str, meant: str) -> bool:
    """Whether one character is too many or too few, or two neighbours are swapped."""
    longer, shorter = sorted((written, meant), key=len, reverse=True)
    if len(longer) - len(shorter) == 1:
        return any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))
    swapped = (f"{written[:at]}{written[at : at + 2][::-1]}{written[at + 2 :]}" for at in range(len(written)))
    return len(longer) == len(shorter) and meant in swapped
