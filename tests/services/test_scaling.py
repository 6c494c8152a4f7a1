"""The number of tasks follows the load within what the hosts hold; expressions of templates meet sample metrics."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs

from ecs_emulator.step_scaling import Minute, Scaled
from gpu_constructs import ScaleBy
from gpu_constructs.cluster.monitoring.events import METRIC_NAMESPACE, METRICS
from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.placement.rollout import Rollout, can_go_on
from gpu_constructs.template import fleet_of
from tests.services.scaled_services import behind, by_tokens, managed, queue_of, service_of, tokens
from tests.synthesis import Ground, Site, app_in
from tests.template.written import read_stacks

_POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"
_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"


@pytest.fixture(scope="module")
def from_none(shared_site: Site) -> dict[str, Any]:
    """The resources of a service that a queue scales from none to four tasks."""
    service_of(shared_site).scale(by=[queue_of(shared_site)], min_tasks=0)
    resources: dict[str, Any] = shared_site.template()["Resources"]
    return resources


def messages(waiting: float | None, busy: float | None = 0) -> Minute:
    return {"ApproximateNumberOfMessagesVisible": waiting, "ApproximateNumberOfMessagesNotVisible": busy}


_NEED = cloudwatch.MathExpression(
    expression="MAX([tokens / 1000, images])",
    using_metrics={"tokens": tokens(), "images": cloudwatch.Metric(namespace="Chat", metric_name="Images")},
    period=cdk.Duration.minutes(1),
)
_SCALED: dict[str, Callable[[Site], object]] = {
    "Percentages": lambda site: service_of(site, min_healthy_percent=25, max_healthy_percent=150).scale(
        by=[by_tokens()]
    ),
    "Measured": lambda site: managed(site).scale(
        by=[ScaleBy.gpu_utilization(percent=70), ScaleBy.gpu_memory(percent=80.5)], max_tasks=6
    ),
    "Ten": lambda site: service_of(site, most=10).scale(by=[queue_of(site, 3)], min_tasks=2),
    "Fifty": lambda site: managed(site).scale(by=[queue_of(site, 2)], min_tasks=0, max_tasks=50),
    "Math": lambda site: service_of(site).scale(by=[ScaleBy.backlog(metric=_NEED, per_task=1)], min_tasks=0),
    "Total": lambda site: service_of(site).scale(
        by=[ScaleBy.backlog(metric=tokens(statistic="Sum"), per_task=1000)], min_tasks=0
    ),
}


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Site]:
    """A stack with a scaled service for each row, in one app."""
    app = app_in(tmp_path_factory.mktemp("scaled"))
    made = {name: Site(app, name=name) for name in _SCALED}
    for name, define in _SCALED.items():
        define(made[name])
    return made


# What follows what


def test_the_most_tasks_are_those_that_the_hosts_hold(site: Site) -> None:
    service = service_of(site)
    scaling = service.scale(by=[ScaleBy.requests(endpoint=behind(service), per_task_per_minute=60)])
    assert isinstance(scaling, ecs.ScalableTaskCount)
    target, policy = site.only(_TARGET), site.only(_POLICY)
    assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 4)
    tracking = policy["TargetTrackingScalingPolicyConfiguration"]
    assert tracking["PredefinedMetricSpecification"]["PredefinedMetricType"] == "ALBRequestCountPerTarget"
    assert (tracking["TargetValue"], tracking["ScaleInCooldown"], tracking["ScaleOutCooldown"]) == (60, 600, 600)
    assert site.warnings(unchanged=True) == []


@pytest.mark.parametrize("name", ["queue", "requests"])
def test_what_is_read_of_it_is_what_was_built(site: Site, name: str) -> None:
    service = service_of(site)
    by = queue_of(site) if name == "queue" else ScaleBy.requests(endpoint=behind(service), per_task_per_minute=60)
    service.scale(by=[by], max_tasks=3)
    built = service.workload
    (read,) = fleet_of(read_stacks([site.app.synth().directory]).stacks).workloads
    assert read.desired_count is built.desired_count is UNKNOWN
    for each in ("scaling", "min_healthy_percent", "max_healthy_percent"):
        assert getattr(read, each) == getattr(built, each)


def test_the_resources_are_those_of_cdks_own_scaling(site: Site, recommended_flags: Site) -> None:
    service_of(site).scale(by=[by_tokens()])
    service_of(recommended_flags, desired_count=None).auto_scale_task_count(max_capacity=4, min_capacity=1)
    ours, theirs = (Scaled(each.template()["Resources"]).of_type(_TARGET) for each in (site, recommended_flags))
    assert ours == theirs


@pytest.mark.parametrize(("hosts", "most"), [(4, 4), (4, 3), (1, None), (8, 4), (4, 0), (0, None)])
def test_deployments_go_on_at_each_count_and_a_fixed_one_is_said(ground: Ground, hosts: int, most: int | None) -> None:
    service = service_of(ground, most=hosts)
    service.scale(by=[queue_of(ground)], min_tasks=0, max_tasks=most)
    made = service.workload
    assert isinstance(made.min_healthy_percent, int)
    assert isinstance(made.max_healthy_percent, int)
    percent = Rollout(min_healthy_percent=made.min_healthy_percent, max_healthy_percent=made.max_healthy_percent)
    assert all(can_go_on(count, hosts, percent) for count in range((hosts if most is None else most) + 1))
    assert any("nothing changes the number" in each for each in ground.warnings()) is (0 in {hosts, most})


@pytest.mark.parametrize(
    ("service", "given", "cooldowns"),
    [
        ({"health_check_grace_period": cdk.Duration.minutes(30)}, {}, (1800, 1800)),
        ({}, {"scale_in_cooldown": cdk.Duration.minutes(20)}, (1200, 600)),
        ({}, {"scale_out_cooldown": cdk.Duration.minutes(2)}, (600, 120)),
    ],
)
def test_tasks_stay_as_long_as_they_load(
    site: Site, service: dict[str, Any], given: dict[str, Any], cooldowns: tuple[int, int]
) -> None:
    service_of(site, **service).scale(by=[by_tokens()], **given)
    tracking = site.only(_POLICY)["TargetTrackingScalingPolicyConfiguration"]
    assert (tracking["ScaleInCooldown"], tracking["ScaleOutCooldown"]) == cooldowns


def test_gpus_are_measured_on_managed_instances(sites: dict[str, Site]) -> None:
    tracked = [each["TargetTrackingScalingPolicyConfiguration"] for each in sites["Measured"].properties(_POLICY)]
    metrics = [each["CustomizedMetricSpecification"] for each in tracked]
    assert [each["MetricName"] for each in metrics] == ["TaskGPUUtilization", "TaskGPUMemoryUtilization"]
    assert {tuple(one["Name"] for one in each["Dimensions"]) for each in metrics} == {("ClusterName", "ServiceName")}
    assert [each["TargetValue"] for each in tracked] == [70, 80.5]


@pytest.mark.parametrize("is_first", [False, True])
def test_gpus_of_auto_scaling_groups_are_measured_on_a_monitored_cluster(site: Site, is_first: bool) -> None:
    if is_first:
        site.cluster.add_monitoring("Monitoring")
    service = service_of(site)
    if not is_first:
        site.cluster.add_monitoring("Monitoring")
    service.scale(by=[ScaleBy.gpu_utilization(percent=70), ScaleBy.gpu_memory(percent=80.5)])
    metrics = [
        each["TargetTrackingScalingPolicyConfiguration"]["CustomizedMetricSpecification"]
        for each in site.properties(_POLICY)
    ]
    assert [(each["Namespace"], each["MetricName"], each["Statistic"]) for each in metrics] == [
        (METRIC_NAMESPACE, name, METRICS[name].statistic) for name in ("GPUUtilization", "GPUMemoryUtilization")
    ]
    assert {tuple(one["Name"] for one in each["Dimensions"]) for each in metrics} == {("ClusterName", "ServiceName")}
    assert site.warnings(unchanged=True) == []


# Expressions against sample metrics


@pytest.mark.parametrize(
    ("waiting", "busy", "tasks"), [(0, 0, 0), (1, 0, 1), (5, 0, 1), (6, 0, 2), (4, 2, 2), (20, 0, 4), (900, 40, 4)]
)
def test_a_queue_starts_as_many_tasks_as_it_takes_from_none(
    from_none: dict[str, Any], waiting: int, busy: int, tasks: int
) -> None:
    assert Scaled(from_none, 0).after(messages(waiting, busy)) == tasks


def test_every_backlog_gets_the_tasks_it_takes(sites: dict[str, Site]) -> None:
    template = sites["Ten"].template()["Resources"]
    for waiting in range(40):
        assert Scaled(template, 2).after(messages(waiting)) == min(max(ceil(waiting / 3), 2), 10)


def test_beyond_twenty_steps_there_are_never_too_few(sites: dict[str, Site]) -> None:
    template = sites["Fifty"].template()["Resources"]
    counts = [Scaled(template, 0).after(messages(waiting)) for waiting in range(120)]
    assert counts == sorted(counts)
    assert all(
        min(ceil(waiting / 2), 50) <= count <= min(ceil(waiting / 2) + 2, 50) for waiting, count in enumerate(counts)
    )


def test_a_quiet_queue_leads_back_to_none_after_a_quarter_of_an_hour(from_none: dict[str, Any]) -> None:
    service = Scaled(from_none, 0)
    assert service.after(messages(12)) == 3
    assert service.after(*[messages(0)] * 14) == 3
    assert service.after(messages(0)) == 0
    assert service.after(*[messages(0)] * 60) == 0
    assert service.after(messages(1)) == 1


def test_a_smaller_backlog_stops_tasks_once_they_were_worth_their_start(from_none: dict[str, Any]) -> None:
    service = Scaled(from_none, 0)
    assert service.after(messages(20), *[messages(6)] * 9) == 4
    assert service.after(messages(6)) == 2
    assert service.after(messages(16)) == 4


def test_a_gap_in_the_metrics_starts_and_stops_nothing(from_none: dict[str, Any]) -> None:
    service = Scaled(from_none, 2)
    assert service.after(*[messages(None, None)] * 60, *[messages(None, 0)] * 60) == 2
    assert service.after(*[messages(0)] * 14, messages(None, None), *[messages(0)] * 14) == 2


def test_the_last_message_that_is_worked_on_keeps_a_task(from_none: dict[str, Any]) -> None:
    service = Scaled(from_none, 0)
    assert service.after(messages(1), *[messages(0, 1)] * 120) == 1
