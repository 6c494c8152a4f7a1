"""``make smoke`` on the emulator, from the question to the end, and what its recordings are good for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError
from gpu_constructs.account import self_test
from gpu_constructs.facts.names import SELF_TEST
from tools.smoke.__main__ import main
from tools.smoke.account import Account
from tools.smoke.app import JOB
from tools.smoke.findings import SHOWN_BY
from tools.smoke.steps import DESTROY, STEPS

from tests.replayed import COMMANDS, replayed, said_otherwise

from .cdk_cli import COMPILED
from .stage import Stage


@pytest.fixture
def of_the_emulator(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever asks AWS asks the emulator, where the tasks of the self-test and of the job end well."""
    for name, value in {**stage.cdk.environment, "NODE_COMPILE_CACHE": str(COMPILED)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(self_test, "_POLL_SECONDS", 0)
    parameters = stage.account.client("ssm")
    names = [f"/emulator/ends/{family}" for family in (SELF_TEST, JOB)]
    for each in names:
        parameters.put_parameter(Name=each, Value="0", Type="String")
    yield
    for each in names:
        parameters.delete_parameter(Name=each)


@pytest.mark.usefixtures("of_the_emulator")
def test_it_deploys_tries_records_and_destroys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "the emulator, which shows nothing about AWS"
    code = main(["--record", str(folder)], of=lambda of: Account(of, sleep=lambda _: None), ask=lambda _: "y")
    said = capsys.readouterr().err
    assert code == 0, said
    assert "$0.26  one g4dn.xlarge\n" in said
    assert "$0.73  in all, in half an hour\n" in said
    for row in SHOWN_BY:
        assert f"  ok         {row}: " in said
    assert "  not tried  EFA\n" in said

    names = [*(name for name, _, _ in STEPS), DESTROY]
    assert [each.name for each in sorted(folder.iterdir())] == [f"{at}-{name}.json" for at, name in enumerate(names, 1)]
    recorded = "".join(each.read_text(encoding="utf-8") for each in folder.iterdir())
    for secret in ("123456789012", "10.0.", "ec2.internal"):
        assert secret not in recorded
    assert len(list(replayed(folder))) == len(COMMANDS)
    assert said_otherwise(tmp_path) == []
    changed = folder / f"{names.index('verify') + 1}-verify.json"
    changed.write_text(changed.read_text(encoding="utf-8").replace('"ACTIVE"', '"DRAINING"'), encoding="utf-8")
    assert said_otherwise(tmp_path) == [folder.name]


@pytest.mark.usefixtures("of_the_emulator")
def test_it_destroys_where_a_call_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = BaseClient._make_api_call

    def answer(client: BaseClient, operation: str, given: object) -> Any:
        if operation == "PutRetentionPolicy":
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, operation)
        return asked(client, operation, given)

    monkeypatch.setattr(BaseClient, "_make_api_call", answer)
    words = ["--record", str(tmp_path / "r"), "--yes"]
    assert main(words, of=lambda of: Account(of, sleep=lambda _: None)) == 1
    said = capsys.readouterr().err
    assert "\nself-test got no answer: the credentials may not call logs:PutRetentionPolicy\n" in said
    assert "\n  ok         deletion: destroy in " in said
