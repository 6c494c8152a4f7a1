from __future__ import annotations

from collections.abc import Iterator

import pytest

from .account import Account
from .deployed import Stacks
from .local import Local, local


@pytest.fixture
def cloud() -> Iterator[Local]:
    """The emulator in this process, which holds nothing when the test ends that it did not hold when it began."""
    with local() as cloud:
        before = cloud.inventory()
        yield cloud
        assert cloud.inventory() == before


@pytest.fixture
def account(cloud: Local) -> Account:
    return cloud.account


@pytest.fixture
def stacks(account: Account) -> Stacks:
    return Stacks(account)
