"""How the tests are run."""

from __future__ import annotations

import gc
import os
import sys
from importlib.metadata import version
from typing import Any

# The built-in template validation costs most of a synth; tests/stacks keeps it on where it is the point.
os.environ.setdefault("CDK_VALIDATION", "false")

# What may be over depends on the day; the blocks of the tests end later than this one, 2026-11-01.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1793491200")

# Without it, argparse looks for a translation of each heading, of each command, in four files.
os.environ.setdefault("LANGUAGE", "C")

import pytest
from _pytest.runner import runtestprotocol
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from tests.kernel import started_directly

# Images of containers set it; without bytecode, each worker and each command that a test runs compiles everything.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# The workers of xdist have the width of a terminal, which our output follows; without it a line has 100 columns.
os.environ.pop("COLUMNS", None)

# The collection leaves nothing to free but what stays to the end.
gc.disable()

_OF_REPORTS = (
    "tests/properties/test_all_fixes_at_once.py",
    "tests/properties/test_fixes.py",
    "tests/rules/test_causes.py",
    "tests/rules/test_examples.py",
    "tests/rules/test_places.py",
    "tests/rules/test_severity.py",
    "tests/acceptance/test_broken_templates.py",
    "tests/acceptance/test_fixes.py",
    "tests/acceptance/test_good_templates.py",
)
"""Files that read the reports of `tests.reports`, which one process makes once."""

_ON_THE_STAGE = (
    "tests/e2e/test_reference_stacks.py",
    "tests/e2e/test_after_deploy.py",
)
"""Files with stories on one emulator, which is a process of its own."""

_OF_EXAMPLES = (
    "tests/test_readme.py",
    "tests/test_from_plain_cdk.py",
    "tests/e2e/test_cdks_own_validation.py",
    "tests/e2e/test_from_plain_cdk.py",
)
"""Files that read the blocks of `tests.documented`, which one process runs once."""

_OF_STORIES = ("tests/e2e/test_site.py", "tests/e2e/test_stories.py")
"""Files that read the apps of `tools.stories`, which one process makes once."""

_OF_LINTERS = (
    *_OF_EXAMPLES,
    "tests/check/test_configuration.py",
    "tests/check/test_retired_ids.py",
    "tests/e2e/matrix/test_capacity.py",
    "tests/e2e/matrix/test_jobs.py",
    "tests/e2e/matrix/test_tasks.py",
    "tests/e2e/test_aws_solutions.py",
    "tests/e2e/test_lint.py",
    "tests/jobs/batch/test_queue.py",
    "tests/policies/test_roles.py",
    "tests/properties/test_five_doors.py",
    "tests/stacks/test_reference_stacks.py",
    "tests/test_encryption.py",
)
"""Files that ask cfn-lint or cdk-nag, whose rules one process loads once, or read what was made for them."""

_OF_WATCHED = tuple(
    f"tests/cluster/monitoring/test_{each}.py"
    for each in ("alarms", "counted_events", "dashboard", "page", "what_is_read")
)
"""Files that read the template of `tests.cluster.monitoring.watched_site`, which one process makes once."""

_TOGETHER = {
    "reports": _OF_REPORTS,
    "stage": _ON_THE_STAGE,
    "watched": _OF_WATCHED,
    "linters": _OF_LINTERS,
    "stories": _OF_STORIES,
}
"""What one worker runs."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """Loads CDK and starts its node where tests run, and not in the process that hands them out."""
    plugins = session.config.pluginmanager
    if not plugins.hasplugin("dsession"):
        with started_directly():
            plugins.import_plugin("tests.fixtures")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Of a test that passes, a worker sends one report: three cost more than most tests do."""
    option = item.config.option
    if not hasattr(item.config, "workerinput") or option.xmlpath or option.durations is not None:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts what takes long in one piece first: at the end, one of two workers would have nothing to do."""
    alone = (
        "tests/e2e/emulator/test_installed.py",
        "tests/e2e/test_all_reduce.py",
        "tests/e2e/test_updates.py",
        "tests/matrix/test_reaching.py",
        "tests/test_sharing_services.py",
    )
    first = (*_OF_LINTERS, *_ON_THE_STAGE, *alone, *_OF_STORIES, *_OF_REPORTS)
    items.sort(key=lambda item: not item.nodeid.startswith(first))


class _InPieces(LoadFileScheduling):  # type: ignore[misc] # see pyproject.toml
    """Gives each worker whole files, and those that share something together."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((scope for scope, files in _TOGETHER.items() if file in files), file)

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Forgets a file that is done, because what is left is counted after each test."""
        super().mark_test_complete(node, item_index, duration)
        files = self.assigned_work[node]
        done = next(iter(files))
        if all(files[done].values()):
            del files[done]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Takes the place of ``--dist=loadfile``, and of no other choice."""
    return _InPieces(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_report_header() -> str:
    """Which one is tested: `make floor` and `make newest` put another one first."""
    return f"aws-cdk-lib: {version('aws-cdk-lib')}"


def pytest_collection_finish() -> None:
    """Leaves what stays to the end, all of aws_cdk among it, out of every later garbage collection.

    There is hardly one: to look for garbage takes a tenth of the time of tests that check many files.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000_000)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Ends without a second look at what the last garbage collection kept, which takes each worker a second."""
    gc.freeze()


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
