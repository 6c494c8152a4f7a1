"""EventBridge rules and EventBridge Scheduler's schedules that run tasks, start state machines or submit jobs.

moto 5.2.5 keeps the targets of a rule under CloudFormation's names, so that a capacity provider strategy is lost, has
no resource type for schedules, and runs no task. Here ``/emulator/due`` (`switches`) names rules and schedules whose
time has come: the next look at their cluster, or at any cluster or jobs for what needs no cluster, runs them, and
``/emulator/runs/<name>`` says what came of it. A rule that waits for an event gets ``/emulator/events/<name>``, or that
of PutEvents (`event_targets`). A schedule of each minute runs each minute. Not modelled: other recurrence, input
transformers, retries of EventBridge, dead-letter queues and the size of an array.
https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_EcsParameters.html and
https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_BatchParameters.html
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from moto.batch.models import batch_backends
from moto.core.exceptions import AWSError, ServiceException
from moto.events.models import Rule as MotoRule
from moto.events.models import events_backends
from moto.scheduler.models import EventBridgeSchedulerBackend, scheduler_backends
from moto.stepfunctions.models import stepfunctions_backends

from . import permissions, switches
from .policies import Call
from .resource import Properties, Region, Resource, camel_case

if TYPE_CHECKING:
    from .batch import EmulatedBatch
    from .running import RunningEcs

__all__ = ["EventRule", "Schedule", "ScheduleGroup", "is_run", "run_due", "run_target"]

# https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-universal.html
_SUBMIT = "arn:aws:scheduler:::aws-sdk:batch:submitJob"
_API_NAMES = {"PlacementStrategies": "PlacementStrategy", "TagList": "Tags"}
"""Parameters of a rule's target that CloudFormation names otherwise than the API."""
_IN_CAMEL_CASE = frozenset({"CapacityProviderStrategy", "PlacementConstraints", "PlacementStrategy"})


def _target(target: Properties) -> Properties:
    """A target as the API has it."""
    if "EcsParameters" not in target:
        return target
    parameters = {_API_NAMES.get(key, key): value for key, value in target["EcsParameters"].items()}
    for key in _IN_CAMEL_CASE & parameters.keys():
        parameters[key] = camel_case(parameters[key])
    if network := parameters.get("NetworkConfiguration"):
        parameters["NetworkConfiguration"] = {"awsvpcConfiguration": next(iter(network.values()))}
    return {**target, "EcsParameters": parameters}


def run_due(ecs: RunningEcs, cluster_arn: str | None) -> None:
    """Run the tasks in this cluster of the rules and schedules whose time has come, and all that needs no cluster."""
    for group in _scheduler(ecs.where).schedule_groups.values():
        for each in group.schedules.values():
            if (
                each.schedule_expression == "rate(1 minute)"
                and each.state == "ENABLED"
                and _starts_machine(each.target)
            ):
                run_target(ecs, each.name, each.target, "{}")
    told = switches.read(ecs.where, "due")
    if not told:
        return
    later = []
    for name in told.split(","):
        found = list(_named(ecs.where, name))
        here = [(state, target) for state, target in found if target["Arn"] == cluster_arn or _is_anywhere(target)]
        if found and not here:
            later.append(name)
            continue
        event = switches.read(ecs.where, f"events/{name}") or "{}"
        said = [
            run_target(ecs, name, target, event) if state == "ENABLED" else f"not run: {state}"
            for state, target in here
        ]
        switches.write(ecs.where, f"runs/{name}", "; ".join(said) or "no rule or schedule of this name runs a task")
    if later:
        switches.write(ecs.where, "due", ",".join(later))
    else:
        switches.delete(ecs.where, "due")


def _starts_machine(target: Properties) -> bool:
    return ":stateMachine:" in target["Arn"]


def _submission(target: Properties) -> Properties | None:
    """The request to SubmitJob of a target; None where it submits no job."""
    if target["Arn"] == _SUBMIT:
        asked: Properties = camel_case(json.loads(target.get("Input") or "{}"))
        return asked
    if "BatchParameters" not in target:
        return None
    return {**camel_case(target["BatchParameters"]), "jobQueue": target["Arn"]}


def _is_anywhere(target: Properties) -> bool:
    return _starts_machine(target) or _submission(target) is not None


def is_run(target: Properties) -> bool:
    """Whether a target is run here, as a task, a state machine or a job."""
    return "EcsParameters" in target or _is_anywhere(target)


def _named(region: Region, name: str) -> Iterator[tuple[str, Properties]]:
    """State and target of everything with this name that runs a task."""
    for bus in events_backends[region.account_id][region.name].event_buses.values():
        if name in bus.rules:
            yield from ((bus.rules[name].state, each) for each in bus.rules[name].targets if is_run(each))
    for group in _scheduler(region).schedule_groups.values():
        if name in group.schedules and is_run(group.schedules[name].target):
            yield group.schedules[name].state, group.schedules[name].target


