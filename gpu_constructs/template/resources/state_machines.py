"""States of AWS Step Functions that run a task of ECS or a job of AWS Batch, however deep, and how each ends.

https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html and connect-batch.html

A state ends by its time limits and its retries, and there may be a way from its failure back to it:
https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from gpu_constructs.errors import brief
from gpu_constructs.facts.budget import FOLLOWED
from gpu_constructs.facts.values import by_identity
from gpu_constructs.fleet import UNKNOWN, Origin, Place, Remark, Step, Submission, Task, Unknown, known, total
from gpu_constructs.template.model import Resource, Text, Value, end_of, pieces_of
from gpu_constructs.template.resources.calls import RUN_TASK, SUBMIT_JOB, Call, call_of_api
from gpu_constructs.template.resources.section import Notes, Section, given, is_list
from gpu_constructs.template.texts import object_in

_DEFINITION, _TEXT = "Definition", "DefinitionString"
_LATER = ".$"  # ends a key whose value is a path into the input of the state
# https://docs.aws.amazon.com/step-functions/latest/dg/intrinsic-functions.html
_FORMATTED = r"States\.Format\('([^'{}\\]{1,1000})"
_EXPRESSION = "{%"  # begins a text that is an expression in JSONata
# Ends the ARN of a state that waits until something sends its token back.
_CALLBACK = "waitForTaskToken"
_PATTERNS = frozenset({"", "sync", _CALLBACK})
_LIMITS = ("TimeoutSeconds", "TimeoutSecondsPath")
# Names that a failed task goes by; both stand for it among others.
_FAILURES = frozenset({"States.ALL", "States.TaskFailed"})
_DEFAULT_RETRIES = 3  # https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
_MOST_STATES = 100  # among which a way back is looked for; beyond that there may be one
_NOWHERE = Origin(resource="")
# Calls that say that something failed, and decide nothing.
_NOTICES = (":sns:publish", ":sqs:sendMessage", ":events:putEvents")

_Path = tuple[str | int, ...]
_States = Mapping[str, Mapping[str, Value]]
_Frame = tuple[str, _States]
"""The name of a state, and all states that it is among."""


def calls_of_states(resource: Resource, notes: Notes, *, may_run_tasks: bool) -> Iterator[Call]:
    """Each state of a state machine that runs a task or a job; what could not be read is noted."""
    properties = Section.of(resource, notes)
    variables = properties.get("DefinitionSubstitutions")
    key = _DEFINITION if isinstance(properties.get(_DEFINITION), Mapping) else _TEXT
    definition = object_in(properties.get(key), variables if isinstance(variables, Mapping) else {})
    if definition is None:
        _note_unread(properties, may_run_tasks=may_run_tasks)
        return
    whole_seconds = Section(definition, _NOWHERE).integer("TimeoutSeconds")
    for path, frames in _calling(definition, ("Properties", key), ()):
        name, among = frames[0]
        state = among[name]
        action, pattern = _called(state)
        argument = "Arguments" if state.get("Arguments") is not None else "Parameters"
        values = _known_before(state.get(argument))
        request = Section(values if isinstance(values, Mapping) else {}, resource.origin, (*path, argument), notes)
        if isinstance(values, Mapping):
            step = _step(frames, pattern, resource.origin.at(*path), whole_seconds)
            yield call_of_api(resource, f"[{name}]", action, request, step=step)
        elif values is not None:
            _note(f"the input of {brief(name)} says what it runs, which is not checked", request)


def _calling(machine: Value, path: _Path, around: tuple[_Frame, ...]) -> Iterator[tuple[_Path, tuple[_Frame, ...]]]:
    """Each state that runs something: its path, and where it is, from the inside."""
    found = machine.get("States") if isinstance(machine, Mapping) else None
    states = found.items() if isinstance(found, Mapping) else ()
    among = {name: state for name, state in states if isinstance(state, Mapping)}
    for name, state in among.items():
        here, frames = (*path, "States", name), ((name, among), *around)
        if _called(state)[0]:
            yield here, frames
        for key in ("ItemProcessor", "Iterator"):
            yield from _calling(state.get(key), (*here, key), frames)
        branches = state.get("Branches")
        for number, each in enumerate(branches if is_list(branches) else ()):
            yield from _calling(each, (*here, "Branches", number), frames)


def _called(state: Mapping[str, Value]) -> tuple[str, str]:
    """What the ARN of an integration, of both kinds, runs, and how it waits; the partition may only be known later.

    Both are empty for anything else.
    """
    start, _, integration = end_of(state.get("Resource")).rpartition(":states:")
    action, _, pattern = integration.lstrip(":").removeprefix("aws-sdk:").partition(".")
    is_ours = action in (RUN_TASK, SUBMIT_JOB) and pattern in _PATTERNS and (not start or start.startswith("arn:"))
    return (action, pattern) if is_ours else ("", "")


def _known_before(value: Value) -> Value:
    """Arguments of a state, with unknowns for what its input says."""
    if isinstance(value, str):
        return UNKNOWN if value.startswith(_EXPRESSION) else value
    if isinstance(value, Mapping):
        return {
            key.removesuffix(_LATER): _late(key, each) if key.endswith(_LATER) else _known_before(each)
            for key, each in value.items()
        }
    return [_known_before(each) for each in value] if isinstance(value, Sequence) else value


def _late(key: str, path: Value) -> Value:
    """What a path comes to: of the value of a variable the text is known that the input adds something to."""
    formatted = re.match(_FORMATTED, path) if key == f"Value{_LATER}" and isinstance(path, str) else None
    return UNKNOWN if formatted is None else Text((formatted[1], UNKNOWN))


def _note_unread(properties: Section, *, may_run_tasks: bool) -> None:
    """Notes a definition that is in another place, or no JSON, where it may run tasks."""
    texts = (each for each in pieces_of(properties.get(_TEXT)) if isinstance(each, str))
    if any(RUN_TASK in each or SUBMIT_JOB in each for each in texts):
        _note("this is not JSON that can be read, so what it runs is not checked", properties, _TEXT)
    elsewhere = next(filter(properties.has, ("DefinitionS3Location", "DefinitionUri")), None)
    if elsewhere is not None and may_run_tasks:
        _note("the definition is in no file that was read, so what it runs is not checked", properties, elsewhere)


def _note(text: str, section: Section, *path: str) -> None:
    whole = (*section.path, *path)
    remark = f"{brief(str(whole[-1]))}: {text}"
    section.notes.append(Remark(text=remark, origin=section.resource.at(*whole)))


def steps_of(
    calls: Iterable[tuple[str, Call]], submissions: Iterable[Submission], task_of: Callable[[Value, Place], Task | None]
) -> Iterator[Step]:
    """Reads each state that runs a task or a job."""
    jobs = {each.name: each for each in submissions}
    for name, call in calls:
        if call.step is not None:
            job = jobs.get(name)
            task = task_of(call.request.get("TaskDefinition"), call.resource.origin.place) if job is None else job.task
            ends = call.step.is_limited or (job is not None and _ends_itself(job))
            yield replace(call.step, name=name, task=task, is_limited=ends)


def _ends_itself(job: Submission) -> bool:
    """Whether AWS Batch ends a job after a time, both while it waits and while it runs."""
    seconds = job.attempt_seconds if job.task is None else given(job.attempt_seconds, job.task.attempt_seconds)
    return seconds is not None and job.queue is not None and bool(job.queue.wait_seconds)


def _step(frames: tuple[_Frame, ...], pattern: str, origin: Origin, whole_seconds: int | Unknown | None) -> Step:
    """How a state ends.

    Args:
        frames: Where it is, from the inside: its name and the states that it is among, the same of the map or parallel
            state around these, and so on.
        pattern: How it waits for the end.
        origin: Where it was written.
        whole_seconds: The time limit of its whole state machine.
    """
    name, among = frames[0]
    state = among[name]
    limits = (*_LIMITS, *(("HeartbeatSeconds", "HeartbeatSecondsPath") if pattern == _CALLBACK else ()))
    is_limited, is_job = whole_seconds is not None, pattern == "sync"  # which alone ends what it runs
    return Step(
        name=name,
        task=None,
        waits=bool(pattern),
        is_limited=is_limited or any(state.get(each) is not None for each in limits),
        limit_seconds=Section(state, _NOWHERE).integer("TimeoutSeconds") if is_job else None,
        whole_seconds=whole_seconds if is_job else None,
        attempts=_attempts(frames) if pattern else 1,
        may_come_back=any(map(_may_come_back, frames)),
        way_back=None if is_limited else _way_back([*_failing(frames)][-1]),
        origin=origin,
    )


def _attempts(frames: Iterable[_Frame]) -> int | Unknown:
    """How often at most an execution starts what a state runs; each entry of ``Retry`` counts by itself."""
    of_each = (_of_failure(each, "Retry", _FAILURES | {"States.Timeout"}) for each in frames)
    counts = [total(given(each.integer("MaxAttempts"), _DEFAULT_RETRIES) for each in entries) for entries in of_each]
    return UNKNOWN if UNKNOWN in counts else prod(1 + known(each) for each in counts)


def _may_come_back(frame: _Frame) -> bool:
    """Whether a way may lead from a state back to it."""
    name, states = frame
    left, seen, ways = [name], set[str](), _ways(states)
    while left and name not in seen and len(seen) <= _MOST_STATES:
        new = ways[left.pop()] - seen
        left += sorted(new)
        seen |= new
    return name in seen or bool(left)


@by_identity(maxsize=4)
def _ways(states: _States) -> Mapping[str, frozenset[str]]:
    found = {}
    for name, state in states.items():
        after = (
            state,
            *(each.values for key in ("Choices", "Catch") for each in Section(state, _NOWHERE).sections(key)),
        )
        ways = (each.get(key) for each in after for key in ("Next", "Default"))
        found[name] = frozenset([to for to in ways if isinstance(to, str) and to in states])
    return found


def _failing(frames: Iterable[_Frame]) -> Iterator[_Frame]:
    """A state and those around it that its failure reaches: up to the first one that catches it."""
    for frame in frames:
        yield frame
        if _of_failure(frame, "Catch"):
            return


def _of_failure(frame: _Frame, key: str, errors: frozenset[str] = _FAILURES) -> list[Section]:
    """The entries of ``Retry`` or ``Catch`` that a task matches which did not end well."""
    name, states = frame
    entries = Section(states[name], _NOWHERE).sections(key)
    return [each for each in entries if not errors.isdisjoint(each.texts("ErrorEquals"))]


def _way_back(frame: _Frame) -> tuple[str, ...] | None:
    """The states from what catches the failure of a state back to it, where none on the way may decide to end it."""
    name, states = frame
    caught = _of_failure(frame, "Catch")
    at = caught[0].get("Next") if caught else None
    way: list[str] = []
    while at != name:
        state = states.get(at) if isinstance(at, str) else None
        if not isinstance(at, str) or state is None or at in way or not _passes(state) or len(way) == FOLLOWED:
            return None
        way.append(at)
        at = state.get("Next")
    return tuple(way)


def _passes(state: Mapping[str, Value]) -> bool:
    kind = state.get("Type")
    return kind in ("Pass", "Wait") or (kind == "Task" and end_of(state.get("Resource")).endswith(_NOTICES))
