"""States that run tasks: how each ends, and which of them start a gang, whose tasks wait for each other.

A state ends by its time limits and its retries, and there may be a way from its failure back to it.

https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html

ECS and Step Functions have no word for gangs. They are branches of a parallel state, iterations of a map or copies of
one call of RunTask, whose tasks are told of each other: by variables of torchrun, of ``torch.distributed`` or of a
multi-node job of AWS Batch, or by arguments of torchrun.

https://docs.pytorch.org/docs/stable/elastic/run.html and https://docs.aws.amazon.com/step-functions/latest/dg/state-map.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from gpu_constructs.facts.aws_limits import MAX_INLINE_ITERATIONS
from gpu_constructs.facts.budget import FOLLOWED
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import (
    UNKNOWN,
    Gang,
    GangMember,
    Origin,
    Place,
    Step,
    Submission,
    Task,
    Unknown,
    Workload,
    known,
    total,
)
from gpu_constructs.template.model import Reference, Value, end_of
from gpu_constructs.template.resources.section import Section, given, is_list
from gpu_constructs.template.resources.state_machines import CALLBACK, Frame, StateCall, kind_of, states_in

_LIMITS = ("TimeoutSeconds", "TimeoutSecondsPath")
_HEARTBEATS = ("HeartbeatSeconds", "HeartbeatSecondsPath")
# Names that a failed task goes by; both stand for it among others.
_FAILURES = frozenset({"States.ALL", "States.TaskFailed"})
_DEFAULT_RETRIES = 3
_NOWHERE = Origin(resource="")
_PASSING = frozenset({"Pass", "Wait"})
# Calls that say that something failed, and decide nothing.
_NOTICES = (":sns:publish", ":sqs:sendMessage", ":events:putEvents")


def steps_of(
    calls: Iterable[tuple[str, StateCall]],
    submissions: Iterable[Submission],
    task_of: Callable[[Value, Place], Task | None],
) -> Iterator[Step]:
    """Reads each state that runs a task or a job."""
    jobs = {each.name: each for each in submissions}
    for name, call in calls:
        if call.state_values:
            job = jobs.get(name)
            task = task_of(call.request.get("TaskDefinition"), call.resource.origin.place) if job is None else job.task
            yield _step(call, name, task, ends_itself=job is not None and _ends_itself(job))


def _ends_itself(job: Submission) -> bool:
    """Whether AWS Batch ends a job after a time, both while it waits and while it runs."""
    seconds = job.attempt_seconds if job.task is None else given(job.attempt_seconds, job.task.attempt_seconds)
    return seconds is not None and job.queue is not None and bool(job.queue.wait_seconds)


def _step(call: StateCall, name: str, task: Task | None, *, ends_itself: bool) -> Step:
    return Step(
        name=name,
        task=task,
        waits=bool(call.pattern),
        is_limited=ends_itself or has_limit(call),
        limit_seconds=_seconds(call),
        retries=max((_retries(_entry(each)) for each in _failing(call.frames)), key=known),
        way_back=None if _is_limited_whole(call) else _way_back(call.frames),
        origin=call.request.resource.at(*call.request.path[:-1]),
    )


def has_limit(call: StateCall) -> bool:
    """Whether a time limit ends a state that waits: its own, or that of its whole state machine."""
    state = Section(call.state_values, call.request.resource)
    keys = (*_LIMITS, *(_HEARTBEATS if call.pattern == CALLBACK else ()))
    return _is_limited_whole(call) or any(map(state.has, keys))


def _is_limited_whole(call: StateCall) -> bool:
    return Section(call.definition, call.request.resource).has("TimeoutSeconds")


def _seconds(call: StateCall) -> float | None:
    written = call.state_values.get("TimeoutSeconds")
    return written if isinstance(written, (int, float)) and not isinstance(written, bool) else None


def _entry(frame: Frame) -> Section:
    name, states = frame
    return Section(states[name], _NOWHERE, (), [])


def _failing(frames: Iterable[Frame]) -> Iterator[Frame]:
    """A state and those around it that its failure reaches: up to the first one that catches it."""
    for frame in frames:
        yield frame
        if _caught(_entry(frame)) is not None:
            return


def _of_failure(state: Section, key: str) -> Iterator[Section]:
    """The entries of ``Retry`` or ``Catch`` that a failed task matches; the first one counts."""
    return (each for each in state.sections(key) if not _FAILURES.isdisjoint(each.texts("ErrorEquals")))


def _retries(state: Section) -> int | Unknown:
    first = next(_of_failure(state, "Retry"), None)
    return 0 if first is None else given(first.integer("MaxAttempts"), _DEFAULT_RETRIES)


def _caught(state: Section) -> Value:
    first = next(_of_failure(state, "Catch"), None)
    return None if first is None else first.get("Next")


def _way_back(frames: Iterable[Frame]) -> tuple[str, ...] | None:
    """The way from the failure of a state back to it, or to the map or parallel state around it that catches it."""
    (*_, last) = _failing(frames)
    return _way(last, _caught(_entry(last)))


def _way(frame: Frame, first: Value) -> tuple[str, ...] | None:
    """The states from one of them back to that of a frame, where no state on the way may decide to end it."""
    name, states = frame
    way: list[str] = []
    at = first
    while at != name:
        state = states.get(at) if isinstance(at, str) else None
        if not isinstance(at, str) or state is None or at in way or not _passes(state):
            return None
        way.append(at)
        at = state.get("Next")
        if len(way) > FOLLOWED:
            return None
    return tuple(way)


def _passes(state: Mapping[str, Value]) -> bool:
    kind = kind_of(state)
    return kind in _PASSING or (kind == "Task" and end_of(state.get("Resource")).endswith(_NOTICES))


# Of these variables each says where the first process is, or how many hosts or, the last one, processes there are.
_ADDRESSES = frozenset({"MASTER_ADDR", "PET_RDZV_ENDPOINT"})
_TELLING = _ADDRESSES | {"AWS_BATCH_JOB_NUM_NODES", "NNODES", "PET_NNODES", "WORLD_SIZE"}
_ARGUMENTS = re.compile(r"--(?:nnodes|rdzv[-_]endpoint|master[-_]addr)\b")
_LOCAL = re.compile(r"\s*(?:localhost|127\.|0\.0\.0\.0|::1)")
_LOCAL_ARGUMENT = re.compile(r"--(?:rdzv[-_]endpoint|master[-_]addr)[= ]\s*[\"']?(?:localhost|127\.|0\.0\.0\.0)")
# One host alone, or as many as there are, such as 1:4.
_ELASTIC = re.compile(r"--nnodes[= ]\s*[\"']?(?:1\b(?!:)|[0-9]+:)")
_STOPS = ":ecs:stopTask"
_PROCESSORS = ("ItemProcessor", "Iterator")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Tasks that one state starts, with that state."""

    state: str
    members: tuple[GangMember, ...]

    @property
    def is_several(self) -> bool:
        """Whether it certainly or possibly is more than one task."""
        return known(total(each.count for each in self.members), otherwise=2) > 1


