"""``make pictures``: draws every picture of ``docs/`` anew, from what commands print and modules hold today."""

from __future__ import annotations

from pathlib import Path

from tools import draw_dashboard, draw_house, draw_terminal

__all__ = ["DOCS", "pictures"]

DOCS = Path(__file__).parents[1] / "docs"


def pictures() -> dict[str, str]:
    """Each picture by its name in ``docs/``."""
    return {
        **draw_terminal.pictures(),
        "rooms.svg": draw_house.picture(),
        draw_dashboard.PICTURE.name: draw_dashboard.picture(),
    }


if __name__ == "__main__":
    for name, text in pictures().items():
        (DOCS / name).write_text(text, encoding="utf-8")
