"""State machines of AWS Step Functions: the states that run a task of ECS or a job of AWS Batch, however deep in them.

https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html and connect-batch.html

Definitions are texts that are JSON, with references in them, or objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import product

from gpu_constructs.errors import brief
from gpu_constructs.facts.budget import DEPTH, RESOURCES, TEXT, TOTAL_TEXT
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Remark, Unknown
from gpu_constructs.template.model import DynamicReference, Placeholder, Reference, Resource, Text, Value, end_of
from gpu_constructs.template.resources.section import Notes, Section, is_list

# Stands on both sides of a number in a text for a piece that is not text.
_HOLE = "\ue001"
_NUMBERED = re.compile(f"{_HOLE}([0-9]{{1,7}}){_HOLE}")
# A text in quotes, be it one that is not closed, so that each character is looked at once; or a piece outside of one.
_QUOTED_OR_HOLE = re.compile(rf'("(?:[^"\\]|\\.)*(?:"|\\?\Z))|({_HOLE}[0-9]{{1,7}}{_HOLE})', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_VARIABLE = re.compile(r"\$\{([A-Za-z0-9_]{1,255})\}")


class JsonTexts:
    """Reads texts that are JSON, as long as there are not too many of them."""

    def __init__(self) -> None:
        self._left = TOTAL_TEXT

    def object_in(self, value: Value, variables: Mapping[str, Value]) -> Mapping[str, Value] | None:
        """The object that a text is, with values for the ``${variables}`` in it; None where none can be read.

        A value of the deploy within it is what it is in a template: a reference, or unknown.
        """
        if not isinstance(value, (str, Text)):
            return None
        pieces = list(_substituted(value.pieces if isinstance(value, Text) else (value,), variables))
        flat = "".join(
            each.replace(_HOLE, "") if isinstance(each, str) else f"{_HOLE}{number}{_HOLE}"
            for number, each in enumerate(pieces)
        )
        self._left -= len(flat)
        if len(flat) > TEXT or self._left < 0:
            return None
        try:
            data: Value = json.loads(
                _QUOTED_OR_HOLE.sub(lambda found: found[1] or f'"{found[2]}"', flat), parse_constant=str
            )
            if _SURROGATE.search(flat):
                json.dumps(data, ensure_ascii=False).encode()  # half a character cannot be written into any report
            found = _each_text(data, lambda text: _one(_unfolded(text, pieces)))
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, Mapping) else None

    def substituted(self, value: Mapping[str, Value], variables: Mapping[str, Value]) -> Mapping[str, Value]:
        """An object with values for the ``${variables}`` in its texts."""
        found = _each_text(value, self._filled(variables)) if variables else value
        return found if isinstance(found, Mapping) else {}

    def _filled(self, variables: Mapping[str, Value]) -> Callable[[str], Value]:
        def fill(text: str) -> Value:
            value = _one(list(_substituted((text,), variables)))
            self._left -= len(value) if isinstance(value, str) else len(text)
            return value if self._left >= 0 else UNKNOWN

        return fill


def _substituted(pieces: Sequence[Value], variables: Mapping[str, Value]) -> Iterator[Value]:
    length = 0
    for piece in pieces:
        if not isinstance(piece, str):
            yield piece
            continue
        position = 0
        for match in _VARIABLE.finditer(piece):
            if match[1] not in variables:
                continue
            yield piece[position : match.start()]
            position = match.end()
            value = variables[match[1]]
            length += len(value) if isinstance(value, str) else 1
            if length > TEXT:
                yield UNKNOWN
                return
            yield from value.pieces if isinstance(value, Text) else (_as_text(value),)
        yield piece[position:]


def _as_text(value: Value) -> Value:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


def _unfolded(text: str, pieces: Sequence[Value]) -> list[Value]:
    if _HOLE not in text:
        return [text]
    return [
        pieces[int(each)] if index % 2 and int(each) < len(pieces) else each
        for index, each in enumerate(_NUMBERED.split(text))
    ]


def _one(pieces: Sequence[Value]) -> Value:
    """What pieces come to: one text where all are texts, the only piece that there is, or all of them in order."""
    merged: list[str | Reference | Placeholder | Unknown | DynamicReference] = []
    for each in pieces:
        last = merged[-1] if merged else None
        if isinstance(each, str) and isinstance(last, str):
            merged[-1] = last + each
        elif each != "":
            merged.append(each if isinstance(each, (str, Reference, Placeholder, DynamicReference)) else UNKNOWN)
    if len(merged) > 1:
        return Text(tuple(UNKNOWN if isinstance(each, DynamicReference) else each for each in merged))
    first = merged[0] if merged else ""
    return UNKNOWN if isinstance(first, Placeholder) else first


def _each_text(value: Value, change: Callable[[str], Value], depth: int = DEPTH) -> Value:
    """The same with each text changed; what is nested too deeply is unknown."""
    if isinstance(value, str):
        return change(value)
    if depth <= 0:
        return UNKNOWN
    if isinstance(value, Mapping):
        return {key: _each_text(each, change, depth - 1) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [_each_text(each, change, depth - 1) for each in value]
    return value


RUN_TASK, SUBMIT_JOB = "ecs:runTask", "batch:submitJob"
"""What states call, at the end of the ARN of an integration."""

CALLBACK = ".waitForTaskToken"
"""Ends the ARN where a state waits until something sends its token back."""

_PATTERNS = (".sync", CALLBACK, "")
_DEFINITION = "Definition"
_TEXT = "DefinitionString"
_ELSEWHERE = ("DefinitionS3Location", "DefinitionUri")
_CALLED = re.compile(f"{RUN_TASK}|{SUBMIT_JOB}")
_INSIDE = ("ItemProcessor", "Iterator")
_LATER = ".$"  # ends a key whose value is a path into the input of the state
_EXPRESSION = "{%"  # begins a text that is an expression in JSONata
_PATH = "$."  # begins a text that is a path into an event

_Path = tuple[str | int, ...]
_States = Mapping[str, Mapping[str, Value]]
Frame = tuple[str, _States]
"""The name of a state, and all states that it is among."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCall:
    """A state that runs something, or what an event does as a state would.

    Attributes:
        resource: Its state machine, rule, pipe or schedule.
        state: Its name; of an event, that of the target.
        action: `RUN_TASK` or `SUBMIT_JOB`.
        request: What it gives the action, unknown where the input of the state says it.
        pattern: How it waits for the end, as the ARN of the integration says it; empty where it does not.
        state_values: The state as written; empty for an event, as the following.
        frames: Where it is, from the inside: its name and the states that it is among, the same of the map or parallel
            state around these, and so on.
        definition: The definition of the whole state machine.
    """

    resource: Resource
    state: str
    action: str
    request: Section
    pattern: str = ""
    state_values: Mapping[str, Value] = field(default_factory=dict)
    frames: tuple[Frame, ...] = ()
    definition: Mapping[str, Value] = field(default_factory=dict)


