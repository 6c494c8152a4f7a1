"""Settings of the ECS agent, as commands, cloud-config and Bottlerocket's TOML write them.

Nothing is executed: lines are looked at one by one, and what a line does not say in plain words is unknown. Variables:
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html; Bottlerocket:
https://bottlerocket.dev/en/os/latest/api/settings/ecs/
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from gpu_constructs.fleet import UNKNOWN, Unknown

__all__ = [
    "HOLE",
    "NAME",
    "Settings",
    "assignments",
    "is_configuration",
    "put",
    "settings_of_lines",
    "settings_of_toml",
    "value_of",
    "whole_lines",
]

HOLE = "\ue000"
"""Stands on both sides of a number in a text for a piece that is no text."""

Settings = dict[str, "str | Unknown"]
"""Agent variables and their values; one that is written with two values is unknown."""

_LONGEST_LINE = 4096

NAME = r"ECS_[A-Z0-9_]{1,60}"
"""Pattern of the name of an agent variable."""

_FILES = frozenset({"/etc/ecs/ecs.config", "/var/lib/ecs/ecs.config"})
_ANYWHERE = re.compile(rf"(?:(?<![A-Za-z0-9_$\{{])|(?<=\\n)){NAME}=(?!=)")
_WHOLE_LINE = re.compile(rf"(?:export\s+)?({NAME})\s*=\s*(.*)")
_PATH = re.compile(r"(?:-\s+)?path:\s*(\S+)")
_REDIRECTED = re.compile(r"(?:>>?\s*|\btee\s+(?:-a\s+)?)([^\s'\";&|>\])]+)")
_DEPENDS = re.compile(r"&&|\|\||\b(?:if|for|while|case)\b")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_EDITS = re.compile(r"(?:sudo\s+)?(?:sed|awk|perl)\b|.{0,200}%s", re.DOTALL)
_CLOSES = {"{": "}", "[": "]"}
_ENDS_WORD = re.compile(r"[\s;|&<>()'\"\]]|\\n")

# Bottlerocket's names for the agent's variables; the second group means the opposite of the variable.
_BOTTLEROCKET = {
    "awsvpc-block-imds": "ECS_AWSVPC_BLOCK_IMDS",
    "backend-host": "ECS_BACKEND_HOST",
    "cluster": "ECS_CLUSTER",
    "container-stop-timeout": "ECS_CONTAINER_STOP_TIMEOUT",
    "enable-container-metadata": "ECS_ENABLE_CONTAINER_METADATA",
    "enable-spot-instance-draining": "ECS_ENABLE_SPOT_INSTANCE_DRAINING",
    "image-cleanup-age": "ECS_IMAGE_MINIMUM_CLEANUP_AGE",
    "image-cleanup-delete-per-cycle": "ECS_NUM_IMAGES_DELETE_PER_CYCLE",
    "image-cleanup-wait": "ECS_IMAGE_CLEANUP_INTERVAL",
    "image-pull-behavior": "ECS_IMAGE_PULL_BEHAVIOR",
    "logging-drivers": "ECS_AVAILABLE_LOGGING_DRIVERS",
    "loglevel": "ECS_LOGLEVEL",
    "reserved-memory": "ECS_RESERVED_MEMORY",
    "task-cleanup-wait": "ECS_ENGINE_TASK_CLEANUP_WAIT_DURATION",
}
_BOTTLEROCKET_OPPOSITE = {
    "allow-privileged-containers": "ECS_DISABLE_PRIVILEGED",
    "image-cleanup-enabled": "ECS_DISABLE_IMAGE_CLEANUP",
}
_ATTRIBUTES = "ECS_INSTANCE_ATTRIBUTES"
_OPPOSITE = {"true": "false", "false": "true"}
_TABLE = re.compile(r"\[([^\[\]]{1,200})\]\s*(?:#.*)?")
_KEY = re.compile(r"((?:[A-Za-z0-9_.-]|\"[^\"]*\"){1,200})\s*=\s*(.*)")
_TOML_STRING = re.compile(r"(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')\s*(?:#.*)?")
_TOML_BARE = re.compile(r"([A-Za-z0-9_+.:-]{1,60})\s*(?:#.*)?")


def settings_of_lines(text: str) -> Settings:
    """What a cloud-config writes into the agent's configuration file, as far as its lines say so.

    Args:
        text: The whole text; a piece that is no text is a number between two `HOLE`.
    """
    settings: Settings = {}
    path: str | None = None
    for each in text.splitlines():
        line = each[:_LONGEST_LINE].strip()
        if line.startswith("#"):
            continue
        written = _PATH.fullmatch(line)
        path = _unquoted(written[1]) if written else path
        whole = _WHOLE_LINE.fullmatch(line)
        found = [(whole[1], whole[2].strip())] if whole else list(assignments(line))
        file = _REDIRECTED.search(line)
        elsewhere = not is_configuration(path) if whole and path else file is not None and not is_configuration(file[1])
        for name, value in found:
            depends = elsewhere or (whole is None and _DEPENDS.search(line))
            put(settings, name, UNKNOWN if depends else value_of(value, {}))
    return settings


def settings_of_toml(text: str) -> Settings:
    """What Bottlerocket is told about its agent, in the words of the agent's variables.

    Args:
        text: The whole text; a piece that is no text is a number between two `HOLE`.
    """
    settings: Settings = {}
    attributes: dict[str, str | Unknown] = {}
    table = ""
    for each in text.splitlines():
        line = each[:_LONGEST_LINE].strip()
        header = _TABLE.fullmatch(line)
        if header:
            table = header[1].replace('"', "").replace(" ", "") + "."
            continue
        pair = _KEY.fullmatch(line)
        if pair is None:
            continue
        key, value = (table + pair[1].replace('"', "")).removeprefix("settings.ecs."), _toml_value(pair[2])
        if key in _BOTTLEROCKET:
            settings[_BOTTLEROCKET[key]] = value
        elif key in _BOTTLEROCKET_OPPOSITE:
            settings[_BOTTLEROCKET_OPPOSITE[key]] = _OPPOSITE.get(value, UNKNOWN) if isinstance(value, str) else value
        elif key.startswith("instance-attributes."):
            attributes[key.removeprefix("instance-attributes.")] = value
    if attributes:
        known = {name: value for name, value in attributes.items() if isinstance(value, str)}
        settings[_ATTRIBUTES] = json.dumps(known, sort_keys=True) if len(known) == len(attributes) else UNKNOWN
    return settings


def is_configuration(file: str) -> bool:
    """Whether a file is the agent's configuration.

    Args:
        file: Its path.
    """
    return re.sub("/{2,}", "/", file[:_LONGEST_LINE]) in _FILES


def put(settings: Settings, name: str, value: str | Unknown) -> None:
    """Adds a setting; one that is there with another value becomes unknown.

    Args:
        settings: What is there.
        name: The variable.
        value: Its value.
    """
    settings[name] = value if settings.get(name, value) == value else UNKNOWN


def whole_lines(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Settings that are lines of a file.

    Args:
        lines: The lines.
    """
    for each in lines:
        found = _WHOLE_LINE.fullmatch(each[:_LONGEST_LINE].strip())
        if found:
            yield found[1], found[2].strip()


