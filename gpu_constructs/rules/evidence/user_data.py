"""User data: is it run, which lines are commands, which hosts come to them, and what do they do to the agent?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpu_constructs.facts.values import by_identity
from gpu_constructs.fleet import INSTANCE_ATTRIBUTES, NAME_OF_DEPLOY, PIECE, UserData, UserDataFormat
from gpu_constructs.placement.pool_profile import is_object_of_texts

_HERE_DOCUMENT = r"(?<!<)<<-?[ \t]*[\\\"']?(\w+)"
# All of a line but the quote that it leaves open.
_NO_QUOTE = r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.|(?:^|\s)#.*|[^'"]"""
_OPENS = r"^\s*(?:if|for|while|until|case|select)\b|[{(]\s*$"
_CLOSES = r"(?:^|;)\s*(?:fi|done|esac)\b|^\s*[})]"
_STOPS_AT_ERRORS = r"#!\S*sh[ \t]+-[a-df-z]*e|set[ \t]+(?:-[a-df-z]*e|-o[ \t]+errexit)"


class Command(NamedTuple):
    """A line that the shell runs.

    Attributes:
        is_certain: Whether every host comes to it, because it is in no branch, function or text.
        ends_script: Whether the script ends if it fails.
    """

    line: str
    at: int
    is_certain: bool
    ends_script: bool


def commands(script: str) -> Sequence[Command]:
    """The commands of a script up to its end that it waits for, each character looked at once."""
    found: list[Command] = []
    depth, opened, at, end, quote = 0, 0, 0, "", ""
    goes_on = stops = False
    for line in script.splitlines(keepends=True):
        written, start, at = line.rstrip(), at, at + len(line)
        if end:
            end = "" if written.strip() == end else end
            continue
        stops = stops or (not depth and re.match(_STOPS_AT_ERRORS, written) is not None)
        stops = stops and re.match(r"\s*set[ \t]+\+(?:[a-df-z]*e|o[ \t]+errexit)", written) is None
        if not written or written.lstrip().startswith("#"):
            continue
        end = "".join(re.findall(_HERE_DOCUMENT, written)[:1])
        before, quoted = depth, quote
        quote = re.sub(_NO_QUOTE, "", quote + written)[:1]
        depth = max(0, depth - len(re.findall(_CLOSES, written)) + len(re.findall(_OPENS, written)))
        opened = opened if before else len(found)
        is_certain = not (depth or quoted or quote or goes_on or line[0].isspace())
        if is_certain and re.fullmatch(r"exit\b[ \t\d]*(?:#.*)?", written):
            break
        found.append(Command(written, start, is_certain, stops and is_certain))
        if before and not depth and re.search(r"(?<!&)&$", written):
            del found[opened:]
        goes_on = written.endswith(("\\", "&&", "||", "|"))
    return found


class _Call(NamedTuple):
    """What a script asks systemd to do with the ECS agent and waits for: ``start``, or ``enable --now``."""

    said: str
    verb: str
    is_certain: bool
    end: int


_STARTS = frozenset({"start", "restart", "reload-or-restart", "enable --now"})
# A masked unit cannot be started, which a job finds that waits already: unit_start in src/core/unit.c of systemd.
_STOPS = frozenset({"stop", "mask", "mask --now", "disable --now"})
_SIMPLE = r"""(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[<>]&|&>|[^;&|'"\\])+"""
_REDIRECTION = r"\d?(?:[<>]&|&?>>?|<)[ \t]*\S+"
_COMPOUND = r"(?<!\$)[({]|\b(?:case|do|else|if|then)\b"
# Commands behind which ``&&`` changes nothing on an image of ECS.
_SUCCEEDS = (
    r"(?:sudo )?(?:true|systemctl (?:daemon-reload|(?:enable|(?:re)?start|stop|unmask) (?:docker|ecs)(?:\.service)?)"
    r"|service (?:docker|ecs) (?:re)?start)"
)
_AGENT = r"(?:amazon-)?ecs(?:\.service)?"
_CHANGE_NOTHING = frozenset({"--now", "-q", "--quiet", "-f", "--force", "--no-pager", "--no-ask-password"})
# What starts the agent, or the host again, and base64, which may hold both; and what runs after the lines behind it.
_MAY_START = r"\b(?:base64|enable|(?:tel)?init[ \t]+\d|isolate|kexec|preset|reboot|shutdown|(?:re)?start|unmask)\b"
_RUNS_LATER = r"\btrap\b|\(\)|\bfunction\b|<<|\bcron|/systemd/|(?<![&>])&(?![&>])"
# Units of the agent that do not wait for cloud-init: changed ones, and those of the packages for other systems
# (https://github.com/aws/amazon-ecs-agent, packaging/generic-deb-integrated and generic-rpm-integrated).
_OTHER_UNIT = (
    r"cloud-final|ecs\.service\.d\b|system/ecs\.service|systemctl[ \t]+edit|amazon-ecs-init\S{0,99}\.(?:deb|rpm)\b"
    r"|\bapt(?:-get)? "
)


