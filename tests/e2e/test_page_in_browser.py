"""The page of a plan in a real browser, at the width of a desktop and of a phone, in light and in dark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from gpu_constructs.checking.report import check_files
from gpu_constructs.planning import FleetPlan, plan
from gpu_constructs.planning.host_layout import layouts_of
from gpu_constructs.planning.page import page
from tools.browser import Browser, browser

from tests.planning.drawn_fleet import drawn_fleet
from tests.planning.given import planned, pool, service
from tests.stacks.stories import STORIES

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
SIZES = {"desktop": (1280, 900), "phone": (390, 844), "smallest": (320, 640)}
TAB, ENTER = ("Tab", 9), ("Enter", 13)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FleetPlan]:
    app = cdk.App(outdir=str(tmp_path_factory.mktemp("app")))
    STORIES["chat"](app)
    reference = plan(check_files([app.synth().directory], rules=()).fleet)
    endless = service(pool(name="P" * 100_000), name="T" * 100_000)
    long = planned(endless, service(pool(), name="של" * 200))
    return {"reference stack": reference, "everything": plan(drawn_fleet()), "long names": long}


@pytest.fixture(scope="module")
def files(plans: dict[str, FleetPlan], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = {name: folder / f"{name}.html" for name in plans}
    for name, path in found.items():
        path.write_text(page(plans[name]), encoding="ascii")
    return found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["reference stack", "everything", "long names"])
def test_a_page_fits_its_window_and_asks_for_nothing(
    name: str, size: str, chromium: Browser, files: dict[str, Path]
) -> None:
    width, height = SIZES[size]
    chromium.show(files[name], width=width, height=height)
    assert chromium.run("document.documentElement.scrollWidth") <= width
    # Nothing is cut off either: no text is wider than the box that it is in.
    cut = """[...document.querySelectorAll('h1,h2,h3,h4,p,li,td,th,dd,summary,.slot')]
        .filter(each => each.scrollWidth > each.clientWidth + 1 && !each.closest('.sr')
            && getComputedStyle(each).display !== 'inline')
        .map(each => each.outerHTML.slice(0, 120))"""
    assert chromium.run(cut) == []
    said = {"Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"}
    assert [each for each in chromium.events if each["method"] in said] == []
    requests = [each["params"]["request"]["url"] for each in chromium.events if "requestWillBe" in each["method"]]
    assert requests == [files[name].as_uri()]


@pytest.mark.parametrize(("size", "dark"), [("desktop", False), ("phone", True)])
def test_a_page_breaks_no_rule_of_axe(size: str, dark: bool, chromium: Browser, files: dict[str, Path]) -> None:
    width, height = SIZES[size]
    for path in files.values():
        chromium.show(path, width=width, height=height, dark=dark)
        chromium.run("document.querySelectorAll('details').forEach(each => each.open = true)")
        chromium.run(AXE.read_text(encoding="utf-8"))
        found: Any = json.loads(chromium.run("axe.run().then(JSON.stringify)"))
        broken = {each["id"]: [of["html"][:200] for of in each["nodes"]][:3] for each in found["violations"]}
        assert broken == {}
        assert {"color-contrast", "heading-order", "th-has-data-cells"} <= {each["id"] for each in found["passes"]}


def test_a_screen_reader_meets_every_host_and_every_task(
    chromium: Browser, plans: dict[str, FleetPlan], files: dict[str, Path]
) -> None:
    chromium.show(files["everything"], width=1280, height=900)
    nodes = chromium.call("Accessibility.getFullAXTree")["nodes"]
    heard = [(each["role"]["value"], each.get("name", {}).get("value", "")) for each in nodes if not each["ignored"]]
    headings = [name for role, name in heard if role == "heading"]
    cells = [name for role, name in heard if role == "rowheader"]
    drawings = [name for role, name in heard if role in {"image", "img"}]
    for layout in layouts_of(plans["everything"]):
        assert layout.plan.pool.name in headings
        assert {each.name for each in layout.tasks} <= set(cells)
        for host in layout.hosts:
            start = f"{host.hosts} hosts, each: " if host.hosts > 1 else "One host: "
            assert any(name.startswith(start) for name in headings)
    assert "4 GPUs of one host: 2 held by rerank; 2 held by vision" in drawings
    assert "1 GPU of one host: 1 shared by 2 of embed-image and 1 of embed-text" in drawings
    assert "4 GPUs of one host: 2 held by rank; 2 idle, because CPU is used up" in drawings


def test_a_keyboard_reaches_and_closes_what_opens(chromium: Browser, files: dict[str, Path]) -> None:
    chromium.show(files["everything"], width=1280, height=900)
    focus = "document.activeElement"
    chromium.press(*TAB)
    assert chromium.run(f"{focus}.textContent") == "Skip to the hosts"
    chromium.press(*ENTER)
    chromium.press(*TAB)
    assert chromium.run(f"{focus}.localName") == "summary"
    assert chromium.run(f"getComputedStyle({focus}).outlineStyle") == "solid"
    was_open = chromium.run(f"{focus}.parentElement.open")
    chromium.press(*ENTER)
    assert chromium.run(f"{focus}.parentElement.open") is not was_open
