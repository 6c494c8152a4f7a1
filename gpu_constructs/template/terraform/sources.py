"""In which line of which ``.tf`` file is a resource? A plan does not say it, so the files beside it are looked at.

Modules are where ``terraform init`` noted them (``.terraform/modules/modules.json``), or where a path leads.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property

from gpu_constructs.fleet import SourceLine
from gpu_constructs.template.documents.node import items, members, under
from gpu_constructs.template.terraform.plan import Instance, Plan

_RESOURCE = re.compile(r'^[ \t]*resource[ \t]+"?(\w[\w-]*)"?[ \t]+"?(\w[\w-]*)"?[ \t]*\{', re.MULTILINE)
_ENDINGS = (".tf", ".tofu")
_FILES, _BYTES = 200, 1024 * 1024
_NOTED = (".terraform", "modules", "modules.json")


class Sources:
    """The files that a plan was made from, as far as they are there.

    Args:
        file: The file of the plan.
        plan: The plan.
    """

    def __init__(self, file: str, plan: Plan) -> None:
        self._folder = os.path.dirname(file)
        self._plan = plan
        self._in_folder = cache(_resources_in)

    def line_of(self, address: str) -> SourceLine | None:
        """Where a resource is written; None where no file has it, or more than one."""
        instance = self._plan.instances.get(address)
        folder = None if instance is None else self._folder_of(instance)
        return (
            None if instance is None or folder is None else self._in_folder(folder).get((instance.type, instance.name))
        )

    def _folder_of(self, instance: Instance) -> str | None:
        names = [name for name, _ in instance.module]
        if not names:
            return self._folder
        noted = self._noted.get(".".join(names))
        if noted is not None:
            return self._inside(self._folder, noted)
        folder, module = self._folder, self._plan.configuration
        for name in names:
            call = members(under(module, "module_calls", name))
            source, inner = call.get("source"), call.get("module")
            if not isinstance(source, str) or not source.startswith(("./", "../")) or not isinstance(inner, dict):
                return None
            folder, module = self._inside(folder, source), inner
        return folder

    @staticmethod
    def _inside(folder: str, path: str) -> str:
        return os.path.normpath(os.path.join(folder, path))

    @cached_property
    def _noted(self) -> Mapping[str, str]:
        try:
            data = json.loads(_text(os.path.join(self._folder, *_NOTED)))
        except (ValueError, RecursionError):
            return {}
        return {str(under(each, "Key")): str(under(each, "Dir")) for each in items(under(data, "Modules"))}


def _resources_in(folder: str) -> Mapping[tuple[str, str], SourceLine]:
    found: dict[tuple[str, str], SourceLine | None] = {}
    for file in _files(folder):
        text = _text(file)
        for match in _RESOURCE.finditer(text):
            key = (match[1], match[2])
            line = SourceLine(file=file, line=text.count("\n", 0, match.start(1)) + 1)
            found[key] = None if key in found else line
    return {key: line for key, line in found.items() if line is not None}


def _files(folder: str) -> Iterator[str]:
    try:
        names = sorted(os.listdir(folder or "."))
    except (OSError, ValueError):
        return
    yield from (os.path.join(folder, each) for each in [one for one in names if one.endswith(_ENDINGS)][:_FILES])


def _text(file: str) -> str:
    """What is in a file of the usual size; nothing where it cannot be read."""
    try:
        if not os.path.isfile(file) or os.path.getsize(file) > _BYTES:
            return ""
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except (OSError, ValueError):
        return ""
