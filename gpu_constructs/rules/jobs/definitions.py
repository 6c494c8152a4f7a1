"""Definitions of state machines that run GPU work: does Step Functions take them?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from gpu_constructs.budget import NAME, brief
from gpu_constructs.fleet import LostState, StateMachine
from gpu_constructs.hardware.aws_limits import STATE_NUMBERS
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import is_accelerated
from gpu_constructs.rules.evidence.lists import or_list
from gpu_constructs.rules.rule import Problem, Problems, error

_SPECIFICATION: Final = "https://states-language.net/spec.html"
_MOST_NAMED: Final = 5
_MOST_COMPARED: Final = 50
_INSTEAD: Final[Mapping[str, str]] = {
    "Map": "TimeoutSeconds of the Task states in it, or of the whole state machine",
    "Parallel": "TimeoutSeconds of the Task states in it, or of the whole state machine",
    "Wait": "Seconds",
}


@error(
    "GPU367",
    question="are the numbers in the definition of a state machine those that Step Functions accepts?",
    because="Step Functions takes timeouts and intervals of 1 to 99,999,999 seconds, up to 99,999,999 retries and a "
    "BackoffRate of 1 or more, and refuses the definition otherwise",
    softer="where HeartbeatSeconds is not below TimeoutSeconds, which the specification forbids",
    source=_SPECIFICATION,
)
def accepted_numbers(context: Context) -> Problems:
    for machine in _gpu_machines(context):
        limits = {(each.state, each.key): each.value for each in machine.numbers}
        for each in machine.numbers:
            least, most = STATE_NUMBERS.get(each.key, (None, None))
            shown = f"{each.value:,}"
            timeout = limits.get((each.state, "TimeoutSeconds"))
            if (least is not None and each.value < least) or (most is not None and each.value > most):
                allowed = f"{least} or more" if most is None else f"{least} to {most:,}"
                yield Problem(
                    about=machine.name,
                    origin=each.origin,
                    involves=machine.tasks,
                    property_name=each.key,
                    value=each.value,
                    message=f"{brief(each.state)} of {brief(machine.name)} has {each.key} {shown}",
                    allowed=allowed,
                    fix=f"{each.key} of {allowed}",
                )
            elif each.key == "HeartbeatSeconds" and timeout is not None and timeout >= 1 and each.value >= timeout:
                yield Problem(
                    about=machine.name,
                    origin=each.origin,
                    involves=machine.tasks,
                    property_name=each.key,
                    value=each.value,
                    message=f"{brief(each.state)} of {brief(machine.name)} has {each.key} {shown}, which is not below "
                    f"its TimeoutSeconds of {timeout:,}",
                    allowed=f"less than {timeout:,}",
                    fix=f"HeartbeatSeconds of less than {timeout:,}, or a longer TimeoutSeconds",
                    is_certain=False,
                )


@error(
    "GPU368",
    question="does each state of a state machine lead to a state that is there, or to the end?",
    because="Step Functions refuses a definition with a state that is not reachable, whose target is missing, or that "
    "neither goes on nor ends (MISSING_TRANSITION_TARGET)",
    source="https://github.com/localstack/localstack/issues/11978",
)
def leads_somewhere(context: Context) -> Problems:
    for machine in _gpu_machines(context):
        for each in machine.lost:
            message, fix = _lost(each)
            yield Problem(
                about=machine.name,
                origin=each.origin,
                involves=machine.tasks,
                property_name=each.key or "States",
                value=each.target,
                message=f"{message} in {brief(machine.name)}",
                allowed="" if each.target is None else or_list(map(brief, each.names[:_MOST_NAMED])),
                fix=fix,
            )


@error(
    "GPU371",
    question="do only Task states have TimeoutSeconds and HeartbeatSeconds?",
    because="states of other types have no such field, and Step Functions refuses the definition (Field "
    "'TimeoutSeconds' is not supported)",
    source="https://github.com/floci-io/floci/issues/2735",
)
def limits_tasks_only(context: Context) -> Problems:
    for machine in _gpu_machines(context):
        for each in machine.misplaced:
            yield Problem(
                about=machine.name,
                origin=each.origin,
                involves=machine.tasks,
                property_name=each.key,
                message=f"{brief(each.state)} of {brief(machine.name)} is a {each.kind} state with {each.key}, which "
                "only Task states have",
                fix=_INSTEAD.get(each.kind, f"no {each.key}"),
            )


def _gpu_machines(context: Context) -> Iterator[StateMachine]:
    return (each for each in context.fleet.machines if any(map(is_accelerated, each.tasks)))


def _lost(lost: LostState) -> tuple[str, str]:
    """What is wrong with a state, and what would do."""
    state = brief(lost.state)
    if lost.target is not None:
        near = get_close_matches(lost.target[:NAME], [each[:NAME] for each in lost.names[:_MOST_COMPARED]], n=1)
        what = f"{lost.key} of {state}" if state else lost.key
        return (
            f"{what} is {brief(lost.target)}, and no state there has that name",
            brief(near[0]) if near else f"the name of a state next to {state}" if state else "the name of a state",
        )
    if lost.key:
        return f"{state} has neither Next nor End", "End: true, or Next with the name of a state"
    return f"no way leads to {state}", f"Next {state} of a state before it, or no such state"
