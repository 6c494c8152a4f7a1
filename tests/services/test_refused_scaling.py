"""What contradicts itself in the scaling of a service is refused on the line."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest

from gpu_constructs import GpuService, IncompatibleError, InvalidValueError, ScaleBy
from tests.services.scaled_services import behind, by_tokens, managed, queue_of, service_of, service_on, tokens
from tests.synthesis import Ground, Site


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


def _by_requests_from_none(site: Site) -> None:
    one = service_of(site)
    one.scale(by=[ScaleBy.requests(endpoint=behind(one), per_task_per_minute=60)], min_tasks=0)


def _sized(site: Site, **size: Any) -> None:
    task = site.task()
    task.add_gpu_container("vllm", image=site.image, **size)
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task).scale(by=[by_tokens()])


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
        (_plain(min_tasks=5), "max_tasks: .*below min_tasks, which is 5"),
        (_plain(max_tasks=0), "max_tasks: .*1 or more; fix: max_tasks=1"),
        (_plain(min_tasks=100, max_tasks=-1), "fewer than min_tasks, got -1; allowed: 100 or more; fix: max_tasks=100"),
        (_plain(min_tasks=-1), "min_tasks: .*number of tasks, got -1; allowed: 0 or more; fix: min_tasks=1"),
        (_plain(service={"most": 1}, min_tasks=2), "max_tasks: .*max_instances"),
        (lambda site: service_of(site).scale(by=[by_tokens()], max_tasks=site.number("N")), "max_tasks: .*deploy"),
        (lambda site: service_of(site, most=site.number("N")).scale(by=[by_tokens()]), "max_tasks: .*max_tasks=5"),
        (lambda site: _sized(site, memory_mib=site.number("N"), cpu=64), "deploy time: memory_mib of a container"),
        (lambda site: _sized(site, memory_mib=64, cpu=site.number("N")), "deploy time: cpu of a container"),
        (_plain(of=managed), "max_tasks: Managed Instances have no maximum"),
        (_plain(service={"desired_count": 3}), "desired_count: .*GPU210"),
        (_plain(min_tasks=0), "min_tasks: .*GPU211"),
        (_by_requests_from_none, "min_tasks: .*503.*GPU211"),
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
        (lambda _: ScaleBy.backlog(metric=tokens(), per_task=-1.5), "per_task: .*per_task=1000"),
        (lambda _: ScaleBy.backlog(metric=tokens(), per_task="5"), "per_task: .*per_task=5$"),  # type: ignore[arg-type]
        (lambda _: ScaleBy.gpu_memory(percent="500"), "percent: .*percent=70$"),  # type: ignore[arg-type]
        (lambda _: ScaleBy.backlog(metric="Tokens", per_task=1), "metric: expects"),  # type: ignore[arg-type]
        (lambda _: ScaleBy.average(metric=tokens(), target=0), "target: "),
        (_plain(scale_in_cooldown=cdk.Duration.days(30_000)), "scale_in_cooldown: .*0 to 2147483647"),
        (lambda _: ScaleBy.gpu_utilization(percent=101), "percent: .*1 to 100"),
        (lambda _: ScaleBy.gpu_memory(percent=0.6), "percent: .*percent=60$"),
    ],
)
def test_what_contradicts_itself_is_refused_on_the_line(ground: Ground, call: Any, message: str) -> None:
    with pytest.raises((InvalidValueError, IncompatibleError), match=message) as refused:
        call(ground)
    assert refused.value.fix
