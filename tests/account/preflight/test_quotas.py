"""How quotas are held against the plan, and against what runs now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.account.answers import UnansweredError
from gpu_constructs.account.preflight import Verdict
from gpu_constructs.fleet import UNKNOWN, GroupSettings, Origin
from tests.account.preflight.world import SPOT, fleet, host, instances, only, pool

OK, SHORT, NOT_CHECKED = Verdict.OK, Verdict.SHORT, Verdict.NOT_CHECKED
NOTHING_RUNS: dict[str, object] = {"DescribeInstances": {}}


def quota(value: object) -> dict[str, object]:
    return {"GetServiceQuota": {"Quota": {"Value": value}}}


def test_a_quota_that_is_too_low_is_short_with_the_command_that_asks_for_more() -> None:
    found = only("quotas", {**quota(64.0), **NOTHING_RUNS})
    assert (found.verdict, found.subject, found.text) == (
        SHORT,
        "G/VT on-demand",
        "quota L-DB2E81BA is 64 vCPUs, 0 in use by others, the hosts at MaxSize take 192: 128 short",
    )
    assert found.fix == (
        "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-DB2E81BA "
        "--desired-value 192 --region eu-west-1"
    )


def test_pools_of_one_quota_are_counted_together() -> None:
    pools = fleet(pool(), pool(name="More"))
    assert only("quotas", {**quota(383), **NOTHING_RUNS}, pools).verdict is SHORT
    assert only("quotas", {**quota(384), **NOTHING_RUNS}, pools).verdict is OK


def test_a_quota_that_the_account_never_changed_is_the_default_of_aws() -> None:
    answers = {
        "GetServiceQuota": UnansweredError("none", code="NoSuchResourceException"),
        "GetAWSDefaultServiceQuota": {"Quota": {"Value": 0}},
    }
    found = only("quotas", answers, fleet(pool(bought=SPOT)))
    assert (found.verdict, found.subject) == (SHORT, "G/VT spot")


def test_hosts_without_a_known_maximum_leave_their_quota_open() -> None:
    found = only("quotas", quota(64), fleet(pool(max_instances=UNKNOWN)))
    assert (found.verdict, found.text) == (
        NOT_CHECKED,
        "quota L-DB2E81BA is 64 vCPUs; how many hosts Gpu can have is not known",
    )


@pytest.mark.parametrize(
    ("hosts", "others"),
    [
        ([host("g6.xlarge"), host("g5.xlarge")], 8),
        ([host("g6.xlarge", InstanceLifecycle="spot")], 0),
        ([host("g6.xlarge", InstanceLifecycle="capacity-block")], 0),
        ([host("p4d.24xlarge"), host("m5.large")], 0),
        ([{"InstanceType": "g99.huge", "CpuOptions": {"CoreCount": 4, "ThreadsPerCore": 2}}], 8),
    ],
)
def test_what_runs_now_takes_its_part_of_the_quota(hosts: list[dict[str, object]], others: int) -> None:
    found = only("quotas", {**quota(200), "DescribeInstances": instances(*hosts)})
    assert f"200 vCPUs, {others} in use by others, the hosts at MaxSize take 192" in found.text
    assert found.verdict is OK
    found = only("quotas", {**quota(191 + others), "DescribeInstances": instances(*hosts)})
    assert (found.verdict, f"--desired-value {192 + others} " in found.fix) == (SHORT, True)


def test_spot_hosts_count_against_the_quota_of_spot() -> None:
    hosts = instances(host("g6.xlarge", InstanceLifecycle="spot"), host("g6.xlarge"))
    found = only("quotas", {**quota(200), "DescribeInstances": hosts}, fleet(pool(bought=SPOT)))
    assert "4 in use by others" in found.text


MINE = pool(group=GroupSettings(name="Group"), origin=Origin(resource="Provider", stack="Demo"))


@pytest.mark.parametrize(
    ("stack", "hosts", "says"),
    [
        ("Demo", [host(logical_id="Group")] * 2, "0 in use by others and 96 by these hosts"),
        ("Demo", [host(logical_id="Group", stack="Other")], "48 in use by others"),
        ("Demo", [host(logical_id="Else"), host()], "96 in use by others"),
        (None, [host(logical_id="Group")], "0 in use by others and 48 by these hosts"),
        (None, [host(logical_id="Group"), host(logical_id="Group", stack="Other")], "96 in use by others"),
    ],
)
def test_an_update_does_not_count_its_own_hosts_twice(
    stack: str | None, hosts: list[dict[str, object]], says: str
) -> None:
    of = replace(MINE, origin=Origin(resource="Provider", stack=stack))
    found = only("quotas", {**quota(192), "DescribeInstances": instances(*hosts)}, fleet(of))
    assert f"192 vCPUs, {says}, the hosts" in found.text
    assert found.verdict is (OK if says.startswith("0 ") else SHORT)


def test_without_the_permission_to_see_hosts_it_says_that_they_are_not_counted() -> None:
    denied = {"DescribeInstances": UnansweredError("the credentials may not call ec2:DescribeInstances")}
    found = only("quotas", {**quota(192), **denied})
    assert (found.verdict, found.text.partition("; ")[2]) == (
        OK,
        "the hosts that run now are not counted: the credentials may not call ec2:DescribeInstances",
    )
    assert only("quotas", {**quota(191), **denied}).verdict is SHORT
