"""The account to try things in: the CDK command line, the commands of this package, and a few calls of boto3."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, NamedTuple
from unittest.mock import patch

from botocore.client import BaseClient
from botocore.exceptions import ClientError

from gpu_constructs.account.calls import session_of
from gpu_constructs.cli.program import main
from gpu_constructs.facts.names import SELF_TEST
from tools.smoke.app import STACK, assembly

__all__ = ["Account", "Said", "recording"]

_MINUTES = 30
"""What one step may take: a service that never gets a task keeps CloudFormation for three hours."""
_POLL_SECONDS = 15


class Said(NamedTuple):
    """Whether something did what it should, and what it said, as JSON has it."""

    passed: bool
    facts: object


class Account:
    """The account of the credentials that boto3 and CDK find.

    Args:
        folder: Where assemblies are written.
        sleep: Waits for some seconds.
    """

    def __init__(self, folder: Path, sleep: Callable[[float], object] = time.sleep) -> None:
        self._folder, self._sleep, self.session = folder, sleep, session_of(None)

    def assembly(self, copies: int) -> Path:
        """The app with so many tasks of its service."""
        folder = self._folder / f"copies-{copies}"
        return folder if folder.exists() else assembly(folder, copies=copies)

    def cdk(self, command: str, copies: int, *options: str) -> Said:
        """One command of the CDK command line, and what CloudFormation failed at; Ctrl-C reaches this process alone."""
        words = ["cdk", "--app", str(self.assembly(copies)), command, STACK, *options, "--no-notices", "--no-color"]
        own = {**os.environ, "CI": "true", "CDK_DISABLE_VERSION_CHECK": "1"}
        limit = _MINUTES * 60
        ended = subprocess.run(words, env=own, stdin=DEVNULL, start_new_session=True, timeout=limit, check=False)
        events = self._all("describe_stack_events", "StackEvents") if self._stack() else []
        why = [each.get("ResourceStatusReason") for each in events if each["ResourceStatus"].endswith("_FAILED")]
        return Said(ended.returncode == 0, {"exit": ended.returncode, "failed": why})

    def command(self, *words: str) -> Said:
        """One command of this package."""
        asked = [*words, "--region", str(self.session.region_name), "--format", "json"]
        with redirect_stdout(io.StringIO()) as out:
            code = main(asked)
        return Said(code == 0, {"words": asked, "exit": code, "said": json.loads(out.getvalue() or "null")})

    def output(self, name: str) -> str:
        """An output of the stack."""
        outputs = self._stack()["Outputs"]
        return next(str(each["OutputValue"]) for each in outputs if each["OutputKey"] == name)

    def job(self) -> Said:
        """One job, to its end; it is stopped where it has none in time."""
        states = self.session.client("stepfunctions")
        name = states.start_execution(stateMachineArn=self.output("StateMachine"))["executionArn"]
        found = {"status": "RUNNING"}
        try:
            for _ in range(_MINUTES * 60 // _POLL_SECONDS):
                found = states.describe_execution(executionArn=name)
                if found["status"] != "RUNNING":
                    break
                self._sleep(_POLL_SECONDS)
        finally:
            if found["status"] == "RUNNING":
                states.stop_execution(executionArn=name, cause="make smoke has ended")
        return Said(found["status"] == "SUCCEEDED", [found.get(each) for each in ("status", "error", "cause")])

    def settled(self) -> Said:
        """Waits while the stack is updated or rolled back: CloudFormation deletes nothing meanwhile."""
        for _ in range(_MINUTES * 60 // _POLL_SECONDS):
            if not re.search("(UPDATE|ROLLBACK)_.*IN_PROGRESS$", status := self._stack().get("StackStatus", "")):
                return Said(passed=True, facts=status)
            self._sleep(_POLL_SECONDS)
        return Said(passed=False, facts=status)

    def without_logs(self, *, made: bool) -> Said:
        """Deletes the log group of the self-test, where that made it."""
        if made:
            self.session.client("logs").delete_log_group(logGroupName=SELF_TEST)
        return Said(passed=True, facts=None)

    def gone(self) -> Said:
        """Whether nothing of the stack is left, and what is."""
        found = self._all("list_stack_resources", "StackResourceSummaries") if self._stack() else []
        kept = [each for each in found if each["ResourceStatus"] != "DELETE_COMPLETE"]
        return Said(not kept, [f"{each['ResourceType']} {each.get('PhysicalResourceId', '')}" for each in kept])

    def _all(self, call: str, what: str) -> list[Mapping[str, Any]]:
        pages = self.session.client("cloudformation").get_paginator(call).paginate(StackName=STACK)
        return [each for page in pages for each in page[what]]

    def _stack(self) -> Mapping[str, Any]:
        stack: Mapping[str, Any]
        try:
            (stack,) = self.session.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
        except ClientError as refused:
            if "does not exist" in str(refused):
                return {}
            raise
        return stack


_RECORDED = frozenset(["autoscaling", "cloudformation", "ec2", "ecs", "logs", "service-quotas", "ssm", "stepfunctions"])
"""Services whose answers are noted. boto3 asks others for its credentials, whose answers hold secrets."""


@contextmanager
def recording() -> Iterator[list[object]]:
    """Notes each call of boto3 in this process with its answer, which holds ``Error`` where AWS refused."""
    calls: list[object] = []
    asked = BaseClient._make_api_call  # noqa: SLF001 - the one way of every client, its paginators and waiters too

    def noted(client: BaseClient, operation: str, given: object) -> Mapping[str, object]:
        answer: Mapping[str, object] = {}
        try:
            answer = asked(client, operation, given)
        except ClientError as refused:
            answer = {"Error": refused.response["Error"]}
            raise
        finally:
            service = client.meta.service_model.service_name
            plain = {name: each for name, each in answer.items() if name != "ResponseMetadata"}
            if service in _RECORDED:
                plain = json.loads(json.dumps(plain, default=str))
                calls.append({"service": service, "operation": operation, "answer": plain})
        return answer

    with patch.object(BaseClient, "_make_api_call", noted):
        yield calls
