"""Hosts that nobody starts or can stop, or that contradict themselves; scaled services; tasks without a strategy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, PoolKind, ProviderList, ServiceScaling, Starter
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.scaling import managed_scaling, service_scaling
from gpu_constructs.rules.scaling.service_scaling import numbers_are_left
from tests.reports import of_part
from tests.rules.changed import severities
from tests.rules.given import FIT_RULES, a_pool, a_task, asked, found, on_launch_type, only, running_on, said

RULES = rules_of(managed_scaling)


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"group": "Hosts"}, Severity.ERROR),
        ({"group": "Hosts", "may_be_started_by_others": True}, Severity.WARNING),
        ({}, Severity.WARNING),
    ],
)
def test_that_is_an_error_where_nothing_else_can_start_hosts(changes: dict[str, Any], severity: Severity) -> None:
    fleet = replace(running_on(a_pool(managed_scaling=False, **changes)), is_whole=True)
    assert asked(RULES, fleet)["GPU110"].severity is severity


@pytest.mark.parametrize(
    "changes",
    [
        {"managed_scaling": True},
        {"managed_scaling": False, "desired_instances": 1},
        {"managed_scaling": False, "kind": PoolKind.MANAGED_INSTANCES},
    ],
    ids=str,
)
def test_a_service_whose_hosts_are_there_or_come_is_fine(changes: dict[str, Any]) -> None:
    assert asked(RULES, running_on(a_pool(**changes))) == {}


def test_an_empty_pool_that_no_service_waits_for_is_fine() -> None:
    pool = a_pool(managed_scaling=False)
    assert asked(RULES, pool) == {}
    assert asked(RULES, running_on(pool, desired_count=0)) == {}


@pytest.mark.parametrize(("weights", "expected"), [(["1", "2"], ["error"]), (["1", "1"], ["warning"]), ([], [])])
def test_ecs_supports_no_weights_and_those_of_one_change_nothing(weights: list[str], expected: list[str]) -> None:
    types = ("g6.xlarge", "g6.2xlarge")
    weighted = [
        {"InstanceType": each, "WeightedCapacity": weight} for each, weight in zip(types, weights, strict=False)
    ]
    overrides = weighted or [{"InstanceType": each} for each in types]
    changed = {"Hosts": {"MixedInstancesPolicy": {"LaunchTemplate": {"Overrides": overrides}}}}
    assert severities("GPU269", changed) == expected


OF_SERVICES = rules_of(service_scaling)
REQUESTS = "ALBRequestCountPerTarget"
CPU = "ECSServiceAverageCPUUtilization"


def asked_of(scaling: dict[str, Any] | None, **workload: Any) -> list[str]:
    scaled = None if scaling is None else ServiceScaling(**{"least": 1, "most": 4, **scaling})
    fleet = running_on(a_pool(), **{"desired_count": UNKNOWN, "scaling": scaled, **workload})
    return [each.rule for each in said(OF_SERVICES, fleet)]


@pytest.mark.parametrize(("by", "rules"), [((REQUESTS, CPU), ["GPU211"]), ((), [])])
def test_what_is_asked_of_a_scaled_service(by: tuple[str, ...], rules: list[str]) -> None:
    assert asked_of({"least": 0, "by": by}) == rules


@pytest.mark.parametrize(
    ("metric", "dimension", "value", "found"),
    [
        ("AWS/ECS CPUUtilization", "ServiceName", {"Fn::GetAtt": ["Service", "Name"]}, ["warning"]),
        ("AWS/ECS CPUUtilization", "ServiceName", "another", []),
        ("AWS/ApplicationELB RequestCountPerTarget", "TargetGroup", "targetgroup/x/1", ["warning"]),
        ("AWS/SQS ApproximateNumberOfMessagesVisible", "QueueName", "jobs", []),
    ],
)
def test_a_customized_metric_may_be_one_of_copies(metric: str, dimension: str, value: Any, found: list[str]) -> None:
    namespace, name = metric.split()
    own = {"Namespace": namespace, "MetricName": name, "Dimensions": [{"Name": dimension, "Value": value}]}
    tracking = {"PredefinedMetricSpecification": None, "CustomizedMetricSpecification": own}
    assert severities("GPU211", {"Requests": {"TargetTrackingScalingPolicyConfiguration": tracking}}) == found


@pytest.mark.parametrize(("by", "rules"), [(REQUESTS, ["GPU213"]), (CPU, [])])
def test_requests_are_counted_after_each_deployment(by: str, rules: list[str]) -> None:
    assert asked_of({"by": (by,)}, deployment_strategy="CANARY") == rules


def test_nothing_but_managed_scaling_sets_the_number_of_hosts() -> None:
    for count in (0, 2):
        group = running_on(a_pool(desired_instances=count))
        assert f"sets it to {count} again" in only(numbers_are_left, group).message
    in_order: list[dict[str, Any]] = [
        {"desired_instances": UNKNOWN},
        {"desired_instances": 2, "has_provider": False},
        {"desired_instances": 2, "min_instances": 2, "max_instances": 2},
    ]
    for fine in in_order:
        assert said(numbers_are_left, running_on(a_pool(**fine))) == []


_PREDICTIVE = "PolicyType: PredictiveScaling, PredictiveScalingConfiguration: {Mode: %s}"
_POLICY = """
Resources:
  Policy:
    Type: AWS::AutoScaling::ScalingPolicy
    Properties: {AutoScalingGroupName: !Ref Hosts, %s}
  Provider: {Properties: {AutoScalingGroupProvider: {ManagedScaling: {Status: %s}}}}