def run_target(ecs: RunningEcs, name: str, target: Properties, event: str) -> str:
    """RunTask, StartExecution or SubmitJob as EventBridge calls it for an event; what came of it."""
    if denied := permissions.refusal(ecs.where, target.get("RoleArn"), _calls(ecs, target)):
        return f"failed: {denied}"
    if _starts_machine(target):
        machines = stepfunctions_backends[ecs.where.account_id][ecs.where.name]
        started = machines.start_execution(target["Arn"], "", target.get("Input") or event)
        return f"started {started.execution_arn}"
    if (job := _submission(target)) is not None:
        return _submit(ecs.where, job)
    asked = target["EcsParameters"]
    try:
        tasks, failures = ecs.run(
            target["Arn"],
            asked["TaskDefinitionArn"],
            int(asked.get("TaskCount") or 1),
            launch_type=asked.get("LaunchType"),
            strategy=asked.get("CapacityProviderStrategy"),
            group=asked.get("Group"),
            constraints=asked.get("PlacementConstraints"),
            options={
                "overrides": json.loads(target.get("Input") or "{}"),
                "started_by": name,
                "tags": None,
                "networking_configuration": camel_case(asked.get("NetworkConfiguration")),
            },
        )
    except ServiceException as error:
        return f"failed: {error.message}"
    refused = [f"failed: {failure.arn} {failure.reason}" for failure in failures]
    return ", ".join([f"started {task.task_arn}" for task in tasks] + refused)


def _calls(ecs: RunningEcs, target: Properties) -> Iterator[Call]:
    """What is called with the role of a target."""
    if _starts_machine(target):
        yield Call("states:StartExecution", target["Arn"])
    elif (asked := _submission(target)) is not None:
        for name, kind in (("jobQueue", "job-queue"), ("jobDefinition", "job-definition")):
            arn, here = asked.get(name, ""), f"arn:aws:batch:{ecs.where.name}:{ecs.where.account_id}"
            yield Call("batch:SubmitJob", arn if arn.startswith("arn:") else f"{here}:{kind}/{arn}")
    else:
        try:
            definition = ecs.describe_task_definition(target["EcsParameters"]["TaskDefinitionArn"])
        except ServiceException:
            return  # which RunTask says
        # CDK's targets pass no task role of tasks on EC2: only AWS's own ecsEventsRole does.
        passed = permissions.roles_of(definition, "execution_role_arn")
        yield from permissions.calls_of_start(target["Arn"], definition.arn, passed)


def _submit(where: Region, asked: Properties) -> str:
    batch = cast("EmulatedBatch", batch_backends[where.account_id][where.name])
    try:
        _, _, arn = batch.submit_job(
            asked["jobName"],
            asked["jobDefinition"],
            asked["jobQueue"],
            share=asked.get("shareIdentifier"),
            priority=asked.get("schedulingPriorityOverride"),
            nodes=asked.get("nodeOverrides"),
            retry=asked.get("retryStrategy"),
        )
    except AWSError as error:
        return f"failed: {error.message}"
    except KeyError as missing:
        return f"failed: {missing} is missing"
    return f"started {arn}"


class EventRule(Resource):
    """A rule; ``Ref`` gives its name."""

    type_name = "AWS::Events::Rule"
    name_property = "Name"
    attribute_names = frozenset({"Arn"})
    create_only = frozenset({"EventBusName", "Name"})

    def __init__(self, rule: MotoRule) -> None:
        super().__init__(rule.name, {"Arn": rule.arn})
        self._rule = rule

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> EventRule:
        return cls(cls._put(region, name, properties))

    @staticmethod
    def _put(region: Region, name: str, properties: Properties) -> MotoRule:
        written = {**properties, "Targets": [_target(each) for each in properties.get("Targets", [])]}
        return MotoRule.create_from_cloudformation_json(name, {"Properties": written}, region.account_id, region.name)

    def update(self, region: Region, properties: Properties) -> None:
        self.remove(region)
        self._rule = self._put(region, self.physical_resource_id, properties)

    def remove(self, region: Region) -> None:
        self._rule.delete(region.account_id, region.name)


def _scheduler(region: Region) -> EventBridgeSchedulerBackend:
    return scheduler_backends[region.account_id][region.name]


class Schedule(Resource):
    """A schedule; ``Ref`` gives its name."""

    type_name = "AWS::Scheduler::Schedule"
    name_property = "Name"
    attribute_names = frozenset({"Arn"})
    create_only = frozenset({"Name"})

    def __init__(self, name: str, arn: str, group: str | None) -> None:
        super().__init__(name, {"Arn": arn})
        self._group = group

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> Schedule:
        group = properties.get("GroupName")
        start, end = (properties.get(key) for key in ("StartDate", "EndDate"))
        settings: dict[str, Any] = {
            "description": properties.get("Description"),
            "end_date": end and switches.moment(end).timestamp(),
            "flexible_time_window": properties["FlexibleTimeWindow"],
            "group_name": group,
            "kms_key_arn": properties.get("KmsKeyArn"),
            "schedule_expression": properties["ScheduleExpression"],
            "schedule_expression_timezone": properties.get("ScheduleExpressionTimezone"),
            "start_date": start and switches.moment(start).timestamp(),
            "state": properties.get("State"),
            "target": _target(properties["Target"]),
            "action_after_completion": None,
        }
        made = _scheduler(region).create_schedule(name=name, **settings)
        return cls(name, made.arn, group)

    def update(self, region: Region, properties: Properties) -> None:
        self.remove(region)
        self.__dict__ |= self.create(region, self.physical_resource_id, properties).__dict__

    def remove(self, region: Region) -> None:
        _scheduler(region).delete_schedule(self._group, self.physical_resource_id)


class ScheduleGroup(Resource):
    """A group of schedules; ``Ref`` gives its name."""

    type_name = "AWS::Scheduler::ScheduleGroup"
    name_property = "Name"
    attribute_names = frozenset({"Arn"})
    create_only = frozenset({"Name"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> ScheduleGroup:
        return cls(name, {"Arn": _scheduler(region).create_schedule_group(name, properties.get("Tags", [])).arn})

    def update(self, region: Region, properties: Properties) -> None:
        pass

    def remove(self, region: Region) -> None:
        _scheduler(region).delete_schedule_group(self.physical_resource_id)
