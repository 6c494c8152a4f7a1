"""Events that start state machines, tasks and jobs and go to topics; moto 5.2.5 sends to logs and queues only.

PutEvents takes any source here, so that a test sends what ECS and EC2 send on AWS. ``/emulator/runs/<name>`` says what
the targets of a rule came to. Patterns are moto's, which looks into no lists of objects. Not modelled: retries of
EventBridge, dead-letter queues, input transformers of what is started.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from moto.ecs.models import ecs_backends
from moto.events.models import Rule
from moto.sns.models import sns_backends

from . import switches
from .schedules import is_run, run_target

if TYPE_CHECKING:
    from .running import RunningEcs

__all__ = ["install", "message_of"]

_SENT = Rule.send_to_targets


def message_of(target: Any, event: Any) -> str:
    """What a target gets of an event: its template with what the paths find, and nothing for what they do not.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-transform-target-input.html
    """
    transformer = target.get("InputTransformer")
    if transformer is None:
        return json.dumps(event)
    text = str(transformer["InputTemplate"]).strip('"')
    for name, path in transformer.get("InputPathsMap", {}).items():
        found = event
        for key in path.split(".")[1:]:
            found = found.get(key, {})
        text = text.replace(f"<{name}>", "" if found == {} else str(found))
    return text


def _send_to_targets(rule: Rule, original_event: Any, transform_input: bool = True) -> None:
    """Run what a rule's targets start, tell topics, and send to the others as moto does."""
    if not rule.event_pattern.get_pattern():
        return  # a rule of a schedule, which no event is meant for; for moto it matches each
    started = [each for each in rule.targets if is_run(each)]
    topics = [each for each in rule.targets if each["Arn"].split(":")[2] == "sns"]
    if rule.state == "ENABLED" and rule.event_pattern.matches_event(original_event):
        ecs = cast("RunningEcs", ecs_backends[rule.account_id][rule.region_name])
        said = [run_target(ecs, rule.name, target, json.dumps(original_event)) for target in started]
        if said:  # of those that failed, AWS counts a failed invocation
            switches.write(ecs.where, f"runs/{rule.name}", "; ".join(said))
        for target in topics:
            _, _, _, region, account_id, _ = target["Arn"].split(":")
            sns_backends[account_id][region].publish(message_of(target, original_event), arn=target["Arn"])
    every, rule.targets = rule.targets, [each for each in rule.targets if each not in started + topics]
    try:
        _SENT(rule, original_event, transform_input)
    finally:
        rule.targets = every


def install() -> None:
    """Put this in the place of moto's own."""
    Rule.send_to_targets = _send_to_targets  # type: ignore[assignment,method-assign]
