"""Who gets how much of a queue."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_batch as batch
from constructs import Construct

from gpu_constructs.cdk.arguments import known_number, whole_number
from gpu_constructs.cdk.durations import whole_seconds
from gpu_constructs.cdk.kinds import require_kinds, with_names_checked
from gpu_constructs.errors import InvalidValueError, shown

_IDENTIFIER = re.compile(r"[A-Za-z0-9]{1,255}")
_LARGEST_SHARE = 1000
# https://docs.aws.amazon.com/batch/latest/APIReference/API_FairsharePolicy.html and API_ShareAttributes.html
_LARGEST_DECAY = 7 * 86_400
_DIGITS, _LARGEST_WEIGHT = 4, 999.9999


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class FairShares:
    """Who gets how much of a queue while several have jobs in it.

    A share is a proportion: with ``{"research": 3, "nightly": 1}`` research gets three quarters, and all of it while
    nothing else waits. Jobs of one share come in the order of their priority
    (https://docs.aws.amazon.com/batch/latest/userguide/fair-share-scheduling.html).

    Args:
        shares: Share identifiers, letters and digits, with a whole number each.
        decay: How long past use counts against a share, a week at most. By default ten minutes.
        reserve_percent: Percent kept for shares that have no jobs at the moment, 0 to 99.

    Raises:
        InvalidValueError: An argument is out of these limits.
    """

    shares: Mapping[str, int]
    decay: cdk.Duration | None = None
    reserve_percent: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.shares, Mapping) or not self.shares:
            raise InvalidValueError(
                f"expects share identifiers with a number each, got {shown(self.shares)}",
                argument="shares",
                value=self.shares,
                fix="shares={'research': 3, 'nightly': 1}",
            )
        for name, share in self.shares.items():
            if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
                raise InvalidValueError(
                    f"{shown(name)} is not a share identifier",
                    argument="shares",
                    value=name,
                    allowed="letters and digits, up to 255",
                    fix="shares={'research': 3, 'nightly': 1}",
                )
            known_number(
                "shares",
                share,
                smallest=1,
                largest=_LARGEST_SHARE,
                fix=f"{{{name!r}: 1}}",
                why="cannot be compared with the other shares",
            )
        require_kinds(FairShares.__init__, {"decay": self.decay})
        if self.decay is not None:
            whole_seconds("decay", self.decay, largest=_LARGEST_DECAY)
        whole_number("reserve_percent", self.reserve_percent, smallest=0, largest=99, unit="percent", fix="0")

    def policy(self, scope: Construct) -> batch.FairshareSchedulingPolicy:
        """Defines the scheduling policy.

        Args:
            scope: The queue.
        """
        most = max(self.shares.values())
        return batch.FairshareSchedulingPolicy(
            scope,
            "Shares",
            compute_reservation=self.reserve_percent or None,
            share_decay=self.decay,
            # A smaller weight factor is a larger share.
            shares=[
                batch.Share(share_identifier=name, weight_factor=min(round(most / share, _DIGITS), _LARGEST_WEIGHT))
                for name, share in self.shares.items()
            ],
        )
