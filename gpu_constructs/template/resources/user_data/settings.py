"""User data in every form that EC2 takes, and the cluster that it names.

Formats: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from email import message_from_string
from email.errors import MessageError

from gpu_constructs.budget import DEPTH, LABEL, USER_DATA
from gpu_constructs.fleet import (
    NO_USER_DATA,
    UNKNOWN,
    LocalDiskUse,
    Unknown,
    UserData,
    UserDataFormat,
    is_resolved_later,
)
from gpu_constructs.template.model import Reference, Text, Value
from gpu_constructs.template.resources.user_data.agent import Settings, put, with_mentioned, without_comments
from gpu_constructs.template.resources.user_data.bottlerocket import settings_of_toml
from gpu_constructs.template.resources.user_data.cloud_config import settings_of_lines
from gpu_constructs.template.resources.user_data.script import settings_of_script

__all__ = [
    "CLUSTER",
    "NOT_KNOWN",
    "AgentSettings",
    "ClusterNamed",
    "agent_settings",
    "agent_settings_within",
    "is_too_long",
]

CLUSTER = "ECS_CLUSTER"

HOLE = "\ue000"
"""Stands on both sides of a number in a text for a piece that is not text."""

# One repetition for each character, so that a text of any size is looked at once.
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]{8,}={0,2}")
_LONGEST_HOLE = len(f"{HOLE}9999{HOLE}")
_HOLE = re.compile(f"{HOLE}([0-9]{{1,4}}){HOLE}")
_OPENS_LINE = re.compile(rf"(?:^|\n)[ \t]*{HOLE}([0-9]{{1,4}}){HOLE}")
_TOML = re.compile(r"^[ \t]*(?:\[[ \t]*settings\b|settings\.)", re.MULTILINE)
_RUNS_OTHERS = re.compile(
    r"^#include|\b(?:ansible|aws|bash|cfn-init|chef|cp|curl|git|mv|perl|puppet|python[0-9.]*|ruby|salt|source|wget)\b",
    re.MULTILINE,
)
# What udev and Bottlerocket call the disks of the instance store, and where container images are.
_LOCAL_DISKS = re.compile(r"nvme-Amazon_EC2_NVMe_Instance_Storage|\"ephemeral-storage\"\s*,\s*\"bind\"")
_HOLDS_PARTS = re.compile(r"(?:multipart|message)/", re.IGNORECASE)
_IMAGES = re.compile(r"/var/lib/(?:docker|containerd)\b|\bdata-root\b")
_SHELL = re.compile(r"#![ \t]*/[a-z/]{0,40}(?:env[ \t]+)?(?:ba|da|k|z|a)?sh\b|#cloud-boothook")

_Piece = Reference | Unknown
ClusterNamed = Callable[[Value], "str | Unknown | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """What user data sets.

    Attributes:
        data: The user data.
        cluster: The cluster that it names, as `Pool.cluster` does; None where it names none, or the default one.
    """

    data: UserData
    cluster: str | Unknown | None = None


NOT_KNOWN = AgentSettings(data=UserData(format=UNKNOWN, complete=False), cluster=UNKNOWN)
"""Settings of hosts whose user data only the deploy knows."""


def agent_settings(value: Value, cluster_named: ClusterNamed) -> AgentSettings:
    """Reads a user data text: a shell script, a cloud-config, MIME parts of both, or Bottlerocket's TOML.

    A setting that has a piece of the deploy in it is unknown, but for ``ECS_CLUSTER``: where a reference says which
    cluster is meant, it is what `Pool.cluster` calls that one. A script that runs another one is not complete, and
    neither is one with a line that begins with something unknown; a piece within a line changes that line alone.
    """
    if value is None:
        return AgentSettings(data=NO_USER_DATA)
    text, pieces = _flat(value)
    if text is None:
        return NOT_KNOWN
    plain = _decoded(text)
    format_, settings, fetches = _read(plain)
    complete = format_ is not UserDataFormat.OTHER and not fetches and not _is_unknown_line(text, pieces)
    read = _agent_settings(format_, settings, pieces, cluster_named, complete=complete)
    return replace(read, data=replace(read.data, local_disks=_local_disks(plain)))


def agent_settings_within(value: Value, cluster_named: ClusterNamed) -> AgentSettings:
    """Settings of the agent in one command, or in the content of one file."""
    text, pieces = _flat(value)
    settings = settings_of_lines(text) if text is not None else {}
    return _agent_settings(UserDataFormat.OTHER, settings, pieces, cluster_named, complete=False)


def is_too_long(value: Value) -> bool:
    """Whether a text is longer than what is read, which is far longer than EC2 takes."""
    pieces = value.pieces if isinstance(value, Text) else (value,)
    return sum(len(each) if isinstance(each, str) else _LONGEST_HOLE for each in pieces) > USER_DATA


def _agent_settings(
    form: UserDataFormat,
    settings: Settings,
    pieces: tuple[_Piece, ...],
    cluster_named: ClusterNamed,
    *,
    complete: bool,
) -> AgentSettings:
    written = {name: _filled(setting, pieces) for name, setting in settings.items()}
    agent = {name: value if isinstance(value, str) else UNKNOWN for name, value in written.items()}
    cluster = cluster_named(written[CLUSTER]) if CLUSTER in written else None
    if isinstance(written.get(CLUSTER), Reference) and cluster is not None:
        agent[CLUSTER] = cluster
    ordered = tuple(sorted(agent.items(), key=lambda each: each[0]))
    return AgentSettings(data=UserData(format=form, agent=ordered, complete=complete), cluster=cluster)


def _local_disks(text: str) -> LocalDiskUse:
    text = without_comments(text)
    if not _LOCAL_DISKS.search(text):
        return LocalDiskUse.NONE
    return LocalDiskUse.IMAGES if _IMAGES.search(text) else LocalDiskUse.SCRATCH


def _flat(value: Value) -> tuple[str | None, tuple[_Piece, ...]]:
    """The text with a numbered hole for each piece that is not text; None if there is no text to read."""
    if not isinstance(value, (str, Text)) or is_too_long(value):
        return None, ()
    pieces: list[_Piece] = []
    written: list[str] = []
    for each in value.pieces if isinstance(value, Text) else (value,):
        if isinstance(each, str):
            written.append(each.replace(HOLE, ""))
        else:
            written.append(f"{HOLE}{len(pieces)}{HOLE}")
            pieces.append(each)
    return "".join(written), tuple(pieces)


def _decoded(text: str) -> str:
    plain = _from_base64(text) if _BASE64.fullmatch(text.strip()) else None
    return text if plain is None else plain


def _from_base64(text: str) -> str | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8").replace(HOLE, "")
    except ValueError:
        return None


def _read(text: str) -> tuple[UserDataFormat, Settings, bool]:
    """The form, the settings, and whether more may be set by something that is fetched."""
    start = text.lstrip()[:LABEL].lower()
    if start.startswith(("mime-version:", "content-type: multipart/")):
        settings: Settings = {}
        parts = _parts(text.lstrip())
        fetches = parts is None
        for part in parts or ():
            _, found, fetched = _read_part(part)
            for name, value in found.items():
                put(settings, name, value)
            fetches |= fetched
        return UserDataFormat.MIME, settings, fetches
    return _read_part(text)


def _read_part(text: str) -> tuple[UserDataFormat, Settings, bool]:
    start = text.lstrip()[:LABEL].lower()
    fetches = bool(_RUNS_OTHERS.search(text))
    template = start.startswith("## template:")
    if template:
        start = start.partition("\n")[2].lstrip()
    if _SHELL.match(start):
        settings, complete = settings_of_script(text)
        return UserDataFormat.SHELL, settings, template or not complete
    if start.startswith("#!"):
        # A program in another language, which is not read.
        return UserDataFormat.SHELL, with_mentioned({}, text), True
    if start.startswith("#cloud-config"):
        return UserDataFormat.CLOUD_CONFIG, settings_of_lines(text), template or fetches
    if _TOML.search(text):
        return UserDataFormat.TOML, settings_of_toml(text), False
    # An empty script sets nothing; anything else is in a form that is not known here.
    return (UserDataFormat.OTHER if start else UserDataFormat.NONE), {}, bool(start)


def _parts(text: str) -> list[str] | None:
    """The texts of a message; None if it cannot be read. The parser goes as deep as parts hold parts."""
    if len(_HOLDS_PARTS.findall(text)) > DEPTH:
        return None
    found: list[str] = []
    try:
        for part in message_from_string(text).walk():
            body = part.get_payload()
            if isinstance(body, str):
                is_base64 = str(part.get("Content-Transfer-Encoding", "")).strip().lower() == "base64"
                found.append((_from_base64(body) or "") if is_base64 else body)
    except (MessageError, ValueError, LookupError, RecursionError):
        return None
    return found


def _filled(setting: str | Unknown, pieces: tuple[_Piece, ...]) -> str | Reference | Unknown:
    """A setting with its piece in place; unknown where it is more than the piece."""
    if isinstance(setting, Unknown) or is_resolved_later(setting):
        return UNKNOWN
    if HOLE not in setting:
        return setting
    hole = _HOLE.fullmatch(setting)
    return pieces[int(hole[1])] if hole else UNKNOWN


def _is_unknown_line(text: str, pieces: tuple[_Piece, ...]) -> bool:
    return any(isinstance(pieces[int(hole[1])], Unknown) for hole in _OPENS_LINE.finditer(text))
