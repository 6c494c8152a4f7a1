"""Each story that ``gpu-constructs new`` writes is an app that passes its tests and the check, and is deployed."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from unittest.mock import patch

import pytest
from ecs_emulator.local import Local
from gpu_constructs.check.report import check_files
from gpu_constructs.cli.new import files_of, stories
from gpu_constructs.rules import Severity
from tools.stories import PRICES, made, prices

from tests.synthesis import Site

from .cdk_cli import ROOT

STORIES = tuple(stories())


@contextmanager
def _without_modules(*packages: str) -> Iterator[None]:
    """Lets modules of these names be those of an app, and ours again afterwards."""

    def taken() -> dict[str, ModuleType]:
        found = [each for each in sys.modules if each.partition(".")[0] in packages]
        return {each: sys.modules.pop(each) for each in found}

    ours = taken()
    try:
        yield
    finally:
        taken()
        sys.modules.update(ours)


@pytest.mark.parametrize("story", STORIES)
def test_the_check_finds_nothing_and_its_own_tests_pass(story: str) -> None:
    folder = made()[story]
    assert [each for each in check_files([folder / "cdk.out"]).findings if each.severity is not Severity.INFO] == []
    # The last would look through all that this process holds for what was left open, which takes seconds.
    left_out = ("cacheprovider", "faulthandler", "xdist", "unraisableexception")
    plain = ["-q", *(f"-pno:{each}" for each in left_out), "--rootdir", str(folder)]
    with patch.object(sys, "path", [*sys.path]), _without_modules("app", "tests"):
        assert pytest.main([*plain, str(folder / "tests")]) is pytest.ExitCode.OK


@pytest.mark.parametrize("story", STORIES)
def test_it_is_deployed_and_leaves_nothing(story: str, cloud: Local) -> None:
    cloud.destroy(cloud.deploy_assembly(made()[story] / "cdk.out", story))
    for kind, name in cloud.inventory():
        assert kind == "log group"  # of CDK's own constructs, which keep it
        cloud.account.client("logs").delete_log_group(logGroupName=name)


def test_the_prices_are_those_of_the_plans_and_every_app_has_one_and_is_on_the_page() -> None:
    assert json.loads(PRICES.read_text("utf-8")) == prices(), (
        "gpu_stories/prices.json is out of date; run: make pictures"
    )
    files = {path.stem for path in (ROOT / "gpu_stories/apps").glob("*.py")} - {"__init__"}
    assert files == {each.replace("-", "_") for each in STORIES}
    page = (ROOT / "docs/gallery.md").read_text("utf-8")
    rows = re.findall(r"^\| \[([\w-]+)\]\(\.\./gpu_stories/apps/\w+\.py\) \| ([^|]+) \|", page, re.MULTILINE)
    assert rows == list(stories().items())


def test_an_app_has_less_than_60_lines_and_the_settings_that_cdk_recommends() -> None:
    for path in (ROOT / "gpu_stories/apps").glob("*.py"):
        assert len(path.read_text("utf-8").splitlines()) < 60, path
    written = json.loads(files_of("chat")["cdk.json"])["context"]
    assert written == {key: value for key, value in Site.recommended_context().items() if key[0] == "@"}
