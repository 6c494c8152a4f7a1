"""What is wrong with the text of user data, as far as that shows without running it."""

from __future__ import annotations

import re

from gpu_constructs.fleet import NAME_OF_DEPLOY, PIECE, UserData, UserDataFormat

_CLUSTER = "ECS_CLUSTER"
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
# What cloud-init knows a part by, and in how much of the text it looks for the header of a message.
_STARTS = ("#!", "#cloud-", "#include", "#part-handler", "#upstart-job", "## template:", PIECE, NAME_OF_DEPLOY)
_HEADER = 4096
# The only word behind the name, such as ${Cluster} or ${AWS::StackName}, which the shell takes for variables.
_FROM_VARIABLE = re.compile(
    rf"^[^#\n]*\b{_CLUSTER}=[\"']?\$\{{?([A-Za-z_][\w.]*(?:::\w+)?)\}}?[\"']?(?=[\s;>|\"']|$)", re.MULTILINE
)
# Commands that give variables values which the script does not show.
_SETS_VARIABLES = re.compile(r"(?:^|[\s;&|(])(?:\.|source|eval|read|readarray|mapfile|set[ \t]+-a|envsubst|sed)\s")
_SET_ANYWAY = frozenset({"", "HOME", "HOSTNAME", "INSTANCE_ID", "PATH", "PWD", "SHELL", "USER"})
_STARTS_AGENT = re.compile(
    r"^[ \t]*((?:sudo[ \t]+)?systemctl[ \t]+(?:re)?start[ \t]+(?:ecs|amazon-ecs)(?:\.service)?)[ \t]*$", re.MULTILINE
)
_EXIT = re.compile(r"^exit\b[ \t\d]*$", re.MULTILINE)
# A word and something that is neither "=" nor the next part of a key.
_COMMAND = re.compile(r"[A-Za-z][\w./-]*(?:[ \t]+[^=.\s].*)?", re.ASCII)
# A value that is a word without quotes; a name of the deploy never is in quotes.
_BARE = re.compile(
    rf"[\w.\"-]+[ \t]*=[ \t]*(?!(?:true|false|inf|nan)\b)[A-Za-z{NAME_OF_DEPLOY}][^\s\"'=#]*[ \t]*(?:#.*)?", re.ASCII
)
# What begins a value of several lines, which are not looked at.
_GOES_ON = re.compile(r"\"\"\"|'''|[\[{,][ \t]*$", re.MULTILINE)


def least_bytes(data: UserData) -> int:
    """Bytes that user data certainly has, before it is encoded."""
    return len(data.text.replace(PIECE, "").replace(NAME_OF_DEPLOY, "").encode(errors="replace"))


def not_run(data: UserData) -> str:
    """Why cloud-init does not run user data as a script; empty if it does, or may.

    It looks for what a part begins with behind blanks, writes it into a file as it is, and has the kernel run that
    (https://github.com/canonical/cloud-init, handlers/__init__.py and shell_script.py). Old releases do not look behind
    blanks, and run nothing. Line ends of Windows are replaced.
    """
    if data.format is UserDataFormat.SHELL and data.text[:1].isspace() and data.text.lstrip().startswith("#!"):
        return "has a blank before #!"
    start = data.text.lstrip().lower()
    is_known = start.startswith(_STARTS) or "mime-version:" in start[:_HEADER]
    return "" if data.format is not UserDataFormat.OTHER or is_known else "does not begin with #!"


def not_toml(data: UserData) -> str:
    """The first line that certainly is no TOML, but a command or a text without quotes; empty without one."""
    if data.format is not UserDataFormat.TOML or not data.complete or _GOES_ON.search(data.text):
        return ""
    lines = map(str.strip, data.text.splitlines())
    return next((line for line in lines if _COMMAND.fullmatch(line) or _BARE.fullmatch(line)), "")


def ends_early(data: UserData) -> bool:
    """Whether a script that sets no cluster has one behind its end."""
    before, named, _ = _COMMENT.sub("", data.text).partition(f"{_CLUSTER}=")
    return bool(named) and _EXIT.search(before) is not None


def without_value(data: UserData) -> str:
    """The variable that a script takes for the name of the cluster and certainly gives no value; empty without one."""
    if data.format is not UserDataFormat.SHELL:
        return ""
    named, plain = _FROM_VARIABLE.findall(data.text), _COMMENT.sub("", data.text)
    variable = named[0] if len(named) == 1 == plain.count(f"{_CLUSTER}=") and not _SETS_VARIABLES.search(plain) else ""
    is_set = re.search(rf"\b{re.escape(variable)}\b(?!\}})", plain.replace(f"${variable}", ""))
    return "" if variable in _SET_ANYWAY or is_set else variable


def waits_for_agent(data: UserData) -> str:
    """The command of a script that starts the ECS agent and waits for it; empty without one."""
    waits = _STARTS_AGENT.search(data.text) if data.format is UserDataFormat.SHELL else None
    return "" if waits is None else " ".join(waits[1].split())
