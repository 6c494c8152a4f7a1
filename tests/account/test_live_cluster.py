"""The calls about a running cluster only read, the page names them, and one that is not allowed stops no other."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

import pytest
from botocore import xform_name
from botocore.exceptions import (
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ReadTimeoutError,
    TokenRetrievalError,
)

from gpu_constructs.account import live_cluster
from gpu_constructs.account.live.subjects import subject_called
from gpu_constructs.account.live.waiting import why
from gpu_constructs.account.live_cluster import CALLS, about
from gpu_constructs.cli.program import main
from tests.account.modelled import error_codes
from tests.account.recorded import Recorded
from tests.synthesis import ROOT

DENIED = ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "Any")


def test_every_call_only_reads_and_is_on_the_page() -> None:
    recorded = Recorded()
    about(recorded, cluster="demo", name="chat")
    about(recorded, cluster="demo")
    page = (ROOT / "docs" / "planning.md").read_text()
    assert recorded.asked == set(CALLS)
    assert all(each.partition(":")[2].startswith(("Describe", "List")) and each in page for each in CALLS)


@pytest.mark.parametrize("operation", ["describe_auto_scaling_groups", "describe_scaling_activities"])
def test_a_call_that_is_not_allowed_is_named_and_stops_no_other(operation: str) -> None:
    found = about(Recorded({operation: DENIED}), cluster="demo", name="chat")
    diagnosis = why(found.answers, subject_called(found.answers, "chat"))
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


OPERATIONS = [xform_name(each.partition(":")[2]) for each in CALLS]


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
        (TokenRetrievalError(provider="sso", error_msg="expired"), "there are no credentials for AWS"),
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
