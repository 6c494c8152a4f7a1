"""The calls about a running cluster only read, the page names them, and one that is not allowed stops no other."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from gpu_constructs.account.live_cluster import CALLS, about
from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.live import subject_called, why
from tests.live.given import cluster
from tests.synthesis import ROOT

DENIED = ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "Any")


class Recorded:
    """Answers what a small cluster answers; some calls it refuses."""

    def __init__(self, refused: dict[str, Exception] | None = None) -> None:
        self.asked: set[str] = set()
        self._refused = refused or {}

    def __call__(self, service: str, _: str | None) -> Any:
        return _Client(service, self)

    def answer(self, service: str, operation: str) -> dict[str, Any]:
        self.asked.add(f"{service}:{operation.title().replace('_', '')}")
        if operation in self._refused:
            raise self._refused[operation]
        return {
            **cluster(),
            "serviceArns": ["chat"],
            "taskArns": [],
            "containerInstanceArns": ["1"],
            "LaunchTemplateVersions": [],
            "Reservations": [],
        }


class _Client:
    def __init__(self, service: str, recorded: Recorded) -> None:
        self._service, self._recorded = service, recorded

    def __getattr__(self, operation: str) -> Any:
        return lambda **_: self._recorded.answer(self._service, operation)

    def get_paginator(self, operation: str) -> Any:
        return _Pages(lambda: self._recorded.answer(self._service, operation))


class _Pages:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def paginate(self, **_: Any) -> list[Any]:
        return [self._answer()]


def test_every_call_only_reads_and_is_on_the_page() -> None:
    recorded = Recorded()
    about(recorded, cluster="demo", name="chat")
    about(recorded, cluster="demo")
    page = (ROOT / "docs" / "planning.md").read_text()
    assert recorded.asked <= set(CALLS)
    assert all(each.partition(":")[2].startswith(("Describe", "List")) and each in page for each in CALLS)


@pytest.mark.parametrize("operation", ["describe_auto_scaling_groups", "describe_scaling_activities"])
def test_a_call_that_is_not_allowed_is_named_and_stops_no_other(operation: str) -> None:
    found = about(Recorded({operation: DENIED}), cluster="demo", name="chat")
    diagnosis = why(found.answers, subject_called(found.answers, "chat"))
    assert found.denied == (f"autoscaling:{operation.title().replace('_', '')}",)
    assert diagnosis.causes or "autoscaling describe-auto-scaling-groups" in diagnosis.not_looked_at


@pytest.mark.parametrize(
    "problem",
    [
        NoCredentialsError(),
        ClientError({"Error": {"Code": "ThrottlingException", "Message": "Rate exceeded"}}, "DescribeClusters"),
        KeyError("clusters"),
    ],
)
def test_what_aws_does_not_answer_is_said_in_words(problem: Exception) -> None:
    with pytest.raises(GpuConstructsError, match="ecs:DescribeClusters"):
        about(Recorded({"describe_clusters": problem}), cluster="demo")
