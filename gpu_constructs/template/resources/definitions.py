"""Definitions of state machines as Step Functions takes them: numbers of states, and the ways between states.

https://states-language.net/spec.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpu_constructs.fleet import LostState, MisplacedField, Origin, StateMachine, StateNumber, Task
from gpu_constructs.template.model import Reference, Value
from gpu_constructs.template.resources.section import is_list
from gpu_constructs.template.resources.state_machines import StateCall, kind_of, states_in
from gpu_constructs.values import dataclass

_NUMBERS = ("TimeoutSeconds", "HeartbeatSeconds", "Seconds", "MaxConcurrency", "ToleratedFailurePercentage")
_OF_RETRY = ("IntervalSeconds", "MaxAttempts", "BackoffRate", "MaxDelaySeconds")
_LISTS_WITH_NEXT = ("Catch", "Choices")
_OF_TASKS = ("TimeoutSeconds", "HeartbeatSeconds")
# States that go on by a list of rules, or end.
_WITHOUT_NEXT = frozenset({"Choice", "Fail", "Succeed"})
_KINDS = frozenset({"Choice", "Fail", "Map", "Parallel", "Pass", "Succeed", "Task", "Wait"})

_Path = tuple[str | int, ...]
_State = Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """States that lead to each other: those of the machine, of a branch or of a map.

    Attributes:
        values: ``StartAt`` and ``States``.
        states: The states by name.
        origin: Where the machine was written.
        path: Where this is in it.
    """

    values: Mapping[str, Value]
    states: Mapping[str, _State]
    origin: Origin
    path: _Path

    def at(self, state: str, *path: str | int) -> Origin:
        """Where something of a state is."""
        return self.origin.at(*self.path, "States", state, *path)


def definitions_of(calls: Iterable[tuple[str, StateCall]], tasks: Mapping[str, Task | None]) -> Iterator[StateMachine]:
    """Reads the definitions of state machines that run something.

    Args:
        calls: What states and events run, by what that is called.
        tasks: What it runs, likewise.
    """
    by_machine: dict[Reference, list[tuple[str, StateCall]]] = {}
    for name, call in calls:
        if call.state_values:
            by_machine.setdefault(call.resource.reference, []).append((name, call))
    for found in by_machine.values():
        name, first = found[0]
        origin = first.resource.origin
        parts = tuple(_parts(first.definition, origin, first.request.path[:2]))
        runs = (tasks.get(one) for one, _ in found)
        yield StateMachine(
            name=name.removesuffix(f"[{first.state}]"),
            tasks=tuple(each for each in runs if each is not None),
            numbers=tuple(number for part in parts for number in _numbers(part)),
            lost=tuple(lost for part in parts for lost in _lost(part)),
            misplaced=tuple(each for part in parts for each in _misplaced(part)),
            origin=origin.at(*first.request.path[:2]),
        )


def _parts(value: Value, origin: Origin, path: _Path) -> Iterator[_Part]:
    if not isinstance(value, Mapping) or not isinstance(value.get("States"), Mapping):
        return
    states = states_in(value)
    yield _Part(values=value, states=states, origin=origin, path=path)
    for name, state in states.items():
        here = (*path, "States", name)
        branches = state.get("Branches")
        for number, branch in enumerate(branches if is_list(branches) else ()):
            yield from _parts(branch, origin, (*here, "Branches", number))
        for key in ("ItemProcessor", "Iterator"):
            yield from _parts(state.get(key), origin, (*here, key))


def _numbers(part: _Part) -> Iterator[StateNumber]:
    for name, state in part.states.items():
        for key in _NUMBERS:
            yield from _number(part, name, state, key)
        for number, retry in _entries(state, "Retry"):
            for key in _OF_RETRY:
                yield from _number(part, name, retry, key, "Retry", number)


def _number(part: _Part, state: str, values: _State, key: str, *path: str | int) -> Iterator[StateNumber]:
    value = values.get(key)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield StateNumber(
            state=state,
            key=".".join((*(each for each in path if isinstance(each, str)), key)),
            value=value,
            origin=part.at(state, *path),
        )


def _lost(part: _Part) -> Iterator[LostState]:
    """States whose way leads nowhere, and those to which none leads, where all names are known."""
    names = tuple(part.states)
    if not all(map(str.isprintable, names)):  # a part of a name is a value of the deploy
        return
    start = part.values.get("StartAt")
    ways = [("", "StartAt", start, part.origin.at(*part.path))]
    ways += [way for name, state in part.states.items() for way in _ways(part, name, state)]
    is_known = all(isinstance(target, str) for _, _, target, _ in ways)
    nowhere = [
        LostState(state=state, key=key, target=target, names=names, origin=origin)
        for state, key, target, origin in ways
        if isinstance(target, str) and target not in part.states
    ]
    yield from nowhere
    for name, state in part.states.items():
        if kind_of(state) in _KINDS - _WITHOUT_NEXT and state.get("Next") is None and state.get("End") in (None, False):
            yield LostState(state=name, key="Next", names=names, origin=part.at(name))
    if is_known and not nowhere:
        reached, waiting = set[str](), [start]
        while waiting:
            at = waiting.pop()
            if isinstance(at, str) and at not in reached:
                reached.add(at)
                waiting += [target for _, _, target, _ in _ways(part, at, part.states[at])]
        for name in names:
            if name not in reached:
                yield LostState(state=name, names=names, origin=part.at(name))


def _ways(part: _Part, name: str, state: _State) -> list[tuple[str, str, Value, Origin]]:
    """Where a state may go on: the state, the key, the target and where that was written."""
    found = [(key, state.get(key), part.at(name)) for key in ("Next", "Default")]
    found += [
        (f"{key}.Next", each.get("Next"), part.at(name, key, number))
        for key in _LISTS_WITH_NEXT
        for number, each in _entries(state, key)
    ]
    return [(name, key, target, origin) for key, target, origin in found if target is not None]


def _misplaced(part: _Part) -> Iterator[MisplacedField]:
    for name, state in part.states.items():
        kind = kind_of(state)
        if kind in _KINDS - {"Task"}:
            for key in _OF_TASKS:
                if state.get(key) is not None:
                    yield MisplacedField(state=name, kind=kind, key=key, origin=part.at(name))


def _entries(state: _State, key: str) -> Iterator[tuple[int, _State]]:
    found = state.get(key)
    for number, each in enumerate(found if is_list(found) else ()):
        if isinstance(each, Mapping):
            yield number, each
