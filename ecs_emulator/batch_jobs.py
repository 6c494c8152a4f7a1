"""A job of AWS Batch: its attempts, each a task on a host of an environment of its queue.

moto 5.2.5 runs a container of Docker in a thread. Here an attempt takes a minute and ends as ``/emulator/jobs/<name>``
(`switches`) says, with one word for each attempt: an exit code, ``lost`` (its host is terminated), ``image`` (it
is not pulled), ``forever``. Without
that, it ends with exit code 0. Not modelled: arrays, dependencies, overrides.
"""

from __future__ import annotations

import json
import re
import uuid
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from moto.core.utils import unix_time_millis
from moto.events.models import events_backends

from . import switches
from .batch_hosts import FULL
from .demands import TaskDefinitionError
from .placement import Demand, Placement, place
from .tasks import EmulatedTask, task_demand

if TYPE_CHECKING:
    from moto.batch.models import JobDefinition, JobQueue
    from moto.ecs.models import TaskDefinition

    from .batch_hosts import EmulatedEnvironment

__all__ = ["EmulatedJob"]

NOT_PULLED = "CannotPullContainerError: pull access denied"

ENDED = frozenset({"FAILED", "SUCCEEDED"})
MINUTE = 60


class EmulatedJob:
    """One job.

    Args:
        name: Its name.
        definition: What it runs.
        queue: Its queue.
        share: The share that it counts against, empty in a queue without shares.
        priority: Its scheduling priority within its share; None for that of its definition.
    """

    network_mode = "host"

    def __init__(self, name: str, definition: JobDefinition, queue: JobQueue, share: str, priority: int | None) -> None:
        self.job_name, self.job_definition, self.job_queue, self.share = name, definition, queue, share
        self.priority: int = getattr(definition, "scheduling_priority", 0) if priority is None else priority
        self.retry_strategy: dict[str, Any] = definition.retry_strategy or {}
        self.job_id = str(uuid.uuid4())
        where = definition.backend
        self.arn = f"arn:aws:batch:{where.region_name}:{where.account_id}:job/{self.job_id}"
        self.status = "RUNNABLE"
        self.status_reason: str | None = None
        self.attempts: list[dict[str, Any]] = []
        self.waited: dict[str, int] = {}
        self.first_since = 0
        self._environment: EmulatedEnvironment | None = None
        self._task: EmulatedTask | None = None
        self._minutes = 0

    # Its definition, as ECS has it

    @property
    def _container(self) -> dict[str, Any]:
        return dict(self.job_definition.container_properties or {})

    @property
    def _asked(self) -> dict[str, str]:
        return {each["type"]: each["value"] for each in self._container.get("resourceRequirements", ())}

    @property
    def vcpus(self) -> int:
        """What an attempt takes of hosts."""
        return int(self._asked["VCPU"])

    @property
    def is_on_hosts(self) -> bool:
        """Whether an attempt has its hosts."""
        return self.status in {"STARTING", "RUNNING"}

    def _task_definition(self, environment: EmulatedEnvironment) -> TaskDefinition:
        properties, asked = self._container, self._asked
        gpus = [{"type": "GPU", "value": asked["GPU"]}] if "GPU" in asked else []
        container = {
            "name": "default",
            "image": properties["image"],
            "command": properties.get("command", []),
            "cpu": int(asked["VCPU"]) * 1024,
            "memory": int(asked["MEMORY"]),
            "environment": properties.get("environment", []),
            "linuxParameters": properties.get("linuxParameters", {}),
            "resourceRequirements": gpus,
            "logConfiguration": properties.get("logConfiguration"),
            "secrets": properties.get("secrets", []),
        }
        ecs = environment.ecs
        family = re.sub(r"[^A-Za-z0-9_-]", "-", self.job_definition.name)
        role = properties.get("executionRoleArn")
        made = ecs.register_task_definition(
            family, [container], network_mode=self.network_mode, execution_role_arn=role
        )
        ecs.deregister_task_definition(made.arn)
        return made

    # Minutes

    def pass_a_minute(self, environments: list[EmulatedEnvironment]) -> None:
        """Let happen what takes about a minute."""
        if self.status == "RUNNABLE":
            self._start(environments)
        elif self.is_on_hosts:
            self._go_on()

    def _start(self, environments: list[EmulatedEnvironment]) -> None:
        reasons = []
        for environment in environments:
            definition = self._task_definition(environment)
            try:
                demand = task_demand(definition)
            except TaskDefinitionError as error:
                self._end("FAILED", str(error))
                return
            if self._take(environment, definition, demand):
                return
            reason = None if environment.is_starting else self._launch(environment, demand)
            if reason is None:
                return  # it waits for a host that comes
            reasons.append(reason)
        if FULL not in reasons:  # else one of them may become free
            self._wait(reasons[-1] if reasons else "")

    def _launch(self, environment: EmulatedEnvironment, demand: Demand) -> str | None:
        """Launch what it needs; returns why it does not come, None if it does."""
        return environment.launch_for(demand)

    def _options(self, environment: EmulatedEnvironment) -> dict[str, Any]:
        """What else RunTask says."""
        return {}

    def _take(self, environment: EmulatedEnvironment, definition: TaskDefinition, demand: Demand) -> bool:
        hosts = environment.hosts
        outcome = place(demand, [host.free for host in hosts])
        if not isinstance(outcome, Placement):
            return False
        ecs = environment.ecs
        cluster = ecs._get_cluster(environment.ecs_name)
        task = ecs.start(cluster, definition, group=f"job:{self.job_id}", options=self._options(environment))
        assert isinstance(task, EmulatedTask)
        self._environment, self._task, self._minutes = environment, task, 0
        self.status, self.waited = "STARTING", {}
        return True

    def _wait(self, reason: str) -> None:
        """A minute at the head of the queue for a reason; the queue may set it a limit, and EventBridge hears of it."""
        if reason and reason not in self.waited:
            self.status_reason = reason
            self._report("Batch Job Queue Blocked")
        self.waited = {reason: self.waited.get(reason, 0) + 1}
        for action in getattr(self.job_queue, "time_limits", ()):
            if action["reason"] == reason and self.waited[reason] * MINUTE > int(action["maxTimeSeconds"]):
                self._end("FAILED", reason)

    def _go_on(self) -> None:
        task = self._task
        assert task is not None
        if task.last_status == "STOPPED":
            self._attempt_failed(str(task.stopped_reason), None)
        elif task.last_status == "PENDING" and self._word == "image":
            task.stop("Task failed to start", "TaskFailedToStart")
            self._attempt_failed(str(task.stopped_reason), None, NOT_PULLED)
        elif task.last_status == "PENDING":
            task.begin()
            self.status = "RUNNING" if task.last_status == "RUNNING" else self.status
        else:
            self._minutes += 1
            self._end_of_attempt(task)

    @property
    def _word(self) -> str:
        """How this attempt ends."""
        assert self._environment is not None
        said = (switches.read(self._environment.where, f"jobs/{self.job_name}") or "").split(",")
        return said[min(len(self.attempts), len(said) - 1)] or "0"

    def _end_of_attempt(self, task: EmulatedTask) -> None:
        environment, word = self._environment, self._word
        assert environment is not None
        limit = (self.job_definition.timeout or {}).get("attemptDurationSeconds")
        if word == "forever":
            if limit and self._minutes * MINUTE >= int(limit):
                task.stop("Job attempt duration exceeded timeout")
                self._attempted("Job attempt duration exceeded timeout", 137)
                self._end("FAILED", "Job attempt duration exceeded timeout")
        elif word == "lost":
            assert task.host is not None
            lost = task.host.ec2_instance_id
            environment.terminate(next(each for each in environment.running if each.id == lost))
            environment.register()
            self._attempt_failed(str(task.stopped_reason), None)
        elif word == "0":
            task.stop("Essential container in task exited", "EssentialContainerExited")
            self._attempted(str(task.stopped_reason), 0)
            self._end("SUCCEEDED", str(task.stopped_reason))
        else:
            task.stop("Essential container in task exited", "EssentialContainerExited")
            self._attempt_failed(str(task.stopped_reason), int(word))

    def _attempted(self, reason: str, code: int | None, why: str = "") -> None:
        container = {**({"exitCode": code} if code is not None else {}), **({"reason": why} if why else {})}
        assert self._task is not None
        arn = self._task.container_instance_arn
        self.attempts.append({"statusReason": reason, "container": {**container, "containerInstanceArn": arn}})

    def _attempt_failed(self, reason: str, code: int | None, why: str = "") -> None:
        self._attempted(reason, code, why)
        strategy = self.retry_strategy
        if len(self.attempts) < int(strategy.get("attempts", 1)) and _retries(strategy, reason, code, why):
            self.status, self.status_reason = "RUNNABLE", reason
        else:
            self._end("FAILED", reason)

    def _end(self, status: str, reason: str) -> None:
        self.status, self.status_reason = status, reason
        self._report("Batch Job State Change")

    def _report(self, detail_type: str) -> None:
        """Events as https://docs.aws.amazon.com/batch/latest/userguide/batch_cwe_events.html has them."""
        where = self.job_definition.backend
        event = {"Source": "aws.batch", "DetailType": detail_type, "Detail": json.dumps(self.describe())}
        events_backends[where.account_id][where.region_name].put_events([event])

    def terminate(self, reason: str) -> None:
        """CancelJob and TerminateJob."""
        if self.status not in ENDED:
            if self._task is not None and self._task.last_status != "STOPPED":
                self._task.stop(reason)
            self._end("FAILED", reason)

    # What moto's responses ask for

    def describe_short(self) -> dict[str, Any]:
        described = {
            "jobArn": self.arn,
            "jobId": self.job_id,
            "jobName": self.job_name,
            "createdAt": int(unix_time_millis()),
            "status": self.status,
            "jobDefinition": self.job_definition.arn,
        }
        return described | ({"statusReason": self.status_reason} if self.status_reason else {})

    def describe(self) -> dict[str, Any]:
        last = self.attempts[-1]["container"] if self.attempts else {}
        task = self._task
        gpus = {} if task is None else task.gpus
        return self.describe_short() | {
            "jobQueue": self.job_queue.arn,
            "attempts": self.attempts,
            "shareIdentifier": self.share,
            "container": {
                "image": self._container.get("image"),
                "environment": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": ",".join(gpus.get("default", ()))}],
                **last,
                **({"logStreamName": f"{self.job_name}/default/{self.job_id}"} if self.attempts else {}),
                **({"taskArn": task.task_arn} if task is not None else {}),
            },
        }


def _retries(strategy: dict[str, Any], status_reason: str, code: int | None, why: str) -> bool:
    """What the first condition says that an attempt meets; without one, it is retried."""
    found = {"onStatusReason": status_reason, "onReason": why, "onExitCode": "" if code is None else str(code)}
    for condition in strategy.get("evaluateOnExit") or ():
        if all(fnmatchcase(found[key], pattern) for key, pattern in condition.items() if key in found):
            return str(condition["action"]).upper() == "RETRY"
    return True
