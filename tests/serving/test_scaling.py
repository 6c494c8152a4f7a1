"""The number of tasks follows the load within what the hosts hold; expressions of templates meet sample metrics."""

from __future__ import annotations

from math import ceil
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_sqs as sqs

from gpu_constructs import GpuConstructsError, GpuService, IncompatibleError, InvalidValueError, ScaleBy
from gpu_constructs.capacity.boot_check import METRIC_NAMESPACE
from gpu_constructs.fleet import UNKNOWN, ServiceScaling
from gpu_constructs.monitoring.metrics import METRICS, DimensionSet
from gpu_constructs.placement import Rollout, can_go_on
from gpu_constructs.serving.endpoint import ServiceEndpoint
from gpu_constructs.serving.scaling import Scaling
from gpu_constructs.tasks.task_target import Capacity
from gpu_constructs.template import fleet_of, read_stacks
from tests.serving.auto_scaling import Minute, Scaled
from tests.synthesis import Ground, Site

_POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"
_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"


def service_on(site: Site, *capacity: Capacity, name: str = "Service", **arguments: Any) -> GpuService:
    task = site.task(*capacity, name=f"{name}Task")
    container = task.add_gpu_container("vllm", image=site.image)
    container.add_port_mappings(ecs.PortMapping(container_port=8000))
    return GpuService(site.stack, name, cluster=site.cluster, task_definition=task, **arguments)


def service_of(site: Site, *, most: int = 4, **arguments: Any) -> GpuService:
    return service_on(site, site.capacity("g6.xlarge", max_instances=most), **arguments)


def managed(site: Site, **arguments: Any) -> GpuService:
    return service_on(site, site.managed(instance_types=["g6.xlarge"]), **arguments)


def behind(service: GpuService) -> ServiceEndpoint:
    http = elbv2.ApplicationProtocol.HTTP
    return service.add_application_load_balancer("Http", protocol=http, health_check_path="/health")


def queue_of(site: Site, messages_per_task: int = 5) -> ScaleBy:
    return ScaleBy.queue(queue=sqs.Queue(site.stack, "Work"), messages_per_task=messages_per_task)


def tokens(**options: Any) -> cloudwatch.Metric:
    return cloudwatch.Metric(namespace="Chat", metric_name="Tokens", **options)


def by_tokens() -> ScaleBy:
    return ScaleBy.average(metric=tokens(), target=10)


def scaled(site: Site, tasks: int = 1) -> Scaled:
    return Scaled(site.template()["Resources"], tasks)


@pytest.fixture(scope="module")
def from_none(shared_site: Site) -> dict[str, Any]:
    """The resources of a service that a queue scales from none to four tasks."""
    service_of(shared_site).scale(by=[queue_of(shared_site)], min_tasks=0)
    resources: dict[str, Any] = shared_site.template()["Resources"]
    return resources


def messages(waiting: float | None, busy: float | None = 0) -> Minute:
    return {"ApproximateNumberOfMessagesVisible": waiting, "ApproximateNumberOfMessagesNotVisible": busy}


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
    assert site.warnings() == []


def test_a_deployment_that_runs_all_tasks_twice_halves_them(site: Site) -> None:
    service_of(site, most=5, deployment_strategy=ecs.DeploymentStrategy.BLUE_GREEN).scale(by=[by_tokens()])
    assert site.only(_TARGET)["MaxCapacity"] == 2


def test_a_number_above_what_the_hosts_hold_is_a_warning_as_it_is_in_a_template(site: Site) -> None:
    service_of(site).scale(by=[by_tokens()], max_tasks=9)
    assert [each.split()[0] for each in site.warnings()] == ["GPU081"]


def test_a_number_that_leaves_no_room_for_both_versions_is_a_warning(site: Site) -> None:
    strategy = ecs.DeploymentStrategy.BLUE_GREEN
    service_of(site, most=5, deployment_strategy=strategy).scale(by=[by_tokens()], max_tasks=3)
    assert [each.split()[0] for each in site.warnings()] == ["GPU214"]


