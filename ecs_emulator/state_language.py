"""The Amazon States Language, as far as jobs and those who start them need it, with JSONPath.

A machine is a generator that stops wherever it has to wait; each time it goes on, a minute has passed. What a task
state calls is given from outside. A timeout fails the state and stops nothing: no page of AWS promises more.
https://states-language.net/spec.html
"""

from __future__ import annotations

import copy
import fnmatch
import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from jsonpath_ng.ext.parser import parse

__all__ = ["Call", "StateError", "Waiting", "run_machine"]

Waiting: TypeAlias = Generator[None, None, Any]
"""Something that takes minutes, and then has a value."""
Call: TypeAlias = Callable[[str, Any, Mapping[str, Any]], Waiting]
"""Does what a task state asks for, from its resource, its parameters and the context."""

FOREVER_SECONDS = 99999999
"""A state without a timeout."""

MOST_BYTES = 262_144
"""Of what a task answers and a map collects, and of what a state gives on:
https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html"""
_TOO_MUCH = "States.DataLimitExceeded"

Json = Mapping[str, Any]


class StateError(Exception):
    """A state failed.

    Args:
        error: Its name.
        cause: What happened.
    """

    def __init__(self, error: str, cause: str) -> None:
        super().__init__(f"{error}: {cause}")
        self.error, self.cause = error, cause


def run_machine(definition: Json, given: Any, context: Json, call: Call) -> Waiting:
    """Run a machine, or the states of a map.

    Args:
        definition: It, with ``StartAt`` and ``States``.
        given: Its input.
        context: What ``$$`` stands for.
        call: Does what task states ask for.

    Raises:
        StateError: A state failed and nothing caught it.
    """
    name, data = definition["StartAt"], given
    while name:
        state = definition["States"][name]
        name, data = yield from _Step(state, data, context, call).run()
        _require_room(data)
    return data


@dataclass(frozen=True)
class _Step:
    """One state with its input."""

    state: Json
    given: Any
    context: Json
    call: Call

    def run(self) -> Waiting:
        retried: dict[int, int] = {}
        while True:
            try:
                return (yield from getattr(self, f"_{self.state['Type'].lower()}")())
            except StateError as error:  # noqa: PERF203 - the loop is what tries it again
                again = _retrier(self.state.get("Retry", ()), error, retried)
                if again is None:
                    return self._caught(error)
                yield from _wait(again)

    def _caught(self, error: StateError) -> tuple[str, Any]:
        for each in self.state.get("Catch", ()):
            if _names(each["ErrorEquals"], error):
                output = {"Error": error.error, "Cause": error.cause}
                return each["Next"], _placed(self.given, each.get("ResultPath", "$"), output)
        raise error

    def _pass(self) -> Waiting:
        yield from ()
        result = self.state["Result"] if "Result" in self.state else self._input()
        return self._next(self._output(result))

    def _wait(self) -> Waiting:
        seconds = self.state["Seconds"] if "Seconds" in self.state else self._value(self.state["SecondsPath"])
        yield from _wait(seconds)
        return self._next(self.given)

    def _succeed(self) -> Waiting:
        yield from ()
        return "", self._value(self.state.get("OutputPath", "$"))

    def _fail(self) -> Waiting:
        yield from ()
        said = (self.state.get(key) or self._value(self.state[f"{key}Path"]) for key in ("Error", "Cause"))
        raise StateError(*said)

    def _choice(self) -> Waiting:
        yield from ()
        chosen = (each["Next"] for each in self.state["Choices"] if self._holds(each))
        name = next(chosen, self.state.get("Default"))
        if name is None:
            raise StateError("States.NoChoiceMatched", "no choice was true")
        return name, self.given

    def _task(self) -> Waiting:
        limit = self.state.get("TimeoutSeconds", FOREVER_SECONDS)
        result = yield from _within(limit, self.call(self.state["Resource"], self._input(), self.context))
        _require_room(result)
        return self._next(self._output(result))

    def _map(self) -> Waiting:
        machines = []
        for number, item in enumerate(self._value(self.state.get("ItemsPath", "$"))):
            context = {**self.context, "Map": {"Item": {"Index": number, "Value": item}}}
            selector = self.state.get("ItemSelector")
            given = item if selector is None else _filled(selector, self.given, context)
            machines.append(run_machine(self.state["ItemProcessor"], given, context, self.call))
        results = yield from _together(machines, self.state.get("MaxConcurrency"))
        _require_room(results)
        return self._next(self._output(results))

    def _parallel(self) -> Waiting:
        given = self._input()
        machines = [run_machine(each, given, self.context, self.call) for each in self.state["Branches"]]
        return self._next(self._output((yield from _together(machines))))

    def _next(self, data: Any) -> tuple[str, Any]:
        return self.state.get("Next", ""), data

    def _value(self, path: str) -> Any:
        return _evaluated(path, self.given, self.context)

    def _input(self) -> Any:
        given = self._value(self.state.get("InputPath", "$"))
        parameters = self.state.get("Parameters")
        return given if parameters is None else _filled(parameters, given, self.context)

    def _output(self, result: Any) -> Any:
        selector = self.state.get("ResultSelector")
        selected = result if selector is None else _filled(selector, result, self.context)
        return _placed(self.given, self.state.get("ResultPath", "$"), selected)

    def _holds(self, rule: Json) -> bool:
        if "And" in rule:
            return all(map(self._holds, rule["And"]))
        if "Or" in rule:
            return any(map(self._holds, rule["Or"]))
        if "Not" in rule:
            return not self._holds(rule["Not"])
        found = _found(rule["Variable"], self.given, self.context)
        (operator, wanted), *others = ((key, value) for key, value in rule.items() if key not in {"Variable", "Next"})
        assert not others, rule
        if operator == "IsPresent":
            return bool(found) is wanted
        if not found:
            raise StateError(
                "States.Runtime", f"Invalid path '{rule['Variable']}': the choice state's path is not there"
            )
        if operator.endswith("Path"):
            operator, wanted = operator.removesuffix("Path"), self._value(wanted)
        return OPERATORS[operator](found[0], wanted)


