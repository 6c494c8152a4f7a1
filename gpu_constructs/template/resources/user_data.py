"""User data in every form that EC2 takes, what ``cfn-init`` adds to it, and the cluster that it names.

Formats: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html and
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-init.html
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from email import message_from_string
from email.errors import MessageError
from functools import partial

from gpu_constructs.facts.budget import DEPTH, LABEL, USER_DATA
from gpu_constructs.facts.names import IN_BOTTLEROCKET
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import (
    INSTANCE_ATTRIBUTES,
    NAME_OF_DEPLOY,
    NO_USER_DATA,
    PIECE,
    UNKNOWN,
    HostAction,
    LocalDiskUse,
    Unknown,
    UserData,
    UserDataFormat,
    is_resolved_later,
    without_comments,
)
from gpu_constructs.template.model import Placeholder, Reference, Resource, Text, Value, pieces_of
from gpu_constructs.template.resources.agent_script import (
    Settings,
    is_configuration,
    put,
    settings_in,
    settings_of_script,
    unquoted,
    with_mentioned,
)
from gpu_constructs.template.texts import HOLE, joined, with_holes, without_holes

CLUSTER = "ECS_CLUSTER"

# One repetition for each character, so that a text of any size is looked at once.
_GZIPPED = "H4sI"  # in base64; cloud-init unpacks it, and what is in it is not read here
_BASE64 = r"[A-Za-z0-9+/\s]{8,}={0,2}"
_LONGEST_HOLE = len(f"{PIECE}9999{PIECE}")
_OPENS_LINE = rf"(?:^|\n)[ \t]*{HOLE}"
_LINES = "#cloud-config"
_TOML = r"(?m)^[ \t]*(?:\[[ \t]*settings\b|settings\.)"
_RUNS_OTHERS = (
    r"(?m)^#include|^[ \t-]*encoding:"  # of a file, whose content is not read then
    r"|\b(?:ansible|aws|bash|cfn-init|chef|cp|curl|git|mv|perl|puppet|python[0-9.]*|ruby|salt|source|wget)\b"
)
# What udev and Bottlerocket call the disks of the instance store, and where container images are.
_LOCAL_DISKS = r"nvme-Amazon_EC2_NVMe_Instance_Storage|\"ephemeral-storage\"\s*,\s*\"bind\""
_IMAGES = r"/var/lib/(?:docker|containerd)\b|\bdata-root\b"
_DECLARED = "text/x-shellscript"
_NO_PROGRAM = rf"\s*(?!#!|## template:|{_GZIPPED}|{HOLE})\S"  # jinja and base64 may hide the line with #!
_SHELL = r"#![ \t]*/[a-z/]{0,40}(?:env[ \t]+)?(?:ba|da|k|z|a)?sh\b|#cloud-boothook"
_SCRIPT = r"(?i)\s*(?:## template:[^\n]*\s+)?(?:#!|#cloud-boothook)"

# Words of commands for each action. User data that has none of them, and runs no other program, does not perform it.
# Commands that start an installed program count as commands that install one.
_DONE_BY = {
    HostAction.SIGNALS: re.compile("(?<!--)signal", re.IGNORECASE),  # --signal is an option of kill and systemctl
    HostAction.COMPLETES_HOOKS: re.compile("lifecycle", re.IGNORECASE),
    HostAction.INSTALLS: re.compile(
        r"\b(?:amazon-linux-extras|apt|apt-get|bootstrap-containers|dnf|docker|dpkg|packages|podman|rpm|service|snap"
        r"|systemctl|yum)\b"
    ),
}

_VARIABLES = {name: variable for variable, name in IN_BOTTLEROCKET.items()}
_ATTRIBUTES = "instance-attributes."
_TABLE = r"\[([^\[\]]+)\]\s*(?:#.*)?"
_PAIR = r"(?a)([\w.\"/-]+)\s*=\s*(.*)"
_VALUE = r"(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s\"'#\[\]{}]+))\s*(?:#.*)?"
_LAST_OF_LIST = r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*')\s*\]$"


ClusterNamed = Callable[[Value], "str | Unknown | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """What user data sets.

    Attributes:
        cluster: The cluster that it names, as `Pool.cluster` does; None where it names none, or the default one.
    """

    data: UserData
    cluster: str | Unknown | None = None


NONE_GIVEN = AgentSettings(data=replace(NO_USER_DATA, actions_never_taken=frozenset(HostAction)))
"""Settings of hosts without user data."""

NOT_KNOWN = AgentSettings(data=UserData(format=UNKNOWN, complete=False), cluster=UNKNOWN)
"""Settings of hosts whose user data only the deploy knows."""


def agent_settings(value: Value, cluster_named: ClusterNamed) -> AgentSettings:
    """Reads a user data text: a shell script, a cloud-config, MIME parts of both, or Bottlerocket's TOML.

    A setting that has a piece of the deploy in it is unknown, but for ``ECS_CLUSTER``: where a reference says which
    cluster is meant, it is what `Pool.cluster` calls that one. A script that runs another one is not complete, and
    neither is one with a line that begins with something unknown; a piece within a line changes that line alone.
    """
    if value is None:
        return NONE_GIVEN
    flat = _flat(value)
    if flat is None or flat[0].lstrip().startswith(_GZIPPED):
        return NOT_KNOWN
    text, pieces = flat
    plain = _of_unix(_from_base64(text, otherwise=text) if re.fullmatch(_BASE64, text.strip()) else text)
    parts = _parts(plain)
    form, settings, fetches = _read(plain, parts)
    begins_unknown = any(
        isinstance(pieces[int(hole[1])], (Placeholder, Unknown)) for hole in re.finditer(_OPENS_LINE, text)
    )
    complete = form is not UserDataFormat.OTHER and not fetches and not begins_unknown
    written = partial(
        re.sub, HOLE, lambda hole: NAME_OF_DEPLOY if isinstance(pieces[int(hole[1])], Reference) else PIECE
    )
    commands = without_comments(plain)
    never_done = (each for each, words in _DONE_BY.items() if not words.search(commands))
    data = UserData(
        format=form,
        complete=complete,
        actions_never_taken=frozenset(never_done if complete else ()),
        local_disks=_local_disks(commands),
        text=written(plain),
        scripts=tuple(written(each) for each in map(_script, parts or ()) if each),
        never_run=next((written(each.split("\n")[1]) for each in parts or () if each.startswith(_DECLARED)), ""),
    )
    return _agent_settings(data, settings, pieces, cluster_named)


def with_init_metadata(found: AgentSettings, resource: Resource, cluster_named: ClusterNamed) -> AgentSettings:
    """User data with the settings that it leaves to the commands and files of ``cfn-init``, which may not be all."""
    if not resource.init or found.data.complete:
        return found
    own, agent = dict(found.data.agent), dict[str, "str | Unknown"]()
    cluster: str | Unknown | None = None
    for text, pieces in filter(None, map(_flat, _texts(resource.init))):
        more = _agent_settings(found.data, _settings_of_lines(text), pieces, cluster_named)
        agent |= dict(more.data.agent)
        cluster = more.cluster if more.data.get(CLUSTER) is not None else cluster
    return AgentSettings(
        data=replace(found.data, agent=_ordered(agent | own)),
        cluster=found.cluster if CLUSTER in own or CLUSTER not in agent else cluster,
    )


def _texts(value: Value) -> Iterator[str | Text]:
    """Every text in it that may name the agent's variables."""
    if isinstance(value, (str, Text)):
        if any(isinstance(each, str) and "ECS_" in each for each in pieces_of(value)):
            yield value
    elif isinstance(value, (Mapping, Sequence)):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def is_too_long(value: Value) -> bool:
    """Whether a text is longer than what is read, which is far longer than EC2 takes."""
    return sum(len(each) if isinstance(each, str) else _LONGEST_HOLE for each in pieces_of(value)) > USER_DATA


