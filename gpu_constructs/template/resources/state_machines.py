"""State machines of AWS Step Functions: the states that run a task of ECS or a job of AWS Batch, however deep in them.

https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html and connect-batch.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpu_constructs.budget import RESOURCES
from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.template.model import Resource, Text, Value
from gpu_constructs.template.resources.json_texts import JsonTexts
from gpu_constructs.template.resources.section import Notes, Section, is_list

__all__ = ["RUN_TASK", "SUBMIT_JOB", "StateCall", "StateMachines"]

RUN_TASK, SUBMIT_JOB = "ecs:runTask", "batch:submitJob"
"""What states call, at the end of the ARN of an integration."""

_PATTERNS = ("", ".sync", ".waitForTaskToken")
_DEFINITION = "Definition"
_TEXT = "DefinitionString"
_INSIDE = ("ItemProcessor", "Iterator")
_LATER = ".$"  # ends a key whose value is a path into the input of the state
_EXPRESSION = "{%"  # begins a text that is an expression in JSONata

_Path = tuple[str | int, ...]
_Found = tuple[str, _Path, str, Mapping[str, Value], Mapping[str, Value]]
# A heartbeat is a limit as well.
_LIMITS = ("TimeoutSeconds", "TimeoutSecondsPath", "HeartbeatSeconds", "HeartbeatSecondsPath")
_DECIDES_NOTHING = frozenset({"Pass", "Wait"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCall:
    """A state that runs something, or what an event does as a state would.

    Attributes:
        resource: Its state machine, rule, pipe or schedule.
        state: Its name; of an event, that of the target.
        action: `RUN_TASK` or `SUBMIT_JOB`.
        request: What it gives the action, unknown where the input of the state says it.
        waits_without_limit: Whether it waits for the end, with no time limit of its own or of its machine.
        repeats_without_budget: Whether its failure leads back to itself, with no choice on the way.
    """

    resource: Resource
    state: str
    action: str
    request: Section
    waits_without_limit: bool = False
    repeats_without_budget: bool = False


class StateMachines:
    """Reads state machines, as long as they do not have more states than anybody means."""

    def __init__(self, texts: JsonTexts, notes: Notes) -> None:
        self._texts = texts
        self._notes = notes
        self._left = RESOURCES

    def calls(self, resource: Resource) -> Iterator[StateCall]:
        """Each state that runs a task or a job."""
        properties = Section.of(resource, self._notes)
        variables = properties.get("DefinitionSubstitutions")
        variables = variables if isinstance(variables, Mapping) else {}
        written = properties.get(_DEFINITION)
        definition = (
            self._texts.substituted(written, variables)
            if isinstance(written, Mapping)
            else self._texts.object_in(properties.get(_TEXT), variables)
        )
        key = _DEFINITION if isinstance(written, Mapping) else _TEXT
        limited = any(each in (definition or {}) for each in _LIMITS)
        for name, path, action, given, states in self._states(definition or {}):
            request = Section(given, resource.origin, ("Properties", key, *path), self._notes)
            yield StateCall(
                resource=resource,
                state=name,
                action=action,
                request=request,
                waits_without_limit=not limited and _waits_without_limit(states[name]),
                repeats_without_budget=_repeats(states, name),
            )

    def _states(self, definition: Mapping[str, Value]) -> Iterator[_Found]:
        waiting: list[tuple[_Path, Value]] = [((), definition)]
        while waiting:
            path, machine = waiting.pop()
            written = machine.get("States") if isinstance(machine, Mapping) else None
            states = written if isinstance(written, Mapping) else {}
            inner: list[tuple[_Path, Value]] = []
            for name, state in states.items():
                self._left -= 1
                if self._left < 0:
                    return
                if not isinstance(state, Mapping):
                    continue
                here = (*path, "States", name)
                action = _action_of(state.get("Resource"))
                if action:
                    key = "Arguments" if state.get("Arguments") is not None else "Parameters"
                    given = _known_before(state.get(key))
                    if isinstance(given, Mapping):
                        yield name, (*here, key), action, given, states
                inner += [((*here, key), state.get(key)) for key in _INSIDE]
                branches = state.get("Branches")
                inner += [
                    ((*here, "Branches", number), each)
                    for number, each in enumerate(branches if is_list(branches) else ())
                ]
            waiting += reversed(inner)


def _waits_without_limit(state: Value) -> bool:
    """Whether a state waits for what it runs, for as long as that takes."""
    if not isinstance(state, Mapping):
        return False
    written = state.get("Resource")
    end = written.pieces[-1] if isinstance(written, Text) else written
    waits = isinstance(end, str) and end.endswith(_PATTERNS[1:])
    return waits and not any(each in state for each in _LIMITS)


def _repeats(states: Mapping[str, Value], name: str) -> bool:
    """Whether a state that fails is certain to run again, however often it has failed."""
    state = states[name]
    catchers = state.get("Catch") if isinstance(state, Mapping) else None
    for each in catchers if is_list(catchers) else ():
        following = each.get("Next") if isinstance(each, Mapping) else None
        seen: set[str] = set()
        while isinstance(following, str) and following != name and following not in seen:
            seen.add(following)
            between = states.get(following)
            decides = not isinstance(between, Mapping) or between.get("Type") not in _DECIDES_NOTHING
            following = None if decides or not isinstance(between, Mapping) else between.get("Next")
        if following == name:
            return True
    return False


def _action_of(resource: Value) -> str:
    """What the ARN of an integration runs, of which the partition may only be known later; empty for anything else."""
    end = resource.pieces[-1] if isinstance(resource, Text) else resource
    if not isinstance(end, str) or not end.startswith(("arn:", ":")) or ":states:" not in end:
        return ""
    called = (each for each in (RUN_TASK, SUBMIT_JOB) if end.endswith(tuple(f":{each}{how}" for how in _PATTERNS)))
    return next(called, "")


def _known_before(value: Value) -> Value:
    """Arguments of a state, with unknowns for what its input says."""
    if isinstance(value, str):
        return UNKNOWN if value.startswith(_EXPRESSION) else value
    if isinstance(value, Mapping):
        return {
            key.removesuffix(_LATER): UNKNOWN if key.endswith(_LATER) else _known_before(each)
            for key, each in value.items()
        }
    return [_known_before(each) for each in value] if isinstance(value, Sequence) else value
