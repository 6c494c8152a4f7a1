"""Paths into the event in what a pipe gives its target.

https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-pipes-event-target.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.template.model import Value
from gpu_constructs.template.resources.section import Section, is_list

_PATH = "$."


def before_event(parameters: Section) -> Section:
    """The parameters of a target, with unknowns for what the event says."""
    values = _known(parameters.values)
    return replace(parameters, values=values) if isinstance(values, Mapping) and parameters.keys else parameters


def _known(value: Value) -> Value:
    if isinstance(value, str):
        return UNKNOWN if value.startswith(_PATH) else value
    if isinstance(value, Mapping):
        return {key: _known(each) for key, each in value.items()}
    return [_known(each) for each in value] if is_list(value) else value
