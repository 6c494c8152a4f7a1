"""A gang of 40 tasks with large inputs, among those of other executions: found, started, looked at and stopped."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from emulator.state_language import StateError, Waiting, run_machine
from gpu_constructs.jobs.job_run import JobRetries
from gpu_constructs.jobs.training.gang_states import Gang, gang_definition_of
from tests.jobs.test_states import RUN as JOB

RUN = replace(JOB, packed=False, timeout_seconds=7200)
HOSTS = 40
CONTEXT = {"Execution": {"Name": "one", "Input": {}}}
LARGE = "x" * 6000
"""About what the description of a task has, with an input of 4 KB."""


class Cluster:
    """Runs a gang whose main task ends after 20 minutes, next to two other executions of the same training."""

    def __init__(self, *, code: int = 0, late: int = 0) -> None:
        self.tasks = [self._task(number, "two" if number < HOSTS else "three") for number in range(2 * HOSTS)]
        self.asked: Counter[str] = Counter()
        self.error = ""
        self._code, self._late = code, late
        gang = Gang(run=RUN, hosts=HOSTS, start_seconds=600)
        retries = JobRetries(no_host=0, not_started=0, lost_host=0)
        try:
            for _ in run_machine(gang_definition_of(gang, retries), {}, CONTEXT, self._call):
                pass
        except StateError as error:
            self.error = error.error

    @property
    def left(self) -> int:
        """Tasks that still run."""
        return sum(each["DesiredStatus"] == "RUNNING" for each in self.tasks)

    def _task(self, number: int, execution: str, rank: str = "0") -> dict[str, Any]:
        interfaces = [{"PrivateIpv4Address": f"10.0.0.{number}"}]
        return {
            "TaskArn": f"arn:{number}",
            "Group": f"job:{execution}",
            "LastStatus": "RUNNING",
            "DesiredStatus": "RUNNING",
            "Rank": rank,
            "Overrides": LARGE,
            "Containers": [{"Name": "train", "NetworkInterfaces": interfaces}],
        }

    def _call(self, resource: str, given: Any, _: Any) -> Waiting:
        action = resource.rpartition(":")[2]
        self.asked[action] += 1
        if action == "runTask.sync":
            return self._run(given)
        return self._answer(action, given)

    def _run(self, given: Any) -> Waiting:
        (override,) = given["Overrides"]["ContainerOverrides"]
        variables = {each["Name"]: each["Value"] for each in override["Environment"]}
        rank = variables["AWS_BATCH_JOB_NODE_INDEX"]
        task = self._task(len(self.tasks), "one", rank)
        if int(rank) > HOSTS - 1 - self._late:
            task["LastStatus"] = "PROVISIONING"
        self.tasks.append(task)
        for _ in range(20 if rank == "0" else 30):
            yield
        ended = {**task, "StopCode": "EssentialContainerExited", "StoppedReason": "why"}
        ended["Containers"] = [{"Name": "train", "ExitCode": self._code}]
        task["DesiredStatus"] = "STOPPED"
        if self._code:
            raise StateError("States.TaskFailed", json.dumps(ended))
        return ended

    def _answer(self, action: str, given: Any) -> Waiting:
        yield from ()
        if action == "listTasks":
            arns = [each["TaskArn"] for each in self.tasks if each["DesiredStatus"] == "RUNNING"]
            begin = int(given.get("NextToken", 0))
            end = begin + min(given.get("MaxResults", 100), 100)
            return {"TaskArns": arns[begin:end], **({"NextToken": str(end)} if end < len(arns) else {})}
        if action == "describeTasks":
            return {"Tasks": [each for each in self.tasks if each["TaskArn"] in given["Tasks"]]}
        (task,) = (each for each in self.tasks if each["TaskArn"] == given["Task"])
        assert task["Group"] == "job:one"
        task["DesiredStatus"] = "STOPPED"
        return {"Task": task}


@pytest.mark.parametrize(
    ("arguments", "error"), [({}, ""), ({"code": 1}, "OtherExitCode"), ({"late": 1}, "NotTogether")]
)
def test_forty_tasks_with_large_inputs_are_a_gang_among_those_of_others(arguments: dict[str, int], error: str) -> None:
    cluster = Cluster(**arguments)
    assert cluster.error == error
    assert cluster.asked["runTask.sync"] == HOSTS
    assert cluster.left == 2 * HOSTS