def _agent_settings(
    data: UserData, settings: Settings, pieces: Sequence[Value], cluster_named: ClusterNamed
) -> AgentSettings:
    """The settings; the cluster is the one that is meant, also where its name is in quotes, which the agent keeps."""
    written = {name: _filled(setting, pieces) for name, setting in settings.items()}
    agent = {name: value if isinstance(value, str) else UNKNOWN for name, value in written.items()}
    setting = settings.get(CLUSTER)
    name = unquoted(setting.strip()) if isinstance(setting, str) else setting
    value = None if name is None else _filled(name, pieces)
    cluster = None if value is None else cluster_named(value)
    if isinstance(value, (Reference, Text)) and cluster is not None:
        agent[CLUSTER] = cluster
    if isinstance(setting, str) and name != setting.strip():
        called = value if isinstance(value, str) else cluster if isinstance(cluster, str) else NAME_OF_DEPLOY
        agent[CLUSTER] = called.join((setting.strip()[0],) * 2)
    return AgentSettings(data=replace(data, agent=_ordered(agent)), cluster=cluster)


def _ordered(agent: Settings) -> tuple[tuple[str, str | Unknown], ...]:
    return tuple((name, agent[name]) for name in sorted(agent))


def _local_disks(commands: str) -> LocalDiskUse:
    if not re.search(_LOCAL_DISKS, commands):
        return LocalDiskUse.NONE
    return LocalDiskUse.IMAGES if re.search(_IMAGES, commands) else LocalDiskUse.SCRATCH


