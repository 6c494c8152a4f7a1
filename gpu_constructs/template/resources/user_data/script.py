"""What a shell script certainly writes into the configuration of the ECS agent, and whether it may write more.

A setting counts where a plain command writes it, on a path that every host takes. Within a branch, a loop or a
function, behind a command that may fail, or written twice with different values it is unknown. A script of which every
command is known to do nothing else to the agent is complete; in any other, whatever it mentions may be a setting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gpu_constructs.budget import LABEL
from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.template.resources.user_data.agent import (
    Settings,
    is_configuration,
    mentioned,
    put,
    settings_in,
    unquoted,
    with_mentioned,
)
from gpu_constructs.template.resources.user_data.shell import Command, commands_of

_CONFIG = "ecs.config"
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
_PATH = re.compile(r"(?:-\s+)?path:\s*(\S+)")
_LAST_OF_LIST = re.compile(r"\"((?:[^\"\\]|\\.)*)\"\s*\]$")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)

_RUNS = frozenset({"builtin", "command", "nice", "nohup", "sudo"})
_DECLARES = frozenset({"declare", "export", "local", "readonly", "typeset"})
_HEADERS = frozenset({"case", "for", "select"})
_PASSES = frozenset({"", "cat", "tee"})
_WRITES = frozenset({"cat", "echo", "printf", "tee"})
# What stands before "&&" without making the rest depend on anything.
_SUCCEEDS = frozenset({":", "cat", "cd", "echo", "export", "mkdir", "printf", "set", "sleep", "true", "touch"})
# Commands that do nothing to the agent's configuration but what their redirections say.
_HARMLESS = frozenset(
    """
    : [ [[ amazon-linux-extras apt apt-get cat cd chkconfig chmod chown cut date dnf echo env exec exit export false
    grep groupadd head hostname hostnamectl ip ip6tables iptables iptables-save jq let ln logger ls lsblk lsmod lspci
    mkdir mkfs mkfs.ext4 mkfs.xfs mkswap modprobe mount nproc ntpdate nvidia-ctk nvidia-modprobe nvidia-persistenced
    nvidia-smi printenv printf pwd read restart return rpm sed service set setenforce shift shopt sleep sort start stat
    stop swapon sync sysctl systemctl tail tee test timedatectl touch tr trap true tune2fs ulimit umask uname unset
    update-alternatives useradd usermod wait wc which yum yum-config-manager
    """.split()  # noqa: SIM905 - a hundred words, not a hundred lines
)
_EDITS = frozenset({"ln", "sed"})
# Operators before a command that not every host comes to in this shell, and behind one that runs in another.
_IN_ANOTHER_SHELL = frozenset({"|", "|&", "&"})
_DEPENDS = frozenset({"&&", "||", "|", "|&"})

_Files = Sequence[tuple[str, bool]]


def settings_of_script(text: str) -> tuple[Settings, bool]:
    """Settings by name, and whether the script certainly makes no other."""
    commands, is_understood = commands_of(text)
    reader = _Reader()
    reader.run(_reached(commands) if is_understood else commands, (), is_certain=True)
    if is_understood and reader.is_complete:
        return reader.settings, True
    # Whatever else runs may put what is in other files, or in the environment, into the configuration.
    return with_mentioned(reader.settings, text), False


def ends_before_mentioned(text: str, variable: str) -> bool:
    """Whether a script certainly ends before it comes to the commands that mention a variable."""
    commands, is_understood = commands_of(text)
    return is_understood and len(_reached(commands)) < len(commands) and variable in mentioned(text)


def _reached(commands: Sequence[Command]) -> Sequence[Command]:
    """The commands up to the first ``exit`` that every host comes to; all if one may run at the exit."""
    operator = ""
    for number, command in enumerate(commands):
        # An operator at the end of a line is for the next one.
        operator = operator if command.before == "\n" and operator in _DEPENDS else command.before
        behind = commands[number + 1].before if number + 1 < len(commands) else ""
        if command.words[:1] == ["trap"]:
            return commands
        if command.words[:1] == ["exit"] and operator not in _DEPENDS and behind not in _IN_ANOTHER_SHELL:
            return commands[:number]
        operator = "" if command.words or command.body else operator
    return commands


def settings_of_lines(text: str) -> Settings:
    """Settings in cloud-config, a command or the content of a file, and all else that it mentions as unknown.

    https://cloudinit.readthedocs.io/en/latest/reference/modules.html
    """
    settings: Settings = {}
    commands: list[str] = []
    is_certain = True
    for line in map(str.strip, text.splitlines()):
        path = _PATH.fullmatch(line)
        found = list(settings_in([line]))
        if path:
            is_certain = is_configuration(unquoted(path[1]))
        elif not found:
            commands.append(_item(line))
        put(settings, found, certain=is_certain)
    put(settings, settings_of_script("\n".join(commands))[0].items())
    return with_mentioned(settings, text)


def _item(line: str) -> str:
    """An item of ``runcmd`` as a command: a text, or a list of which the last word is given to a shell."""
    item = line.removeprefix("- ").strip()
    last = _LAST_OF_LIST.search(item) if item.startswith("[") else None
    return last[1] if last else unquoted(item)


class _Reader:
    def __init__(self) -> None:
        self.settings: Settings = {}
        self.variables: dict[str, str] = {}
        self.is_complete = True
        self.may_have_ended = False

    def run(self, commands: Iterable[Command], files: _Files, *, is_certain: bool) -> None:
        """Follows commands."""
        depends = succeeds = False
        for pipeline in _pipelines(commands):
            before = pipeline[0].before
            depends = before in {"&&", "||"} and (depends or before == "||" or not succeeds)
            certain = is_certain and not depends
            out = self._written(pipeline, certain=certain) or files
            # What another program makes of it on the way, only that program knows.
            last = max((number for number, each in enumerate(pipeline) if _head(each) not in _PASSES), default=0)
            for number, command in enumerate(pipeline):
                own = self._expanded(command.writes) or out
                if command.body:
                    within = certain and number >= last and not command.is_branch
                    self.run(command.body, own, is_certain=within)
                else:
                    self._simple(command, own, certain=certain and number >= last)
            succeeds = _head(pipeline[-1]) in _SUCCEEDS

    def _written(self, pipeline: Sequence[Command], *, certain: bool) -> _Files:
        """Files that the output of a pipeline goes to; those that are written anew are empty from here on."""
        written = pipeline[-1].writes
        for command in reversed(pipeline):
            words = _words(command)
            if words[:1] == ["tee"]:
                appends = "-a" in words or "--append" in words
                written = [(each, not appends) for each in words[1:] if not each.startswith("-")]
                break
        files = self._expanded(written)
        if any(is_new and is_configuration(file) for file, is_new in files):
            self.settings = {} if certain and not self.may_have_ended else dict.fromkeys(self.settings, UNKNOWN)
        return files

    def _simple(self, command: Command, files: _Files, *, certain: bool) -> None:
        certain = certain and not self.may_have_ended
        words = _words(command)
        variables = [_ASSIGNED.fullmatch(each) for each in words]
        if words and (words[0] in _DECLARES or all(variables)):
            for each in filter(None, variables):
                value = self._text(each[2])
                # A long one is unknown, so that no text grows by writing variables into it.
                self.variables[each[1]] = value if certain and len(value) <= LABEL else "$"
            return
        while words and _ASSIGNED.fullmatch(words[0]):
            del words[0]
        head, *rest = words or [""]
        sets_nothing = head in _HARMLESS or (head in _HEADERS and not mentioned(" ".join(words)))
        self.is_complete &= sets_nothing or not head
        if head == "exec" and rest:
            self.is_complete, self.may_have_ended = False, True
        elif head == "exit" and (certain or rest in ([], ["0"])):
            self.may_have_ended = True
        if head == "docker" and certain:  # the script starts the agent itself
            put(self.settings, settings_in(map(self._text, rest)))
        if head in _WRITES:
            self._write(head, rest, command.lines, files, certain=certain)
        named = any(_CONFIG in each for each in words) and (head not in _HARMLESS or head in _EDITS)
        copied = head == "cat" and rest
        if named or ((head not in _WRITES or copied) and head and any(map(_may_be_configuration, files))):
            # The configuration is edited by a command that is not understood.
            self.is_complete = False
            self.settings |= dict.fromkeys(mentioned("\n".join(words)) or self.settings, UNKNOWN)

    def _write(self, head: str, rest: list[str], document: list[str], files: _Files, *, certain: bool) -> None:
        if not any(map(_may_be_configuration, files)):
            return
        text = " ".join(rest) if head in {"echo", "printf"} else "\n".join(document)
        if head == "printf":
            text = text.replace("%", "$")  # a piece that is not known
        elif head == "echo":
            text = re.sub(r"^(?:-[neE]+ )+", "", text)
        text = self._text(text.replace("\\n", "\n") if head in {"echo", "printf"} else text)
        is_sure = certain and any(is_configuration(file) for file, _ in files)
        self.is_complete &= any(is_configuration(file) for file, _ in files)
        put(self.settings, settings_in(text.splitlines()), certain=is_sure)
        # A line that begins with a variable may set anything.
        self.is_complete &= not re.search(r"^\s*[$`]", text, re.MULTILINE)

    def _text(self, text: str) -> str:
        return _VARIABLE.sub(lambda found: self.variables.get(found[1] or found[2], found[0]), text)

    def _expanded(self, files: _Files) -> _Files:
        return [(self._text(file), is_new) for file, is_new in files]


def _pipelines(commands: Iterable[Command]) -> list[list[Command]]:
    pipelines: list[list[Command]] = []
    for each in commands:
        if pipelines and each.before in {"|", "|&"}:
            pipelines[-1].append(each)
        else:
            pipelines.append([each])
    return pipelines


def _words(command: Command) -> list[str]:
    """The words of a command without what runs it."""
    runs = False
    for number, each in enumerate(command.words):
        runs = each in _RUNS or (runs and each.startswith("-"))
        if not runs:
            return command.words[number:]
    return []


def _head(command: Command) -> str:
    return next(iter(_words(command)), "")


def _may_be_configuration(written: tuple[str, bool]) -> bool:
    """Whether a file is the agent's configuration, or may be it behind a variable or in a folder that is not named."""
    file = written[0]
    is_relative = file.endswith(_CONFIG) and not file.startswith("/")
    return is_configuration(file) or is_relative or "$" in file or "`" in file
