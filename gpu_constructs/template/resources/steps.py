"""States that run tasks and jobs: how each ends.

A state ends by its time limits and its retries, and there may be a way from its failure back to it.

https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from gpu_constructs.facts.budget import FOLLOWED
from gpu_constructs.fleet import (
    Origin,
    Place,
    Step,
    Submission,
    Task,
    Unknown,
    known,
)
from gpu_constructs.template.model import Value, end_of
from gpu_constructs.template.resources.section import Section, given
from gpu_constructs.template.resources.state_machines import CALLBACK, Frame, StateCall, kind_of

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