@by_identity(maxsize=1024)  # hosts of one cluster often have the same user data
def waits_for_agent(data: UserData) -> tuple[str, bool] | None:
    """The command of a script that starts the ECS agent and waits for it, and whether every host comes to it.

    None where the unit of the agent may wait for nothing after any part of the user data.
    """
    is_other = any(re.search(_OTHER_UNIT, each) for each in (data.text, *data.scripts))
    calls = (each for script in data.scripts for each in _calls(script) if each.verb in _STARTS and not is_other)
    return min(((each.said, each.is_certain) for each in calls), key=lambda each: not each[1], default=None)


@by_identity(maxsize=1024)
def keeps_agent_off(data: UserData) -> tuple[str, bool] | None:
    """The command after which the ECS agent certainly does not start, and whether it does not even once.

    Its start is a job that waits for cloud-init, and one that conflicts with it takes its place (systemctl(1),
    ``--job-mode=replace``). Other parts, or the end of cloud-config, may start it whatever their place.
    """
    everywhere = len(re.findall(_MAY_START, data.text))
    for script in data.scripts:
        starts = [each.start() for each in re.finditer(_MAY_START, script)]
        is_in_order = len(starts) == everywhere and not (starts and re.search(_RUNS_LATER, script))
        for each in _calls(script) if is_in_order else ():
            if each.is_certain and each.verb in _STOPS | {"disable"} and each.end > max(starts, default=0):
                return each.said, each.verb in _STOPS
    return None


# https://docs.docker.com/engine/deprecated/: both are gone since Docker 23.0, and the images of AWS have 25.
_GONE = (
    r"(?m)^[ \t]*(?:sudo )?(?:(?:echo|printf) [^#\n;&|\"]*|sed -i [^#\n;&\"]*)\"?\bOPTIONS=\\?\"(?:[^\"\n]{0,500}\s)?"
    r"(-g|--graph)[\s=][^\"\n]{0,500}\"(?:[^\n;&/]*(?:>|\btee(?: -a)?)|[|/,]g?')[ \t]*/etc/sysconfig/docker(?=[\s;&]|$)"
)


def docker_option_that_is_gone(data: UserData) -> str:
    """An option that a script gives Docker, which it restarts, and with which it does not start; empty without one."""
    restarts = (each for each in data.scripts if "docker restart" in each or "restart docker" in each)
    return next((found[1] for each in restarts if (found := re.search(_GONE, each))), "")


def _calls(script: str) -> Iterator[_Call]:
    for command in commands(script):
        if "ecs" in command.line:
            yield from _calls_of_line(command)


def _calls_of_line(command: Command) -> Iterator[_Call]:
    """The calls about the agent for which one line waits; those before ``&`` it leaves in the background."""
    line, is_certain = re.sub(r"(?:^|\s)#.*", "", command.line), command.is_certain
    simple = list(re.finditer(_SIMPLE, line))
    starts = [*(each.start() for each in simple[1:]), len(line)]
    waiting: list[_Call] = []
    for found, after in zip(simple[:1] if re.search(_COMPOUND, line) else simple, starts, strict=False):
        words, operator = re.sub(_REDIRECTION, "", found[0]).split(), line[found.end() : after]
        call = _call(words, command.at + found.end(), certain=is_certain)
        if call is not None:
            waiting.append(call)
        if operator in {";", "&"}:
            yield from waiting if operator == ";" else ()
            waiting, is_certain = [], command.is_certain
        elif operator != "|" and (operator != "&&" or not re.fullmatch(_SUCCEEDS, " ".join(words))):
            is_certain = False
    yield from waiting


def _call(words: list[str], end: int, *, certain: bool) -> _Call | None:
    """The words of a command as a call about the agent; None where it is none, or has options that change more."""
    at = next((at for at, word in enumerate(words) if word != "sudo" and (at == 0 or word[0] != "-")), 0)
    program = re.fullmatch(r"(?:/usr)?(?:/s?bin/)?(systemctl|service)", words[at]) if words else None
    options = {word for word in words[at + 1 :] if word[0] == "-"}
    rest = [word for word in words[at + 1 :] if word[0] != "-"]
    if program is None or not rest or not options <= _CHANGE_NOTHING:
        return None
    verb, *units = rest if program[1] == "systemctl" else reversed(rest)
    verb = " ".join((verb, *options & {"--now"}))
    return _Call(" ".join(words), verb, certain, end) if any(re.fullmatch(_AGENT, each) for each in units) else None


def script_ends_at(lacking: str, data: UserData) -> bool | None:
    """Whether a script ends at a command that is not there before it names a cluster; None where none comes to it."""
    ends: bool | None = None
    call = re.compile(rf"(?:sudo[ \t]+)?{lacking}\b[^\n|&;]*([|&;].*)?")
    if any(re.search(rf"\b{lacking}\b", line.partition(" install ")[2]) for line in data.text.splitlines()):
        return ends
    is_once = sum("ECS_CLUSTER=" in each for each in data.scripts) == 1
    for script in (each for each in data.scripts if lacking in each):
        named = script.find("ECS_CLUSTER=") if is_once else -1
        for each in commands(script):
            if each.is_certain and (called := call.fullmatch(each.line)):
                ends = ends or (each.ends_script and not called[1] and each.at < named)
    return ends


