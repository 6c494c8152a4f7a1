"""How many tasks run for how many that are needed, as the steps of a scaling policy."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_constructs.hardware.aws_limits import MAX_STEP_ADJUSTMENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step adjustment.

    Attributes:
        lower: Where it begins, above the threshold of its alarm.
        upper: Where the next begins; None for the last.
        tasks: Tasks that there are then.
    """

    lower: int
    upper: int | None
    tasks: int


def steps_of(least: int, most: int) -> list[Step]:
    """The steps of an alarm on the tasks that are needed, whose threshold is the least.

    Up to 20 numbers of tasks have a step each. Of more, a step is for several, and has the largest of them, so that
    there are never too few.
    """
    count = min(most - least, MAX_STEP_ADJUSTMENTS)
    numbers = [least - -(most - least) * step // count for step in range(1, count + 1)]
    # A step includes its lower bound.
    begins = [0, *(number - least + 1 for number in numbers[:-1])]
    return [
        Step(lower=lower, upper=upper, tasks=tasks)
        for lower, upper, tasks in zip(begins, [*begins[1:], None], numbers, strict=True)
    ]
