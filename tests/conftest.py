"""What every test of a construct needs: a fresh app, and its template as plain data."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

# The built-in template validation costs most of a synth; tests/stacks keeps it on where it is the point.
os.environ.setdefault("CDK_VALIDATION", "false")

from pathlib import Path

import aws_cdk as cdk
import hypothesis
import pytest
from xdist.scheduler import LoadFileScheduling

from gpu_constructs.hardware import overlay
from tests.synthesis import Ground, Landlord, Site, Tenant, app_in

# Images of containers set it; without bytecode, each worker and each command that a test runs compiles everything.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The collection leaves nothing to free but what stays to the end.
gc.disable()

_FIRST = ("tests/e2e/test_emulator_page.py", "tests/e2e/test_all_reduce.py", "tests/e2e/test_reference_stacks.py")

_OF_REPORTS = (
    "tests/properties/test_fixes.py",
    "tests/rules/test_causes.py",
    "tests/rules/test_examples.py",
    "tests/rules/test_places.py",
    "tests/acceptance/test_broken_templates.py",
    "tests/acceptance/test_good_templates.py",
)
"""Files that read the reports of `tests.reports`, which one process makes once."""

# A busy machine fails no test.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.fixture
def forget_declared_types(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A test begins without declared types, and a call forgets those that it has declared."""

    def forget() -> None:
        monkeypatch.setattr(overlay, "_OF_THE_PROCESS", {})

    forget()
    return forget


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(app_in(tmp_path))


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """One for all tests of a module that read the same template: it is built once and synthesized once."""
    return Site(app_in(tmp_path_factory.mktemp("shared")))


@pytest.fixture(scope="module")
def landlord(tmp_path_factory: pytest.TempPathFactory) -> Landlord:
    """Whose hosts the tenants of a module share."""
    return Landlord(app_in(tmp_path_factory.mktemp("landlord")))


@pytest.fixture
def tenant(landlord: Landlord) -> Iterator[Tenant]:
    """A stack of its own with task definitions on shared hosts, in a third of the time of a site of its own."""
    yield Tenant(landlord, "Tenant")
    landlord.app.node.try_remove_child("Tenant")


@pytest.fixture(scope="module")
def _ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(app_in(tmp_path_factory.mktemp("ground")))


@pytest.fixture
def ground(_ground: Ground) -> Iterator[Ground]:
    """A cluster of the module, on which the services of a test stand until its end; they are not synthesized."""
    yield _ground
    _ground.sweep()


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """One for all cases of a module that are refused and leave nothing behind."""
    return Site(app_in(tmp_path_factory.mktemp("untouched")))


@pytest.fixture
def recommended_flags(tmp_path: Path) -> Site:
    """The same with every feature flag that `cdk init` sets today."""
    return Site(cdk.App(outdir=str(tmp_path), context=Site.recommended_context()))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts what takes long in one piece first: at the end, one of two workers would have nothing to do."""
    items.sort(key=lambda item: not item.nodeid.startswith((*_FIRST, *_OF_REPORTS)))


class _InPieces(LoadFileScheduling):  # type: ignore[misc] # see pyproject.toml
    """Gives each worker whole files, and those that share something together."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "reports" if file in _OF_REPORTS else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Takes the place of ``--dist=loadfile``, and of no other choice."""
    return _InPieces(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_report_header() -> str:
    """Which one is tested: `make floor` and `make newest` put another one first."""
    return f"aws-cdk-lib: {version('aws-cdk-lib')}"


def pytest_collection_finish() -> None:
    """Leaves what stays to the end, all of aws_cdk among it, out of every later garbage collection."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints what the tests of the matrix counted."""
    counted = [
        (report.nodeid.partition("::")[0], name, value)
        for report in terminalreporter.getreports("passed")
        if report.when == "call" and "/matrix/" in report.nodeid
        for name, value in report.user_properties
    ]
    if counted:
        terminalreporter.section("matrix")
    for where, name, value in sorted(counted):
        terminalreporter.write_line(f"{where} {name} {value}")
