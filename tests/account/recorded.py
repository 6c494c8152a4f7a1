"""Clients of an account that holds a small cluster, without moto."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.account.live.given import cluster


class Recorded:
    """Answers what a small cluster answers; some calls it refuses.

    Args:
        refused: Errors by operation, such as ``describe_tasks``.
        more: Keys of answers, of every operation.
    """

    def __init__(self, refused: dict[str, Exception] | None = None, **more: Any) -> None:
        self.asked: set[str] = set()
        self.given: list[tuple[str, dict[str, Any]]] = []
        self._refused, self._more = refused or {}, more

    def __call__(self, service: str, _: str | None) -> Any:
        return _Client(service, self)

    def answer(self, service: str, operation: str) -> dict[str, Any]:
        self.asked.add(f"{service}:{operation.title().replace('_', '')}")
        if operation in self._refused:
            raise self._refused[operation]
        answer = cluster()
        (group,) = answer["AutoScalingGroups"]
        return {
            **answer,
            "serviceArns": ["chat"],
            "taskArns": ["1"],
            "containerInstanceArns": ["1"],
            "AutoScalingGroups": [{**group, "LaunchTemplate": {"LaunchTemplateId": "lt-1"}}],
            "LaunchTemplateVersions": [],
            "StackResourceSummaries": [{"ResourceType": "AWS::ECS::Cluster", "PhysicalResourceId": "demo"}],
            **self._more,
        }


class _Client:
    def __init__(self, service: str, recorded: Recorded) -> None:
        self._service, self._recorded = service, recorded
        self.meta = SimpleNamespace(region_name="us-east-1")

    def __getattr__(self, operation: str) -> Any:
        def call(**given: Any) -> Any:
            self._recorded.given.append((operation, given))
            return self._recorded.answer(self._service, operation)

        return call

    def can_paginate(self, _: str) -> bool:
        return True

    def get_paginator(self, operation: str) -> Any:
        return SimpleNamespace(paginate=lambda **given: [getattr(self, operation)(**given)])
