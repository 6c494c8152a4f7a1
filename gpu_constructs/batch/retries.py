"""How often a job is tried again, and after what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from aws_cdk import aws_batch as batch

from gpu_constructs.cdk.arguments import exit_code, flag, known_number
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.hardware.aws_limits import MAX_JOB_ATTEMPTS, MAX_JOB_CONDITIONS

_ATTEMPTS = 3


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRetries:
    """How often AWS Batch tries a job again, and after what; anything else ends it at once.

    A job is tried again after its host was lost, as after a spot interruption. Every cause counts against the one
    number of attempts; a job that passed its time limit is not tried again
    (https://docs.aws.amazon.com/batch/latest/userguide/job_retries.html).

    Args:
        attempts: Attempts altogether, 1 to 10; with 1 it is never tried again. By default three.
        exit_codes: Exit codes after which the work wants to be tried again, such as ``[75]``, two at most; 0 is
            success. By default none.
        image_not_pulled: Whether it is tried again where its image could not be pulled, as when a registry is busy. By
            default it is.

    Raises:
        InvalidValueError: An argument is out of these limits.
    """

    attempts: int = _ATTEMPTS
    exit_codes: Sequence[int] = ()
    image_not_pulled: bool = True

    def __post_init__(self) -> None:
        known_number(
            "attempts",
            self.attempts,
            smallest=1,
            largest=MAX_JOB_ATTEMPTS,
            unit="attempts",
            fix="attempts=3",
            why="bounds no retries",
        )
        flag("image_not_pulled", self.image_not_pulled)
        # One condition for lost hosts, one for images, and one that ends everything else.
        most = MAX_JOB_CONDITIONS - 3
        codes = self.exit_codes
        if not isinstance(codes, (list, tuple)) or len(codes) > most:
            raise InvalidValueError(
                f"expects a list of exit codes, got {shown(codes)}",
                argument="exit_codes",
                value=codes,
                allowed=f"{most} at most: AWS Batch takes {MAX_JOB_CONDITIONS} conditions of retries",
                fix="exit_codes=[75], and the same code for everything that is worth another attempt",
            )
        for each in codes:
            exit_code("exit_codes", each, fix="exit_codes=[75]")

    def conditions(self) -> list[batch.RetryStrategy]:
        """The conditions as CDK takes them, first match first. Without the last one, AWS Batch retries everything."""
        return [] if self.attempts == 1 else [*_conditions(tuple(self.exit_codes), self.image_not_pulled)]


@cache  # nothing changes them, and each costs two calls into Node
def _conditions(exit_codes: Sequence[int], image_not_pulled: bool) -> tuple[batch.RetryStrategy, ...]:  # noqa: FBT001 - `cache` has no names
    causes = [batch.Reason.SPOT_INSTANCE_RECLAIMED]  # of any host that was lost
    if image_not_pulled:
        causes.append(batch.Reason.CANNOT_PULL_CONTAINER)
    causes += [batch.Reason.custom(on_exit_code=str(each)) for each in exit_codes]
    retried = [batch.RetryStrategy.of(batch.Action.RETRY, each) for each in causes]
    return (*retried, batch.RetryStrategy.of(batch.Action.EXIT, batch.Reason.custom(on_reason="*")))
