"""Settings of the ECS agent, as shell scripts, cloud-config and Bottlerocket's TOML write them.

Nothing is executed: lines are looked at one by one, and what a line does not say in plain words is unknown. Variables:
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html; Bottlerocket:
https://bottlerocket.dev/en/os/latest/api/settings/ecs/
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from gpu_constructs.fleet import UNKNOWN, Unknown

__all__ = ["HOLE", "Settings", "settings_of_lines", "settings_of_toml"]

HOLE = "\ue000"
"""Stands on both sides of a number in a text for a piece that is no text."""

Settings = dict[str, "str | Unknown"]
"""Agent variables and their values, the last one of each."""

_LONGEST_LINE = 4096

_NAME = r"ECS_[A-Z0-9_]{1,60}"
_ANYWHERE = re.compile(rf"(?:(?<![A-Za-z0-9_$\{{])|(?<=\\n)){_NAME}=(?!=)")
_WHOLE_LINE = re.compile(rf"(?:export\s+)?({_NAME})\s*=\s*(.*)")
_LOCAL = re.compile(r"(?:export\s+|local\s+|readonly\s+)?([A-Za-z_][A-Za-z0-9_]{0,60})=(\S*)")
_HERE = re.compile(r"(?<!<)<<-?\s*(\\?)(['\"]?)([A-Za-z_][A-Za-z0-9_]{0,60})\2")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_EDITS = re.compile(r"(?:sudo\s+)?(?:sed|awk|perl)\b|.{0,200}%s")
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


def settings_of_lines(text: str, *, is_shell: bool) -> Settings:
    """What a script or a cloud-config writes into the agent's configuration file, as far as its lines say so.

    Args:
        text: The whole text; a piece that is no text is a number between two `HOLE`.
        is_shell: Whether lines are commands, so that words end where a shell ends them; else, and between the marks of
            a here-document, a line may be a setting as a whole.
    """
    settings: Settings = {}
    local: dict[str, str] = {}
    for line, is_file in _lines(text, is_shell=is_shell):
        if line.startswith("#"):
            continue
        whole = _WHOLE_LINE.fullmatch(line) if is_file else None
        found = [(whole[1], whole[2].strip())] if whole else list(_assignments(line))
        for name, value in found:
            settings[name] = _value(value, local)
        if not found and not is_file:
            assigned = _LOCAL.match(line)
            if assigned:
                local[assigned[1]] = assigned[2].rstrip(";")
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


def _lines(text: str, *, is_shell: bool) -> Iterator[tuple[str, bool]]:
    """Lines without their indentation, and whether each is the content of a file."""
    end: str | None = None
    for each in text.splitlines():
        line = each[:_LONGEST_LINE].strip()
        if end is not None:
            if line == end:
                end = None
            else:
                yield line, True
            continue
        yield line, not is_shell
        here = _HERE.search(line) if "<<" in line else None
        end = here[3] if here else None


def _assignments(line: str) -> Iterable[tuple[str, str]]:
    """Every ``NAME=value`` of a line of shell, with the value as the shell takes it."""
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


def _value(written: str, local: dict[str, str]) -> str | Unknown:
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
