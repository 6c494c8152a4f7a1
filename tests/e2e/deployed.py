"""Templates deployed straight to the emulator's CloudFormation, for tests that need no CDK."""

from __future__ import annotations

import itertools
import json
from typing import Any

from ecs_emulator.account import Account

from .templates import Template

__all__ = ["Stacks", "run"]

_names = (f"stack-{number}" for number in itertools.count())


class Stacks:
    """CloudFormation, with the answers that matter here."""

    def __init__(self, account: Account) -> None:
        self._client = account.client("cloudformation")
        self._deleted: dict[str, str] = {}

    def create(self, template: Template, name: str | None = None) -> str:
        name = name or next(_names)
        return str(self._client.create_stack(StackName=name, TemplateBody=json.dumps(template))["StackId"])

    def update(self, stack: str, template: Template) -> None:
        self._client.update_stack(StackName=stack, TemplateBody=json.dumps(template))

    def delete(self, stack: str) -> None:
        self._client.delete_stack(StackName=stack)

    def end(self, stack: str) -> tuple[str, str]:
        """State and reason."""
        described = self._client.describe_stacks(StackName=stack)["Stacks"][0]
        return described["StackStatus"], described.get("StackStatusReason", "")

    def outputs(self, stack: str) -> dict[str, str]:
        outputs = self._client.describe_stacks(StackName=stack)["Stacks"][0]["Outputs"]
        return {output["OutputKey"]: output["OutputValue"] for output in outputs}


def run(account: Account, outputs: dict[str, str], **how: Any) -> str:
    """Start a task on the capacity provider and let it have what it needs."""
    (task,) = account.run(cluster=outputs["Cluster"], taskDefinition=outputs["Task"], **how).tasks
    for _ in range(5):
        account.tasks(outputs["Cluster"])
    return task