def assignments(line: str) -> Iterator[tuple[str, str]]:
    """Every ``NAME=value`` of a line of shell, with the value as the shell takes it.

    Args:
        line: A command, or a word of one.
    """
    line = line[:_LONGEST_LINE]
    for found in _ANYWHERE.finditer(line):
        # What sed and printf write, only they know.
        word = "$" if _EDITS.match(line) else _word(line[found.start() - 1 : found.start()], line[found.end() :])
        yield found[0][:-1], word


def _word(before: str, rest: str) -> str:
    quote = before if before in {"'", '"'} else ""
    if rest[:1] in _CLOSES:
        # JSON, its quotes escaped where it stands in double ones.
        return rest[: rest.rfind(_CLOSES[rest[0]]) + 1].replace('\\"', '"')
    if rest[:1] in {"'", '"'} and rest[:1] != quote:
        return rest[1:].partition(rest[0])[0]
    if rest.startswith('\\"'):
        return rest[2:].partition('\\"')[0]
    if quote and "\\n" not in rest:
        return rest.partition(quote)[0]
    return _ENDS_WORD.split(rest, maxsplit=1)[0]


def value_of(written: str, local: Mapping[str, str]) -> str | Unknown:
    """A value without its quotes; unknown where the shell puts something else in its place.

    Args:
        written: As written.
        local: Variables of the script.
    """
    value = _unquoted(written)
    variable = _VARIABLE.fullmatch(value)
    if variable:
        value = _unquoted(local.get(variable[1] or variable[2], value))
    return UNKNOWN if "$" in value or "`" in value else value


def _unquoted(value: str) -> str:
    same = len(value) > 1 and value[0] == value[-1] and value[0] in {"'", '"'}
    return value[1:-1] if same else value


def _toml_value(written: str) -> str | Unknown:
    text = _TOML_STRING.fullmatch(written)
    if text:
        return text[1] if text[1] is not None else text[2]
    bare = _TOML_BARE.fullmatch(written)
    if bare:
        return bare[1]
    if written.startswith("[") and written.endswith("]"):
        return written
    return written if written.startswith(HOLE) else UNKNOWN
