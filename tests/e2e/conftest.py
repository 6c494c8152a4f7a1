from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import boto3
import pytest
from ecs_emulator.account import Account
from ecs_emulator.inventory import inventory
from ecs_emulator.local import Ask, Local, local
from gpu_constructs.cli.program import main

from .deployed import Stacks
from .stage import Stage, stage


@pytest.fixture
def cloud() -> Iterator[Local]:
    """The emulator in this process, which holds nothing when the test ends."""
    with local() as cloud:
        yield cloud
        assert cloud.inventory() == frozenset()


@pytest.fixture
def table(cloud: Local) -> Iterator[None]:
    """The table that a `World` of `recovery_world` counts in."""
    tables = cloud.account.client("dynamodb")
    key = {"AttributeName": "Id"}
    tables.create_table(
        TableName="counts",
        KeySchema=[{**key, "KeyType": "HASH"}],
        AttributeDefinitions=[{**key, "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    yield
    tables.delete_table(TableName="counts")


@pytest.fixture(scope="session")
def _stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(tmp_path_factory.mktemp("stage")) as running:
        yield running


@pytest.fixture(scope="session")
def _bootstrapped(_stage: Stage) -> frozenset[tuple[str, str]]:
    return inventory(_stage.account.client)


@pytest.fixture(name="stage")
def _swept_stage(_stage: Stage, _bootstrapped: frozenset[tuple[str, str]]) -> Iterator[Stage]:
    """The emulator as a server, which the stories of a process share; each leaves the account as it found it."""
    yield _stage
    assert inventory(_stage.account.client) == _bootstrapped


@pytest.fixture
def account(cloud: Local) -> Account:
    return cloud.account


@pytest.fixture
def stacks(account: Account) -> Stacks:
    return Stacks(account)


@pytest.fixture
def asking(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[[Account], Ask]:
    """The command line, whose calls an account answers; 80 columns wide, and in a pipe."""

    def of(account: Account) -> Ask:
        session = SimpleNamespace(client=lambda service, **_: account.client(service), region_name="us-east-1")
        monkeypatch.setattr(boto3, "Session", lambda **_: session)
        monkeypatch.setenv("COLUMNS", "80")

        def run(*words: str) -> tuple[int, str]:
            code = main(list(words))
            said = capsys.readouterr()
            return code, said.out + said.err

        return run

    return of


@pytest.fixture
def ask(cloud: Local, asking: Callable[[Account], Ask]) -> Ask:
    """The same, where the emulator in this process answers."""
    return asking(cloud.account)
