"""Services that are scaled, and what scales them."""

from __future__ import annotations

from typing import Any

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_sqs as sqs

from gpu_constructs import GpuService, ScaleBy
from gpu_constructs.services.endpoint import ServiceEndpoint
from gpu_constructs.tasks.task_target import Capacity
from tests.synthesis import Site


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
