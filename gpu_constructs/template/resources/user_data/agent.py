"""Settings of the ECS agent, as lines of its configuration file write them.

Variables: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html. Files of the agent: the
unit file of amazon-ecs-init (https://github.com/aws/amazon-ecs-agent, packaging).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpu_constructs.fleet import UNKNOWN, Unknown

__all__ = [
    "Settings",
    "is_configuration",
    "mentioned",
    "put",
    "settings_in",
    "unquoted",
    "with_mentioned",
    "without_comments",
]

Settings = dict[str, "str | Unknown"]
"""Agent variables and their values; one that is written with two values is unknown."""

_NAME = r"ECS_[A-Z0-9_]{1,60}"
_FILES = frozenset({"/etc/ecs/ecs.config", "/var/lib/ecs/ecs.config"})
_LINE = re.compile(rf"\s*(?:export\s+)?({_NAME})\s*=(.*)")
_MENTIONED = re.compile(rf"(?<![A-Z0-9_${{])({_NAME})=(?!=)")
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)


def is_configuration(file: str) -> bool:
    """Whether a file is the agent's configuration."""
    return re.sub("/+", "/", file) in _FILES


def settings_in(lines: Iterable[str]) -> Iterator[tuple[str, str | Unknown]]:
    """Settings that are lines of a file; one with a ``$`` is unknown, as something else is put in its place."""
    for each in lines:
        found = _LINE.fullmatch(each)
        if found:
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


def put(settings: Settings, name: str, value: str | Unknown) -> None:
    """Adds a setting; one that is there with another value becomes unknown."""
    settings[name] = value if settings.get(name, value) == value else UNKNOWN


def unquoted(value: str) -> str:
    """A value without the quotes around it."""
    same = len(value) > 1 and value[0] == value[-1] and value[0] in {"'", '"'}
    return value[1:-1] if same else value
