"""States of state machines that run GPU tasks: do they start them, and does each end at some time?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu_constructs.budget import brief
from gpu_constructs.fleet import Step, Task
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import is_accelerated
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_MANY_RETRIES: Final = 100
"""More than a failure that goes away by itself takes; each of them takes a GPU host."""


@warning(
    "GPU322",
    question="does something limit how often a state runs a GPU task again?",
    because="Step Functions follows the way from a failure back to the state as long as nothing counts how often, and "
    "retries up to 99,999,999 times; each time a host with GPUs starts and is paid for",
    source="https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html",
)
def stops_at_some_time(context: Context) -> Problems:
    for step, task in _gpu_steps(context):
        for way, when, start in (
            (step.way_back if step.waits else None, "fails", "a Retry"),
            (step.way_around if step.waits else None, "ends", "a Retry"),
            (step.way_polled, "fails", "a Resource with .sync and a Retry"),
        ):
            if way is not None:
                by_way = f" by way of {', '.join(map(brief, way))}" if way else ""
                yield Problem(
                    about=step,
                    involves=(task,),
                    property_name="Catch" if way is step.way_back else "Next",
                    message=f"each time that {task.name} {when}, {brief(step.name)} starts it again{by_way}, and "
                    "nothing counts how often",
                    fix=f"{start} with MaxAttempts in place of the way back, a Choice that counts, or TimeoutSeconds "
                    "of the whole state machine",
                )
                break
        if step.waits and isinstance(step.retries, int) and step.retries > _MANY_RETRIES:
            yield Problem(
                about=step,
                involves=(task,),
                property_name="Retry.MaxAttempts",
                value=step.retries,
                message=f"{brief(step.name)} starts {task.name} again up to {step.retries:,} times when it fails, "
                "whatever the reason is",
                allowed=f"up to {_MANY_RETRIES}",
                fix="a smaller MaxAttempts, and more only for errors that go away by themselves, such as "
                "ECS.AmazonECSException",
            )


@warning(
    "GPU321",
    question="does a state that waits for a GPU task have a time limit?",
    because="the definition of a state machine has no time limit unless it sets one: while no host comes, or the task "
    "hangs, the execution waits, and the host is paid for",
    source="https://docs.aws.amazon.com/step-functions/latest/dg/sfn-stuck-execution.html",
    unless=("GPU356", "GPU345"),
)
def has_a_time_limit(context: Context) -> Problems:
    for step, task in _gpu_steps(context):
        if step.waits and step.is_limited is False:
            yield Problem(
                about=step,
                involves=(task,),
                property_name="TimeoutSeconds",
                message=f"{brief(step.name)} waits until {task.name} ends, and neither the state nor its state machine "
                "has TimeoutSeconds",
                fix="TimeoutSeconds of the state, with the time that a host needs to start",
            )


@error(
    "GPU356",
    question="does a state wait for a GPU task only in a Standard workflow?",
    because="Express workflows only support Request Response integrations, and Step Functions refuses the definition "
    "of one with .sync or .waitForTaskToken",
    source="https://docs.aws.amazon.com/step-functions/latest/dg/connect-to-resource.html",
)
def may_wait(context: Context) -> Problems:
    for step, task in _gpu_steps(context):
        if step.waits and step.is_express is True:
            yield Problem(
                about=step,
                involves=(task,),
                property_name="Resource",
                message=f"{brief(step.name)} waits until {task.name} ends, and is in an Express workflow, which "
                "cannot wait",
                fix="a Standard workflow, or a Resource without .sync and .waitForTaskToken",
            )


def _gpu_steps(context: Context) -> Iterator[tuple[Step, Task]]:
    """States that run a task with GPUs, with that task."""
    return ((each, each.task) for each in context.fleet.steps if each.task is not None and is_accelerated(each.task))