def test_the_count_is_left_to_the_scaling(site: Site) -> None:
    service = service_of(site)
    service.scale(by=[by_tokens()], min_tasks=2)
    assert "DesiredCount" not in site.only("AWS::ECS::Service")
    workload = service.workload
    assert workload.scaling == ServiceScaling(least=2, most=4, by=("TargetTrackingScaling",))


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


def test_cdks_own_scaling_stays_open(site: Site) -> None:
    service = service_of(site, desired_count=None)
    service.auto_scale_task_count(max_capacity=3).scale_on_cpu_utilization("Cpu", target_utilization_percent=50)
    assert site.only(_TARGET)["MaxCapacity"] == 3
    assert site.warnings() == []


def test_the_resources_are_those_of_cdks_own_scaling(site: Site, recommended_flags: Site) -> None:
    service_of(site).scale(by=[by_tokens()])
    service_of(recommended_flags, desired_count=None).auto_scale_task_count(max_capacity=4, min_capacity=1)
    ours, theirs = (Scaled(each.template()["Resources"]).of_type(_TARGET) for each in (site, recommended_flags))
    assert ours == theirs


@pytest.mark.parametrize(("hosts", "most"), [(4, 4), (4, 3), (1, None), (8, 4)])
def test_deployments_go_on_at_every_number_of_tasks(ground: Ground, hosts: int, most: int | None) -> None:
    service = service_of(ground, most=hosts)
    service.scale(by=[queue_of(ground)], min_tasks=0, max_tasks=most)
    made = service.workload
    assert isinstance(made.min_healthy_percent, int)
    assert isinstance(made.max_healthy_percent, int)
    percent = Rollout(min_healthy_percent=made.min_healthy_percent, max_healthy_percent=made.max_healthy_percent)
    assert all(can_go_on(count, hosts, percent) for count in range((most or hosts) + 1))


def test_percentages_that_were_given_stay(site: Site) -> None:
    service_of(site, min_healthy_percent=25, max_healthy_percent=150).scale(by=[by_tokens()])
    configuration = site.only("AWS::ECS::Service")["DeploymentConfiguration"]
    assert (configuration["MinimumHealthyPercent"], configuration["MaximumPercent"]) == (25, 150)


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


def test_gpus_are_measured_on_managed_instances(site: Site) -> None:
    service = managed(site)
    service.scale(by=[ScaleBy.gpu_utilization(percent=70), ScaleBy.gpu_memory(percent=80.5)], max_tasks=6)
    tracked = [each["TargetTrackingScalingPolicyConfiguration"] for each in site.properties(_POLICY)]
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
        (METRIC_NAMESPACE, name, METRICS[name].statistic.value) for name in ("GPUUtilization", "GPUMemoryUtilization")
    ]
    for each in metrics:
        assert tuple(one["Name"] for one in each["Dimensions"]) == DimensionSet.SERVICE.value
        assert DimensionSet.SERVICE in METRICS[each["MetricName"]].dimension_sets
    assert site.warnings() == []


# Expressions against sample metrics


@pytest.mark.parametrize(
    ("waiting", "busy", "tasks"), [(0, 0, 0), (1, 0, 1), (5, 0, 1), (6, 0, 2), (4, 2, 2), (20, 0, 4), (900, 40, 4)]
)
def test_a_queue_starts_as_many_tasks_as_it_takes_from_none(
    from_none: dict[str, Any], waiting: int, busy: int, tasks: int
) -> None:
    assert Scaled(from_none, 0).after(messages(waiting, busy)) == tasks


def test_every_backlog_gets_the_tasks_it_takes(site: Site) -> None:
    service_of(site, most=10).scale(by=[queue_of(site, 3)], min_tasks=2)
    template = site.template()["Resources"]
    for waiting in range(40):
        assert Scaled(template, 2).after(messages(waiting)) == min(max(ceil(waiting / 3), 2), 10)


def test_beyond_twenty_steps_there_are_never_too_few(site: Site) -> None:
    managed(site).scale(by=[queue_of(site, 2)], min_tasks=0, max_tasks=50)
    template = site.template()["Resources"]
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


def test_the_last_message_that_is_worked_on_keeps_a_task(from_none: dict[str, Any]) -> None:
    service = Scaled(from_none, 0)
    assert service.after(messages(1), *[messages(0, 1)] * 120) == 1


