"""Events that start state machines and go to topics, which moto 5.2.5 sends to logs and queues only.

PutEvents takes any source here, so that a test sends what ECS and EC2 send on AWS. Patterns are moto's, which looks
into no lists of objects. Not modelled: retries, dead-letter queues, input transformers of machines.
"""

from __future__ import annotations

import json
from typing import Any

from moto.events.models import Rule
from moto.sns.models import sns_backends
from moto.stepfunctions.models import stepfunctions_backends

from . import permissions
from .policies import Call
from .resource import Region

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
    """Start the executions of the machines among a rule's targets, and send to the others as moto does."""
    if not rule.event_pattern.get_pattern():
        return  # a rule of a schedule, which no event is meant for; for moto it matches each
    machines = [each for each in rule.targets if ":stateMachine:" in each["Arn"]]
    topics = [each for each in rule.targets if each["Arn"].split(":")[2] == "sns"]
    if rule.state == "ENABLED" and rule.event_pattern.matches_event(original_event):
        for target in machines:
            _, _, _, region, account_id, *_ = target["Arn"].split(":")
            starts_it = [Call("states:StartExecution", target["Arn"])]
            if permissions.refusal(Region(account_id, region), target.get("RoleArn"), starts_it):
                continue  # AWS counts a failed invocation
            starts = stepfunctions_backends[account_id][region].start_execution
            starts(target["Arn"], "", target.get("Input") or json.dumps(original_event))
        for target in topics:
            _, _, _, region, account_id, _ = target["Arn"].split(":")
            sns_backends[account_id][region].publish(message_of(target, original_event), arn=target["Arn"])
    every, rule.targets = rule.targets, [each for each in rule.targets if each not in machines + topics]
    try:
        _SENT(rule, original_event, transform_input)
    finally:
        rule.targets = every


def install() -> None:
    """Put this in the place of moto's own."""
    Rule.send_to_targets = _send_to_targets  # type: ignore[assignment,method-assign]
