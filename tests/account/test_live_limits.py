"""A command about a running cluster ends by its deadline, whatever AWS answers, and says what it has not read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from threading import Event
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError

from gpu_constructs.account import deadline
from gpu_constructs.account.answers import UnansweredError
from gpu_constructs.account.deadline import Deadline
from gpu_constructs.account.live_cluster import about, clusters_of
from gpu_constructs.errors import GpuConstructsError
from tests.account.recorded import Recorded


class Slow(Recorded):
    """An account that never answers."""

    def answer(self, service: str, operation: str) -> dict[str, Any]:
        Event().wait(5)
        return super().answer(service, operation)


class Endless(Recorded):
    """An account whose lists have no end."""

    def __init__(self, names: int, **more: Any) -> None:
        super().__init__(**more)
        self.names = names

    def __call__(self, service: str, region: str | None) -> Any:
        client = super().__call__(service, region)
        client.get_paginator = lambda _: self
        return client

    def paginate(self, **_: Any) -> Iterator[dict[str, Any]]:
        for page in count():
            names = [f"{page}-{number}" for number in range(self.names)]
            yield {"serviceArns": names, "taskArns": names, "containerInstanceArns": names}


@pytest.mark.parametrize("what", [about, clusters_of])
def test_an_endpoint_that_hangs_ends_at_the_deadline(what: Any) -> None:
    called = {"cluster": "demo"} if what is about else {"stack": "Demo"}
    with pytest.raises(GpuConstructsError, match="AWS did not answer .*: the 0.1 seconds of the command were over"):
        what(Slow(), **called, deadline=Deadline(0.1))


@pytest.mark.parametrize(("names", "read"), [(0, 0), (100, 5_000)])
def test_a_list_without_an_end_is_cut_and_said(names: int, read: int) -> None:
    found = about(Endless(names), cluster="demo", deadline=Deadline(60))
    assert found.cut == tuple(f"more than {read} of ecs:{each}" for each in ("ListServices", "ListContainerInstances"))
    with pytest.raises(
        GpuConstructsError, match=f"'1' cannot be looked at: there are more than {read} of ecs:ListServ"
    ):
        about(Endless(names, services=[], tasks=[]), cluster="demo", name="1", deadline=Deadline(60))


def test_a_stack_that_does_not_exist_is_said() -> None:
    said = {"Error": {"Code": "ValidationError", "Message": "Stack with id Dmeo does not exist"}}
    gone: dict[str, Exception] = {"list_stack_resources": ClientError(said, "ListStackResources")}
    with pytest.raises(GpuConstructsError, match="STACK: there is no stack 'Dmeo' in us-east-1; fix: --region"):
        clusters_of(Recorded(gone), stack="Dmeo", region="us-east-1")


CALL = "ecs:DescribeTasks"


def test_a_call_in_time_is_answered_or_raises_what_it_raises() -> None:
    said: list[str] = []
    of = Deadline(60, said.append)
    assert of.call(CALL, lambda: 7) == 7
    with pytest.raises(TimeoutError, match="its own"):
        of.call(CALL, Mock(side_effect=TimeoutError("its own")))
    assert not said


def test_a_call_that_hangs_is_left_and_no_other_one_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "_QUIET", 0.01)
    never, made, said = Event(), Event(), list[str]()
    of = Deadline(0.1, said.append)
    with pytest.raises(UnansweredError, match=f"did not answer {CALL}: the 0.1 seconds of the command were over"):
        of.call(CALL, never.wait)
    with pytest.raises(UnansweredError, match="was not asked iam:GetRole"):
        of.call("iam:GetRole", made.set)
    assert not made.is_set()
    assert said == [f"waiting for {CALL}, for 0 seconds at most"]
    never.set()
