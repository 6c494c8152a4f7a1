"""The arguments that jobs of AWS Batch share, for one host or for several, and what is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import aws_cdk as cdk
from aws_cdk import aws_batch as batch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs

from gpu_constructs.batch.retries import BatchRetries
from gpu_constructs.cdk.arguments import of_kind
from gpu_constructs.cdk.durations import whole_seconds
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.fleet import Unknown
from gpu_constructs.hardware.aws_limits import MIN_JOB_TIMEOUT_SECONDS
from gpu_constructs.tasks.gpu_needs import GpuNeedOptions

DAY_SECONDS = 86_400
"""How long an attempt may take by default."""


class JobOptions(GpuNeedOptions, total=False):
    """Arguments that `GpuBatchQueue.add_job` and `MultiNodeTraining` share.

    Attributes:
        vcpus: vCPUs. By default the share of the smallest host that goes with its GPUs.
        memory_mib: Memory in MiB; the container is stopped if it takes more. By default the same share.
        shared_memory_mib: Size of ``/dev/shm`` in MiB. By default half of the memory, 64 GiB at most.
        environment: Environment variables.
        secrets: Environment variables from Secrets Manager or Parameter Store.
        timeout: How long one attempt may take, a minute or more; then it ends, and is not tried again. By default a
            day.
        retries: How often it is tried again, and after what. By default twice, after its host or its image failed.
        share: The share of the queue that it counts against; needed in a queue with shares.
        scheduling_priority: Its priority among the jobs of its share, 0 to 9999, where the queue has shares. By
            default 0, the lowest.
        job_role: What it may do on AWS. By default a role that may do nothing, for a training what its places need.
        execution_role: What ECS uses to pull its image and write its logs. By default a role is made and granted that.
        log_group: Where its logs go. By default a log group is defined that is deleted with the stack.
        log_retention: How long the default log group keeps them. By default a month.
        volumes: Volumes of its container, such as ``batch.EcsVolume.efs(…)``, or ``batch.EcsVolume.host(…)`` of a
            directory where hosts mount FSx for Lustre.
        user: Who it runs as. By default the image's own.
        job_definition_name: Name of the job definition. By default CloudFormation makes one.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """What a job is given besides its size, with the defaults.

    Attributes:
        options: Its arguments, as given.
        attempt_seconds: How long one attempt may take.
        retries: What it is tried again after.
    """

    options: JobOptions
    attempt_seconds: int | Unknown
    retries: BatchRetries

    @staticmethod
    def of(options: JobOptions) -> JobSettings:
        """What is given, checked as far as it is right or wrong by itself.

        Raises:
            InvalidValueError: One of them is wrong.
        """
        timeout = options.get("timeout")
        require_volumes(options.get("volumes"))
        return JobSettings(
            options=options,
            attempt_seconds=DAY_SECONDS
            if timeout is None
            else whole_seconds("timeout", timeout, smallest=MIN_JOB_TIMEOUT_SECONDS),
            retries=of_kind("retries", options.get("retries"), BatchRetries, example="BatchRetries(attempts=5)"),
        )

    @property
    def scheduling_priority(self) -> int | None:
        """Its priority among the jobs of its share: AWS Batch takes none without one in a queue with shares."""
        given = self.options.get("scheduling_priority")
        return 0 if given is None and self.options.get("share") is not None else given

    def definition(self) -> dict[str, object]:
        """Its part of the arguments of CDK's job definitions, which those for several hosts have as well."""
        return {
            "job_definition_name": self.options.get("job_definition_name"),
            "timeout": self.options.get("timeout") or seconds_of(DAY_SECONDS),
            "retry_attempts": self.retries.attempts,
            "retry_strategies": self.retries.conditions() or None,
            "scheduling_priority": self.scheduling_priority,
            "propagate_tags": True,
        }


@cache  # nothing changes it, and it costs a call into Node
def seconds_of(number: int) -> cdk.Duration:
    """A duration."""
    return cdk.Duration.seconds(number)


def require_volumes(volumes: object) -> None:
    """Refuses volumes that are none of AWS Batch.

    Raises:
        InvalidValueError: They are something else.
    """
    if volumes is not None and not (
        isinstance(volumes, (list, tuple)) and all(isinstance(each, batch.EcsVolume) for each in volumes)
    ):
        raise InvalidValueError(
            f"expects a list of batch.EcsVolume, got {shown(volumes)}",
            argument="volumes",
            value=volumes,
            fix="volumes=[batch.EcsVolume.host(name='data', container_path='/data', host_path='/mnt/data')]",
        )
