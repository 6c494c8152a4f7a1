"""Which of the jobs that wait in a queue of AWS Batch comes first: the oldest, or one of the share that used least.

https://docs.aws.amazon.com/batch/latest/userguide/share-identifiers.html: usage is vCPUs over time, multiplied by the
weight factor of the share, and within a share the higher priority comes first. The time is the share decay, ten minutes
at least. AWS does not say how usage fades within it; here it all counts the same. Not modelled: compute reservation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .batch_jobs import EmulatedJob

__all__ = ["ShareUsage"]

MINUTE, LEAST_DECAY = 60, 600


class ShareUsage:
    """What the shares of one queue have used, minute by minute."""

    def __init__(self) -> None:
        self._minutes: list[Counter[str]] = []

    def pass_a_minute(self, jobs: Sequence[EmulatedJob]) -> None:
        """Count what the jobs of the queue use for a minute."""
        self._minutes.append(_used(jobs))

    def first(
        self, waiting: Sequence[EmulatedJob], jobs: Sequence[EmulatedJob], policy: Mapping[str, Any] | None
    ) -> EmulatedJob:
        """The job that comes first.

        Args:
            waiting: Jobs that wait, the oldest first.
            jobs: All jobs of the queue.
            policy: The fair-share policy of the queue, in the API's words; None for one without.
        """
        if policy is None:
            return waiting[0]
        decay = max(LEAST_DECAY, int(policy.get("shareDecaySeconds") or 0))
        used = sum(self._minutes[-decay // MINUTE :], _used(jobs))
        return min(waiting, key=lambda each: (used[each.share] * _weight(policy, each.share), -each.priority))


def _weight(policy: Mapping[str, Any], share: str) -> float:
    for each in policy.get("shareDistribution") or ():
        name = str(each["shareIdentifier"])
        if share == name or (name.endswith("*") and share.startswith(name[:-1])):
            return float(each.get("weightFactor", 1))
    return 1


def _used(jobs: Sequence[EmulatedJob]) -> Counter[str]:
    used: Counter[str] = Counter()
    for each in jobs:
        if each.is_on_hosts:
            used[each.share] += each.vcpus
    return used
