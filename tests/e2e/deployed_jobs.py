"""Jobs of a deployed stack, and the program of a container as a process of this machine."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecs_emulator.account import Account

__all__ = ["Jobs", "as_process", "submitted", "until"]


@dataclass(frozen=True)
class Jobs:
    """The jobs of one cluster.

    Args:
        account: The account.
        cluster: The name of the cluster.
    """

    account: Account
    cluster: str

    def tasks(self) -> list[dict[str, Any]]:
        """Every task that they ever ran, in that order."""
        ecs = self.account.client("ecs")
        arns = [
            arn
            for status in ("RUNNING", "STOPPED")
            for arn in ecs.list_tasks(cluster=self.cluster, desiredStatus=status)["taskArns"]
        ]
        found = ecs.describe_tasks(cluster=self.cluster, tasks=arns)["tasks"] if arns else []
        return sorted(found, key=lambda each: str(each["createdAt"]))

    def start(self, machine: str, text: str = "{}") -> str:
        """Starts an execution of a state machine with this input."""
        started = self.account.client("stepfunctions").start_execution(stateMachineArn=machine, input=text)
        return str(started["executionArn"])

    def start_as(self, command: str) -> str:
        """Does what an ``aws stepfunctions start-execution`` line of a stack's outputs does."""
        words = shlex.split(command)
        assert words[:3] == ["aws", "stepfunctions", "start-execution"]
        options = dict(zip(words[3::2], words[4::2], strict=True))
        machine, given = options.pop("--state-machine-arn"), options.pop("--input", "{}")
        assert options == {}
        return self.start(machine, given)

    def attempt(self, execution: str, number: int, minutes: int = 20) -> dict[str, Any]:
        """The task of an attempt from 0, before it has a host."""
        for _ in range(minutes):
            self.account.client("stepfunctions").describe_execution(executionArn=execution)
            if len(tasks := self.tasks()) > number:
                return tasks[number]
        raise AssertionError(f"no attempt {number} after {minutes} minutes")

    def end(self, execution: str, minutes: int = 600) -> dict[str, Any]:
        """What a job says when it is over."""
        for _ in range(minutes):
            said: dict[str, Any] = self.account.client("stepfunctions").describe_execution(executionArn=execution)
            if said["status"] != "RUNNING":
                return said
        raise AssertionError(f"still running after {minutes} minutes")

    def ends(self, task: Mapping[str, Any], ends: str) -> None:
        """Says how this task and later ones of its family end, see ``ecs_emulator.ends``."""
        family = task["taskDefinitionArn"].rpartition("/")[2].partition(":")[0]
        name = f"/emulator/ends/{family}"
        self.account.client("ssm").put_parameter(Name=name, Value=ends, Type="String", Overwrite=True)

    def environment(self, task: Mapping[str, Any]) -> dict[str, str]:
        """The variables that the first container of a task sees."""
        described = self.account.client("ecs").describe_task_definition(taskDefinition=task["taskDefinitionArn"])
        written = described["taskDefinition"]["containerDefinitions"][0].get("environment", [])
        (given,) = task["overrides"]["containerOverrides"]
        return {each["name"]: each["value"] for each in [*written, *given["environment"]]}


def as_process(program: Path, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    """Starts the program of a container with what a container sees."""
    return subprocess.Popen(
        [sys.executable, program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def submitted(account: Account, outputs: Mapping[str, str], **request: Any) -> str:
    """Does what the ``aws batch submit-job`` line of a stack's outputs does; the job."""
    words = shlex.split(outputs["Submit"])
    assert words[:3] == ["aws", "batch", "submit-job"]
    given = dict(zip(words[3::2], words[4::2], strict=True))
    names = {"--job-name": "jobName", "--job-queue": "jobQueue", "--job-definition": "jobDefinition"}
    names["--share-identifier"] = "shareIdentifier"
    submitted = account.client("batch").submit_job(**{names[key]: value for key, value in given.items()} | request)
    return str(submitted["jobId"])


def until(account: Account, job: str, minutes: int, *statuses: str) -> dict[str, Any]:
    """What AWS Batch says of a job that is over or has one of these statuses, or else after so many minutes."""
    for _ in range(minutes):
        (described,) = account.client("batch").describe_jobs(jobs=[job])["jobs"]
        if described["status"] in {"FAILED", "SUCCEEDED", *statuses}:
            break
    return dict(described)
