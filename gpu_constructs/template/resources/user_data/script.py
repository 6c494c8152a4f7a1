"""What a shell script certainly writes into the configuration of the ECS agent, and whether it may write more.

A setting counts where a plain command writes it, on a path that every host takes. Within a branch, a loop or a
function, behind a command that may fail, or written twice with different values it is unknown; in another file it is
none. A script of which every command is known to do nothing else to the agent is complete. Files of the agent:
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html and the unit file of amazon-ecs-init
(https://github.com/aws/amazon-ecs-agent, packaging).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.template.resources.user_data.lines import (
    NAME,
    Settings,
    assignments,
    is_configuration,
    put,
    value_of,
    whole_lines,
)
from gpu_constructs.template.resources.user_data.shell import Command, commands_of

__all__ = ["settings_of_script"]

_MENTIONED = re.compile(NAME)
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,60})=(.*)", re.DOTALL)

_BRANCHES = frozenset({"case", "for", "if", "select", "until", "while"})
_LISTS = frozenset({"case", "for", "select"})  # words follow, no command
_UNTIL = frozenset({"done", "esac", "fi"})
_OPENS = dict.fromkeys(_BRANCHES, _UNTIL) | {"(": frozenset({")"}), "{": frozenset({"}"})}
_DEEPEST = 50
_PASSES: tuple[list[str], ...] = ([], ["cat"], ["tee"])
_CONTINUES = frozenset({"!", "do", "elif", "else", "then", "time"})
_CLOSES = frozenset({"done", "esac", "fi", "}"})
_RUNS = frozenset({"builtin", "command", "nice", "nohup", "sudo"})
_DECLARES = frozenset({"declare", "export", "local", "readonly", "typeset"})
_WRITES = frozenset({"cat", "echo", "printf", "tee"})
_ENDS = frozenset({"exec", "exit", "return"})
_STARTS_AGENT = frozenset({"docker", "nerdctl", "podman"})

# What stands before "&&" without making the rest depend on anything.
_SUCCEEDS = frozenset({":", "cat", "cd", "echo", "export", "mkdir", "printf", "set", "sleep", "sudo", "true", "touch"})

# Commands that do nothing to the agent's configuration but what their redirections say.
_HARMLESS = frozenset(
    """
    : [ [[ amazon-linux-extras apt apt-get cat cd chkconfig chmod chown cut date dnf echo env export false grep
    groupadd head hostname hostnamectl ip ip6tables iptables iptables-save jq let ln logger ls lsblk lsmod lspci
    mkdir mkfs mkfs.ext4 mkfs.xfs mkswap modprobe mount nproc ntpdate nvidia-ctk nvidia-modprobe nvidia-persistenced
    nvidia-smi printenv printf pwd restart rpm sed service set setenforce shift shopt sleep sort start stat stop
    swapon sync sysctl systemctl tail tee test timedatectl touch tr trap true tune2fs ulimit umask uname unset
    update-alternatives useradd usermod wait wc which yum yum-config-manager
    """.split()  # noqa: SIM905 - a hundred words, not a hundred lines
)
_ONLY_LOOK = frozenset(
    {"cat", "chmod", "chown", "cut", "grep", "head", "ls", "stat", "tail", "test", "touch", "wc", "["}
)
_CONFIG = "ecs.config"
_LONGEST = 4096


@dataclass(slots=True)
class _Frame:
    """An open bracket: whether hosts may pass it by, and what was written within it to nowhere as yet."""

    closes: frozenset[str]
    is_branch: bool
    pending: list[tuple[str, str | Unknown]] = field(default_factory=list)


def settings_of_script(text: str) -> tuple[Settings, bool]:
    """Settings by name, and whether the script certainly makes no other.

    Args:
        text: A script for a shell.
    """
    reader = _Reader()
    for pipeline in _pipelines(commands_of(text)):
        reader.take(pipeline)
    return reader.result()


def _pipelines(commands: Iterable[Command]) -> Iterator[list[Command]]:
    pipeline: list[Command] = []
    for each in commands:
        if pipeline and each.before not in {"|", "|&"}:
            yield pipeline
            pipeline = []
        pipeline.append(each)
    if pipeline:
        yield pipeline


class _Reader:
    def __init__(self) -> None:
        self.settings: Settings = {}
        self.elsewhere: list[str] = []
        self.local: dict[str, str] = {}
        self.complete = True
        self.frames: list[_Frame] = []
        self.branches = 0
        self.is_function = False
        self.may_have_ended = False
        self.depends = False
        self.succeeds = False

    def result(self) -> tuple[Settings, bool]:
        for frame in self.frames:
            self.complete = False
            self.elsewhere += [name for name, _ in frame.pending]
        if not self.complete:
            # Whatever else runs may put other files, or the environment, into the configuration.
            self.settings |= dict.fromkeys(self.elsewhere, UNKNOWN)
        return self.settings, self.complete

    @property
    def is_certain(self) -> bool:
        return not (self.depends or self.may_have_ended or self.branches)

    def take(self, pipeline: Sequence[Command]) -> None:
        before = pipeline[0].before
        if before not in {"&&", "||"}:
            self.depends = False
        elif before == "||" or not self.succeeds:
            self.depends = True
        target = _target(pipeline)
        # What another program makes of it on the way, only that program knows.
        others = [number for number, each in enumerate(pipeline) if _without_sudo(each.words)[:1] not in _PASSES]
        last_other = max(others, default=-1)
        for number, command in enumerate(pipeline):
            self.complete &= not command.is_open
            words = self._brackets(command, target)
            if words:
                self._simple(words, command, target, passes=number >= last_other)

    def _brackets(self, command: Command, target: _Target) -> list[str]:
        """Opens and closes brackets; what is left is a command."""
        start = 0
        for start, first in enumerate(command.words):
            if first == ")" or first in _CLOSES:
                self._close(first, target)
            elif first in _OPENS:
                is_branch = first in _BRANCHES or (first == "{" and self.is_function)
                self.is_function = False
                self._open(_OPENS[first], is_branch=is_branch)
                if first in _LISTS:
                    self._unknown(command.words[start:])
                    return []
            elif first == "function":
                self.is_function, self.complete = True, False
            elif first not in _CONTINUES and "function" not in command.words[start - 1 : start]:
                break
        else:
            return []
        self.succeeds = first in _SUCCEEDS
        return command.words[start:]

    def _open(self, closes: frozenset[str], *, is_branch: bool) -> None:
        if len(self.frames) >= _DEEPEST:
            self.complete, self.may_have_ended = False, True
            return
        # What stands behind a command that may fail may be passed by with all that is in it.
        self.frames.append(_Frame(closes, is_branch=is_branch or self.depends))
        self.branches += is_branch or self.depends

    def _close(self, sign: str, target: _Target) -> None:
        if not self.frames or sign not in self.frames[-1].closes:
            return
        frame = self.frames.pop()
        self.branches -= frame.is_branch
        for name, value in frame.pending:
            self._write(name, UNKNOWN if frame.is_branch else value, target)

    def _simple(self, words: list[str], command: Command, target: _Target, *, passes: bool) -> None:
        self.is_function = words[-1] == "("
        if self.is_function:
            # A function, or an array.
            self.complete = False
            self._open(_OPENS["("], is_branch=True)
            return
        words = _without_sudo(words)
        variables = [_ASSIGNED.fullmatch(each) for each in words]
        declares = bool(words) and words[0] in _DECLARES
        if declares or (words and all(variables)):
            self._remember([each for each in variables if each is not None])
            return
        while words and _ASSIGNED.fullmatch(words[0]):
            words = words[1:]
        head = words[0] if words else ""
        if head in _ENDS:
            self.complete &= head != "exec"
            self.may_have_ended |= self.is_certain or words[1:] in ([], ["0"])
            return
        if command.writes:
            target = _written(command)
        if head in _WRITES:
            self._write_all(words, command, target, passes=passes)
            return
        if head in _STARTS_AGENT:
            found = [pair for each in words for pair in assignments(each)] if self.is_certain else []
            for name, value in found:
                put(self.settings, name, value_of(value, self.local))
        self._other(head, words, command, target)

    def _write_all(self, words: list[str], command: Command, target: _Target, *, passes: bool) -> None:
        found: list[tuple[str, str]] = []
        if words[0] != "tee":
            for line in " ".join(words[1:] if words[0] != "printf" else words).splitlines():
                found += assignments(line)
        for document in command.documents:
            found += whole_lines(document)
        if words[0] == "cat" and (len(words) > 1 or command.reads) and not target.is_nowhere:
            # Files are written on.
            self._changed(words, target)
        writes = target if words[0] != "tee" or command.documents else _Target()
        if writes.is_replaced and any(map(is_configuration, self._expanded(writes.files))):
            self.settings = {} if self.is_certain else dict.fromkeys(self.settings, UNKNOWN)
        for name, value in found:
            self._write(name, value_of(value, self.local) if passes else UNKNOWN, target)

    def _write(self, name: str, value: str | Unknown, target: _Target) -> None:
        if target.is_nowhere:
            if len(self.frames) > 0:
                self.frames[-1].pending.append((name, value if self.is_certain else UNKNOWN))
            else:
                self.elsewhere.append(name)
            return
        files = self._expanded(target.files)
        if any(map(is_configuration, files)):
            put(self.settings, name, value if self.is_certain else UNKNOWN)
        elif any(_may_be_configuration(each) for each in files):
            self.settings[name] = UNKNOWN
            self.complete = False
        else:
            self.elsewhere.append(name)

    def _other(self, head: str, words: list[str], command: Command, target: _Target) -> None:
        if head not in _HARMLESS and not all(each.startswith("-") for each in words):
            self.complete = False
            self._unknown([*words, *(line for each in command.documents for line in each)])
        names_it = any(_CONFIG in each for each in words) and head not in _ONLY_LOOK
        if names_it or (any(map(_may_be_configuration, self._expanded(target.files))) and command.words):
            self._changed(words, target)

    def _changed(self, words: Iterable[str], target: _Target) -> None:
        """The configuration is edited by a command that is not understood."""
        written = any(map(_may_be_configuration, self._expanded(target.files)))
        if not written and not any(_CONFIG in each for each in words):
            return
        self.complete = False
        mentioned = [name for each in words for name in _MENTIONED.findall(each[:_LONGEST])]
        self.settings |= dict.fromkeys(mentioned or self.settings, UNKNOWN)

    def _unknown(self, words: Iterable[str]) -> None:
        names = [name for each in words for name, _ in assignments(each)]
        if names:
            self.complete = False
            self.elsewhere += [each for each in names if self.settings.get(each, UNKNOWN) is UNKNOWN]

    def _remember(self, variables: Iterable[re.Match[str]]) -> None:
        for each in variables:
            name, value = each[1], each[2]
            self.local[name] = value if self.is_certain else "$"
            if _MENTIONED.fullmatch(name):
                self.elsewhere.append(name)

    def _expanded(self, files: Iterable[str]) -> list[str]:
        return [value if isinstance(value, str) else "$" for value in (value_of(each, self.local) for each in files)]


@dataclass(frozen=True, slots=True)
class _Target:
    """Where the output of a pipeline goes."""

    files: tuple[str, ...] = ()
    is_replaced: bool = False

    @property
    def is_nowhere(self) -> bool:
        return not self.files


def _target(pipeline: Sequence[Command]) -> _Target:
    for command in reversed(pipeline):
        words = _without_sudo(command.words)
        if words[:1] == ["tee"]:
            files = tuple(each for each in words[1:] if not each.startswith("-"))
            return _Target(files, not {"-a", "--append"} & set(words))
    return _written(pipeline[-1])


def _written(command: Command) -> _Target:
    words = _without_sudo(command.words)
    if words[:1] == ["tee"]:
        return _target([command])
    return _Target(tuple(name for _, name in command.writes), any(">>" not in sign for sign, _ in command.writes))


def _without_sudo(words: Sequence[str]) -> list[str]:
    runs = False
    for number, each in enumerate(words):
        runs = each in _RUNS or (runs and each.startswith("-"))
        if not runs:
            return list(words[number:])
    return []


def _may_be_configuration(file: str) -> bool:
    """Whether a file is the agent's configuration, or may be it behind a variable or in a folder that is not named."""
    is_relative = file.endswith(_CONFIG) and not file.startswith("/")
    return is_configuration(file) or is_relative or "$" in file or "`" in file
