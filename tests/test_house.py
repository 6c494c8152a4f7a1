"""The drawing of the rooms is true: what is at the top of the package, and that imports run one way, for types too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.synthesis import ROOT

PACKAGE = ROOT / "gpu_constructs"
DRAWING = (ROOT / "docs" / "decisions" / "0035-the-rooms.md").read_text(encoding="utf-8")
ROOMS = re.findall(r"^(\w+)  ", DRAWING.partition("```text\n")[2].partition("```")[0], re.MULTILINE)
"""From the top downward."""


def imports_of(path: Path) -> Iterator[str]:
    """The rooms that a module imports, where it needs them for types alone too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE.name:
            named = [f"{PACKAGE.name}.{each.name}" for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            named = [node.module]
        else:
            continue
        yield from (each.split(".")[1] for each in named if each.startswith(f"{PACKAGE.name}."))


def test_the_drawing_has_every_entry_of_the_package() -> None:
    entries = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")}
    assert set(ROOMS) == entries - {"__init__"}
    assert len(entries | {"py.typed"}) <= 20


def test_each_room_imports_only_rooms_below_it() -> None:
    upward = [
        f"{path.relative_to(PACKAGE)} imports {room}"
        for path in PACKAGE.rglob("*.py")
        if (of := path.relative_to(PACKAGE).parts[0].removesuffix(".py")) in ROOMS
        for room in imports_of(path)
        if room in ROOMS and ROOMS.index(room) < ROOMS.index(of)
    ]
    assert upward == []
