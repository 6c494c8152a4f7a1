"""Shell scripts of user data: which lines are commands, which hosts come to them, and what do they do to the agent?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gpu_constructs.fleet import INSTANCE_ATTRIBUTES, UserData
from gpu_constructs.placement.pool_profile import is_object_of_texts

_HERE_DOCUMENT = re.compile(r"<<-?[ \t]*[\"']?(\w+)")
_OPENS = re.compile(r"^\s*(?:if|for|while|until|case|select)\b|[{(]\s*$")
_CLOSES = re.compile(r"(?:^|;)\s*(?:fi|done|esac)\b|^\s*[})]")
_EXIT = re.compile(r"exit\b[ \t\d]*(?:#.*)?")
_STOPS_AT_ERRORS = re.compile(r"#!\S*sh[ \t]+-[a-df-z]*e|set[ \t]+(?:-[a-df-z]*e|-o[ \t]+errexit)")
_GOES_ON_AFTER_ERRORS = re.compile(r"\s*set[ \t]+(?:\+[a-df-z]*e|\+o[ \t]+errexit)")


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


def commands(script: str) -> Iterator[Command]:
    """The commands of a script up to its end, each character looked at once."""
    depth, at, end = 0, 0, ""
    quoted = goes_on = stops = False
    for line in script.splitlines(keepends=True):
        written, start, at = line.rstrip(), at, at + len(line)
        if end:
            end = "" if written.strip() == end else end
            continue
        stops = stops or (not depth and _STOPS_AT_ERRORS.match(written) is not None)
        stops = stops and _GOES_ON_AFTER_ERRORS.match(written) is None
        if not written or written.lstrip().startswith("#"):
            continue
        here = _HERE_DOCUMENT.search(written)
        end = here[1] if here and "<<<" not in written else ""
        depth = max(0, depth - len(_CLOSES.findall(written)) + len(_OPENS.findall(written)))
        is_certain = not (depth or quoted or goes_on or line[0].isspace())
        if is_certain and _EXIT.fullmatch(written):
            return
        yield Command(written, start, is_certain, stops and is_certain)
        quoted, goes_on = quoted != written.count("'") % 2, written.endswith(("\\", "&&", "||", "|"))


_STARTS_AGENT = re.compile(
    r"[ \t]*((?:sudo[ \t]+)?(?:systemctl[ \t]+(?:(?:re)?start|enable[ \t]+--now)[ \t]+(?:ecs|amazon-ecs)(?:\.service)?"
    r"|service[ \t]+ecs[ \t]+(?:re)?start))[ \t]*(?:$|[;#]|\|\||&&)"
)
_STOPS_AGENT = re.compile(
    r"((?:sudo[ \t]+)?(?:systemctl[ \t]+(?:stop|disable|mask)(?:[ \t]+(?:--now|docker))*[ \t]+(?:amazon-)?ecs"
    r"(?:\.service)?(?:[ \t]+(?:--now|docker))*|service[ \t]+ecs[ \t]+stop))[ \t]*(?:$|[;#]|\|\||&&)"
)
_MAY_START = re.compile(r"\b(?:enable|init|preset|reboot|shutdown|(?:re)?start|unmask)\b")
_CHANGES_UNIT = re.compile(r"cloud-final|ecs\.service\.d\b|system/ecs\.service|systemctl[ \t]+edit")


def waits_for_agent(data: UserData) -> tuple[str, bool] | None:
    """The command of a script that starts the ECS agent and waits for it, and whether every host comes to it.

    Scripts that change the unit of the agent are left out: it may wait for nothing then.
    """
    scripts = (each for each in data.scripts if not _CHANGES_UNIT.search(each))
    started = ((each, _STARTS_AGENT.match(each.line)) for script in scripts for each in commands(script))
    found = [(" ".join(start[1].split()), each.is_certain) for each, start in started if start]
    return min(found, key=lambda each: not each[1], default=None)


def keeps_agent_off(data: UserData) -> str:
    """The command after which the ECS agent certainly does not start; empty without one.

    Its start is a job that waits for cloud-init, and one that conflicts with it takes its place (systemctl(1),
    ``--job-mode=replace``).
    """
    for script in data.scripts:
        for each in commands(script):
            found = _STOPS_AGENT.match(each.line) if each.is_certain else None
            if found and not _MAY_START.search(script, each.at + found.end()):
                return " ".join(found[1].split())
    return ""


def ends_at(lacking: str, data: UserData) -> bool | None:
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


_IN_QUOTES = re.compile(r"([\"']).*\1")


def kept_from_joining(data: UserData) -> Iterator[tuple[str, str, str]]:
    """Lines with which an agent joins no cluster, each with why and what to write instead.

    https://github.com/aws/amazon-ecs-agent, agent/config/parse.go
    """
    name = data.get("ECS_CLUSTER")
    if isinstance(name, str) and _IN_QUOTES.fullmatch(name):
        yield (
            f"ECS_CLUSTER={name}",
            "where the quotes are a part of the name",
            "ECS_CLUSTER without quotes around the name",
        )
    for variable in (INSTANCE_ATTRIBUTES, "ECS_CONTAINER_INSTANCE_TAGS"):
        written = data.get(variable)
        if isinstance(written, str) and not is_object_of_texts(written):
            why = "which is no object of texts in JSON, with which the agent does not start"
            yield f"{variable}={written}", why, f"""'{variable}={{"name":"value"}}' in single quotes of the shell"""
