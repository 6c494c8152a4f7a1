"""Hosts that an update loses, that are prepared and never used, or that wait for a signal, and services that wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import (
    UNKNOWN,
    Block,
    Distribution,
    Fleet,
    HostUpdate,
    Pool,
    PurchaseOption,
    Reservation,
    UpdateMethod,
    UserData,
    UserDataFormat,
    WarmPool,
)
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.scaling import groups
from tests.reports import of_part
from tests.rules.changed import USER_DATA
from tests.rules.given import a_pool, asked, of_image, running_on, said

RULES = rules_of(groups)
REFRESH = HostUpdate(method=UpdateMethod.INSTANCE_REFRESH)
ROLLING = HostUpdate(method=UpdateMethod.ROLLING, suspended=("AlarmNotification",))


def _updated(update: HostUpdate | None, **changes: Any) -> Pool:
    return a_pool(**{"group": "Hosts", "update": update, **changes})


def _in_advance(instances: Any, **changes: Any) -> Pool:
    reserved = Reservation(instances=instances)
    return _updated(REFRESH, max_instances=2, purchase=PurchaseOption.RESERVED, reservation=reserved, **changes)


@pytest.mark.parametrize(
    ("rule", "severity", "pool", "said"),
    [
        ("GPU221", Severity.ERROR, _updated(replace(ROLLING, min_in_service=4), max_instances=4), "is 4 and MaxSize"),
        ("GPU222", Severity.WARNING, _updated(REFRESH, managed_termination_protection=True), "waits an hour"),
        ("GPU222", Severity.WARNING, _in_advance(2), "all 2 reserved hosts may be in use"),
        ("GPU221", Severity.WARNING, _updated(replace(ROLLING, suspended=("AZRebalance",))), "changes the size"),
    ],
)
def test_an_update_that_fails_or_loses_tasks_is_found(rule: str, severity: Severity, pool: Pool, said: str) -> None:
    found = asked(RULES, pool)
    assert list(found) == [rule]
    assert found[rule].severity is severity
    assert said in found[rule].message


def _service(count: Any, *starts: Any) -> Fleet:
    pools = [
        a_pool(
            name=f"Block{place}",
            purchase=PurchaseOption.CAPACITY_BLOCK,
            block=Block(starts=each, ends="2027-01-18T10:45:00Z"),
        )
        if each != "no block"
        else a_pool()
        for place, each in enumerate(starts)
    ]
    return running_on(*pools, desired_count=count)


@pytest.mark.parametrize(("starts", "said"), [("2027-01-11T11:30:00Z", "begins at 2027-01-11"), (UNKNOWN, "Block: a")])
def test_a_service_before_its_capacity_block_waits(starts: Any, said: str) -> None:
    (found,) = asked(RULES, _service(2, starts)).values()
    assert found.rule == "GPU226"
    assert said in found.message


def test_a_group_that_is_replaced_takes_the_provider_of_a_service_with_it_in_a_later_deploy() -> None:
    (found,) = said(RULES, running_on(_updated(HostUpdate(method=UpdateMethod.REPLACING))))
    assert (found.rule, found.severity) == ("GPU220", Severity.WARNING)


WAITS = UserData(format=UserDataFormat.SHELL, agent=(("ECS_CLUSTER", "gpu"), ("ECS_WARM_POOLS_CHECK", "true")))
BOTTLEROCKET = of_image("bottlerocket-ecs-2-nvidia-x86_64")


def _warm(*types: str, warm: WarmPool | None = None, **changes: Any) -> Pool:
    """A pool with a good warm pool."""
    return a_pool(*types, **{"warm_pool": warm or WarmPool(min_size=1, max_prepared=1), "user_data": WAITS, **changes})


def _agent(*settings: tuple[str, Any], **changes: Any) -> UserData:
    return replace(WAITS, agent=settings, **changes)


def test_spot_that_the_policy_does_not_want_is_told_once() -> None:
    spot = PurchaseOption.SPOT
    assert asked(RULES, _warm(purchase=spot, distribution=Distribution(template_option=spot))) == {}
    wanted = Distribution(on_demand_percentage=0)
    assert list(asked(RULES, _warm(purchase=spot, distribution=wanted))) == ["GPU170"]


@pytest.mark.parametrize(
    ("user_data", "image", "words"),
    [
        (_agent(("ECS_WARM_POOLS_CHECK", "false")), None, "ECS_WARM_POOLS_CHECK is 'false'"),
        (UserData(format=UserDataFormat.TOML), BOTTLEROCKET, "Bottlerocket has no setting"),
    ],
)
def test_hosts_that_join_while_they_are_prepared_are_a_warning(user_data: UserData, image: Any, words: str) -> None:
    found = asked(RULES, _warm(user_data=user_data, image=image or of_image()))
    assert list(found) == ["GPU171"]
    assert found["GPU171"].severity is Severity.WARNING
    assert words in found["GPU171"].message


@pytest.mark.parametrize(
    ("warm", "severity", "words"),
    [
        (WarmPool(min_size=1, reuse_on_scale_in=True), Severity.WARNING, "ECS does not support"),
        (WarmPool(state="Hibernated", min_size=1), Severity.ERROR, "EC2 does not hibernate g6.xlarge"),
    ],
)
def test_hosts_with_accelerators_do_not_go_back_or_hibernate(warm: WarmPool, severity: Severity, words: str) -> None:
    found = asked(RULES, _warm(warm=warm))
    assert (list(found), found["GPU170"].severity) == (["GPU170"], severity)
    assert words in found["GPU170"].message


_HOOK = "LifecycleTransition: autoscaling:EC2_INSTANCE_LAUNCHING"
_BESIDE = """  Hook:
    Type: AWS::AutoScaling::LifecycleHook
    Properties: {AutoScalingGroupName: !Ref Hosts, %s}
