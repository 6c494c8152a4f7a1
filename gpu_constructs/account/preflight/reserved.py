"""The Capacity Reservations of an account, and those of them that a pool names; Capacity Blocks are among them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpu_constructs.account.preflight.answer import Row
from gpu_constructs.account.preflight.check import Ask, Call
from gpu_constructs.fleet import Reservation

_RESERVED = Call(service="ec2", operation="DescribeCapacityReservations")
_MEMBERS = Call(service="resource-groups", operation="ListGroupResources")
RESERVATION_CALLS = (_RESERVED, _MEMBERS)

_ID = re.compile(r"cr-[0-9a-f]{8,17}")
_ID_OF_ARN = re.compile(r":capacity-reservation/(cr-[0-9a-f]{8,17})")
_GROUP = re.compile(r"arn:[\w-]+:resource-groups:[\w-]+:[0-9]{12}:group/[\w./-]{1,300}")


def reserved(ask: Ask) -> tuple[Row, ...]:
    """All reservations of the region.

    Raises:
        UnansweredError: AWS did not answer.
    """
    # CapacityReservationIds would fail for all where one does not exist.
    return tuple(ask(_RESERVED, {}).rows("CapacityReservations"))


def is_written(named: Reservation) -> bool:
    """Whether the files say which reservations are named, instead of leaving it to the deploy."""
    return _matches(_ID, named.id) or _matches(_GROUP, named.group)


def named_in(rows: Sequence[Row], named: Reservation, ask: Ask) -> list[Row]:
    """The reservations that are named, by an id or by a group.

    Raises:
        UnansweredError: AWS did not answer.
    """
    ids = [named.id] if _matches(_ID, named.id) else _members(named.group, ask)
    return [each for each in rows if each.text("CapacityReservationId") in ids]


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _members(group: object, ask: Ask) -> list[str]:
    answer = ask(_MEMBERS, {"Group": group})
    found = (_ID_OF_ARN.search(each.text("ResourceArn")) for each in answer.rows("ResourceIdentifiers"))
    return [each[1] for each in found if each]
