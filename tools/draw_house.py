"""The rooms of the package and what they import, by decision 35 and the modules: ``docs/rooms.svg``."""

from __future__ import annotations

import re
from html import escape

from tests.test_house import DRAWING, PACKAGE, ROOMS, imports_of

__all__ = ["picture"]

_STRIPES = ("#f3f5f8", "#ffffff")
_ROW, _EDGE, _NAME, _QUESTION, _CELL = 26, 16, 110, 620, 24


def picture() -> str:
    """The picture as SVG: a row for each room, and a dot for each room below that it imports."""
    questions = dict(re.findall(r"^(\w+)  +(.+)$", DRAWING, re.MULTILINE))
    left = _EDGE + _NAME + _QUESTION
    width, top = left + len(ROOMS) * _CELL + _EDGE, 110
    height = top + len(ROOMS) * _ROW + _EDGE
    parts = []
    for at, room in enumerate(ROOMS):
        middle, x = top + at * _ROW + _ROW / 2, left + at * _CELL + _CELL / 2
        parts += [
            f'<rect x="0" y="{middle - _ROW / 2:g}" width="{width}" height="{_ROW}" fill="{_STRIPES[at % 2]}"/>',
            f'<text x="{_EDGE}" y="{middle + 4:g}" font-weight="bold">{room}</text>',
            f'<text x="{_EDGE + _NAME}" y="{middle + 4:g}">{escape(questions[room], quote=False)}</text>',
            f'<text transform="translate({x + 4:g} {top - 8}) rotate(-60)">{room}</text>',
            f'<rect x="{x - 5:g}" y="{middle - 5:g}" width="10" height="10" fill="#c3cad5"/>',
        ]
        for other in sorted(_imported(room), key=ROOMS.index):
            x = left + ROOMS.index(other) * _CELL + _CELL / 2
            told = f"<title>{room} imports {other}</title>"
            parts.append(f'<circle cx="{x:g}" cy="{middle:g}" r="5" fill="#1f5fa8">{told}</circle>')
    style = 'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#16191f"'
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>',
            "<title>The rooms of gpu_constructs, and what each imports</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _imported(room: str) -> set[str]:
    folder, file = PACKAGE / room, PACKAGE / f"{room}.py"
    paths = folder.rglob("*.py") if folder.is_dir() else [file]
    return {other for path in paths for other in imports_of(path) if other in ROOMS and other != room}
