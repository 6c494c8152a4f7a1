"""What cloud-config, single commands and contents of files set for the ECS agent, line by line.

https://cloudinit.readthedocs.io/en/latest/reference/modules.html
"""

from __future__ import annotations

import re

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.template.resources.user_data.agent import (
    Settings,
    is_configuration,
    put,
    settings_in,
    unquoted,
    with_mentioned,
)
from gpu_constructs.template.resources.user_data.script import settings_of_script

__all__ = ["settings_of_lines"]

_PATH = re.compile(r"(?:-\s+)?path:\s*(\S+)")
_LAST_OF_LIST = re.compile(r"\"((?:[^\"\\]|\\.)*)\"\s*\]$")


def settings_of_lines(text: str) -> Settings:
    """What is certain of the settings in a text, and every other one that it mentions as unknown."""
    settings: Settings = {}
    commands: list[str] = []
    is_certain = True
    for line in map(str.strip, text.splitlines()):
        path = _PATH.fullmatch(line)
        found = list(settings_in([line]))
        if path:
            is_certain = is_configuration(unquoted(path[1]))
        elif found:
            for name, value in found:
                put(settings, name, value if is_certain else UNKNOWN)
        else:
            commands.append(_command(line))
    for name, value in settings_of_script("\n".join(commands))[0].items():
        put(settings, name, value)
    return with_mentioned(settings, text)


def _command(line: str) -> str:
    """An item of ``runcmd`` as a command: a text, or a list of which the last word is given to a shell."""
    item = line.removeprefix("- ").strip()
    last = _LAST_OF_LIST.search(item) if item.startswith("[") else None
    return last[1] if last else unquoted(item)