class StateMachines:
    """Reads state machines, as long as they do not have more states than anybody means.

    Args:
        texts: Reads definitions that are texts.
        notes: Where to put what could not be read.
        may_run_tasks: Whether there is a task or a job that a definition in another place may run.
    """

    def __init__(self, texts: JsonTexts, notes: Notes, *, may_run_tasks: bool) -> None:
        self._texts = texts
        self._may_run_tasks = may_run_tasks
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
        if definition is None:
            self._note_unread(properties)
            return
        top = Section(definition, resource.origin, ("Properties", key), self._notes)
        for path, frames in self._states(definition):
            name, among = frames[0]
            state = among[name]
            action, pattern = _action_of(state.get("Resource"))
            argument = "Arguments" if state.get("Arguments") is not None else "Parameters"
            given = _known_before(state.get(argument))
            if isinstance(given, Mapping):
                yield StateCall(
                    resource=resource,
                    state=name,
                    action=action,
                    request=replace(top, values=given, path=(*top.path, *path, argument)),
                    pattern=pattern,
                    state_values=state,
                    frames=frames,
                    definition=definition,
                )
            elif given is not None:
                self._note(f"the input of {brief(name)} says what it runs, which is not checked", top, *path, argument)

    def _states(self, definition: Mapping[str, Value]) -> Iterator[tuple[_Path, tuple[Frame, ...]]]:
        """Each state that runs something, with its path."""
        waiting: list[tuple[_Path, Value, tuple[Frame, ...]]] = [((), definition, ())]
        while waiting:
            path, machine, around = waiting.pop()
            among = states_in(machine)
            inner: list[tuple[_Path, Value, tuple[Frame, ...]]] = []
            for name, state in among.items():
                self._left -= 1
                if self._left < 0:
                    return
                here = (*path, "States", name)
                frames = ((name, among), *around)
                if _action_of(state.get("Resource"))[0]:
                    yield here, frames
                inner += [((*here, key), state.get(key), frames) for key in _INSIDE]
                branches = state.get("Branches")
                inner += [
                    ((*here, "Branches", number), each, frames)
                    for number, each in enumerate(branches if is_list(branches) else ())
                ]
            waiting += reversed(inner)

    def _note_unread(self, properties: Section) -> None:
        """Notes a definition that is in another place, or no JSON, where it may run tasks."""
        text = properties.get(_TEXT)
        pieces = text.pieces if isinstance(text, Text) else (text,)
        if any(isinstance(each, str) and _CALLED.search(each) for each in pieces):
            self._note("this is not JSON that can be read, so what it runs is not checked", properties, _TEXT)
        elsewhere = next(filter(properties.has, _ELSEWHERE), None)
        if elsewhere is not None and self._may_run_tasks:
            self._note(
                "the definition is in no file that was read, so what it runs is not checked", properties, elsewhere
            )

    def _note(self, text: str, section: Section, *path: str | int) -> None:
        origin = section.resource.at(*section.path, *path)
        self._notes.append(Remark(text=f"{brief(str(path[-1]))}: {text}", origin=origin))


def states_in(machine: Value) -> _States:
    """The states of a machine, a branch or a map, by name."""
    found = machine.get("States") if isinstance(machine, Mapping) else None
    states = found.items() if isinstance(found, Mapping) else ()
    return {name: state for name, state in states if isinstance(state, Mapping)}


def kind_of(state: Mapping[str, Value]) -> str:
    """What a state is, such as ``Task``; empty where that is no text."""
    kind = state.get("Type")
    return kind if isinstance(kind, str) else ""


def _action_of(resource: Value) -> tuple[str, str]:
    """What the ARN of an integration runs, and how it waits; the partition may only be known later.

    Both are empty for anything else.
    """
    end = end_of(resource)
    if end.startswith(("arn:", ":")) and ":states:" in end:
        for action, pattern in product((RUN_TASK, SUBMIT_JOB), _PATTERNS):
            if end.endswith(f":{action}{pattern}"):
                return action, pattern
    return "", ""


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


def before_event(parameters: Section) -> Section:
    """What a pipe gives its target, with unknowns for what the event says.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-pipes-event-target.html
    """
    values = _before_event(parameters.values)
    return replace(parameters, values=values) if isinstance(values, Mapping) and parameters.keys else parameters


def _before_event(value: Value) -> Value:
    if isinstance(value, str):
        return UNKNOWN if value.startswith(_PATH) else value
    if isinstance(value, Mapping):
        return {key: _before_event(each) for key, each in value.items()}
    return [_before_event(each) for each in value] if is_list(value) else value
