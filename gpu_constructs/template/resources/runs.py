"""What runs tasks, other than services: rules and pipes of EventBridge, schedules, and states of Step Functions.

Each calls ``RunTask`` (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html), which takes a
strategy, a launch type and constraints as a service does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpu_constructs.facts.budget import RESOURCES
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Container, Origin, Starter, Task, Workload
from gpu_constructs.template.model import Resource, Text, Value, end_of
from gpu_constructs.template.resources.containers import requirements_of
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.networks import subnets_of
from gpu_constructs.template.resources.section import Notes, Section, given, is_list
from gpu_constructs.template.resources.services import Services
from gpu_constructs.template.resources.state_machines import RUN_TASK, JsonTexts, StateCall, before_event
from gpu_constructs.template.resources.tasks import constraints_of, task_size_of

_RULE = "AWS::Events::Rule"
_SCHEDULE = "AWS::Scheduler::Schedule"
_PIPE = "AWS::Pipes::Pipe"
_UNIVERSAL = ":aws-sdk:ecs:runTask"
# https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-transform-target-input.html
_TOLD = re.compile(r"<[A-Za-z0-9_.-]{1,255}>")
# https://docs.aws.amazon.com/step-functions/latest/dg/intrinsic-functions.html
_FORMATTED = re.compile(r"States\.Format\('([^'{}\\]{1,1000})")
_OFF = frozenset({"DISABLED", "STOPPED"})
_SIZES = ("ResourceRequirements", "Cpu", "Memory", "MemoryReservation")
_SIZES_IN_API = ("resourceRequirements", '"cpu"', '"memory"', '"memoryReservation"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One call of ``RunTask`` as it is written.

    Attributes:
        resource: The resource that makes it.
        suffix: What stands behind the name of the resource, where it makes several.
        starter: What kind of resource that is.
        parameters: What it gives ``RunTask``.
        cluster: The cluster as written.
        task: The task definition as written.
        count: The property that says how many copies there are.
        overrides: What it changes about the task.
        is_off: Whether it is turned off.
        call: The state that it is; None where it is none.
    """

    resource: Resource
    suffix: str
    starter: Starter
    parameters: Section
    cluster: Value
    task: Value
    count: str
    overrides: Section
    is_off: bool = False
    call: StateCall | None = None


class Runs:
    """Finds everything that runs tasks, other than services."""

    def __init__(self, index: Index, texts: JsonTexts, calls: Sequence[StateCall], notes: Notes) -> None:
        self._index = index
        self._notes = notes
        self._texts = texts
        self._calls = calls

    def all(self) -> tuple[Run, ...]:
        """Every call of ``RunTask``, up to as many as there may be resources."""
        found: list[Run] = []
        for each in self._each():
            if len(found) >= RESOURCES:
                break
            found.append(each)
        return tuple(found)

    def _each(self) -> Iterator[Run]:
        for resource in self._index.all(_RULE):
            properties = Section.of(resource, self._notes)
            targets = [each for each in properties.sections("Targets") if each.has("EcsParameters")]
            for each in targets:
                suffix = f"[{each.text('Id')}]" if len(targets) > 1 else ""
                yield self._target(resource, suffix, Starter.RULE, properties, each)
        for resource in self._index.all(_SCHEDULE):
            properties = Section.of(resource, self._notes)
            target = properties.section("Target")
            if target.has("EcsParameters"):
                yield self._target(resource, "", Starter.SCHEDULE, properties, target)
            elif end_of(target.get("Arn")).endswith(_UNIVERSAL):
                yield from self._universal(resource, properties, target)
        for resource in self._index.all(_PIPE):
            properties = Section.of(resource, self._notes)
            parameters = before_event(properties.section("TargetParameters").section("EcsTaskParameters"))
            if parameters.keys:
                yield Run(
                    resource=resource,
                    suffix="",
                    starter=Starter.PIPE,
                    parameters=parameters,
                    cluster=properties.get("Target"),
                    task=parameters.get("TaskDefinitionArn"),
                    count="TaskCount",
                    overrides=parameters.section("Overrides"),
                    is_off=properties.text("DesiredState") in _OFF,
                )
        for call in self._calls:
            if call.action == RUN_TASK:
                run = _called(call.resource, f"[{call.state}]", Starter.STATE_MACHINE, call.request)
                yield replace(run, call=call)

    def _target(self, resource: Resource, suffix: str, starter: Starter, properties: Section, target: Section) -> Run:
        parameters = target.section("EcsParameters")
        return Run(
            resource=resource,
            suffix=suffix,
            starter=starter,
            parameters=parameters,
            cluster=target.get("Arn"),
            task=parameters.get("TaskDefinitionArn"),
            count="TaskCount",
            overrides=self._input(target),
            is_off=properties.text("State") in _OFF,
        )

    def _universal(self, resource: Resource, properties: Section, target: Section) -> Iterator[Run]:
        """A schedule that calls the API by its name, with the request as its input."""
        request = self._texts.object_in(target.get("Input"), {})
        if request is not None:
            section = Section(request, resource.origin, (*target.path, "Input"), self._notes)
            run = _called(resource, "", Starter.SCHEDULE, section)
            yield replace(run, is_off=properties.text("State") in _OFF)

    def _input(self, target: Section) -> Section:
        """What a target changes about the task, in JSON and the words of the API; unknown where an event says it."""
        transformer = target.section("InputTransformer")
        template = transformer.get("InputTemplate") if target.has("InputTransformer") else None
        written = target.get("Input") if template is None else template
        request = None if written is None else self._texts.object_in(written, {})
        changes: Value = {} if request is None and not _may_resize(written) else UNKNOWN
        if request is not None:
            changes = _capitalized(request)
        return Section({"Input": changes}, target.resource, target.path, self._notes).section("Input")


