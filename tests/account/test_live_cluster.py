"""The calls about a running cluster only read, the page names them, and one that is not allowed stops no other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import (
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ReadTimeoutError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)

from gpu_constructs.account import live_cluster
from gpu_constructs.account.live.subjects import subject_called
from gpu_constructs.account.live.waiting import why
from gpu_constructs.account.live_cluster import about
from gpu_constructs.cli.program import main
from tests.account.modelled import error_codes
from tests.account.recorded import Recorded
from tests.synthesis import ROOT

SIGNED_OUT = ClientError({"Error": {"Code": "ExpiredTokenException", "Message": "old"}}, "DescribeClusters")
DENIED = ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "Any")


RECORDED = Recorded()
about(RECORDED, cluster="demo", name="chat")
CALLS = sorted(RECORDED.asked)


def test_every_call_only_reads_and_is_on_the_page() -> None:
    page = (ROOT / "docs" / "planning.md").read_text()
    assert len(CALLS) == 12
    assert all(each.partition(":")[2].startswith(("Describe", "List")) and each in page for each in CALLS)


@pytest.mark.parametrize("operation", ["describe_auto_scaling_groups", "describe_scaling_activities"])
def test_a_call_that_is_not_allowed_is_named_and_stops_no_other(operation: str) -> None:
    found = about(Recorded({operation: DENIED}), cluster="demo", name="chat")
    diagnosis = why(found, subject_called(found, "chat"))
    assert found.denied == (f"autoscaling:{operation.title().replace('_', '')}",)
    assert diagnosis.waits


Said = Callable[..., tuple[int, str]]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """What a command says to calls of which some are refused, and its exit code."""

    def run(refused: dict[str, Exception], *words: str) -> tuple[int, str]:
        recorded = Recorded(refused)
        monkeypatch.setattr(live_cluster, "clients_of", lambda _: recorded)
        code = main([*words, "--region", "us-east-1"])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


REFUSED = [*CALLS, "cloudformation:ListStackResources"]


@pytest.mark.parametrize("call", REFUSED)
def test_every_error_that_botocore_models_is_words_and_an_exit_code(call: str, said: Said) -> None:
    service, _, operation = call.partition(":")
    commands = cycle((["verify", "Demo"], ["verify", "--cluster", "demo"], ["why", "chat", "--cluster", "demo"]))
    for code, words in zip(error_codes(service, operation, turn=REFUSED.index(call)), commands, strict=False):
        error = ClientError({"Error": {"Code": code, "Message": "why\x1b[2J"}}, operation)
        refused: dict[str, Exception] = {xform_name(operation): error}
        exit_code, text = said(refused, *words)
        assert "internal error" not in text, text
        assert "\x1b" not in text
        if exit_code == 2:
            assert call in text or "is not described" in text
            assert code in text or "may not call" in text or "is not described" in text


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (NoCredentialsError(), "there are no credentials for AWS"),
        (NoRegionError(), "no region is set; fix: --region REGION"),
        (EndpointConnectionError(endpoint_url="https://ecs.moon"), "ecs in us-east-1 cannot be reached"),
        (ReadTimeoutError(endpoint_url="https://ecs.moon"), "ecs in us-east-1 cannot be reached"),
        (TokenRetrievalError(provider="sso", error_msg="expired"), "expired; fix: sign in again, with aws sso login"),
        (UnauthorizedSSOTokenError(), "fix: sign in again, with aws sso login"),
        (
            SIGNED_OUT,
            "have expired, AWS says for ecs:DescribeClusters (ExpiredTokenException); fix: sign in again",
        ),
        (OSError("no such program"), "AWS was not asked ecs:DescribeClusters: no such program"),
        (KeyError("clusters"), "AWS answered ecs:DescribeClusters in an unknown form"),
    ],
)
def test_what_boto3_raises_is_2(error: Exception, words: str, said: Said) -> None:
    for command in (["verify", "--cluster", "demo"], ["why", "chat"]):
        code, text = said({"describe_clusters": error}, *command)
        assert (code, words in text) == (2, True), text


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("describe_launch_template_versions", "InvalidLaunchTemplateId.NotFound"),
        ("describe_scaling_activities", "ValidationError"),
    ],
)
def test_what_is_deleted_stops_nothing(operation: str, code: str, said: Said) -> None:
    gone: dict[str, Exception] = {operation: ClientError({"Error": {"Code": code}}, operation)}
    exit_code, text = said(gone, "why", "chat", "--cluster", "demo")
    assert (exit_code, "service chat runs 0 of 1 tasks" in text) == (1, True)


def test_a_task_definition_without_a_task_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch, said: Said) -> None:
    nothing: dict[str, Any] = {"services": [], "tasks": [], "taskArns": [], "serviceArns": []}
    monkeypatch.setattr("tests.account.test_live_cluster.Recorded", partial(Recorded, **nothing))
    code, text = said({}, "why", "chat", "--cluster", "demo")
    assert (code, "'chat' is a task definition, and in the cluster demo no task of it runs" in text) == (2, True), text
    code, text = said({}, "why", "nobody", "--cluster", "demo")
    assert (code, "no service and no task is called 'nobody'" in text) == (2, True), text


def test_a_cluster_without_anything_is_not_fine(monkeypatch: pytest.MonkeyPatch, said: Said) -> None:
    bare: dict[str, Any] = {
        "clusters": [{"clusterName": "demo", "capacityProviders": ["FARGATE"]}],
        **dict.fromkeys(("services", "serviceArns", "containerInstanceArns", "containerInstances"), ()),
    }
    monkeypatch.setattr("tests.account.test_live_cluster.Recorded", partial(Recorded, **bare))
    code, text = said({}, "verify", "--cluster", "demo")
    assert (code, "nothing was there to check" in text) == (2, True), text


@pytest.mark.parametrize(
    ("environment", "region"),
    [
        ({"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-2"}, "eu-west-1"),
        ({"AWS_DEFAULT_REGION": "eu-west-2"}, "eu-west-2"),
        ({}, "eu-west-3"),
    ],
)
def test_every_command_asks_where_the_aws_cli_asks(
    environment: dict[str, str], region: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text("[profile mine]\nregion = eu-west-3\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    clients = live_cluster.clients_of("mine")
    assert clients("ecs", None).meta.region_name == region
    assert clients("ecs", "us-east-1").meta.region_name == "us-east-1"
