"""Events that start state machines, which moto 5.2.5 sends to logs and queues only.

PutEvents takes any source here, so that a test sends what ECS and EC2 send on AWS. Patterns are moto's, which looks
into no lists of objects. Not modelled: retries, dead-letter queues, the role of a rule, input transformers.
"""

from __future__ import annotations

import json
from typing import Any

from moto.events.models import Rule
from moto.stepfunctions.models import stepfunctions_backends

__all__ = ["install"]

_SENT = Rule.send_to_targets


def _send_to_targets(rule: Rule, original_event: Any, transform_input: bool = True) -> None:
    """Start the executions of the machines among a rule's targets, and send to the others as moto does."""
    machines = [each for each in rule.targets if ":stateMachine:" in each["Arn"]]
    if rule.state == "ENABLED" and rule.event_pattern.matches_event(original_event):
        for target in machines:
            _, _, _, region, account_id, *_ = target["Arn"].split(":")
            starts = stepfunctions_backends[account_id][region].start_execution
            starts(target["Arn"], "", target.get("Input") or json.dumps(original_event))
    every, rule.targets = rule.targets, [each for each in rule.targets if each not in machines]
    try:
        _SENT(rule, original_event, transform_input)
    finally:
        rule.targets = every


def install() -> None:
    """Put this in the place of moto's own."""
    Rule.send_to_targets = _send_to_targets  # type: ignore[assignment,method-assign]
