"""A job of AWS Batch with whole GPUs, checked against the hosts of its queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aws_cdk import aws_batch as batch
from aws_cdk import aws_ecs as ecs

from gpu_constructs.batch.job_options import JobSettings
from gpu_constructs.batch.job_plan import JobPlan
from gpu_constructs.batch.work import BatchWork
from gpu_constructs.errors import InvalidValueError, shown

if TYPE_CHECKING:
    from gpu_constructs.batch.queue import GpuBatchQueue


class GpuBatchJob(BatchWork):
    """Defines a job definition, its roles and a log group for it.

    Made by `GpuBatchQueue.add_job`, where the arguments are explained.

    Attributes:
        queue: Its queue.
        task: What it asks of a host, as the value that every check reads.
        share: The share of the queue that it counts against; None in a queue without shares.
        log_group: Where its logs go.
        job_role: What it may do on AWS.
        container: Its container.
        job_definition: The job definition.
    """

    def __init__(
        self,
        queue: GpuBatchQueue,
        construct_id: str,
        *,
        plan: JobPlan,
        image: ecs.ContainerImage,
        command: Sequence[str] | None,
        settings: JobSettings,
    ) -> None:
        if not isinstance(plan, JobPlan) or not isinstance(settings, JobSettings):
            raise InvalidValueError(
                f"a queue plans its jobs itself, got {shown(plan)}",
                argument="plan",
                value=plan,
                fix=f"queue.add_job({construct_id!r}, image=…)",
            )
        super().__init__(queue, construct_id, queue=queue, plan=plan, image=image, command=command, settings=settings)
        self.job_definition: batch.EcsJobDefinition = self._define(
            batch.EcsJobDefinition, batch.EcsJobDefinitionProps, settings, container=self.container
        )