def kept_from_joining(data: UserData) -> Iterator[tuple[str, str, str]]:
    """Lines with which an agent joins no cluster, each with why and what to write instead.

    https://github.com/aws/amazon-ecs-agent, agent/config/parse.go
    """
    name = data.get("ECS_CLUSTER")
    if isinstance(name, str) and re.fullmatch(r"([\"']).*\1", name):
        why = "where the quotes are a part of the name"
        yield f"ECS_CLUSTER={name}", why, "ECS_CLUSTER without quotes around the name"
    for variable in (INSTANCE_ATTRIBUTES, "ECS_CONTAINER_INSTANCE_TAGS"):
        written = data.get(variable)
        if isinstance(written, str) and not is_object_of_texts(written):
            why = "which is no object of texts in JSON, with which the agent does not start"
            yield f"{variable}={written}", why, f"""'{variable}={{"name":"value"}}' in single quotes of the shell"""


# What cloud-init knows a part by, and in how much of the text it looks for the header of a message.
_KNOWN_BY = ("#!", "#cloud-", "#include", "#part-handler", "#upstart-job", "## template:", PIECE, NAME_OF_DEPLOY)
_HEADER = 4096
# The only word behind the name, such as ${Cluster} or ${AWS::StackName}, which the shell takes for variables.
_FROM_VARIABLE = r"(?m)^[^#\n]*\bECS_CLUSTER=[\"']?\$\{?([A-Za-z_][\w.]*(?:::\w+)?)\}?[\"']?(?=[\s;>|\"']|$)"
# Commands that give variables values which the script does not show.
_SETS_VARIABLES = r"(?:^|[\s;&|(])(?:\.|source|eval|read|readarray|mapfile|set[ \t]+-a|envsubst|sed)\s"
_SET_ANYWAY = frozenset({"", "HOME", "HOSTNAME", "INSTANCE_ID", "PATH", "PWD", "SHELL", "USER"})
# A word and something that is neither "=" nor the next part of a key.
_COMMAND = r"(?a)[A-Za-z][\w./-]*(?:[ \t]+[^=.\s].*)?"
# A value that is a word without quotes; a name of the deploy never is in quotes.
_BARE = rf"(?a)[\w.\"-]+[ \t]*=[ \t]*(?!(?:true|false|inf|nan)\b)[A-Za-z{NAME_OF_DEPLOY}][^\s\"'=#]*[ \t]*(?:#.*)?"
# What begins a value of several lines, which are not looked at.
_GOES_ON = r"(?m)\"\"\"|'''|[\[{,][ \t]*$"


def not_run(data: UserData) -> str:
    """Why cloud-init does not run user data as a script; empty if it does, or may.

    It looks for what a part begins with behind blanks, writes it into a file as it is, and has the kernel run that
    (https://github.com/canonical/cloud-init, handlers/__init__.py and shell_script.py). Old releases do not look behind
    blanks, and run nothing. Line ends of Windows are replaced.
    """
    if data.format is UserDataFormat.SHELL and data.text[:1].isspace() and data.text.lstrip().startswith("#!"):
        return "has a blank before #!"
    start = data.text.lstrip().lower()
    is_known = start.startswith(_KNOWN_BY) or "mime-version:" in start[:_HEADER]
    return "" if data.format is not UserDataFormat.OTHER or is_known else "does not begin with #!"


def not_toml(data: UserData) -> str:
    """The first line that certainly is no TOML, but a command or a text without quotes; empty without one."""
    if data.format is not UserDataFormat.TOML or not data.complete or re.search(_GOES_ON, data.text):
        return ""
    lines = map(str.strip, data.text.splitlines())
    return next((line for line in lines if re.fullmatch(_COMMAND, line) or re.fullmatch(_BARE, line)), "")


def ends_early(data: UserData) -> bool:
    """Whether a script that sets no cluster has one behind its end."""
    before, named, _ = data.commands.partition("ECS_CLUSTER=")
    return bool(named) and re.search(r"(?m)^exit\b[ \t\d]*$", before) is not None


def without_value(data: UserData) -> str:
    """The variable that a script takes for the name of the cluster and certainly gives no value; empty without one."""
    if data.format is not UserDataFormat.SHELL:
        return ""
    named, plain = re.findall(_FROM_VARIABLE, data.text), data.commands
    is_only = len(named) == 1 == plain.count("ECS_CLUSTER=") and not re.search(_SETS_VARIABLES, plain)
    variable = named[0] if is_only else ""
    is_set = re.search(rf"\b{re.escape(variable)}\b(?!\}})", plain.replace(f"${variable}", ""))
    return "" if variable in _SET_ANYWAY or is_set else variable
