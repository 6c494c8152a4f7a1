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

from gpu_constructs.account.answers import UnansweredError, answers
from gpu_constructs.account.calls import CONFIG, Calls, session_of
from gpu_constructs.account.problems import ERRORS, unanswered
from gpu_constructs.cli.program import main
from gpu_constructs.facts.names import SELF_TEST
from tools.smoke.app import STACK, assembly

__all__ = ["Account", "Said", "recording"]

_MINUTES = 30
"""What one step may take: a service that never gets a task keeps CloudFormation for three hours."""
_POLL_SECONDS = 15
_PAGES = 100
_INTERRUPTED = 130  # how a command ends after Ctrl-C


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
        self.calls = Calls(lambda service, _: self.session.client(service, config=CONFIG), None)

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
        try:
            events = self._all("cloudformation:DescribeStackEvents", "StackEvents") if self._stack() else []
            why = [each.get("ResourceStatusReason") for each in events if each["ResourceStatus"].endswith("_FAILED")]
        except UnansweredError as unknown:
            why = [unknown.problem]
        return Said(ended.returncode == 0, {"exit": ended.returncode, "failed": why})

    def command(self, *words: str) -> Said:
        """One command of this package."""
        asked = [*words, "--region", str(self.session.region_name), "--format", "json"]
        with redirect_stdout(io.StringIO()) as out:
            code = main(asked)
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
        return Said(code == 0, {"words": asked, "exit": code, "said": json.loads(out.getvalue() or "null")})

    def output(self, name: str) -> str:
        """An output of the stack."""
        outputs = self._stack()["Outputs"]
        return next(str(each["OutputValue"]) for each in outputs if each["OutputKey"] == name)

    def job(self) -> Said:
        """One job, to its end; it is stopped where it has none in time."""
        started = self.calls.ask("states:StartExecution", stateMachineArn=self.output("StateMachine"))
        job = {"executionArn": started["executionArn"]}
        found: Mapping[str, Any] = {"status": "RUNNING"}
        try:
            for _ in range(_MINUTES * 60 // _POLL_SECONDS):
                found = self.calls.ask("states:DescribeExecution", **job)
                if found["status"] != "RUNNING":
                    break
                self._sleep(_POLL_SECONDS)
        finally:
            if found["status"] == "RUNNING":
                self.calls.ask("states:StopExecution", cause="make smoke has ended", **job)
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
            self.calls.ask("logs:DeleteLogGroup", logGroupName=SELF_TEST)
        return Said(passed=True, facts=None)

    def gone(self) -> Said:
        """Whether nothing of the stack is left, and what is."""
        found = self._all("cloudformation:ListStackResources", "StackResourceSummaries") if self._stack() else []
        kept = [each for each in found if each["ResourceStatus"] != "DELETE_COMPLETE"]
        return Said(not kept, [f"{each['ResourceType']} {each.get('PhysicalResourceId', '')}" for each in kept])

    def _all(self, permission: str, what: str) -> tuple[Mapping[str, Any], ...]:
        pages, _ = self.calls.pages(permission, _PAGES, StackName=STACK)
        return answers(each for each in pages if isinstance(each, dict)).of(what)

    def _stack(self) -> Mapping[str, Any]:
        stack: Mapping[str, Any]
        try:
            (stack,) = self.calls.ask("cloudformation:DescribeStacks", StackName=STACK)["Stacks"]
        except UnansweredError as refused:
            if "does not exist" in refused.problem:
                return {}
            raise
        return stack


_RECORDED = frozenset(["autoscaling", "cloudformation", "ec2", "ecs", "logs", "service-quotas", "ssm", "stepfunctions"])
"""Services whose answers are noted. boto3 asks others for its credentials, whose answers hold secrets."""


_ANSWERS = {"NoSuchResourceException", "ResourceAlreadyExistsException", "ResourceNotFoundException", "ValidationError"}
"""Codes of errors that answer: a quota has no value of its own, or something is not there."""


@contextmanager
def recording() -> Iterator[list[dict[str, Any]]]:
    """Notes each call of boto3 here with its answer, an ``Error`` where AWS refused, or why it is ``unanswered``."""
    calls: list[dict[str, Any]] = []
    asked = BaseClient._make_api_call  # noqa: SLF001 - the one way of every client, its paginators and waiters too

    def noted(client: BaseClient, operation: str, given: object) -> Mapping[str, object]:
        model = client.meta.service_model
        call = {"service": model.service_name, "operation": operation}
        try:
            answer: Mapping[str, object] = asked(client, operation, given)
        except ERRORS as error:
            said = {"Code": type(error).__name__, "Message": str(error)}
            said = error.response.get("Error", said) if isinstance(error, ClientError) else said
            if said.get("Code") not in _ANSWERS:
                why = unanswered(error, permission := f"{model.signing_name}:{operation}", None).problem
                call["unanswered"] = why if permission in why else f"{permission}: {why}"
            note(call, {"Error": said})
            raise
        note(call, answer)
        return answer

    def note(call: dict[str, Any], answer: Mapping[str, object]) -> None:
        if call["service"] in _RECORDED:
            plain = {name: each for name, each in answer.items() if name != "ResponseMetadata"}
            calls.append({**call, "answer": json.loads(json.dumps(plain, default=str))})

    with patch.object(BaseClient, "_make_api_call", noted):
        yield calls
