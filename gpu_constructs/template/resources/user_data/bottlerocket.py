"""What Bottlerocket's TOML sets for the ECS agent: https://bottlerocket.dev/en/os/latest/api/settings/ecs/."""

from __future__ import annotations

import json
import re

from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.template.resources.user_data.agent import Settings

__all__ = ["settings_of_toml"]

# Its names for the variables that somebody asks about.
_VARIABLES = {
    "awsvpc-block-imds": "ECS_AWSVPC_BLOCK_IMDS",
    "cluster": "ECS_CLUSTER",
    "enable-spot-instance-draining": "ECS_ENABLE_SPOT_INSTANCE_DRAINING",
    "image-pull-behavior": "ECS_IMAGE_PULL_BEHAVIOR",
    "reserved-memory": "ECS_RESERVED_MEMORY",
}
_ATTRIBUTES = "instance-attributes."
_TABLE = re.compile(r"\[([^\[\]]+)\]\s*(?:#.*)?")
_PAIR = re.compile(r"([\w.\"-]+)\s*=\s*(.*)", re.ASCII)
_VALUE = re.compile(r"(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s\"'#\[\]{}]+))\s*(?:#.*)?")


def settings_of_toml(text: str) -> Settings:
    """Settings by the names of the agent's variables.

    Python 3.10 reads no TOML, and these few tables need no more than their lines.
    """
    settings: Settings = {}
    attributes: dict[str, str | Unknown] = {}
    table = ""
    for line in map(str.strip, text.splitlines()):
        header, pair = _TABLE.fullmatch(line), _PAIR.fullmatch(line)
        if header:
            table = header[1].strip() + "."
        elif pair:
            key = (table + pair[1]).replace('"', "").removeprefix("settings.ecs.")
            found = _VALUE.fullmatch(pair[2])
            value = UNKNOWN if found is None else next(each for each in found.groups() if each is not None)
            if key in _VARIABLES:
                settings[_VARIABLES[key]] = value
            elif key.startswith(_ATTRIBUTES):
                attributes[key.removeprefix(_ATTRIBUTES)] = value
    if attributes:
        is_known = not any(isinstance(each, Unknown) for each in attributes.values())
        settings["ECS_INSTANCE_ATTRIBUTES"] = json.dumps(attributes, sort_keys=True) if is_known else UNKNOWN
    return settings