def workload_of(run: Run, name: str, services: Services) -> Workload:
    """What a call of ``RunTask`` asks for."""
    parameters = run.parameters
    cluster = services.clusters.named(run.cluster, run.resource.origin.place)
    strategy = services.strategy(parameters, cluster)
    network = parameters.section("NetworkConfiguration")
    # EventBridge alone writes the one word in another way.
    written = network.section("AwsVpcConfiguration" if network.has("AwsVpcConfiguration") else "AwsvpcConfiguration")
    configured = network.has("AwsvpcConfiguration") or network.has("AwsVpcConfiguration")
    task = services.task(run.task, run.resource.origin.place)
    return Workload(
        name=name,
        task=_overridden(task, run.overrides),
        overrides_others=_others(task, run.overrides),
        variables=tuple(_variables(run)),
        starter=run.starter,
        cluster=cluster,
        strategy=strategy,
        follows_cluster=bool(strategy) and not parameters.has("CapacityProviderStrategy"),
        launch_type=parameters.text("LaunchType") or None,
        desired_count=0 if run.is_off else given(parameters.integer(run.count), 1),
        constraints=constraints_of(parameters),
        network_configuration=UNKNOWN if network.is_unknown else configured,
        subnets=subnets_of(written.get("Subnets"), None, services.index),
        origin=parameters.origin,
    )


def _called(resource: Resource, suffix: str, starter: Starter, request: Section) -> Run:
    return Run(
        resource=resource,
        suffix=suffix,
        starter=starter,
        parameters=request,
        cluster=request.get("Cluster"),
        task=request.get("TaskDefinition"),
        count="Count",
        overrides=request.section("Overrides"),
    )


def _may_resize(value: Value) -> bool:
    """Whether a text that could not be read may change how much a container asks for; most only set variables."""
    pieces = value.pieces if isinstance(value, Text) else (value,)
    return value is not None and (
        not isinstance(value, (str, Text))
        or any(word in each for each in pieces if isinstance(each, str) for word in _SIZES_IN_API)
    )


def _capitalized(value: Value) -> Value:
    """The same with the keys as CloudFormation writes them, and unknowns for what the event says."""
    if isinstance(value, Mapping):
        return {f"{key[:1].upper()}{key[1:]}": _capitalized(each) for key, each in value.items()}
    if is_list(value):
        return [_capitalized(each) for each in value]
    return UNKNOWN if isinstance(value, str) and _TOLD.search(value) else value


def _others(task: Task | None, overrides: Section) -> tuple[tuple[str, Origin], ...]:
    """Names in overrides that no container of the task has, with where each is."""
    if task is None or task.has_open_name or task.is_part:
        return ()
    names = {each.name for each in task.containers}
    found = ((each.text("Name"), each.origin) for each in overrides.sections("ContainerOverrides"))
    return tuple((name, origin) for name, origin in found if isinstance(name, str) and name not in names)


def _variables(run: Run) -> Iterator[tuple[str, str, str]]:
    """What overrides set, with the text before the first thing that the input of a state puts into it."""
    overrides = run.overrides
    if run.call is not None:
        written = (run.call.state_values.get(each) for each in ("Arguments", "Parameters"))
        request = next((each for each in written if isinstance(each, Mapping)), {})
        overrides = replace(overrides, values=request).section("Overrides")
    for container in overrides.sections("ContainerOverrides"):
        name = container.text("Name")
        for each in container.sections("Environment"):
            formatted = _FORMATTED.match(str(each.get("Value.$")))
            variable, value = each.text("Name"), each.text("Value") if formatted is None else formatted[1]
            if isinstance(name, str) and isinstance(variable, str) and isinstance(value, str):
                yield name, variable, value


def _overridden(task: Task | None, overrides: Section) -> Task | None:
    """The task with what its containers ask for instead; None where only the run knows how much that is."""
    if task is None or overrides.is_unknown:
        return None
    cpu, memory = task_size_of(overrides)
    if not (cpu is None and memory is None):
        memory = given(memory, task.memory_limit_mib)
        task = replace(task, cpu_limit=given(cpu, task.cpu_limit), memory_limit_mib=memory)
    by_name = {each.text("Name"): each for each in overrides.sections("ContainerOverrides")}
    if not any(each.has(size) for each in by_name.values() for size in _SIZES):
        return task
    if not all(isinstance(name, str) for name in by_name):
        return None
    containers = [_changed(each, by_name[each.name]) if each.name in by_name else each for each in task.containers]
    return replace(task, containers=tuple(containers))


def _changed(container: Container, override: Section) -> Container:
    return replace(
        container,
        requirements=requirements_of(override) if override.has("ResourceRequirements") else container.requirements,
        cpu=given(override.integer("Cpu"), container.cpu),
        memory_limit_mib=given(override.integer("Memory"), container.memory_limit_mib),
        memory_reservation_mib=given(override.integer("MemoryReservation"), container.memory_reservation_mib),
        origin=override.origin,
    )
