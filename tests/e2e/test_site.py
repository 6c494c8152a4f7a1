"""``make docs`` builds a site on which every page is found, and which asks nothing of another host."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from gpu_constructs.rules import all_rules
from tools import build_site
from tools.reference_pages import parts
from tools.stories import PRICES

_ASKED = re.compile(
    r"""<(?:script|img|iframe|link(?=[^>]*rel="?(?:stylesheet|icon|preload)))[^>]*(?:src|href)="?(https?:[^" >]+)"""
)


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build_site.build(folder, coloured=False)
    return folder / "html"


@cache
def _pages() -> dict[str, str]:
    return build_site.pages()


def test_every_rule_and_every_name_has_a_page(html: Path) -> None:
    rules, reference = html / "rules", html / "reference"
    assert {f"{each.id}.html" for each in all_rules()} | {"index.html"} == {each.name for each in rules.iterdir()}
    assert {f"{each.name}.html" for each in parts()} | {"index.html"} == {each.name for each in reference.iterdir()}
    # The arguments of a call are on its page, which is found from that of its product.
    product, call = ((reference / f"GpuCluster{of}.html").read_text() for of in ("", ".add_capacity"))
    assert 'href="GpuCluster.add_capacity.html"' in product
    assert ["<code>max_instances</code>" in each for each in (product, call)] == [False, True]


def test_a_page_asks_nothing_of_another_host(html: Path) -> None:
    for page in html.rglob("*.html"):
        text = page.read_text()
        assert not (found := _ASKED.findall(text)), (page, found)
        shim = re.search(r'src="([^"]*shim\.js)"', text)
        assert shim is None or (page.parent / shim[1]).exists(), page
    assert "shim.js" in (html / "index.html").read_text()  # the search needs it where no server is


def test_every_page_is_in_the_navigation() -> None:
    found = {name for entries in build_site.NAVIGATION.values() for name in entries.values()}
    made = {name for name in _pages() if name.startswith(("rules/", "reference/", "decisions/", "gallery/"))}
    assert found | made == set(_pages())


def test_a_link_to_a_file_that_is_not_on_the_site_is_its_path() -> None:
    assert "(`gpu_constructs/facts/data/servers.json`)" in _pages()["serving.md"]
    assert "](../gpu_constructs" not in _pages()["serving.md"]
    assert "](guide.md)" in _pages()["index.md"]


def test_a_story_has_its_app_its_tests_and_its_plan_on_a_page() -> None:
    assert "](gallery/scale-to-zero.md)" in _pages()["gallery.md"]
    page = _pages()["gallery/scale-to-zero.md"]
    assert f"**{json.loads(PRICES.read_text('utf-8'))['an_hour']['scale-to-zero']}**" in page
    for part in ("from app import ScaleToZeroStack", 'ScaleToZeroStack(app, "scale-to-zero")', "an hour    $0.00"):
        assert part in page