def test_a_smaller_backlog_stops_tasks_once_they_were_worth_their_start(from_none: dict[str, Any]) -> None:
    service = Scaled(from_none, 0)
    assert service.after(messages(20), *[messages(6)] * 9) == 4
    assert service.after(messages(6)) == 2
    assert service.after(messages(16)) == 4


def test_a_gap_in_the_metrics_starts_and_stops_nothing(from_none: dict[str, Any]) -> None:
    service = Scaled(from_none, 2)
    assert service.after(*[messages(None, None)] * 60, *[messages(None, 0)] * 60) == 2
    assert service.after(*[messages(0)] * 14, messages(None, None), *[messages(0)] * 14) == 2


def test_metric_math_of_several_backlogs_says_how_many_tasks_there_are(site: Site) -> None:
    need = cloudwatch.MathExpression(
        expression="MAX([tokens / 1000, images])",
        using_metrics={"tokens": tokens(), "images": cloudwatch.Metric(namespace="Chat", metric_name="Images")},
        period=cdk.Duration.minutes(1),
    )
    service_of(site).scale(by=[ScaleBy.backlog(metric=need, per_task=1)], min_tasks=0)
    assert scaled(site, tasks=0).after({"Tokens": 2900, "Images": 1}) == 3
    assert scaled(site, tasks=0).after({"Tokens": 100, "Images": 2}) == 2


def test_a_total_of_ones_own_is_a_backlog(site: Site) -> None:
    service_of(site).scale(by=[ScaleBy.backlog(metric=tokens(statistic="Sum"), per_task=1000)], min_tasks=0)
    service = scaled(site, tasks=0)
    assert [service.after({"Tokens": each}) for each in (0, 0.5, 1000, 1000.5, 9999)] == [0, 1, 1, 2, 4]


def test_the_names_of_metric_math_are_the_users(site: Site) -> None:
    math = cloudwatch.MathExpression(expression="total_of_all_tasks", using_metrics={"total_of_all_tasks": tokens()})
    service_of(site).scale(by=[ScaleBy.backlog(metric=math, per_task=1000)], min_tasks=0)
    service = scaled(site, tasks=0)
    assert [service.after({"Tokens": each}) for each in (0, 1000, 1000.5)] == [0, 1, 2]


# What is refused


def _twice(site: Site) -> None:
    service = service_of(site)
    service.scale(by=[by_tokens()])
    service.scale(by=[by_tokens()])


def _twice_with_cdk(site: Site) -> None:
    service = service_of(site)
    service.auto_scale_task_count(max_capacity=2)
    service.scale(by=[by_tokens()])


def _of_another(site: Site) -> None:
    endpoint = behind(service_of(site, name="Other"))
    service_on(site).scale(by=[ScaleBy.requests(endpoint=endpoint, per_task_per_minute=60)])


def elsewhere(site: Site, by: ScaleBy) -> None:
    """Scales a service of a stack whose region and account are known."""
    site.stack = cdk.Stack(site.app, "Known", env=cdk.Environment(region="us-east-1", account="123456789012"))
    service_of(site).scale(by=[by])


def _with_requests(site: Site, *, service: dict[str, Any] | None = None, **arguments: Any) -> None:
    one = service_of(site, **(service or {}))
    one.scale(by=[ScaleBy.requests(endpoint=behind(one), per_task_per_minute=60)], **arguments)


_BLUE_GREEN = {"deployment_strategy": ecs.DeploymentStrategy.BLUE_GREEN}
_MATH = cloudwatch.MathExpression(expression="a / 2", using_metrics={"a": tokens()})
_THERE, _THEIRS = tokens(region="eu-west-1"), tokens(account="210987654321")
_IN_PARTS = cdk.Duration.millis(5)
_MINUTE = cdk.Duration.minutes(1)


def _plain(*by: ScaleBy, of: Any = service_of, service: dict[str, Any] | None = None, **arguments: Any) -> Any:
    return lambda site: of(site, **(service or {})).scale(by=list(by or [by_tokens()]), **arguments)