def _compared(kind: type | tuple[type, ...], compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """A comparison that is false between values of other types."""
    return lambda value, wanted: isinstance(value, kind) and not isinstance(value, bool) and compare(value, wanted)


OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "BooleanEquals": lambda value, wanted: value is wanted,
    "IsNumeric": lambda value, wanted: (isinstance(value, (int, float)) and not isinstance(value, bool)) is wanted,
    "IsString": lambda value, wanted: isinstance(value, str) is wanted,
    "StringEquals": _compared(str, lambda value, wanted: value == wanted),
    "StringMatches": _compared(str, lambda value, wanted: fnmatch.fnmatchcase(value, wanted.replace("[", "[[]"))),
    "NumericEquals": _compared((int, float), lambda value, wanted: value == wanted),
    "NumericGreaterThanEquals": _compared((int, float), lambda value, wanted: value >= wanted),
    "NumericLessThan": _compared((int, float), lambda value, wanted: value < wanted),
    "NumericLessThanEquals": _compared((int, float), lambda value, wanted: value <= wanted),
}


def _wait(seconds: float) -> Iterator[None]:
    for _ in range(max(1, round(seconds / 60))):
        yield


def _together(machines: list[Waiting], most: int | None = None) -> Waiting:
    """Run machines at once, or so many of them; the first that fails ends all, and what their tasks do goes on."""
    results: list[Any] = [None] * len(machines)
    running = dict(enumerate(machines))
    while running:
        for number, machine in list(running.items())[: most or None]:
            try:
                next(machine)
            except StopIteration as end:  # noqa: PERF203 - each machine may end
                results[number] = end.value
                del running[number]
        if running:
            yield
    return results


def _within(seconds: float, steps: Waiting) -> Waiting:
    passed = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        if passed >= seconds:
            raise StateError("States.Timeout", "")
        yield
        passed += 60


def _retrier(retriers: list[Json], error: StateError, retried: dict[int, int]) -> float | None:
    """Seconds until the state is tried again; None where it is not."""
    for number, each in enumerate(retriers):
        if _names(each["ErrorEquals"], error):
            done = retried.get(number, 0)
            if done >= each.get("MaxAttempts", 3):
                return None
            retried[number] = done + 1
            seconds: float = each.get("IntervalSeconds", 1) * each.get("BackoffRate", 2) ** done
            return seconds
    return None


