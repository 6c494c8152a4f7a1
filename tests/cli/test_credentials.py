"""Credentials of every kind that boto3 knows, each failing: ``preflight`` says so in words, and asks nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import EndpointConnectionError

from gpu_constructs.cli import main
from tests.cli.templates import template, written

_NO_ROLE = b"""<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
<Code>AccessDenied</Code><Message>not authorized to perform sts:AssumeRole</Message></Error></ErrorResponse>"""
_ROLE = "role_arn = arn:aws:iam::123456789012:role/Deploy\n"
_KEYS = "aws_access_key_id = testing\naws_secret_access_key = testing\n"
_SSO = """sso_start_url = https://example.awsapps.com/start
sso_region = eu-west-1
sso_account_id = 123456789012
sso_role_name = Deploy
"""
NONE = "there are no credentials for AWS"


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The configuration of AWS, without credentials elsewhere; AWS answers that no role may be assumed, or not."""

    def send(_: object, request: Any) -> AWSResponse:
        if "sts." not in request.url:
            raise EndpointConnectionError(endpoint_url=request.url)
        raw = type("Raw", (), {"stream": lambda self, **_: iter([_NO_ROLE])})()
        return AWSResponse(request.url, 403, {}, raw)

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "config"
    monkeypatch.setenv("AWS_CONFIG_FILE", str(path))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr("botocore.httpsession.URLLib3Session.send", send)
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    return path


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ("", f"{NONE}: Unable to locate credentials"),
        ("aws_access_key_id = testing\n", f"{NONE}: Partial credentials found"),
        ("credential_process = false\n", f"{NONE}: Error when retrieving credentials from custom-process"),
        ("credential_process = /no/such/program\n", "No such file or directory: '/no/such/program'"),
        ("credential_process = echo nothing\n", "does not give JSON"),
        (f"{_ROLE}source_profile = keys\n", f"{NONE}: An error occurred (AccessDenied) when calling the AssumeRole"),
        (f"{_ROLE}source_profile = gone\n", 'The source_profile "gone" referenced in the profile'),
        (f"{_ROLE}web_identity_token_file = /no/such/token\n", "No such file or directory: '/no/such/token'"),
        (_SSO, f"{NONE}: Error loading SSO Token"),
        ("sso_session = gone\nsso_account_id = 123456789012\nsso_role_name = Deploy\n", "gone"),
        (_KEYS, "cannot be reached: Could not connect to the endpoint URL"),
    ],
)
def test_credentials_that_cannot_be_had_are_2(
    config: Path, profile: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(f"[profile mine]\n{profile}[profile keys]\n{_KEYS}", encoding="utf-8")
    path = written(template(), config.parent / "template.json")
    before = sorted(config.parent.iterdir())

    code = main(["preflight", path, "--profile", "mine", "--region", "eu-west-1", "--check", "types"])

    said = capsys.readouterr()
    assert (code, words in " ".join(said.out.split())) == (2, True), said
    assert "Traceback" not in said.err
    assert sorted(config.parent.iterdir()) == before


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "The config profile (nobody) could not be found"), ("[", "Unable to parse config file")],
)
def test_a_profile_that_is_not_there_is_2(
    config: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(text, encoding="utf-8")
    path = written(template(), config.parent / "template.json")
    assert main(["preflight", path, "--profile", "nobody", "--region", "eu-west-1"]) == 2
    assert f"--profile: {words}" in capsys.readouterr().err