"""
_ALONE = _BESIDE % _HOOK
_FUNCTION = """  Answers:
    Type: AWS::Events::Rule
    Properties: {EventPattern: {source: [aws.autoscaling]}, Targets: [{Id: a, Arn: !Ref Answering}]}
"""
_WAITS = "  Hosts: {CreationPolicy: {ResourceSignal: {Timeout: PT15M}}}\n"
_UPDATES = "  Hosts: {UpdatePolicy: {AutoScalingRollingUpdate: {WaitOnResourceSignals: true, PauseTime: PT5M}}}\n"


@pytest.mark.parametrize(
    ("part", "count"),
    [
        (_ALONE, 1),
        (_BESIDE % f"{_HOOK}, DefaultResult: ABANDON", 1),
        (_ALONE + USER_DATA % "echo ready", 1),
        (_BESIDE % f"{_HOOK}, DefaultResult: CONTINUE", 0),
        (_ALONE + _FUNCTION, 0),
    ],
)
def test_a_launch_hook_that_nothing_completes_is_named(part: str, count: int) -> None:
    parameters = "Parameters: {Answering: {Type: String}, Result: {Type: String}}\n"
    assert len(of_part("GPU316", f"{parameters}Resources:\n{part}")) == count


@pytest.mark.parametrize(
    ("part", "severities"),
    [
        (_WAITS, ["error"]),
        (_UPDATES, ["error"]),
        (_UPDATES.replace("true", "true, MinSuccessfulInstancesPercent: 0"), ["warning"]),
        ("  Hosts: {CreationPolicy: {ResourceSignal: {Count: !Ref Many}}}\n", []),
        (_WAITS + "  Runs: {Type: AWS::SSM::Association, Properties: {Name: AWS-RunShellScript}}\n", []),
        (_WAITS + "  May: {Type: AWS::IAM::Policy, Properties: {Action: ['cloudformation:Signal*']}}\n", []),
    ],
)
def test_hosts_that_send_no_signal_are_named_where_cloudformation_waits(part: str, severities: list[str]) -> None:
    assert [str(each.severity) for each in of_part("GPU306", f"Resources:\n{part}")] == severities


@pytest.mark.parametrize(
    "what",
    [
        # nothing is said of a good update
        _updated(replace(ROLLING, min_in_service=UNKNOWN)),
        _updated(replace(ROLLING, min_in_service=9), max_instances=UNKNOWN),
        _updated(replace(ROLLING, suspended=(UNKNOWN,))),
        _updated(replace(ROLLING, suspended=()), managed_scaling=False),
        _in_advance(UNKNOWN),
        _in_advance(3),
        # a service that finds hosts is left in peace
        pytest.param(_service(0, "2027-01-11T11:30:00Z"), id="no copies"),
        pytest.param(_service(UNKNOWN, "2027-01-11T11:30:00Z"), id="unknown"),
        pytest.param(_service(2, None), id="has begun"),
        pytest.param(_service(2, "2027-01-11T11:30:00Z", "no block"), id="other hosts"),
        pytest.param(_service(2), id="no strategy"),
        # what may wait
        _warm(user_data=_agent(complete=False), image=of_image()),
        _warm(user_data=_agent(), image=of_image(release="custom")),
        _warm(user_data=_agent(), image=UNKNOWN),
        # hosts without accelerators may hibernate
        _warm("m7i.large", warm=WarmPool(state="Hibernated", min_size=1)),
    ],
)
def test_nothing_is_said_of_what_is_good_or_may_be(what: Fleet | Pool) -> None:
    assert said(RULES, what) == []
