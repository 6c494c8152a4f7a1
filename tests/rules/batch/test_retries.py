"""How often a job is run again, as templates say it."""

from __future__ import annotations

import pytest

from gpu_constructs.checking.report import check_files
from tools.rule_examples import example_of

LOST = '{OnStatusReason: "Host EC2*", Action: RETRY}'
REST = '{OnReason: "*", Action: exit}'


def rules(retries: str) -> list[str]:
    job = f"Resources:\n  Job:\n    Properties:\n      RetryStrategy: {retries}"
    part = f"Parameters: {{Pattern: {{Type: String}}}}\n{job}"
    found = check_files(["-"], stdin=example_of("GPU331").file(part).encode()).findings
    return [each.rule for each in found if each.rule in {"GPU330", "GPU331"}]


@pytest.mark.parametrize(
    ("retries", "found"),
    [
        ("{Attempts: 0}", ["GPU330"]),
        ("{Attempts: 11}", ["GPU330"]),
        (f"{{Attempts: 3, EvaluateOnExit: [{', '.join([LOST] * 5)}, {REST}]}}", ["GPU330"]),
        (f"{{EvaluateOnExit: [{LOST}, {REST}]}}", ["GPU330"]),
        (f"{{Attempts: 3, EvaluateOnExit: [{LOST}]}}", ["GPU331"]),
        (f"{{Attempts: 3, EvaluateOnExit: [{LOST}, {REST}]}}", []),
        (f"{{Attempts: 1, EvaluateOnExit: [{LOST}]}}", []),
        ("{Attempts: 3}", []),
        ('{Attempts: 3, EvaluateOnExit: [{OnExitCode: "1", Action: EXIT}]}', []),
        (f"{{Attempts: 3, EvaluateOnExit: [{LOST}, {{OnReason: !Ref Pattern, Action: EXIT}}]}}", []),
        ("{Attempts: !Ref Pattern}", []),
    ],
)
def test_what_is_said_of_retries(retries: str, found: list[str]) -> None:
    assert rules(retries) == found
