"""The alarms of what runs on the hosts of a cluster, such as jobs, and who is told of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch


class AlarmsOfTasks:
    """Alarms that come before and after the line that says who is told."""

    def __init__(self) -> None:
        self._alarms: list[cloudwatch.Alarm] = []
        self._tell_of: Callable[[cloudwatch.Alarm], None] | None = None

    def add(self, alarm: cloudwatch.Alarm) -> None:
        """Adds an alarm, of which those are told that are told of all."""
        self._alarms.append(alarm)
        if self._tell_of is not None:
            self._tell_of(alarm)

    def tell(self, tell_of: Callable[[cloudwatch.Alarm], None]) -> None:
        """Says who is told."""
        self._tell_of = tell_of
        for each in self._alarms:
            tell_of(each)
