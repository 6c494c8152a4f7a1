"""What commands print, as pictures: ``docs/terminal-*.svg``, made by running them beside the template of the README."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from html import escape
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from gpu_constructs.cli.program import main

__all__ = ["drawn", "pictures"]

_TEMPLATE = Path(__file__).parents[1] / "tests/readme/template.yaml"
_WIDTH = 100
_CELL, _ROW, _EDGE, _BAR = 7.8, 18, 16, 28
_GROUND, _BAR_GROUND, _PLAIN = "#16191f", "#2a2f38", "#e6e6e6"
_STYLES = {
    "1;31": 'fill="#ff7b72" font-weight="bold"',
    "33": 'fill="#e3b341"',
    "36": 'fill="#76d9e6"',
    "32": 'fill="#7ee787"',
    "1": 'font-weight="bold"',
    "2": 'fill="#a8b0bd"',
}
"""Of Select Graphic Rendition, for each code that `gpu_constructs.cli.output` writes."""

_FITS: Mapping[str, str] = {'Value: "8"': 'Value: "1"'}
"""What is changed in the template for a plan, which counts what fits."""

_COMMANDS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "check": ("check template.yaml", {}),
    "explain": ("explain Train template.yaml", {}),
    "plan": ("plan template.yaml", _FITS),
    "new": ("new", {}),
}


def pictures() -> dict[str, str]:
    """The pictures by their names in ``docs/``."""
    return {
        f"terminal-{name}.svg": drawn(f"gpu-constructs {words}", _said(words, changes))
        for name, (words, changes) in _COMMANDS.items()
    }


def drawn(command: str, said: str) -> str:
    """A terminal in which a command was run.

    Args:
        command: As it is typed.
        said: What it printed, with its colours.
    """
    lines = [f"\x1b[32m$ \x1b[0m{command}", *said.rstrip("\n").split("\n")]
    width = round(2 * _EDGE + _WIDTH * _CELL)
    height = _BAR + 2 * _EDGE + len(lines) * _ROW
    text = [part for at, line in enumerate(lines) for part in _line(line, _BAR + _EDGE + (at + 0.75) * _ROW)]
    dots = [f'<circle cx="{_EDGE + 18 * each}" cy="{_BAR / 2}" r="5" fill="#5b6370"/>' for each in range(3)]
    style = f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" fill="{_PLAIN}"'
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>',
            f"<title>{escape(command)}</title>",
            f'<rect width="{width}" height="{height}" rx="8" fill="{_GROUND}"/>',
            f'<rect width="{width}" height="{_BAR}" rx="8" fill="{_BAR_GROUND}"/>',
            *dots,
            *text,
            "</svg>\n",
        ]
    )


def _line(line: str, y: float) -> Iterator[str]:
    """Each piece at its column, as wide as its letters are in a terminal, whichever font there is."""
    column, style = 0, ""
    for at, piece in enumerate(re.split(r"\x1b\[([\d;]*)m", line)):
        if at % 2:
            style = _STYLES[piece] if piece not in {"", "0"} else ""
        else:
            if text := piece.strip():
                x = _EDGE + (column + len(piece) - len(piece.lstrip())) * _CELL
                place = f'x="{x:.1f}" y="{y:g}" textLength="{len(text) * _CELL:.1f}"'
                yield f'<text {place} xml:space="preserve"{style and f" {style}"}>{escape(text, quote=False)}</text>'
            column += len(piece)


def _said(words: str, changes: Mapping[str, str]) -> str:
    text = _TEMPLATE.read_text(encoding="utf-8")
    for before, after in changes.items():
        if before not in text:
            raise ValueError(f"{before} is not in {_TEMPLATE}, where the picture of {words} changes it")
        text = text.replace(before, after)
    here, world = Path.cwd(), {"FORCE_COLOR": "1", "COLUMNS": str(_WIDTH), "NO_COLOR": ""}
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, world), redirect_stdout(StringIO()) as said:
        (Path(folder) / "template.yaml").write_text(text, encoding="utf-8")
        os.chdir(folder)
        try:
            code = main(words.split())
        finally:
            os.chdir(here)
    if code not in {0, 1}:
        raise RuntimeError(f"gpu-constructs {words} ended with {code}")
    return said.getvalue()
