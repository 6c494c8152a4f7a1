"""The pictures of the documentation show what commands print and modules hold today, and pages say what is on them."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from tests.synthesis import ROOT
from tools import draw_house, draw_terminal
from tools.draw_terminal import drawn
from tools.pictures import DOCS


def texts_of(svg: str) -> list[str]:
    return [each.text or "" for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314 - ours


@pytest.mark.parametrize("draw", [draw_terminal.pictures, lambda: {"rooms.svg": draw_house.picture()}])
def test_a_picture_is_what_there_is_today(draw: object) -> None:
    assert callable(draw)
    for name, text in draw().items():
        assert texts_of(text)
        assert (DOCS / name).read_text(encoding="utf-8") == text, f"{name} is out of date; run: make pictures"


def test_a_terminal_has_each_letter_at_its_column() -> None:
    svg = drawn("look", "  \x1b[1;31merror\x1b[0m a < b\n")
    assert texts_of(svg) == ["$", "look", "error", "a < b"]
    assert [float(each) for each in re.findall(r'<text x="([\d.]+)"', svg)] == [16.0, 31.6, 31.6, 78.4]


def test_every_picture_is_on_a_page_with_words_for_who_does_not_see_it() -> None:
    pages = [ROOT / "README.md", *DOCS.glob("**/*.md")]
    image = re.compile(r"!\[(.*?)\]\((?:.*/)?([\w-]+\.svg)\)")
    shown = [found for page in pages for found in image.findall(page.read_text("utf-8"))]
    assert {name for _, name in shown} == {path.name for path in DOCS.glob("*.svg")}
    assert [name for words, name in shown if len(words.split()) < 5] == []
