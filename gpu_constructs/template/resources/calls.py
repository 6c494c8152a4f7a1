"""What runs tasks and submits jobs: rules, pipes and schedules of EventBridge, states of Step Functions, and commands.

Each calls ``RunTask`` (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html), which takes a
strategy, a launch type and constraints as a service does, or ``SubmitJob``
(https://docs.aws.amazon.com/batch/latest/APIReference/API_SubmitJob.html).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Container, Origin, Starter, Step, Task, Unknown, Workload
from gpu_constructs.template.model import JOB_RUN, TASK_RUN, Resource, Text, Value, end_of, pieces_of
from gpu_constructs.template.resources.containers import requirements_of
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.networks import subnets_of
from gpu_constructs.template.resources.section import Notes, Section, given
from gpu_constructs.template.resources.services import Services
from gpu_constructs.template.resources.tasks import constraints_of, task_size_of
from gpu_constructs.template.texts import each_text, object_in

RUN_TASK, SUBMIT_JOB = "ecs:runTask", "batch:submitJob"

_RULE, _SCHEDULE, _PIPE = "AWS::Events::Rule", "AWS::Scheduler::Schedule", "AWS::Pipes::Pipe"
_BY_HAND = {TASK_RUN: RUN_TASK, JOB_RUN: SUBMIT_JOB}
_TARGETS = {RUN_TASK: "Cluster", SUBMIT_JOB: "JobQueue"}
_STARTERS = {
    _RULE: Starter.RULE,
    _PIPE: Starter.PIPE,
    _SCHEDULE: Starter.SCHEDULE,
    **dict.fromkeys(_BY_HAND, Starter.COMMAND),
}
_BY_NAME = ":aws-sdk:"  # stands before the action in the ARN of a schedule that calls the API by its name
# https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-transform-target-input.html
_TOLD = r"<[A-Za-z0-9_.-]{1,255}>"
_PATH = "$."  # begins a text of a pipe that is a path into an event
_OFF = frozenset({"DISABLED", "STOPPED"})
_SIZES = ("ResourceRequirements", "Cpu", "Memory", "MemoryReservation")
_SIZES_IN_API = ("resourceRequirements", '"cpu"', '"memory"', '"memoryReservation"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of ``RunTask`` or ``SubmitJob`` as it is written.

    Attributes:
        suffix: What stands behind the name of the resource, where it makes several.
        action: `RUN_TASK` or `SUBMIT_JOB`.
        request: What it gives the action, unknown where an event or an input says it.
        target: The cluster or the job queue as written.
        step: How the state ends that it is; None where it is none.
    """

    resource: Resource
    suffix: str
    action: str
    request: Section
    target: Value
    overrides: Section
    is_off: bool = False
    step: Step | None = None

    @property
    def starter(self) -> Starter:
        """What kind of resource makes it."""
        return _STARTERS.get(self.resource.type, Starter.STATE_MACHINE)


def calls_by_hand(index: Index, notes: Notes) -> Iterator[Call]:
    """What files of their own give the AWS CLI."""
    for resource in index.all(*_BY_HAND):
        yield call_of_api(resource, "", _BY_HAND[resource.type], Section.of(resource, notes))


def call_of_api(resource: Resource, suffix: str, action: str, request: Section, *, step: Step | None = None) -> Call:
    """A call that is written as the API takes it."""
    return Call(
        resource=resource,
        suffix=suffix,
        action=action,
        request=request,
        target=request.get(_TARGETS[action]),
        overrides=request.section("Overrides"),
        step=step,
    )


def calls_of_events(index: Index, notes: Notes) -> Iterator[Call]:
    """What rules, schedules and pipes of EventBridge call."""
    for resource in index.all(_RULE):
        properties = Section.of(resource, notes)
        targets = properties.sections("Targets")
        runs_several = sum(each.has("EcsParameters") for each in targets) > 1
        for each in targets:
            yield from _of_target(resource, properties, each, f"[{each.text('Id')}]", names_runs=runs_several)
    for resource in index.all(_SCHEDULE):
        properties = Section.of(resource, notes)
        yield from _of_target(resource, properties, properties.section("Target"), "[Target]", names_runs=False)
    for resource in index.all(_PIPE):
        properties = Section.of(resource, notes)
        parameters = properties.section("TargetParameters")
        for key, action, suffix in (
            ("EcsTaskParameters", RUN_TASK, ""),
            ("BatchJobParameters", SUBMIT_JOB, "[Target]"),
        ):
            request = _before_event(parameters.section(key))
            if request.keys:
                call = call_of_api(resource, suffix, action, request)
                is_off = properties.text("DesiredState") in _OFF
                yield replace(call, target=properties.get("Target"), is_off=is_off)


