"""The drawing of the rooms is true: what is at the top of the package, and that imports run one way, for types too."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench import house
from tests.kernel import started_directly
from tests.synthesis import ROOT

PACKAGE = ROOT / "gpu_constructs"
DRAWING = (ROOT / "docs" / "decisions" / "0035-the-rooms.md").read_text(encoding="utf-8")
ROOMS = re.findall(r"^(\w+)  ", DRAWING.partition("```text\n")[2].partition("```")[0], re.MULTILINE)
"""From the top downward."""


_IMPORT = re.compile(rf"^\s*(?:from|import) {PACKAGE.name}(?:\.(\w+)| import (\w+(?:, \w+)*))", re.MULTILINE)


def imports_of(path: Path) -> set[str]:
    """The rooms that a module imports, where it needs them for types alone too."""
    found = _IMPORT.findall(path.read_text(encoding="utf-8"))
    return {room for one, several in found for room in (one, *several.split(", ")) if room}


def read(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def defined_in(tree: ast.Module) -> set[str]:
    """The names that a module makes or imports."""
    made = {each.name for each in tree.body if isinstance(each, ast.ClassDef | ast.FunctionDef)}
    imports = (each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom))
    return made | {name.asname or name.name for each in imports for name in each.names}


def test_the_drawing_has_every_entry_of_the_package() -> None:
    entries = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")}
    assert set(ROOMS) == entries - {"__init__"}


def test_the_house_is_no_larger_than_was_decided() -> None:
    with started_directly():  # `rows` counts in a process that imports CDK
        assert [
            each for each in house.rows(runs=0, count_code=False) if each[2] is not None and each[1] > each[2]
        ] == []


def test_each_room_imports_only_rooms_below_it() -> None:
    upward = [
        f"{path.relative_to(PACKAGE)} imports {room}"
        for path in PACKAGE.rglob("*.py")
        if (of := path.relative_to(PACKAGE).parts[0].removesuffix(".py")) in ROOMS
        for room in imports_of(path)
        if room in ROOMS and ROOMS.index(room) < ROOMS.index(of)
    ]
    assert upward == []


def test_the_docstring_of_a_room_names_only_what_is_in_it() -> None:
    gone = [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in PACKAGE.rglob("__init__.py")
        for name in re.findall(r"(?<!`)`([a-z_]+)`(?!`)", ast.get_docstring(read(path)) or "")
        if not (
            path.with_name(f"{name}.py").exists() or path.with_name(name).is_dir() or name in defined_in(read(path))
        )
    ]
    assert gone == []


_PRIVATE = re.compile(
    r"""^(?:(?<=\n\n)(?:async\ )?(?:def|class)\ (?P<one>_[^\W_]\w*)  # a decorator may hand its function on
    |(?P<several>_[^\W_]\w*(?:,\ \w+)*)(?::[^=\n]+)?\ =\ )""",
    re.MULTILINE | re.VERBOSE,
)


def unread_in(text: str) -> Iterator[str]:
    """Private names that a module makes at its top and does not read."""
    made = [name for found in _PRIVATE.finditer(text) for name in (found["one"] or found["several"]).split(", ")]
    places = Counter(re.findall(r"""(?<![\w.`"'])_[^\W_]\w*""", text))
    yield from (each for each in made if each.startswith("_") and places[each] <= made.count(each))


def test_each_private_name_is_read_in_its_module() -> None:
    folders = ("gpu_constructs", "gpu_stories", "tests", "tools", "bench", "stacks", "ecs_emulator")
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    assert [f"{path.relative_to(ROOT)}: {name}" for path in paths for name in unread_in(path.read_text("utf-8"))] == []
