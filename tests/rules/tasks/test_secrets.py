"""Secrets of GPU tasks in plain text are said; references and other variables are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, Unknown
from gpu_constructs.rules.tasks.secrets import by_reference
from tests.rules.given import container, fleet_of, gpu, only, said, task_of


def _fleet(name: str, value: str | Unknown, *, gpus: bool = True) -> Fleet:
    return fleet_of(task_of(replace(container(*([gpu()] if gpus else [])), environment=((name, value),))))


@pytest.mark.parametrize("name", ["HF_TOKEN", "VLLM_API_KEY", "REDIS_PASSWORD", "AWS_ACCESS_KEY_ID"])
def test_a_secret_in_plain_text_is_said_without_its_value(name: str) -> None:
    finding = only(by_reference, _fleet(name, "hf_0123456789"))
    assert f"has {name} in plain text" in finding.message
    assert "hf_0123456789" not in f"{finding}"


@pytest.mark.parametrize(
    "fleet",
    [
        _fleet("HF_TOKEN", UNKNOWN),
        _fleet("HF_TOKEN", ""),
        _fleet("HF_HOME", "/models"),
        _fleet("MAX_TOKENS", "4096"),
        _fleet("HF_TOKEN", "hf_0123456789", gpus=False),
        _fleet("OPENAI_API_KEY", "EMPTY"),
        _fleet("OPENAI_API_KEY", "<your key>"),
        _fleet("ALLOW_EMPTY_PASSWORD", "yes"),
        _fleet("DB_PASSWORD", "arn:aws:secretsmanager:us-east-1:123456789012:secret:db"),
        _fleet("DB_PASSWORD", "/run/secrets/db_password"),
    ],
    ids=[
        "a reference",
        "none",
        "a setting",
        "a number",
        "a task without GPUs",
        "a placeholder",
        "a gap to fill in",
        "a switch",
        "an ARN",
        "a path",
    ],
)
def test_what_is_no_secret_is_not(fleet: Fleet) -> None:
    assert not said(by_reference, fleet)
