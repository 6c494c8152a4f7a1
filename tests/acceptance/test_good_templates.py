"""Templates that work, of many styles: none gets an error, and every warning that one gets is known here."""

from __future__ import annotations

from pathlib import Path

from gpu_constructs.cli.check import lines
from gpu_constructs.rules import Severity
from tests.reports import of_template

GOOD = sorted((Path(__file__).parent / "good").iterdir())

# What a reviewer would say about them all the same. Anything else is a false alarm.
WARNINGS: dict[str, set[str]] = {
    "16-sharing-mps": {"GPU034"},  # a fault of one container restarts its neighbours
    "18-conditions": {"GPU005", "GPU014"},  # nothing is known before the deploy
    "23-launch-configuration-old-type": {"GPU055"},
    "29-capacity-block": {"GPU165"},  # nothing drains its hosts before the block ends
    "32-old-sharing-recipe": {"GPU025"},
    "135-gang-on-its-own-queue": {"GPU342"},
    "82-batch-multi-node": {"GPU342"},  # all nodes wait for one that failed
    "52-launch-type-on-standing-hosts": {"GPU072"},  # the hosts between MinSize and MaxSize never start
    "75-rule-on-standing-hosts": {"GPU072"},
    "85-type-from-the-parameter-store": {"GPU005"},
    "106-cdk-rule-on-a-standing-host": {"GPU072"},
    "107-cdk-state-machine": {"GPU321"},  # a task that hangs keeps its host
    "110-cdk-queue-worker": {"GPU259"},  # CDK's pattern does not wait for the association
    "113-cdk-of-2021-launch-configuration": {"GPU055"},
    "115-of-2018": {"GPU055"},
}

HANDFUL = 5
LINES_OF_A_WARNING = 8
"""The file, the resource, an empty line, and what is wrong and would help, each in two lines or three."""


def test_none_gets_an_error() -> None:
    errors = [
        f"{path.stem}: {each.rule} {each.message}"
        for path in GOOD
        for each in of_template(path).findings
        if each.severity is Severity.ERROR
    ]
    assert not errors


def test_their_warnings_are_meant() -> None:
    findings = {path.stem: of_template(path).findings for path in GOOD}
    warnings = {
        name: {each.rule for each in found if each.severity is Severity.WARNING} for name, found in findings.items()
    }
    assert {name: rules for name, rules in warnings.items() if rules} == WARNINGS


def test_none_gets_more_than_a_handful_of_lines() -> None:
    most = {path: HANDFUL + LINES_OF_A_WARNING * len(WARNINGS.get(path.stem, ())) for path in GOOD}
    assert [path.stem for path in GOOD if len(list(lines(of_template(path)))) > most[path]] == []
