"""A budget for the hosts of an app: a synth of hosts that can cost more fails."""

from __future__ import annotations

import math
from numbers import Real

from constructs import IConstruct

from gpu_constructs.cdk.calls import written_if_refused
from gpu_constructs.cdk.validation import check_of
from gpu_constructs.errors import InvalidValueError, shown


class GpuBudget:
    """What the hosts of an app may cost an hour, at MaxSize of every capacity.

    ::

        GpuBudget.add_to(app, usd_per_hour=40)

    Above it, `cdk synth` fails. Where it is not known whether the hosts stay within it, there is a warning, which is
    acknowledged as ``gpu-constructs::budget-not-known``. Prices are on-demand list prices with their date; a Spot host
    counts as an on-demand one, and hosts in a Capacity Block are paid in advance and do not count. `GpuChecks` is added
    with it.
    """

    @staticmethod
    @written_if_refused
    def add_to(scope: IConstruct, *, usd_per_hour: float) -> None:
        """Holds all hosts of the app of a scope against a budget at every synth.

        Args:
            scope: The app, or anything in it.
            usd_per_hour: US dollars an hour. The lowest counts where there are several.

        Raises:
            InvalidValueError: `scope` is not a construct, or `usd_per_hour` is not a number of 0 or more.
        """
        amount = _amount(usd_per_hour)
        if not math.isfinite(amount) or amount < 0:
            raise InvalidValueError(
                f"{shown(usd_per_hour)} is not a budget",
                argument="usd_per_hour",
                value=usd_per_hour,
                allowed="US dollars an hour, a number of 0 or more that is known at synth",
            )
        check_of(scope, instead="GpuBudget.add_to(app, usd_per_hour=40)").hold(amount)


def _amount(usd_per_hour: object) -> float:
    """A number as it can be added up; not a number for anything else."""
    if not isinstance(usd_per_hour, Real) or isinstance(usd_per_hour, bool):
        return math.nan
    try:
        return float(usd_per_hour)
    except OverflowError:
        return math.inf