def _of_target(
    resource: Resource, properties: Section, target: Section, suffix: str, *, names_runs: bool
) -> Iterator[Call]:
    """What a target of a rule or of a schedule calls."""
    arn, named = target.get("Arn"), end_of(target.get("Arn")).rpartition(_BY_NAME)[2]
    written = object_in(target.get("Input"), {}) if named in (RUN_TASK, SUBMIT_JOB) else None
    if target.has("EcsParameters"):
        action, request, overrides = RUN_TASK, target.section("EcsParameters"), _input(target)
    elif target.has("BatchParameters"):
        action, request = SUBMIT_JOB, target.section("BatchParameters")
        overrides = request
    elif written is not None:
        action, request = named, Section(written, resource.origin, (*target.path, "Input"), properties.notes)
        arn, overrides = request.get(_TARGETS[named]), request.section("Overrides")
    else:
        return
    yield Call(
        resource=resource,
        suffix=suffix if action == SUBMIT_JOB or names_runs else "",
        action=action,
        request=request,
        target=arn,
        overrides=overrides,
        is_off=properties.text("State") in _OFF,
    )


def _input(target: Section) -> Section:
    """What a target changes about the task, in JSON and the words of the API; unknown where an event says it."""
    transformer = target.section("InputTransformer")
    template = transformer.get("InputTemplate") if target.has("InputTransformer") else None
    written = target.get("Input") if template is None else template
    request = None if written is None else object_in(written, {})
    unread: Value = {} if written is None and not target.has("InputPath") else {"ContainerOverrides": UNKNOWN}
    changes = UNKNOWN if request is None and _may_resize(written) else unread
    if request is not None:  # unknown is what the event says
        changes = each_text(
            request,
            lambda text: UNKNOWN if re.search(_TOLD, text) else text,
            named=lambda key: f"{key[:1].upper()}{key[1:]}",
        )
    return Section({"Input": changes}, target.resource, target.path, target.notes).section("Input")


def _may_resize(value: Value) -> bool:
    """Whether a text that could not be read may change how much a container asks for; most only set variables."""
    return value is not None and (
        not isinstance(value, (str, Text))
        or any(word in each for each in pieces_of(value) if isinstance(each, str) for word in _SIZES_IN_API)
    )


def _before_event(parameters: Section) -> Section:
    """What a pipe gives its target, with unknowns for what the event says.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-pipes-event-target.html
    """
    values = each_text(parameters.values, lambda text: UNKNOWN if text.startswith(_PATH) else text)
    return replace(parameters, values=values) if isinstance(values, Mapping) and parameters.keys else parameters


def workload_of(call: Call, name: str, services: Services) -> Workload:
    """What a call of ``RunTask`` asks for."""
    request, place = call.request, call.resource.origin.place
    cluster = services.clusters.named(call.target, place)
    strategy = services.strategy(request, cluster)
    network = request.section("NetworkConfiguration")
    # EventBridge writes some words in another way than the API.
    written = network.section("AwsVpcConfiguration" if network.has("AwsVpcConfiguration") else "AwsvpcConfiguration")
    configured = network.has("AwsvpcConfiguration") or network.has("AwsVpcConfiguration")
    defined = services.task(given(request.get("TaskDefinitionArn"), request.get("TaskDefinition")), place)
    copies = request.integer("TaskCount" if request.has("TaskCount") else "Count")
    return Workload(
        name=name,
        task=_overridden(defined, call.overrides),
        defined=defined,
        overrides_others=_others(defined, call.overrides),
        variables=tuple(_variables(call.overrides)),
        commands=frozenset(_commands(defined, call.overrides)),
        starter=call.starter,
        cluster=cluster,
        strategy=strategy,
        follows_cluster=bool(strategy) and not request.has("CapacityProviderStrategy"),
        launch_type=request.text("LaunchType") or None,
        desired_count=0 if call.is_off else given(copies, 1),
        constraints=constraints_of(request),
        network_configuration=UNKNOWN if network.is_unknown else configured,
        subnets=subnets_of(written.get("Subnets"), services.index),
        assigns_public_ip=written.text("AssignPublicIp") == "ENABLED",
        origin=request.origin,
    )


def _others(task: Task | None, overrides: Section) -> tuple[tuple[str, Origin], ...]:
    """Names in overrides that no container of the task has, with where each is."""
    if task is None or task.has_open_name or task.is_part:
        return ()
    names = {each.name for each in task.containers}
    found = ((each.text("Name"), each.origin) for each in overrides.sections("ContainerOverrides"))
    return tuple((name, origin) for name, origin in found if isinstance(name, str) and name not in names)


def _commands(task: Task | None, overrides: Section) -> Iterator[str]:
    """Containers whose command it overrides, or may override; also those whose variables only the run knows."""
    for each in overrides.sections("ContainerOverrides"):
        name, is_open = each.text("Name"), isinstance(each.get("Environment"), Unknown)
        names = {of.name for of in (() if task is None else task.containers) if name in {of.name, UNKNOWN}}
        yield from names if is_open or isinstance(name, Unknown) or each.has("Command") else ()


def _variables(overrides: Section) -> Iterator[tuple[str, str, str]]:
    """What overrides set, as far as the text is known: up to what a deploy, or the input of a state, puts into it."""
    for container in overrides.sections("ContainerOverrides"):
        name = container.text("Name")
        for each in container.sections("Environment"):
            written = each.get("Value")
            variable, value = each.text("Name"), written.pieces[0] if isinstance(written, Text) else each.text("Value")
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