def _queued(*also: ScaleBy, **arguments: Any) -> Any:
    return lambda site: service_of(site).scale(by=[queue_of(site), *also], **arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda site: service_of(site).scale(by=[]), "by: expects a list of ScaleBy"),
        (lambda site: service_of(site).scale(by=by_tokens()), r"by: .*by=\[ScaleBy"),  # type: ignore[arg-type]
        (_plain(min_tasks=5), "min_tasks: .*5.*GPU212"),
        (_plain(max_tasks=0), "max_tasks: .*1 or more"),
        (_plain(max_tasks=1), "max_tasks: .*max_tasks=2"),
        (_plain(service={"most": 1}), "max_tasks: .*max_instances"),
        (lambda site: service_of(site).scale(by=[by_tokens()], max_tasks=site.number("N")), "max_tasks: .*deploy"),
        (lambda site: service_of(site, most=site.number("N")).scale(by=[by_tokens()]), "max_tasks: .*max_tasks=5"),
        (_plain(of=managed), "max_tasks: Managed Instances have no maximum"),
        (_plain(service={"desired_count": 3}), "desired_count: .*GPU210"),
        (_plain(min_tasks=0), "min_tasks: .*GPU211"),
        (lambda site: _with_requests(site, min_tasks=0), "min_tasks: .*503.*GPU211"),
        (lambda site: _with_requests(site, service=_BLUE_GREEN), "by: .*GPU213"),
        (_queued(by_tokens()), "by: .*MAX"),
        (_queued(scale_out_cooldown=_MINUTE), "scale_out_cooldown: "),
        (_plain(scale_in_cooldown=_IN_PARTS), "scale_in_cooldown: "),
        (_plain(ScaleBy.gpu_memory(percent=80)), r"by: .*cluster.add_monitoring.*ScaleBy.average"),
        (_twice, "by: the service is scaled already"),
        (_twice_with_cdk, "by: the service is scaled already"),
        (_of_another, "endpoint: .*another service"),
        (lambda _: ScaleBy.requests(endpoint="Https", per_task_per_minute=1), "endpoint: expects"),  # type: ignore[arg-type]
        (lambda _: ScaleBy.queue(queue="work", messages_per_task=1), "queue: expects"),  # type: ignore[arg-type]
        (lambda site: queue_of(site, 0), "messages_per_task: "),
        (lambda site: queue_of(site, site.number("N")), "messages_per_task: .*known"),
        (lambda _: ScaleBy.backlog(metric=tokens(), per_task=-1.5), "per_task: "),
        (lambda _: ScaleBy.backlog(metric="Tokens", per_task=1), "metric: expects"),  # type: ignore[arg-type]
        (lambda _: ScaleBy.average(metric=_MATH, target=1), "metric: .*ScaleBy.backlog"),
        (lambda _: ScaleBy.average(metric=tokens(statistic="p90"), target=1), "metric: .*p90"),
        (lambda _: ScaleBy.average(metric=tokens(), target=0), "target: "),
        (
            lambda site: elsewhere(site, ScaleBy.average(metric=_THERE, target=1)),
            "metric: .*eu-west-1.*us-east-1",
        ),
        (lambda site: elsewhere(site, ScaleBy.average(metric=_THEIRS, target=1)), "metric: .*account 210987654321"),
        (lambda site: elsewhere(site, ScaleBy.backlog(metric=_THERE, per_task=1)), "metric: .*region eu-west-1"),
        (_plain(scale_in_cooldown=cdk.Duration.days(30_000)), "scale_in_cooldown: .*0 to 2147483647"),
        (lambda _: ScaleBy.gpu_utilization(percent=101), "percent: .*up to 100"),
    ],
)
def test_what_contradicts_itself_is_refused_on_the_line(ground: Ground, call: Any, message: str) -> None:
    with pytest.raises((InvalidValueError, IncompatibleError), match=message) as refused:
        call(ground)
    assert refused.value.fix


def test_a_service_can_be_scaled_after_an_error_of_cdk(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    service = service_of(site)
    before = site.children()

    def refuse(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(Scaling, "track", refuse)
    with pytest.raises(GpuConstructsError):
        service.scale(by=[by_tokens()])
    assert site.children() == before
    monkeypatch.undo()
    service.scale(by=[by_tokens()])
    assert "DesiredCount" not in site.only("AWS::ECS::Service")