def _require_room(data: Any) -> None:
    """Ends what has too much data, with an error that States.ALL does not catch.

    https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
    """
    if len(json.dumps(data, default=str).encode()) > MOST_BYTES:
        raise StateError(_TOO_MUCH, f"more than {MOST_BYTES} bytes")


def _names(names: list[str], error: StateError) -> bool:
    if error.error == _TOO_MUCH:
        return _TOO_MUCH in names
    # "States.TaskFailed" stands for every error but a timeout, "States.ALL" for every one that can be caught.
    wildcard = "States.TaskFailed" in names and error.error != "States.Timeout"
    return "States.ALL" in names or wildcard or error.error in names


def _placed(given: Any, path: str | None, result: Any) -> Any:
    if path is None:
        return given
    if path == "$":
        return result
    placed = copy.deepcopy(given)
    *parents, last = path.removeprefix("$.").split(".")
    inside = placed
    for each in parents:
        inside = inside.setdefault(each, {})
    inside[last] = result
    return placed


def _filled(template: Any, given: Any, context: Json) -> Any:
    if isinstance(template, Mapping):
        return {
            key.removesuffix(".$"): _evaluated(value, given, context)
            if key.endswith(".$")
            else _filled(value, given, context)
            for key, value in template.items()
        }
    if isinstance(template, list):
        return [_filled(each, given, context) for each in template]
    return template


@cache  # a parser is made for each path, which takes longer than all else that an execution does
def _parsed(path: str) -> Any:
    return parse(path)


def _found(path: str, given: Any, context: Json) -> list[Any]:
    data, inside = (context, path[1:]) if path.startswith("$$") else (given, path)
    return [each.value for each in _parsed(inside).find(data)]


def _evaluated(text: str, given: Any, context: Json) -> Any:
    """A path, or an intrinsic function of paths."""
    if not text.startswith("States."):
        found = _found(text, given, context)
        if "?(" in text or "*" in text:
            return found
        if not found:
            raise StateError("States.Runtime", f"The JSONPath '{text}' could not be found in the input")
        return found[0]
    name, _, rest = text.partition("(")
    values = [_argument(each, given, context) for each in _split(rest.removesuffix(")"))]
    try:
        return FUNCTIONS[name](*values)
    except (ValueError, TypeError, IndexError) as error:
        raise StateError("States.IntrinsicFailure", f"{text}: {error}") from error


def _argument(text: str, given: Any, context: Json) -> Any:
    if text.startswith("'"):
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return _evaluated(text, given, context) if text.startswith(("$", "States.")) else json.loads(text)


def _split(text: str) -> list[str]:
    """Arguments between commas, of which none is inside of quotes or brackets."""
    parts, depth, quoted, skipped = [""], 0, False, False
    for letter in text:
        if not skipped and letter == "'":
            quoted = not quoted
        skipped = letter == "\\" and not skipped
        depth += 0 if quoted else {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and not quoted and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [each.strip() for each in parts]


def _format(template: str, *values: Any) -> str:
    if template.count("{}") != len(values):
        raise ValueError(f"{len(values)} values for {template!r}")
    return template.replace("{}", "%s") % tuple(
        value if isinstance(value, str) else json.dumps(value) for value in values
    )


def _merged(first: Any, second: Any, deep: bool) -> Any:
    if deep:
        raise ValueError("Step Functions merges only the first level")
    return {**first, **second}


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "States.Array": lambda *values: list(values),
    "States.ArrayContains": lambda values, value: value in values,
    "States.ArrayGetItem": lambda values, index: values[index],
    "States.ArrayLength": len,
    "States.Format": _format,
    "States.JsonMerge": _merged,
    "States.JsonToString": lambda value: json.dumps(value, separators=(",", ":")),
    "States.MathAdd": lambda first, second: first + second,
    "States.StringSplit": lambda text, letters: [each for each in re.split(f"[{re.escape(letters)}]", text) if each],
    "States.StringToJson": json.loads,
}
