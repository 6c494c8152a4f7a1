"""Settings of the ECS agent, as lines of its configuration file and the TOML of Bottlerocket write them.

Variables: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html. Files of the agent: the
unit file of amazon-ecs-init (https://github.com/aws/amazon-ecs-agent, packaging). Bottlerocket:
https://bottlerocket.dev/en/os/latest/api/settings/ecs/.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from gpu_constructs.fleet import INSTANCE_ATTRIBUTES, UNKNOWN, Unknown

Settings = dict[str, "str | Unknown"]
"""Agent variables and their values; one that is written with two values is unknown."""

_NAME = r"ECS_[A-Z0-9_]{1,60}"
_FILES = frozenset({"/etc/ecs/ecs.config", "/var/lib/ecs/ecs.config"})
_LINE = re.compile(rf"\s*(?:export\s+)?({_NAME})\s*=(.*)")
_MENTIONED = re.compile(rf"(?<![A-Z0-9_${{])({_NAME})=(?!=)")
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)

# Bottlerocket's names for the variables that a rule asks for.
_VARIABLES = {
    "awsvpc-block-imds": "ECS_AWSVPC_BLOCK_IMDS",
    "cluster": "ECS_CLUSTER",
    "enable-spot-instance-draining": "ECS_ENABLE_SPOT_INSTANCE_DRAINING",
    "image-pull-behavior": "ECS_IMAGE_PULL_BEHAVIOR",
    "reserved-memory": "ECS_RESERVED_MEMORY",
}
_ATTRIBUTES = "instance-attributes."
# A word and something that is neither "=" nor the next part of a key.
_COMMAND = re.compile(r"[A-Za-z][\w./-]*(?:[ \t]+[^=.\s].*)?", re.ASCII)
# A value that is a word without quotes; "…" stands for a name of the deploy.
_BARE = re.compile(r"[\w.\"-]+[ \t]*=[ \t]*(?!(?:true|false|inf|nan)\b)[A-Za-z…][^\s\"'=#]*[ \t]*(?:#.*)?", re.ASCII)
# What begins a value of several lines, which are not looked at.
_GOES_ON = re.compile(r"\"\"\"|'''|[\[{,][ \t]*$", re.MULTILINE)
_TABLE = re.compile(r"\[([^\[\]]+)\]\s*(?:#.*)?")
_PAIR = re.compile(r"([\w.\"-]+)\s*=\s*(.*)", re.ASCII)
_VALUE = re.compile(r"(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s\"'#\[\]{}]+))\s*(?:#.*)?")


def is_configuration(file: str) -> bool:
    """Whether a file is the agent's configuration."""
    return re.sub("/+", "/", file) in _FILES


def settings_in(lines: Iterable[str]) -> Iterator[tuple[str, str | Unknown]]:
    """Settings that are lines of a file; one with a ``$`` is unknown, as something else is put in its place."""
    for found in filter(None, map(_LINE.fullmatch, lines)):
        value = unquoted(found[2].strip())
        yield found[1], UNKNOWN if "$" in value or "`" in value else value


def mentioned(text: str) -> list[str]:
    """The agent variables that a text gives a value in any way, outside of comments."""
    return _MENTIONED.findall(without_comments(text))


def without_comments(text: str) -> str:
    """A text without the lines that are comments."""
    return _COMMENT.sub("", text)


def with_mentioned(settings: Settings, text: str) -> Settings:
    """The settings, and every other variable that a text mentions as unknown."""
    return dict.fromkeys(mentioned(text), UNKNOWN) | settings


def put(settings: Settings, found: Iterable[tuple[str, str | Unknown]], *, certain: bool = True) -> None:
    """Adds settings; one that is not certain, or is there with another value, becomes unknown."""
    for name, value in found:
        settings[name] = value if certain and settings.get(name, value) == value else UNKNOWN


def unquoted(value: str) -> str:
    """A value without the quotes around it."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def not_toml(text: str) -> str:
    """The first line that certainly is no TOML, but a command or a text without quotes; empty without one."""
    if _GOES_ON.search(text):
        return ""
    lines = map(str.strip, text.splitlines())
    return next((line for line in lines if _COMMAND.fullmatch(line) or _BARE.fullmatch(line)), "")


def settings_of_toml(text: str) -> Settings:
    """Settings by the names of the agent's variables.

    Python 3.10 reads no TOML, and these few tables need no more than their lines.
    """
    settings: Settings = {}
    attributes: Settings = {}
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
        settings[INSTANCE_ATTRIBUTES] = (
            UNKNOWN if UNKNOWN in attributes.values() else json.dumps(attributes, sort_keys=True, separators=(",", ":"))
        )
    return settings