"""


@pytest.mark.parametrize(
    ("policy", "managed", "rules"),
    [
        ("PolicyType: TargetTrackingScaling", "ENABLED", ["GPU210"]),
        (_PREDICTIVE % "ForecastAndScale", "ENABLED", ["GPU210"]),
        (_PREDICTIVE % "ForecastOnly", "ENABLED", []),
        ("PolicyType: StepScaling", "DISABLED", []),
    ],
)
def test_a_group_has_managed_scaling_or_a_policy_of_its_own(policy: str, managed: str, rules: list[str]) -> None:
    assert [each.rule for each in of_part("GPU210", _POLICY % (policy, managed))] == rules


OF_CLUSTER = ProviderList(cluster="gpu", cluster_is_defined=True)


def test_daemons_need_no_strategy() -> None:
    assert found(on_launch_type(a_pool(), task=a_task("1"), daemon=True)) == []


def ids(fleet: Fleet) -> list[str]:
    return [each.rule for each in said(FIT_RULES, fleet)]


def empty(**changes: Any) -> Pool:
    return a_pool(**{"cluster": "gpu", "group": "Group", "provider": "l4", **changes})


def started(pool: Pool, *, lists: tuple[ProviderList, ...] = (OF_CLUSTER,), **changes: Any) -> Fleet:
    given = {"cluster": "gpu", "starter": Starter.SCHEDULE, **changes}
    fleet = on_launch_type(pool, task=a_task("1"), is_whole=True, **given)
    return replace(fleet, provider_lists=lists)


class TestOnClustersThatStartFromZero:
    @pytest.mark.parametrize("pool", [empty(min_instances=UNKNOWN), empty(may_be_started_by_others=True)])
    def test_is_only_a_warning_where_a_host_may_be_there(self, pool: Pool) -> None:
        assert ids(started(pool)) == ["GPU072"]

    def test_is_only_a_warning_where_tasks_with_a_strategy_start_hosts(self) -> None:
        pool = empty()
        others = replace(running_on(pool, task=a_task("1")).workloads[0], name="other", cluster="gpu")
        fleet = started(pool)
        assert ids(replace(fleet, workloads=(*fleet.workloads, others))) == ["GPU072"]
        off = replace(others, desired_count=0)
        assert ids(replace(fleet, workloads=(*fleet.workloads, off))) == ["GPU218"]

    def test_hosts_that_cannot_run_the_task_are_no_first_host(self) -> None:
        cpu = empty(name="Cpu", group="Other", min_instances=1, has_provider=False)
        cpu = replace(cpu, instance_types=a_pool("c7i.xlarge").instance_types)
        fleet = started(empty(has_provider=False))
        assert ids(replace(fleet, pools=(cpu, *fleet.pools))) == ["GPU218"]

    def test_without_a_list_of_providers_a_group_without_one_is_a_warning(self) -> None:
        finding = only(FIT_RULES, started(empty(has_provider=False), lists=(), launch_type=None))
        assert (finding.rule, finding.severity) == ("GPU218", Severity.WARNING)

    def test_is_only_a_warning_where_the_cluster_may_have_a_default_strategy(self) -> None:
        assert ids(started(empty(), lists=(), launch_type=None)) == ["GPU072"]
        assert ids(started(empty(), lists=())) == ["GPU218"]
