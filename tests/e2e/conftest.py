from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .account import Account
from .deployed import Stacks
from .inventory import inventory
from .local import Local, local
from .server import Emulator, emulator


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """One emulator for all tests; each cleans up after itself."""
    with emulator(Path(tmp_path_factory.mktemp("emulator"))) as started:
        yield started


@pytest.fixture(scope="session")
def account(running: Emulator) -> Account:
    return Account(running)


@pytest.fixture
def stacks(account: Account) -> Stacks:
    return Stacks(account)


@pytest.fixture
def clean(account: Account) -> Iterator[None]:
    """The account holds afterwards what it held before."""
    before = inventory(account.client)
    yield
    assert inventory(account.client) == before


@pytest.fixture
def cloud() -> Iterator[Local]:
    """The emulator in this process, which holds nothing when the test ends that it did not hold when it began."""
    with local() as cloud:
        before = cloud.inventory()
        yield cloud
        assert cloud.inventory() == before
