"""A service with one container that serves, and a certificate: what tests of load balancers put behind one."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_ecs as ecs

from gpu_constructs import GpuService
from tests.synthesis import Site

PORT = 8000


def chat(site: Site, *, mode: ecs.NetworkMode | None = None, port: int | None = PORT, **service: Any) -> GpuService:
    task = site.task(network_mode=mode)
    container = task.add_gpu_container("vllm", image=site.image)
    if port is not None:
        container.add_port_mappings(ecs.PortMapping(container_port=port))
    return GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task, **service)


def certificate_of(stack: cdk.Stack) -> acm.ICertificate:
    return acm.Certificate.from_certificate_arn(
        stack, "Certificate", "arn:aws:acm:us-east-1:123456789012:certificate/11111111-2222-3333-4444-555555555555"
    )
