"""Where a project says its configuration: a file of its own, or a table of ``pyproject.toml``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module

from gpu_constructs.check.repository import top_of, upwards
from gpu_constructs.facts.budget import BYTES
from gpu_constructs.facts.catalogue import CONFIGURATION_FILES, CONFIGURATION_TABLE
from gpu_constructs.template.documents import Document, Files
from gpu_constructs.template.documents.node import Path, Position
from gpu_constructs.template.model import UnreadableError

PYPROJECT = "pyproject.toml"
_TOOL = "gpu-constructs"
_WRONG = "gpu_constructs"


def nearest(paths: Sequence[str]) -> str | None:
    """The configuration of what is checked: of its directory, or of the nearest around it in the same repository.

    Where there is none, that of the working directory counts.

    Raises:
        UnreadableError: A directory has two.
    """
    for folder in dict.fromkeys(_folders(paths)):
        names = [os.path.join(folder, each) for each in CONFIGURATION_FILES]
        table = os.path.join(folder, PYPROJECT)
        found = [each for each in names if os.path.isfile(each)]
        found += [table] if os.path.isfile(table) and re.search(CONFIGURATION_TABLE, _text(table)) else []
        named = [min(os.path.relpath(each), each, key=len) for each in found]
        if len(named) > 1:
            fix = "delete one, or take --config"
            raise UnreadableError(f"there is {named[1]} too", file=named[0], allowed="one configuration", fix=fix)
        if named:
            return named[0]
    return None


def _folders(paths: Sequence[str]) -> Iterator[str]:
    here = os.getcwd()
    named = [os.path.abspath(each) for each in paths if each != "-" and os.path.exists(each)]
    folders = [each if os.path.isdir(each) else os.path.dirname(each) for each in named]
    for start in [*([os.path.commonpath(folders)] if folders else []), here]:
        # Beyond a repository, or the working directory, begin the files of others.
        last = top_of(start) or (here if f"{start}/".startswith(f"{here.rstrip('/')}/") else start)
        for each in upwards(start):
            yield each
            if each == last:
                break


def document_of(file: str) -> Document:
    """What a configuration says, with the lines of its keys."""
    if not file.endswith(".toml"):
        if os.path.isfile(file) and not os.path.getsize(file):
            return Document(file=file, data=None)
        return Files().read(file, only_plain=True)
    text = _text(file)
    try:
        table = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"not TOML: {error}", file=file) from None
    tools = table.get("tool") if isinstance(table.get("tool"), dict) else {}
    own, find = tools.get(_TOOL), _Places(text).find
    if _WRONG in tools:
        line = None if (place := find(())) is None else place.line
        raise UnreadableError(f"[tool.{_WRONG}] is not read", file=file, line=line, fix=f"[tool.{_TOOL}]")
    if own is None and os.path.basename(file) != PYPROJECT:
        own = table
    return Document(file=file, data=own, find=find)


class _Places:
    """Where the keys of the table are: as TOML's reader says no lines, the first line that is about a key."""

    def __init__(self, text: str) -> None:
        found = re.search(CONFIGURATION_TABLE, text)
        self._start = found.start() if found else 0
        self._text = text

    def find(self, path: Path) -> Position | None:
        """The place of a path, or of the deepest part of it that is found."""
        at = self._start
        for step in (each for each in path if isinstance(each, str)):
            name = re.escape(step)
            key = re.compile(rf"""(?:^[ \t]*|[.{{,][ \t]*)["']?{name}["']?[ \t]*[=.\]]""", re.MULTILINE)
            found = key.search(self._text, at)
            at = at if found is None else found.end()
        line = self._text.count("\n", 0, at) + 1
        return Position(path, line, at - self._text.rfind("\n", 0, at))


def _text(file: str) -> str:
    try:
        with open(file, "rb") as opened:
            return opened.read(BYTES).decode()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a text in UTF-8"
        raise UnreadableError(f"cannot be read: {why.lower()}", file=file) from None