def gangs_of(runs: Iterable[tuple[StateCall, Workload]]) -> Iterator[Gang]:
    """Reads the gangs of all state machines."""
    by_machine: dict[Reference, list[tuple[StateCall, Workload]]] = {}
    for call, workload in runs:
        if _is_told(call, workload.task):
            by_machine.setdefault(call.resource.reference, []).append((call, workload))
    for told in by_machine.values():
        first, workload = told[0]
        of_machine = workload.name.removesuffix(f"[{first.state}]")
        members = {id(call.state_values): _member(call, run) for call, run in told}
        calls = {run.name: call for call, run in told}
        can_stop = _stops_tasks(first.definition)
        for each in _within(first.definition, members):
            if each.is_several:
                path = calls[each.members[0].workload].request.path
                yield Gang(
                    name=f"{of_machine}[{each.state}]",
                    members=each.members,
                    can_stop=can_stop,
                    origin=first.resource.origin.at(*path[: path.index(each.state) + 1]),
                )


def _member(call: StateCall, workload: Workload) -> GangMember:
    return GangMember(
        workload=workload.name,
        count=workload.desired_count,
        waits=bool(call.pattern),
        is_limited=has_limit(call),
    )


def _within(machine: Value, members: Mapping[int, GangMember]) -> list[_Group]:
    """The groups of the states of a machine, a branch or a processor, which come one after the other."""
    states = states_in(machine)
    return [group for name, state in states.items() for group in _of_state(name, state, states, members)]


