"""State machines of AWS Step Functions: the states that run a task of ECS, however deep in them.

https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpu_constructs.budget import RESOURCES
from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.template.model import Resource, Text, Value
from gpu_constructs.template.resources.json_texts import JsonTexts
from gpu_constructs.template.resources.section import Notes, Section, is_list

__all__ = ["StateMachines"]

_RUN_TASK = ("ecs:runTask", "ecs:runTask.sync", "ecs:runTask.waitForTaskToken")
_DEFINITION = "Definition"
_TEXT = "DefinitionString"
_INSIDE = ("ItemProcessor", "Iterator")
_LATER = ".$"  # ends a key whose value is a path into the input of the state
_EXPRESSION = "{%"  # begins a text that is an expression in JSONata

_Path = tuple[str | int, ...]


class StateMachines:
    """Reads state machines, as long as they do not have more states than anybody means."""

    def __init__(self, texts: JsonTexts, notes: Notes) -> None:
        self._texts = texts
        self._notes = notes
        self._left = RESOURCES

    def calls(self, resource: Resource) -> Iterator[tuple[str, Section]]:
        """Each state that runs a task: its name, and what it gives ``RunTask``, unknown where the input says it."""
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
        for name, path, given in self._states(definition or {}):
            yield name, Section(given, resource.origin, ("Properties", key, *path), self._notes)

    def _states(self, definition: Mapping[str, Value]) -> Iterator[tuple[str, _Path, Mapping[str, Value]]]:
        waiting: list[tuple[_Path, Value]] = [((), definition)]
        while waiting:
            path, machine = waiting.pop()
            states = machine.get("States") if isinstance(machine, Mapping) else None
            inner: list[tuple[_Path, Value]] = []
            for name, state in states.items() if isinstance(states, Mapping) else ():
                self._left -= 1
                if self._left < 0:
                    return
                if not isinstance(state, Mapping):
                    continue
                here = (*path, "States", name)
                if _runs_task(state.get("Resource")):
                    key = "Arguments" if state.get("Arguments") is not None else "Parameters"
                    given = _known_before(state.get(key))
                    if isinstance(given, Mapping):
                        yield name, (*here, key), given
                inner += [((*here, key), state.get(key)) for key in _INSIDE]
                branches = state.get("Branches")
                inner += [
                    ((*here, "Branches", number), each)
                    for number, each in enumerate(branches if is_list(branches) else ())
                ]
            waiting += reversed(inner)


def _runs_task(resource: Value) -> bool:
    """Whether the ARN of an integration is that of ``RunTask``, of which the partition may only be known later."""
    end = resource.pieces[-1] if isinstance(resource, Text) else resource
    return isinstance(end, str) and end.startswith(("arn:", ":")) and end.endswith(_RUN_TASK) and ":states:" in end


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