def _flat(value: Value) -> tuple[str, list[Value]] | None:
    """The text with a hole for each piece that is not text, and these pieces; None without a text to read."""
    return with_holes(pieces_of(value)) if isinstance(value, (str, Text)) and not is_too_long(value) else None


def _from_base64(text: str, *, otherwise: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8").replace(PIECE, "")
    except ValueError:
        return otherwise


def _of_unix(text: str) -> str:
    """A text without the line ends of Windows, which cloud-init takes away where the first line has one."""
    return text.replace("\r\n", "\n") if text.partition("\n")[0].endswith("\r") else text


def _read(text: str, parts: Sequence[str] | None) -> tuple[UserDataFormat, Settings, bool]:
    """The form, the settings, and whether more may be set by something that is fetched."""
    found = [_read_part(each) for each in parts or ()]
    if not _is_archive(text):
        return found[0]
    settings: Settings = {}
    for _, each, _ in found:
        put(settings, each.items())
    return UserDataFormat.MIME, settings, parts is None or any(fetches for _, _, fetches in found)


def _read_part(text: str) -> tuple[UserDataFormat, Settings, bool]:
    start = text.lstrip()[:LABEL].lower()
    template = start.startswith("## template:")
    if template:
        start = start.partition("\n")[2].lstrip()
    if re.match(_SHELL, start):
        settings, complete = settings_of_script(text)
        return UserDataFormat.SHELL, settings, template or not complete
    if start.startswith("#!"):
        # A program in another language, which is not read.
        return UserDataFormat.SHELL, with_mentioned({}, text), True
    if start.startswith(_LINES):
        is_open = template or re.search(_RUNS_OTHERS, text) is not None
        return UserDataFormat.CLOUD_CONFIG, _settings_of_lines(text), is_open
    if re.search(_TOML, text):
        return UserDataFormat.TOML, _settings_of_toml(text), False
    # An empty script sets nothing; anything else is in a form that is not known here.
    return (UserDataFormat.OTHER if start else UserDataFormat.NONE), {}, bool(start)


def _is_archive(text: str) -> bool:
    return text.lstrip()[:LABEL].lower().startswith(("mime-version:", "content-type: multipart/"))


def _parts(text: str) -> list[str] | None:
    """A text, or those of an archive; None if it cannot be read. The parser goes as deep as parts hold parts."""
    if not _is_archive(text):
        return [text]
    if len(re.findall(r"(?i)(?:multipart|message)/", text)) > DEPTH:
        return None
    found: list[str] = []
    try:
        for part in message_from_string(text.lstrip()).walk():
            body = part.get_payload()
            if isinstance(body, str):
                is_base64 = str(part.get("Content-Transfer-Encoding", "")).strip().lower() == "base64"
                # A part in Fn::Base64 is still the text before it is encoded.
                body = _of_unix(_from_base64(body, otherwise=body) if is_base64 else body)
                # cloud-init goes by the type of a part, and by how it begins only where that says nothing.
                kind = part.get_content_type()
                is_lines = kind == "text/cloud-config" and not body.startswith(_GZIPPED)
                is_declared = kind == _DECLARED and re.match(_NO_PROGRAM, body)
                opening = _LINES if is_lines else _DECLARED if is_declared else ""
                found.append(f"{opening}\n{body.lstrip()}" if opening else body)
    except (MessageError, ValueError, LookupError, RecursionError):
        return None
    return found


def _filled(setting: str | Unknown, pieces: Sequence[Value]) -> Value:
    """A setting with its pieces in place; unknown where one of them is."""
    if isinstance(setting, Unknown) or is_resolved_later(setting):
        return UNKNOWN
    found = joined(without_holes(setting, pieces))
    return UNKNOWN if UNKNOWN in pieces_of(found) else found


def _settings_of_lines(text: str) -> Settings:
    """Settings in cloud-config, a command or the content of a file, and all else that it mentions as unknown.

    https://cloudinit.readthedocs.io/en/latest/reference/modules.html
    """
    settings: Settings = {}
    commands: list[str] = []
    is_certain, keeps_quotes = True, False  # which the lines of the configuration do, and others may not
    for line in map(str.strip, text.splitlines()):
        path = re.fullmatch(r"(?:-\s+)?path:\s*(\S+)", line)
        found = list(settings_in([line]))
        if path:
            is_certain = keeps_quotes = is_configuration(unquoted(path[1]))
        elif not found:
            commands.append(_item(line))
        if not keeps_quotes:
            found = [(name, value if isinstance(value, Unknown) else unquoted(value)) for name, value in found]
        put(settings, found, certain=is_certain)
    put(settings, settings_of_script("\n".join(commands))[0].items())
    return with_mentioned(settings, text)


def _script(part: str) -> str:
    """A script, or the commands of a cloud-config as one; empty for anything else."""
    if re.match(_SCRIPT, part):
        return part
    lines = map(str.strip, part.splitlines()) if part.lstrip().startswith(_LINES) else ()
    return "\n".join(_item(each) for each in lines if each.startswith("- "))


def _item(line: str) -> str:
    """An item of ``runcmd`` as a command: a text, or a list of which the last word is given to a shell."""
    item = line.removeprefix("- ").strip()
    last = re.search(_LAST_OF_LIST, item) if item.startswith("[") else None
    item = last[1] if last else item
    if item == unquoted(item):
        return item
    return re.sub(r"\\([\"\\/])", r"\1", item[1:-1]) if item[0] == '"' else item[1:-1].replace("''", "'")


def _settings_of_toml(text: str) -> Settings:
    """Settings by the names of the agent's variables.

    Python 3.10 reads no TOML, and these few tables need no more than their lines.
    """
    settings: Settings = {}
    attributes: Settings = {}
    table = ""
    for line in map(str.strip, text.splitlines()):
        header, pair = re.fullmatch(_TABLE, line), re.fullmatch(_PAIR, line)
        if header:
            table = header[1].strip() + "."
        elif pair:
            key = (table + pair[1]).replace('"', "").removeprefix("settings.ecs.")
            found = re.fullmatch(_VALUE, pair[2])
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
