"""State machines of Step Functions that run: standard executions, their tasks of ECS, and executions inside of others.

moto 5.2.5 either runs no state or runs them in threads with a real clock. Here a machine goes on by a minute whenever a
minute passes in the cluster of the task that it waits for, and whenever somebody describes the execution. Not modelled:
logs, the states in a history, versions, express workflows, JSONata.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from moto.core.exceptions import AWSError, ServiceException
from moto.core.utils import utcnow
from moto.ecs.models import ecs_backends
from moto.stepfunctions import models, urls
from moto.stepfunctions.exceptions import ExecutionAlreadyExists
from moto.stepfunctions.models import Execution, StateMachine, StepFunctionBackend, stepfunctions_backends

from . import permissions, switches
from .resource import Properties, Region, Resource, camel_case
from .sdk_calls import CALLS, members_of, pascal_case
from .state_language import FOREVER_SECONDS, StateError, Waiting, run_machine
from .tasks import EmulatedTask

if TYPE_CHECKING:
    from .running import RunningEcs

__all__ = ["Machine", "RunningExecution", "advance", "install"]

_SYNC, _NESTED = ":states:::ecs:runTask.sync", ":states:::states:startExecution.sync:2"
_ENDS = {"SUCCEEDED": "Succeeded", "FAILED": "Failed", "TIMED_OUT": "TimedOut", "ABORTED": "Aborted"}

MOST_OVERRIDES = 8192
"""Characters."""


class RunningExecution(Execution):
    """One execution."""

    def __init__(self, machine: StateMachine, name: str, given: str, backend: StepFunctionBackend) -> None:
        super().__init__(backend.region_name, backend.account_id, machine.name, name, machine.arn, given)
        self.where = Region(backend.account_id, backend.region_name)
        self._role = machine.roleArn
        definition = json.loads(machine.definition)
        self._minutes_left = definition.get("TimeoutSeconds", FOREVER_SECONDS) / 60
        self.waits_for: list[EmulatedTask | RunningExecution] = []
        self._asked: str | None = None
        self._state = {"EnteredTime": ""}
        context = {
            "Execution": {"Id": self.execution_arn, "Name": name, "Input": json.loads(given)},
            "State": self._state,
            "StateMachine": {"Id": machine.arn, "Name": machine.name},
        }
        self._steps = run_machine(definition, json.loads(given), context, self._call)
        self.advance()

    @property
    def cluster(self) -> str | None:
        """The cluster of the task that it waits for, else the one it asked about last; None without both."""
        waits = next(iter(self.waits_for), None)
        if waits is None:
            return self._asked
        return waits.cluster if isinstance(waits, RunningExecution) else waits.cluster_name

    def advance(self) -> None:
        """Go on by a minute."""
        if self.status != "RUNNING":
            return
        self._state["EnteredTime"] = switches.now(self.where).isoformat()
        try:
            next(self._steps)
        except StopIteration as end:
            self.output = json.dumps(end.value, default=str)
            self._end("SUCCEEDED")
        except StateError as failed:
            self.error, self.cause = failed.error, failed.cause
            self._end("FAILED")
        else:
            self._minutes_left -= 1
            if self._minutes_left < 0:
                self.stop(status="TIMED_OUT")

    def _end(self, status: str) -> None:
        self.status, self.stop_date, self.waits_for = status, utcnow(), []

    def stop(self, *_: Any, status: str = "ABORTED", **__: Any) -> None:
        """End it; what it waits for ends as well, which AWS attempts.

        https://docs.aws.amazon.com/step-functions/latest/dg/connect-to-resource.html
        """
        for waits in self.waits_for:
            if isinstance(waits, RunningExecution):
                waits.stop()
            elif waits.last_status != "STOPPED":
                waits.stop("Task stopped by AWS Step Functions")
        self._end(status)

    def get_execution_history(self, roleArn: str) -> list[dict[str, Any]]:  # noqa: N803 - moto's name
        started = {
            "timestamp": self.start_date,
            "type": "ExecutionStarted",
            "id": 1,
            "previousEventId": 0,
            "executionStartedEventDetails": {"input": self.execution_input, "roleArn": roleArn},
        }
        if self.status == "RUNNING":
            return [started]
        name = _ENDS[self.status]
        said = {"output": self.output} if self.status == "SUCCEEDED" else {"error": self.error, "cause": self.cause}
        details = {key: value for key, value in said.items() if value is not None}
        ended = {"timestamp": self.stop_date, "type": f"Execution{name}", "id": 2, "previousEventId": 1}
        return [started, {**ended, f"execution{name}EventDetails": details}]

    def _call(self, resource: str, given: Any, _: Mapping[str, Any]) -> Waiting:
        asked = resource.partition(":states:::")[2]
        if asked not in CALLS and not resource.endswith((_SYNC, _NESTED)):
            raise StateError("States.Runtime", f"the emulator does not know {resource}")
        self._require_allowed(asked, given)
        if resource.endswith(_SYNC):
            return self._run_task(given)
        if resource.endswith(_NESTED):
            return self._start_execution(given)
        return self._ask(asked, given)

    def _require_allowed(self, asked: str, given: Any) -> None:
        here = f"{self.where.name}:{self.where.account_id}"
        named = dict(given)
        if "Cluster" in given:
            named["Cluster"] = f"arn:aws:ecs:{here}:cluster/{given['Cluster'].rpartition('/')[2]}"
        roles = []
        if "TaskDefinition" in given:
            try:
                found = self._ecs.describe_task_definition(given["TaskDefinition"])
            except ServiceException:
                return  # which RunTask says
            named["TaskDefinition"], roles = found.arn, permissions.roles_of(found)
        place = permissions.Place(here, self.state_machine_arn, lambda _: roles, self._groups_of)
        if denied := permissions.refusal(self.where, self._role, permissions.calls_of_state(asked, named, place)):
            service = asked.removeprefix("aws-sdk:").partition(":")[0]
            raise StateError(f"{pascal_case({service: 0}).popitem()[0]}.AccessDeniedException", denied)

    @property
    def _ecs(self) -> RunningEcs:
        return cast("RunningEcs", ecs_backends[self.where.account_id][self.where.name])

    def _groups_of(self, given: Any) -> list[str]:
        return [group.name for group, _ in members_of(self.where, [given["InstanceId"]])]

    @contextmanager
    def _waiting_for(self, what: EmulatedTask | RunningExecution) -> Iterator[None]:
        self.waits_for.append(what)
        try:
            yield
        finally:
            self.waits_for = [each for each in self.waits_for if each is not what]

    def _run_task(self, given: Any) -> Waiting:
        asked = camel_case(given)
        # https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html
        if len(json.dumps(asked.get("overrides"), separators=(",", ":"), ensure_ascii=False)) > MOST_OVERRIDES:
            said = f"Container Overrides length must be at most {MOST_OVERRIDES}"
            raise StateError("ECS.InvalidParameterException", said)
        try:
            tasks, failures = self._ecs.run(
                asked["cluster"],
                asked["taskDefinition"],
                int(asked.get("count", 1)),
                launch_type=asked.get("launchType"),
                strategy=asked.get("capacityProviderStrategy"),
                group=asked.get("group"),
                constraints=asked.get("placementConstraints"),
                propagate_tags=asked.get("propagateTags"),
                options={
                    "overrides": asked.get("overrides") or {},
                    "started_by": "AWS Step Functions",
                    "tags": asked.get("tags"),
                    "networking_configuration": asked.get("networkConfiguration"),
                },
            )
        except ServiceException as error:
            raise StateError(f"ECS.{error.code}", error.message) from error
        if failures:
            raise StateError("AmazonECS.Unknown", "; ".join(each.reason for each in failures))
        task = tasks[0]
        assert isinstance(task, EmulatedTask)
        with self._waiting_for(task):
            while task.last_status != "STOPPED":
                yield
        described = json.loads(json.dumps(pascal_case(task.as_described), default=str))
        if task.stop_code != "EssentialContainerExited" or any(
            each.get("ExitCode") for each in described["Containers"]
        ):
            raise StateError("States.TaskFailed", json.dumps(described))
        return described

    def _start_execution(self, given: Any) -> Waiting:
        machines = _machines(self.where)
        given_input = given.get("Input", {})
        text = given_input if isinstance(given_input, str) else json.dumps(given_input)
        try:
            started = machines.start_execution(given["StateMachineArn"], given.get("Name", ""), text)
        except AWSError as error:
            raise StateError(f"StepFunctions.{error.TYPE}Exception", error.message) from error
        assert isinstance(started, RunningExecution)
        with self._waiting_for(started):
            while started.status == "RUNNING":
                yield
                if started.cluster is None:
                    started.advance()
        described = {"ExecutionArn": started.execution_arn, "Name": started.name, "Status": started.status}
        if started.status != "SUCCEEDED":
            cause = {**described, "Error": started.error, "Cause": started.cause}
            raise StateError("States.TaskFailed", json.dumps(cause))
        return {**described, "Output": json.loads(started.output or "{}")}

    def _ask(self, action: str, given: Any) -> Waiting:
        yield from ()
        if "Cluster" in given:
            self._asked = given["Cluster"].rpartition("/")[2]
        elif action.startswith("aws-sdk:batch:"):
            self._asked = OF_BATCH
        return CALLS[action](self.where, given)


OF_BATCH = "aws-sdk:batch"
"""What stands for the cluster of executions that look at jobs, whose minutes are those of AWS Batch."""


def _machines(where: Region) -> StepFunctionBackend:
    return stepfunctions_backends[where.account_id][where.name]


def _running(where: Region) -> Iterator[RunningExecution]:
    for machine in list(_machines(where).state_machines):
        for each in list(machine.executions):
            if isinstance(each, RunningExecution) and each.status == "RUNNING":
                yield each


def advance(where: Region, cluster: str) -> None:
    """Let a minute pass for the executions that wait for tasks of a cluster, and for those that wait for none.

    Args:
        where: The account and region.
        cluster: Its name.
    """
    running = list(_running(where))
    inner = {id(waits) for each in running for waits in each.waits_for}
    for each in running:
        # What is inside of another one goes on with it.
        if each.cluster == cluster or (each.cluster is None and id(each) not in inner):
            each.advance()


class EmulatedStepFunctions(StepFunctionBackend):
    """Step Functions in one account and region."""

    @property
    def _url_module(self) -> ModuleType:
        return urls

    def start_execution(self, state_machine_arn: str, name: str, execution_input: str) -> Execution:
        machine = self.describe_state_machine(state_machine_arn)
        earlier = machine.executions[:]
        # moto refuses a name that is taken; what it makes of a free one is replaced by one that runs.
        made = super().start_execution(state_machine_arn, name, execution_input)
        if made in earlier:
            if made.status != "RUNNING":
                raise ExecutionAlreadyExists(f"Execution Already Exists: '{made.execution_arn}'")
            return made
        machine.executions.remove(made)
        running = RunningExecution(machine, made.name, execution_input, self)
        machine.executions.append(running)
        return running

    def describe_execution(self, execution_arn: str) -> Execution:
        found = super().describe_execution(execution_arn)
        if isinstance(found, RunningExecution) and found.status == "RUNNING":
            cluster = found.cluster
            if cluster is None:
                found.advance()
            else:
                found._ecs.pass_a_minute(cluster)
        return found


class Machine(Resource):
    """A state machine; ``Ref`` gives its ARN."""

    type_name = "AWS::StepFunctions::StateMachine"
    name_property = "StateMachineName"
    attribute_names = frozenset({"Arn", "Name"})
    create_only = frozenset({"StateMachineName", "StateMachineType"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> Machine:
        made = _machines(region).create_state_machine(name, _definition(properties), properties["RoleArn"])
        return cls(made.arn, {"Arn": made.arn, "Name": made.name})

    def update(self, region: Region, properties: Properties) -> None:
        _machines(region).update_state_machine(
            self.physical_resource_id, definition=_definition(properties), role_arn=properties["RoleArn"]
        )

    def remove(self, region: Region) -> None:
        for each in _running(region):
            if each.state_machine_arn == self.physical_resource_id:
                each.stop()
        _machines(region).delete_state_machine(self.physical_resource_id)


def _definition(properties: Properties) -> str:
    text = properties.get("DefinitionString") or json.dumps(properties["Definition"])
    for name, value in (properties.get("DefinitionSubstitutions") or {}).items():
        text = text.replace(f"${{{name}}}", str(value))
    return text


def install() -> None:
    """Put this Step Functions in the place of moto's, in every account and region from now on."""
    models.stepfunctions_backends.backend = EmulatedStepFunctions
