"""The AWS Batch of the emulator: jobs run as tasks on hosts that it starts for them. Each look at jobs is a minute."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from moto.batch import models, responses, urls
from moto.batch.exceptions import ClientException
from moto.batch.models import BatchBackend, Job, JobQueue
from moto.ecs.models import ecs_backends

from .batch_gangs import EmulatedGang
from .batch_hosts import EmulatedEnvironment
from .batch_jobs import ENDED, EmulatedJob
from .batch_shares import ShareUsage
from .executions import OF_BATCH, advance
from .resource import Region
from .schedules import run_due

if TYPE_CHECKING:
    from types import ModuleType

    from .resource import Properties
    from .running import RunningEcs

__all__ = ["EmulatedBatch", "install"]

MAX_ENVIRONMENTS = 3
"""Compute environments of one job queue (https://docs.aws.amazon.com/batch/latest/userguide/service_limits.html)."""


class EmulatedBatch(BatchBackend):
    """AWS Batch in one account and region."""

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self._usage: dict[str, ShareUsage] = {}

    @property
    def _url_module(self) -> ModuleType:
        return urls

    @property
    def where(self) -> Region:
        """Its account and region."""
        return Region(self.account_id, self.region_name)

    def add_environment(self, name: str, settings: Properties) -> EmulatedEnvironment:
        """CreateComputeEnvironment, from its request."""
        if self.get_compute_environment_by_name(name) is not None:
            raise ClientException("Object already exists")
        made = EmulatedEnvironment(self.where, name, settings)
        self._compute_environments[made.arn] = made
        return made

    def remove_environment(self, arn: str) -> None:
        """DeleteComputeEnvironment."""
        environment = cast("EmulatedEnvironment", self._compute_environments[arn])
        if any(environment in queue.environments for queue in self._job_queues.values()):
            raise ClientException("Cannot delete, found existing JobQueue relationship")
        environment.end()
        del self._compute_environments[arn]

    def create_job_queue(
        self,
        queue_name: str,
        priority: str,
        schedule_policy: str | None,
        state: str,
        compute_env_order: Any,
        tags: Any = None,
    ) -> JobQueue:
        _require_at_most_three(compute_env_order)
        return super().create_job_queue(queue_name, priority, schedule_policy, state, compute_env_order, tags)

    def update_job_queue(
        self, queue_name: str, priority: Any, state: Any, compute_env_order: Any, schedule_policy: Any
    ) -> tuple[str, str]:
        _require_at_most_three(compute_env_order or ())
        return super().update_job_queue(queue_name, priority, state, compute_env_order, schedule_policy)

    def submit_job(  # type: ignore[override]  # of what moto passes on, this is modelled
        self, job_name: str, job_def_id: str, job_queue: str, **request: Any
    ) -> tuple[str, str, str]:
        definition, queue = self.get_job_definition(job_def_id), self.get_job_queue(job_queue)
        if definition is None or definition.status != "ACTIVE":
            raise ClientException(f"JobDefinition {job_def_id} not found")
        if queue is None:
            raise ClientException(f"JobQueue {job_queue} not found")
        share = request.get("share")
        if (share is None) != (queue.schedule_policy is None):
            raise ClientException(
                "shareIdentifier must be specified for job queues with a fair-share scheduling policy, and for no other"
            )
        given = (job_name, definition, queue, share or "", request.get("priority"))
        job = EmulatedGang(*given) if definition.node_properties else EmulatedJob(*given)
        if nodes := request.get("nodes"):
            if not isinstance(job, EmulatedGang):
                raise ClientException("nodeOverrides are for multi-node parallel jobs")
            job.change(nodes)
        if retry := request.get("retry"):
            job.retry_strategy = retry  # "it overrides the retry strategy defined in the job definition", as a whole
        self._jobs[job.job_id] = cast("Job", job)
        queue.jobs.append(cast("Job", job))
        return job_name, job.job_id, job.arn

    def pass_a_minute(self) -> None:
        """Let everything happen in all queues that takes about a minute."""
        run_due(cast("RunningEcs", ecs_backends[self.account_id][self.region_name]), None)
        environments = cast("list[EmulatedEnvironment]", list(self._compute_environments.values()))
        for each in environments:
            each.register()
        for queue in sorted(self._job_queues.values(), key=lambda each: -int(each.priority)):
            self._pass_a_minute_in(queue)
        for each in environments:
            each.end_idle()
            each.register()
        advance(self.where, OF_BATCH)

    def _pass_a_minute_in(self, queue: JobQueue) -> None:
        jobs = [each for each in cast("list[EmulatedJob]", queue.jobs) if each.status not in ENDED]
        environments = cast("list[EmulatedEnvironment]", queue.environments)
        usage = self._usage.setdefault(queue.arn, ShareUsage())
        usage.pass_a_minute(jobs)
        waiting = [each for each in jobs if not each.is_on_hosts]
        for each in [each for each in jobs if each.is_on_hosts]:
            each.pass_a_minute(environments)
        policy = self._scheduling_policies.get(queue.schedule_policy or "")
        while waiting:
            job = usage.first(waiting, jobs, None if policy is None else policy.fairshare_policy)
            waiting.remove(job)
            job.pass_a_minute(environments)

    def describe_jobs(self, jobs: list[str] | None) -> list[dict[str, Any]]:
        self.pass_a_minute()
        return [job.describe() for key, job in self._jobs.items() if not jobs or key in jobs or job.arn in jobs]

    def reset(self) -> None:
        self._jobs.clear()  # whose threads moto would end
        super().reset()


def _require_at_most_three(order: Sequence[Any]) -> None:
    """CreateJobQueue and UpdateJobQueue take up to three, in the words of the API's reference."""
    if len(order) > MAX_ENVIRONMENTS:
        raise ClientException("You can associate up to three compute environments with a job queue.")


def _submit(self: responses.BatchResponse) -> str:
    backend = cast("EmulatedBatch", self.batch_backend)
    name, job_id, arn = backend.submit_job(
        self._get_param("jobName"),
        self._get_param("jobDefinition"),
        self._get_param("jobQueue"),
        share=self._get_param("shareIdentifier"),
        priority=self._get_param("schedulingPriorityOverride"),
        nodes=self._get_param("nodeOverrides"),
        retry=self._get_param("retryStrategy"),
    )
    return json.dumps({"jobId": job_id, "jobName": name, "jobArn": arn})


def install() -> None:
    """Put this AWS Batch in the place of moto's, in every account and region that moto sets up from now on."""
    models.batch_backends.backend = EmulatedBatch
    responses.BatchResponse.submitjob = _submit  # type: ignore[method-assign]