def _of_state(
    name: str, state: Mapping[str, Value], among: Mapping[str, Mapping[str, Value]], members: Mapping[int, GangMember]
) -> list[_Group]:
    member = members.get(id(state))
    if member is not None:
        return [_Group(state=name, members=(member,))]
    branches = state.get("Branches")
    if is_list(branches):
        return _side_by_side(name, [_within(each, members) for each in branches])
    inner = [group for key in _PROCESSORS for group in _within(state.get(key), members)]
    # What is a gang already is complete by itself, and the map starts several.
    return [each if each.is_several else _repeated(name, state, among, each.members[0]) for each in inner]


def _side_by_side(name: str, branches: list[list[_Group]]) -> list[_Group]:
    """The groups of branches: one gang where a branch has a task that would be alone, as the main one does."""
    # Of tasks that come one after the other, those that are most run at once.
    most = [max(each, key=_size) for each in branches if each]
    if len(most) < 2 or all(each.is_several for each in most):  # noqa: PLR2004 - two make a gang
        return list(chain.from_iterable(branches))
    return [_Group(state=name, members=tuple(member for each in most for member in each.members))]


def _size(group: _Group) -> int:
    return sum(known(each.count) for each in group.members)


def _repeated(
    name: str, state: Mapping[str, Value], among: Mapping[str, Mapping[str, Value]], member: GangMember
) -> _Group:
    count = _items(state, among)
    limit = _most_at_once(state)
    at_once = limit if limit is not None and not isinstance(count, Unknown) and limit < count else None
    return _Group(state=name, members=(replace(member, count=count, at_once=at_once),))


def _items(state: Mapping[str, Value], among: Mapping[str, Mapping[str, Value]]) -> int | Unknown:
    """How many items a map has, where a list is written: in it, or in the only state before it that makes the list."""
    items = state.get("Items")
    if is_list(items):
        return len(items)
    path = state.get("ItemsPath", "$")
    if not isinstance(path, str) or state.get("InputPath") is not None or state.get("ItemReader") is not None:
        return UNKNOWN
    makers = [each for each in among.values() if path != "$" and each.get("ResultPath") == path]
    made = makers[0].get("Result") if len(makers) == 1 else None
    return len(made) if is_list(made) else UNKNOWN


def _most_at_once(state: Mapping[str, Value]) -> int | None:
    """Iterations that run at once; None where nothing says so."""
    section = Section(state, _NOWHERE)
    written = section.integer("MaxConcurrency")
    modes = (section.section(each).section("ProcessorConfig").text("Mode") for each in _PROCESSORS)
    is_inline = not any(mode is not None and mode != "INLINE" for mode in modes)
    limits = [MAX_INLINE_ITERATIONS] if is_inline else []
    if isinstance(written, int) and written > 0:
        limits.append(written)
    return min(limits, default=None)


def _is_told(call: StateCall, task: Task | None) -> bool:
    """Whether a task is told that there are others, on hosts other than its own."""
    overrides = call.request.section("Overrides").sections("ContainerOverrides")
    told = {each.text("Name"): each.text("Value") for one in overrides for each in one.sections("Environment")}
    words = [word for one in overrides for word in one.texts("Command")]
    for container in () if task is None else task.containers:
        told = {**dict(container.environment), **told}
        words += (*container.entry_point, *container.command)
    line = " ".join(each for each in words if isinstance(each, str))
    if any(pattern.search(line) for pattern in (_ELASTIC, _LOCAL_ARGUMENT)):
        return False
    if any(_is_of_one_host(name, told.get(name), task) for name in _TELLING):
        return False
    return not _TELLING.isdisjoint(told) or _ARGUMENTS.search(line) is not None


def _is_of_one_host(name: str, value: str | Unknown | None, task: Task | None) -> bool:
    """Whether a variable says that the processes are those of one task, or as many as come."""
    if not isinstance(value, str):
        return False
    if name in _ADDRESSES:
        return _LOCAL.match(value) is not None
    gpus = task.gpus if task is not None and name == "WORLD_SIZE" else 1
    return ":" in value or (value.strip().isdecimal() and int(value) <= max(known(gpus), 1))


def _stops_tasks(value: Value) -> bool:
    if isinstance(value, Mapping):
        return end_of(value.get("Resource")).endswith(_STOPS) or any(map(_stops_tasks, value.values()))
    return is_list(value) and any(map(_stops_tasks, value))
