"""What is asked of AWS: only calls that read, tried again where that helps, and every error in words."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import boto3
import botocore.session
import pytest
from botocore import xform_name
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from botocore.stub import Stubber
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import answered as account
from gpu_constructs.account.answers import UnansweredError
from gpu_constructs.account.deadline import Deadline
from gpu_constructs.account.preflight import CHECKS, Verdict, policy, preflight
from gpu_constructs.account.preflight.asking import READ_ONLY, asker
from gpu_constructs.account.preflight.check import Ask
from gpu_constructs.account.problems import SERVICES, unanswered
from gpu_constructs.fleet import Bought, Fleet, Origin, Place, Pool, PurchaseOption, Reservation
from tests.account.modelled import MODELS, error_codes
from tests.account.preflight.world import REGION, SPOT, answering, fleet, offering, pool, subnet
from tests.examples import times

CALLS = tuple(dict.fromkeys(call for check in CHECKS for call in check.calls))


def parts(call: str) -> tuple[str, str]:
    """The service of a call, as boto3 names it, and the operation."""
    service, _, operation = call.partition(":")
    return SERVICES.get(service, service), operation


GROUP = "arn:aws:resource-groups:eu-west-1:123456789012:group/gpus"


def every_kind() -> Fleet:
    """A fleet about which every check asks."""
    block = Bought(option=PurchaseOption.CAPACITY_BLOCK, reservation=Reservation(group=GROUP))
    return fleet(pool(), pool(name="Spot", bought=SPOT), pool(name="Block", bought=block))


@pytest.mark.parametrize("call", CALLS)
def test_every_call_only_reads_and_is_one_that_aws_has(call: str) -> None:
    service, operation = parts(call)
    assert operation.startswith(("Describe", "Get", "List"))
    assert READ_ONLY == ("Describe", "Get", "List")
    assert operation in MODELS.get_service_model(service).operation_names


def test_a_call_that_may_change_something_is_never_made(credentials: None) -> None:
    del credentials
    with pytest.raises(UnansweredError, match="never called"):
        asker(None)(REGION)("ec2:CreateCapacityReservation", {})


def test_checks_make_no_other_calls_than_they_declare() -> None:
    asked: list[Any] = []
    for check in CHECKS:
        asked.clear()
        preflight(every_kind(), answering({}, asked), [check])
        assert {call for call, _ in asked} <= set(check.calls), check.id


def test_the_policy_allows_each_call_and_nothing_else() -> None:
    statements = policy()["Statement"]
    assert isinstance(statements, list)
    allowed = [action for each in statements for action in each["Action"]]
    assert sorted(allowed) == sorted(CALLS)
    assert "servicequotas:GetServiceQuota" in allowed


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)


Answering = Callable[[str], tuple[int, bytes]]


@pytest.fixture
def answered(credentials: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[Answering], Ask]:
    """Asks an AWS whose answers a function gives, by operation: status and body."""
    del credentials

    def of(answer: Answering, deadline: Deadline | None = None) -> Ask:
        def client(service: str, *, config: Config, region_name: str) -> Any:
            assert region_name == REGION
            made, answers = answered_client(service, config)
            answers[:] = [answer]
            return made

        monkeypatch.setattr(boto3, "Session", lambda **_: SimpleNamespace(client=client))
        return asker(None, deadline)(REGION)

    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    return of


@cache
def answered_client(service: str, config: Config) -> tuple[Any, list[Answering]]:
    """A client for all tests, and what answers it."""
    answers: list[Answering] = []

    def send(request: Any, event_name: str, **_: Any) -> AWSResponse:
        status, body = answers[0](event_name.rpartition(".")[2])
        raw = type("Raw", (), {"stream": lambda self, **_: iter([body])})()
        return AWSResponse(request.url, status, {}, raw)

    core = botocore.session.get_session()
    core.register_component("data_loader", MODELS.get_component("data_loader"))  # which has read the models
    made = boto3.session.Session(botocore_session=core).client(service, region_name=REGION, config=config)
    made.meta.events.register("before-send", send)
    return made, answers


QUOTA, ROLE = "servicequotas:GetServiceQuota", "iam:GetRole"
MINE = "123456789012"
ARGUMENTS = {"ServiceCode": "ec2", "QuotaCode": "L-DB2E81BA"}


@pytest.mark.parametrize("trouble", ["TooManyRequestsException", "ServiceUnavailable", "time-out"])
def test_throttling_and_time_outs_are_tried_again(answered: Callable[[Answering], Ask], trouble: str) -> None:
    tries: list[str] = []

    def answer(operation: str) -> tuple[int, bytes]:
        tries.append(operation)
        if len(tries) > 2:
            return 200, json.dumps({"Quota": {"Value": 8}}).encode()
        if trouble == "time-out":
            raise ReadTimeoutError(endpoint_url="https://example.com")
        return 503 if trouble == "ServiceUnavailable" else 400, json.dumps({"__type": trouble}).encode()

    assert answered(answer)(QUOTA, ARGUMENTS).first["Quota"]["Value"] == 8
    assert len(tries) == 3


def test_a_service_out_of_reach_is_not_waited_for_again(answered: Callable[[Answering], Ask]) -> None:
    tries: list[str] = []

    def answer(operation: str) -> tuple[int, bytes]:
        tries.append(operation)
        raise EndpointConnectionError(endpoint_url="https://example.com")

    ask = answered(answer)
    for code in ("L-1", "L-2"):
        with pytest.raises(UnansweredError, match="service-quotas in eu-west-1 cannot be reached"):
            ask(QUOTA, {**ARGUMENTS, "QuotaCode": code})
    assert len(tries) == 4


@pytest.mark.parametrize("body", [b"", b"<html>", b"[", b"\xff", b"[[]]", b"<a/>", b"[" * 200_000])
def test_an_answer_that_cannot_be_parsed_is_not_checked(answered: Callable[[Answering], Ask], body: bytes) -> None:
    found = preflight(every_kind(), lambda _: answered(lambda _: (200, body)), CHECKS)
    assert {each.verdict for each in found} <= {Verdict.NOT_CHECKED, Verdict.NOTHING_TO_CHECK}


def test_an_endpoint_that_hangs_is_left_after_the_deadline(answered: Callable[..., Ask], credentials: None) -> None:
    del credentials
    never = threading.Event()

    def answer(operation: str) -> tuple[int, bytes]:
        del operation
        never.wait()
        return 200, b""

    ask = answered(answer, Deadline(0.2))
    for call, words in {QUOTA: "did not answer servicequotas", ROLE: "was not asked iam"}.items():
        with pytest.raises(UnansweredError, match=words):
            ask(call, arguments_of(call))
    never.set()


@cache
def client_of(service: str) -> Any:
    return boto3.client(service, region_name=REGION)


@pytest.mark.parametrize("call", CALLS)
def test_every_error_that_botocore_models_is_a_result_with_words(
    call: str, credentials: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    del credentials
    service, operation = parts(call)
    client, arguments = client_of(service), arguments_of(call)
    monkeypatch.setattr(boto3, "Session", lambda **_: SimpleNamespace(client=lambda *_, **__: client))
    for code in error_codes(*parts(call)):
        with Stubber(client) as stub:
            stub.add_client_error(xform_name(operation), code, "why it does not answer\x1b[2J")
            with pytest.raises(UnansweredError) as caught:
                asker(None)(REGION)(call, arguments)
        assert caught.value.code == code
        assert call in caught.value.problem or code in caught.value.problem


def arguments_of(call: str) -> dict[str, Any]:
    """The arguments with which some check makes a call."""
    return next((dict(arguments) for made, arguments in all_asked() if made == call), {})


@cache
def all_asked() -> list[tuple[str, Any]]:
    asked: list[Any] = []
    refused = UnansweredError("none", code="NoSuchResourceException")
    answers = {"GetServiceQuota": refused, "ListGroupResources": {}, **SOME_ANSWERS}
    preflight(every_kind(), answering(answers, asked), CHECKS)
    return asked


SOME_ANSWERS: dict[str, object] = {
    "DescribeSubnets": {"Subnets": [subnet()]},
    "DescribeInstanceTypeOfferings": offering(("g6.12xlarge", "eu-west-1a")),
}


ODD = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5) | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
OPERATIONS = {parts(call)[1]: parts(call)[0] for call in sorted(CALLS)}


def keys(operation: str) -> list[str]:
    """The keys of the answer of an operation, and of the objects in it."""
    shape = MODELS.get_service_model(OPERATIONS[operation]).operation_model(operation).output_shape
    inner = [getattr(each, "member", each) for each in shape.members.values()]
    return sorted({*shape.members, *(name for each in inner for name in getattr(each, "members", {}))})


def odd_answers(operation: str) -> st.SearchStrategy[Any]:
    level = st.dictionaries(st.sampled_from(keys(operation)), ODD, max_size=6)
    return level | st.dictionaries(st.sampled_from(keys(operation)), st.lists(level, max_size=2), max_size=4)


@settings(max_examples=times(5))
@given(st.deferred(lambda: st.fixed_dictionaries({each: odd_answers(each) for each in OPERATIONS})))
def test_answers_of_any_shape_are_results(answers: dict[str, Any]) -> None:
    found = preflight(every_kind(), answering(answers), CHECKS)
    assert all(each.text for each in found)


def test_regions_are_asked_side_by_side() -> None:
    together = threading.Barrier(3, timeout=20)

    def asks(region: str) -> Ask:
        together.wait()
        assert threading.current_thread().daemon  # Ctrl-C does not wait for what hangs
        return answering({})(region)

    regions = ("eu-west-1", "us-east-1", "us-west-2")
    pools: list[Pool] = [pool(name=each, region=each) for each in regions]
    assert list(dict.fromkeys(each.region for each in preflight(fleet(*pools), asks))) == list(regions)


@pytest.mark.parametrize("call", CALLS)
def test_whatever_one_call_is_answered_the_other_checks_go_on(call: str) -> None:
    whole = preflight(every_kind(), account.answered(), CHECKS)
    others = {each.id for each in CHECKS if call not in each.calls}
    operation = parts(call)[1]
    for code in error_codes(*parts(call)):
        error = ClientError({"Error": {"Code": code, "Message": "why it does not answer"}}, operation)
        refused = unanswered(error, call, REGION)
        pages: dict[str, account.Page] = {**account.ACCOUNT, operation: lambda *_, page=refused: page}
        found = preflight(every_kind(), account.answered(pages), CHECKS)
        assert [(each.check, each.subject) for each in found] == [(each.check, each.subject) for each in whole]
        assert [each for each in found if each.check in others] == [each for each in whole if each.check in others]
        assert all(each.text for each in found)


def test_places_are_asked_about_one_by_one() -> None:
    """A fleet in two regions and two accounts, as the stages of an app are."""
    mine, theirs = MINE, "210987654321"
    places = {"One": Place("eu-west-1", mine), "Two": Place("us-east-1", mine), "Other": Place("us-east-1", theirs)}
    pools = [
        pool(name=name, region=place.region, origin=Origin(resource=name, place=place))
        for name, place in places.items()
    ]
    found = preflight(fleet(*pools), account.answered())
    assert [each.region for each in found if each.check == "quotas"] == ["eu-west-1", "us-east-1"]
    assert [each.subject for each in found if each.check == "types"] == ["One", "Two"]
    assert [each.verdict for each in found if each.check == "account"] == [Verdict.OK, Verdict.NOT_CHECKED]
