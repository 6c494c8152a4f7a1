"""What a shell script writes into the configuration of the ECS agent, in the forms that AWS documents.

``echo`` and ``printf`` with ``>>`` or ``| tee -a``, and here-documents, each on a path that every host takes. A setting
in a branch, a loop or a function, or behind a command that may fail is unknown, and so is every setting that a script
mentions in any other form. A script is complete if each of its commands is known to do nothing else to the agent.
Nothing is executed, and each character is looked at once, in three passes: characters to words (`_LEXEME`), words to
commands with their redirections (`_commands`), commands to settings (`_Reader`). A command that does nothing to the
agent is in `_HARMLESS`, or in `_ASKS` where only some of its options do nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from gpu_constructs.facts.budget import LABEL
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Unknown, without_comments

_Files = Sequence[tuple[str, bool]]  # each with whether it is written anew
_Lines = Iterable[tuple[str, "str | Unknown"]]
Settings = dict[str, "str | Unknown"]
"""Agent variables and their values: the last that is written, or unknown where another one may count."""

# Variables: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html. Files: the unit file of
# amazon-ecs-init (https://github.com/aws/amazon-ecs-agent, packaging).
_FILE = r"/+(?:etc|var/+lib)/+ecs/+ecs\.config"
_NAME = r"ECS_[A-Z0-9_]{1,60}"
_LINE = rf"({_NAME})=(.*)"
_MENTIONED = rf"(?<![A-Z0-9_${{])({_NAME})=(?!=)"

_LEXEME = (
    r"(?s)[ \t\r]+|(?<![^\s;&|(])#[^\n]*|(?P<redirect>[0-9]?(?:&>>?|>>|>\||[<>]&|<<<|<<-?|[<>](?!\()))"
    r"|(?P<operator>&&|\|\||\|&|;;|[;&|()\n])"
    r"|(?P<word>(?:'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.|[$<>]\([^()]*\)|`[^`]*`|[^\s;&|()<>'\"`\\])+)"
)
_UNQUOTED = r"(?s)'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)|\$\([^()]*\)|`[^`]*`"
_VARIABLE = r"(?a)\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})"
_ASSIGNED = r"(?as)([A-Za-z_]\w*)=(.*)"

_OPENS = frozenset({"(", "case", "for", "function", "if", "select", "until", "while", "{"})
_CLOSES = frozenset({")", "done", "esac", "fi", "}"})
_HEADERS = frozenset({"case", "for", "function", "select"})  # words follow, no command
_CONTINUES = frozenset({"!", "do", "elif", "else", "sudo", "then", "time"})
# What stands before "&&" without making the rest depend on anything.
_SUCCEEDS = frozenset({":", "cat", "cd", "echo", "export", "mkdir", "printf", "set", "sleep", "true", "touch"})
# Commands that do nothing to the agent's configuration but what their redirections say.
_HARMLESS = frozenset(
    """
    : [ [[ amazon-linux-extras apt apt-get blkid blockdev cat cd chkconfig chmod chown cut date declare df dnf du echo
    env ethtool exec exit export fallocate false findmnt free grep groupadd growpart head hostname hostnamectl id ip
    ip6tables iptables iptables-save jq kill killall ldconfig let ln local locale-gen logger losetup ls lsblk lsmod
    lspci lvcreate lvextend md5sum mdadm mkdir mkfs mkfs.ext3 mkfs.ext4 mkfs.xfs mkswap modprobe mount nproc ntpdate
    nvidia-ctk nvidia-modprobe nvidia-persistenced nvidia-smi parted partprobe passwd pip pip3 pkill printenv printf
    pvcreate pwd read readonly reboot resize2fs restart return rpm sed service set setenforce sgdisk sha256sum shift
    shopt shutdown sleep sort start stat stop swapoff swapon sync sysctl systemctl tail tee test timedatectl touch tr
    trap true tune2fs tuned-adm typeset udevadm ulimit umask uname unset update-alternatives useradd usermod vgcreate
    wait wc which wipefs xfs_growfs yum yum-config-manager
    """.split()  # noqa: SIM905 - a hundred words, not a hundred lines
)
# These write no file, or one outside of the directories of the system, where it does nothing before a command runs it.
# They are harmless if the rest of their pipeline only shows its input, and if all files that the pipeline writes, those
# of `tee` among them, are logs and consoles.
_ASKS = (
    r"(?s)aws (?:--region \S+ )?(?:autoscaling|cloudwatch|ec2|ecr|ecs|elbv2|events|route53|s3 ls|sns|sts)\b"
    r"|curl (?!(?:.*\s)?-(?:-config|-cookie-jar|-dump-header|-output|-remote-name|\w*[DJKOco]))"
    r"|docker (?:images|info|login|ps|pull|tag|version)\b"
    r"|(?:aws s3 (?:cp|sync)|cp|curl|mv|wget)(?=.* /)(?: -[\w=-]*| \w[\w-]*| \w+://\S+"
    r"| /(?!(?:bin|boot|dev|etc|lib\w*|proc|root|run|sbin|sys|usr|var)\b|\S*(?:\.\.|//))[\w./-]+)+\Z"
)
_SHOWS = frozenset({"cat", "cut", "docker", "grep", "head", "jq", "logger", "tail", "tee", "tr", "wc"})
_NOT_RUN = r"/var/log/(?!.*\.\.)[^$]+|/dev/(?:console|null|stderr|stdout)"
_DECLARES = frozenset({"declare", "export", "local", "readonly", "typeset"})


def settings_of_script(text: str) -> tuple[Settings, bool]:
    """Settings by name, and whether the script certainly makes no other."""
    reader = _Reader()
    reader.read(_commands(text.replace("\\\n", "")))
    if reader.depth:  # of something that nothing closes
        return dict.fromkeys([*reader.settings, *mentioned(text)], UNKNOWN), False
    # Whatever else runs may put what is in other files, or in the environment, into the configuration.
    return (reader.settings, True) if reader.is_complete else (with_mentioned(reader.settings, text), False)


def is_configuration(file: str) -> bool:
    """Whether a file is the agent's configuration."""
    return re.fullmatch(_FILE, file) is not None


def settings_in(lines: Iterable[str]) -> Iterator[tuple[str, str | Unknown]]:
    """Settings that are lines of a file; one with a ``$`` is unknown, as something else is put in its place.

    For ecs-init the name is all before the first ``=``, a blank or ``export`` among it, and the value all behind it,
    with its quotes: ``getEnvVars`` in ecs-init/docker/docker.go of github.com/aws/amazon-ecs-agent, and issue 4159.
    """
    for found in filter(None, (re.fullmatch(_LINE, line.strip()) for line in lines)):
        yield found[1], UNKNOWN if "$" in found[2] or "`" in found[2] else found[2]


def mentioned(text: str) -> list[str]:
    """The agent variables that a text gives a value in any way, outside of comments."""
    return re.findall(_MENTIONED, without_comments(text))


def with_mentioned(settings: Settings, text: str) -> Settings:
    """The settings, and every other variable that a text mentions as unknown."""
    return dict.fromkeys(mentioned(text), UNKNOWN) | settings


def put(settings: Settings, found: _Lines, *, certain: bool = True, last: bool = False) -> None:
    """Adds settings; one that is not certain becomes unknown, and one with another value if it is not the last line."""
    for name, value in found:
        before = settings.get(name, value)
        goes_on = before == value or (last and not isinstance(before, Unknown))
        settings[name] = value if certain and goes_on else UNKNOWN


def unquoted(value: str) -> str:
    """A value without the quotes around it."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


@dataclass(slots=True)
class _Command:
    """A command: the operator before it, its words, where its output goes, and the lines of its here-documents."""

    before: str = ""
    words: list[str] = field(default_factory=list)
    files: list[tuple[str, bool]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def take(self, word: str, redirect: str) -> None:
        if redirect.lstrip("1&") in {">", ">>", ">|"}:
            self.files.append((word, ">>" not in redirect))
        elif not redirect:
            self.words.append(word)


def _commands(text: str) -> Iterator[_Command]:
    """The commands of a script in order, brackets among them; a quote that nothing closes is an open bracket."""
    here, position, redirect, brackets = _Command(), 0, "", 0
    waiting: list[tuple[_Command, str, bool]] = []
    while found := re.compile(_LEXEME).match(text, position):
        position = found.end()
        if found.lastgroup == "redirect":
            redirect = found[0]
        elif found.lastgroup == "word":
            if redirect in {"<<", "<<-"}:
                waiting.append((here, re.sub(r"['\"\\]", "", found[0]), redirect == "<<-"))
            here.take(found[0], redirect)
            redirect = ""
        elif found.lastgroup == "operator":
            redirect, operator = "", found[0]
            if operator == "\n":
                position = _documents(text, position, waiting)
                if here.before in {"&&", "||", "|", "|&"} and not here.words:
                    continue  # an operator at the end of a line is for the next one
            if operator != ")" or brackets:  # else a pattern of "case"
                yield here
            here = _Command(operator)
            if operator == "(" or (operator == ")" and brackets):
                brackets += 1 if operator == "(" else -1
                here = _Command(words=[operator])
    yield here if position == len(text) else _Command(words=["("])


def _documents(text: str, position: int, waiting: list[tuple[_Command, str, bool]]) -> int:
    """Gives commands of a line their here-documents, which follow it; where these end."""
    for command, mark, strips in waiting:
        line = ""
        while position < len(text) and (line.lstrip("\t") if strips else line) != mark:
            stop = text.find("\n", position)
            stop = len(text) if stop < 0 else stop
            line = text[position:stop].rstrip("\r")
            position = min(stop + 1, len(text))
            command.lines.append(line)
    waiting.clear()
    return position


class _Reader:
    """Follows commands one after the other."""

    def __init__(self) -> None:
        self.settings: Settings = {}
        self.variables: dict[str, str] = {}
        self.is_complete = True
        self.may_have_ended = self.is_trapped = False
        self.depth = 0  # of branches, loops, functions and brackets
        self.is_sure = self.succeeds = True  # that hosts come to the last command, and that it does not fail

    def read(self, commands: Iterable[_Command]) -> None:
        """Reads commands up to the ``exit`` that every host comes to."""
        pipeline: list[_Command] = []
        for each in commands:
            if pipeline and each.before not in {"|", "|&"}:
                if self._ends(pipeline, behind=each.before):
                    return
                pipeline = []
            pipeline.append(each)
        self._ends(pipeline)

    def _ends(self, pipeline: Sequence[_Command], *, behind: str = "") -> bool:
        """Takes a pipeline into account; whether the script ends with it."""
        before, was_branch = pipeline[0].before, self.depth
        self.is_sure = before not in {"&&", "||"} or (before == "&&" and self.is_sure and self.succeeds)
        words = [self._words(each) for each in pipeline]
        certain = self.is_sure and not self.depth and not was_branch and not self.may_have_ended
        files = [(self._text(file), is_new) for each in pipeline for file, is_new in each.files]
        for _, *rest in (each for each in words if each[:1] == ["tee"]):
            appends = not {"-a", "--append"}.isdisjoint(rest)
            files += [(file, not appends) for file in rest if not file.startswith("-")]
        only_shows = all(_SHOWS & {*each[:1]} for each in words[1:])
        only_shows &= all(re.fullmatch(_NOT_RUN, file) is not None for file, _ in files)
        for each in words:
            self._simple(each, certain=certain, only_shows=only_shows)
        self._write(files, pipeline, words, certain=certain)
        self.succeeds = not words[-1] or words[-1][0] in _SUCCEEDS
        is_reached = self.is_sure and not self.depth and not was_branch and behind not in {"&", "|", "|&"}
        self.may_have_ended |= words[0] in (["exit"], ["exit", "0"])
        return words[0][:1] == ["exit"] and len(words) == 1 and is_reached and not self.is_trapped

    def _words(self, command: _Command) -> list[str]:
        """The words of a command without its quotes and without what opens and closes branches."""
        words = list(command.words)
        while words:
            opens, closes = words[0] in _OPENS, words[0] in _CLOSES
            self.depth = max(0, self.depth + opens - closes)
            if words[0] in _HEADERS:
                self.is_complete &= words[0] != "function" and not mentioned(" ".join(words))
                return []
            if not opens and not closes and words[0] not in _CONTINUES and not re.fullmatch(_ASSIGNED, words[0]):
                break
            if re.fullmatch(_ASSIGNED, words[0]) and all(re.fullmatch(_ASSIGNED, each) for each in words):
                break
            words.pop(0)
            while words and words[0].startswith("-") and not opens and not closes:
                words.pop(0)  # options of sudo
        return list(map(self._text, words))

    def _simple(self, words: Sequence[str], *, certain: bool, only_shows: bool) -> None:
        head = words[0] if words else ""
        variables = [found for each in words if (found := re.fullmatch(_ASSIGNED, each))]
        if variables and (head in _DECLARES or len(variables) == len(words)):
            for each in variables:
                # A long one is unknown, so that no text grows by writing variables into it.
                self.variables[each[1]] = each[2] if certain and len(each[2]) <= LABEL else "$"
            return
        is_harmless = head in _HARMLESS or (only_shows and re.match(_ASKS, " ".join(words)) is not None)
        self.is_complete &= not head or (is_harmless and (head != "exec" or len(words) == 1))
        self.may_have_ended |= head == "exec" and len(words) > 1
        self.is_trapped |= head == "trap"
        if any("ecs.config" in each for each in words) and (head not in _HARMLESS or head in {"ln", "sed"}):
            self._is_edited(words)

    def _write(self, files: _Files, pipeline: Sequence[_Command], words: Sequence[list[str]], *, certain: bool) -> None:
        known = [is_new for file, is_new in files if is_configuration(file)]
        if not known and not any("$" in file or ("ecs.config" in file and file[0] != "/") for file, _ in files):
            return
        head, *rest = words[0] or [""]
        if any(known):
            self.settings = {} if certain else dict.fromkeys(self.settings, UNKNOWN)
        if head in {"echo", "printf"}:
            text = re.sub(r"^(?:-[neE]+ )+", "", " ".join(rest)).replace("\\n", "\n")
            text = text.replace("%", "$") if head == "printf" else text  # a piece that is not known
        else:
            text = "\n".join(map(self._expanded, pipeline[0].lines))
        is_plain = head in {"echo", "printf"} or ((head == "tee" or words[0] == ["cat"]) and pipeline[0].lines)
        if not is_plain or any(each[:1] not in (["cat"], ["tee"]) for each in words[1:]):
            self._is_edited([*words[0], text])
            return
        is_last = not any("/var/" in file for file, _ in files)  # what is in /etc goes before what is there
        put(self.settings, settings_in(text.splitlines()), certain=certain and bool(known), last=is_last)
        # A line that begins with a variable may set anything.
        self.is_complete &= bool(known) and not re.search(r"^\s*[$`]", text, re.MULTILINE)

    def _is_edited(self, words: Iterable[str]) -> None:
        """The configuration is edited in a way that is not understood."""
        self.is_complete = False
        self.settings |= dict.fromkeys(mentioned("\n".join(words)) or self.settings, UNKNOWN)

    def _text(self, word: str) -> str:
        """A word without its quotes and with the values of variables; ``$`` stands for what is not known."""
        if word[:2] in {"<(", ">("}:
            return "/dev/fd/63"
        return re.sub(_UNQUOTED, self._piece, word) if re.search(r"['\"\\`]|\$\(", word) else self._expanded(word)

    def _piece(self, found: re.Match[str]) -> str:
        single, double, escaped = found.groups()
        if double is not None:
            text = re.sub(_UNQUOTED, "$", double) if "$(" in double else double
            return re.sub(r"\\([\\\"`$])", r"\1", self._expanded(text))
        return (single if single is not None else escaped) if single is not None or escaped else "$"

    def _expanded(self, text: str) -> str:
        return re.sub(_VARIABLE, lambda found: self.variables.get(found[1] or found[2], found[0]), text)
