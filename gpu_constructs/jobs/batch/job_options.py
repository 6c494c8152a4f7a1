"""What jobs of AWS Batch can be given, for one host or for several: attempts, their share of a queue, and the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import aws_cdk as cdk
from aws_cdk import aws_batch as batch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from gpu_constructs.cdk.arguments import exit_code, flag, known_number, of_form, whole_number
from gpu_constructs.cdk.kinds import require_kinds, with_names_checked
from gpu_constructs.errors import InvalidValueError, unexpected
from gpu_constructs.facts.aws_limits import MAX_JOB_ATTEMPTS, MAX_JOB_CONDITIONS
from gpu_constructs.facts.values import dataclass
from gpu_constructs.jobs.data import DataOptions
from gpu_constructs.tasks.gpu_ask import GpuNeedOptions

_LARGEST_SHARE = 1000
_SHARES = "shares={'research': 3, 'nightly': 1}"
# https://docs.aws.amazon.com/batch/latest/APIReference/API_FairsharePolicy.html and API_ShareAttributes.html
_DIGITS, _LARGEST_WEIGHT = 4, 999.9999
_ATTEMPTS = 3

LOST_NODE = 113
"""The exit code with which the main host of a gang says that another host was lost, and nothing else.

On Linux it is the number of EHOSTUNREACH. A program that ends with it ends with 1 here.
"""


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
            raise unexpected(
                "exit_codes",
                codes,
                "a list of exit codes",
                allowed=f"{most} at most: AWS Batch takes {MAX_JOB_CONDITIONS} conditions of retries",
                fix="exit_codes=[75], and the same code for everything that is worth another attempt",
            )
        for each in codes:
            exit_code("exit_codes", each, fix="exit_codes=[75]")

    def conditions(self, *, of_gang: bool = False) -> list[batch.RetryStrategy]:
        """The conditions as CDK takes them, first match first. Without the last one, AWS Batch retries everything."""
        if self.attempts == 1:
            return []
        codes = (*((LOST_NODE,) if of_gang else ()), *self.exit_codes)
        if len(codes) + self.image_not_pulled + 2 > MAX_JOB_CONDITIONS:
            raise InvalidValueError(
                "one condition of a training is for hosts that are lost",
                argument="exit_codes",
                value=self.exit_codes,
                allowed=f"one with image_not_pulled: AWS Batch takes {MAX_JOB_CONDITIONS} conditions of retries",
                fix=f"exit_codes=[{self.exit_codes[0]}]",
            )
        return [*_conditions(codes, self.image_not_pulled)]


@cache  # nothing changes them, and each costs two calls into Node
def _conditions(exit_codes: Sequence[int], image_not_pulled: bool) -> tuple[batch.RetryStrategy, ...]:  # noqa: FBT001 - `cache` has no names
    causes = [batch.Reason.SPOT_INSTANCE_RECLAIMED]  # of any host that was lost
    if image_not_pulled:
        causes.append(batch.Reason.CANNOT_PULL_CONTAINER)
    causes += [batch.Reason.custom(on_exit_code=str(each)) for each in exit_codes]
    retried = [batch.RetryStrategy.of(batch.Action.RETRY, each) for each in causes]
    return (*retried, batch.RetryStrategy.of(batch.Action.EXIT, batch.Reason.custom(on_reason="*")))


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
    """

    shares: Mapping[str, int]
    decay: cdk.Duration | None = None
    reserve_percent: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.shares, Mapping) or not self.shares:
            raise unexpected(
                "shares",
                self.shares,
                "share identifiers with a number each",
                fix=_SHARES,
            )
        for name, share in self.shares.items():
            what, allowed = "a share identifier", "letters and digits, up to 255"
            of_form("shares", name, r"[A-Za-z0-9]{1,255}", what, allowed=allowed, fix=_SHARES, at_synth=True)
            known_number(
                "shares",
                share,
                smallest=1,
                largest=_LARGEST_SHARE,
                fix=f"{{{name!r}: 1}}",
                why="cannot be compared with the other shares",
            )
        require_kinds(FairShares.__init__, {"decay": self.decay})
        whole_number("reserve_percent", self.reserve_percent, smallest=0, largest=99, unit="percent", fix="0")

    def policy(self, scope: Construct) -> batch.FairshareSchedulingPolicy:
        """Defines the scheduling policy of a queue."""
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


class JobOptions(GpuNeedOptions, DataOptions, total=False):
    """Arguments that `GpuBatchQueue.add_job` and `MultiNodeTraining` share.

    Attributes:
        vcpus: vCPUs. By default the share of the smallest host that goes with its GPUs.
        memory_mib: Memory in MiB; the container is stopped if it takes more. By default the same share.
        shared_memory_mib: Size of ``/dev/shm`` in MiB, which counts as memory as it is used and may be larger than the
            memory. By default half of the memory, 64 GiB at most.
        environment: Environment variables.
        secrets: Environment variables from Secrets Manager or Parameter Store.
        timeout: How long one attempt may take, a minute or more; then it ends, and is not tried again. By default a
            day.
        retries: How often it is tried again, and after what. By default twice, after its host or its image failed.
        share: The share of the queue that it counts against; needed in a queue with shares.
        scheduling_priority: Its priority among the jobs of its share, 0 to 9999, where the queue has shares. By
            default 0, the lowest.
        job_role: What it may do on AWS. By default a role that may do what its places need, and nothing else.
        execution_role: What ECS uses to pull its image and write its logs. By default a role is made and granted that.
        log_group: Where its logs go. By default a log group is defined that is deleted with the stack.
        log_retention: How long the default log group keeps them. By default a month.
        volumes: Volumes of its container, such as ``batch.EcsVolume.efs(…)``, or ``batch.EcsVolume.host(…)`` of a
            directory where hosts mount FSx for Lustre.
        user: Who it runs as. By default the image's own.
        job_definition_name: Name of the job definition. By default CloudFormation makes one.
        max_cost_usd: What one start may cost at most, in all its attempts, at the on-demand prices of this version of
            the library; the row of ``gpu-constructs plan``. By default nothing is refused.
    """

    vcpus: int | None
    memory_mib: int | None
    shared_memory_mib: int | None
    environment: Mapping[str, str] | None
    secrets: Mapping[str, batch.Secret] | None
    timeout: cdk.Duration | None
    retries: BatchRetries | None
    share: str | None
    scheduling_priority: int | None
    job_role: iam.IRole | None
    execution_role: iam.IRole | None
    log_group: logs.ILogGroup | None
    log_retention: logs.RetentionDays
    volumes: Sequence[batch.EcsVolume] | None
    user: str | None
    job_definition_name: str | None
    max_cost_usd: float | None


def require_volumes(volumes: object) -> None:
    """Refuses volumes that are none of AWS Batch."""
    if volumes is not None and not (
        isinstance(volumes, (list, tuple)) and all(isinstance(each, batch.EcsVolume) for each in volumes)
    ):
        raise unexpected(
            "volumes",
            volumes,
            "a list of batch.EcsVolume",
            fix="volumes=[batch.EcsVolume.host(name='data', container_path='/data', host_path='/mnt/data')]",
        )
