"""Apps of services that share hosts and load balancers, over several stacks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from constructs import Construct

from gpu_constructs import CpuService, GpuCluster, GpuService, GpuTaskDefinition
from tests.synthesis import app_in

__all__ = ["BALANCERS", "MODES", "STACKS", "Shared", "build"]

STACKS = ("Cluster", "A", "B")
MODES = {"bridge": ecs.NetworkMode.BRIDGE, "awsvpc": ecs.NetworkMode.AWS_VPC, "host": ecs.NetworkMode.HOST}
BALANCERS = ("none", "shared", "own")
_NOTHING = elbv2.ListenerAction.fixed_response(404)


@dataclass(frozen=True)
class Shared:
    """One service of such an app.

    Attributes:
        stack: Where it is defined.
        mode: Its network mode.
        has_gpus: Whether it is a `GpuService`.
        balancer: Whether it has a load balancer of its own, or a rule of the one in the stack of the network.
    """

    stack: str = "Cluster"
    mode: str = "bridge"
    has_gpus: bool = True
    balancer: str = "none"


def build(folder: Path, services: list[Shared], *, tag: str = "1", context: dict[str, object] | None = None) -> cdk.App:
    """An app with these services, whose hosts are full with one task of each."""
    app = app_in(folder, context)
    network = cdk.Stack(app, "Network")
    vpc = ec2.Vpc(network, "Vpc", max_azs=2, nat_gateways=1, restrict_default_security_group=False)
    shared = elbv2.ApplicationLoadBalancer(network, "Balancer", vpc=vpc)
    listener = shared.add_listener("Http", port=80, default_action=_NOTHING, open=False)
    stacks = {"Cluster": cdk.Stack(app, "Cluster")}
    cluster = GpuCluster(stacks["Cluster"], "Cluster", vpc=vpc)
    number = sum(each.has_gpus for each in services)
    l4 = cluster.add_capacity("L4", instance_types=["g6.2xlarge"], max_instances=max(1, number))
    cpu = cluster.add_capacity("Cpu", instance_types=["c7i.4xlarge"], max_instances=2)
    for place, each in enumerate(services):
        stack = stacks.get(each.stack) or stacks.setdefault(each.stack, cdk.Stack(app, each.stack))
        name, port = f"Service{place}", 8000 + place
        mapping = ecs.PortMapping(container_port=port)
        image = ecs.ContainerImage.from_registry(f"example/serve:{tag}")
        service: GpuService | CpuService
        if each.has_gpus:
            task = GpuTaskDefinition(stack, f"Task{place}", capacity=[l4], network_mode=MODES[each.mode])
            task.add_gpu_container("serve", image=image, gpus=1, port_mappings=[mapping])
            service = GpuService(stack, name, cluster=cluster, task_definition=task)
        else:
            plain = ecs.TaskDefinition(
                stack,
                f"Task{place}",
                compatibility=ecs.Compatibility.EC2,
                network_mode=MODES[each.mode],
                cpu="512",
                memory_mib="1024",
            )
            plain.add_container("serve", image=image, cpu=256, memory_limit_mib=512, port_mappings=[mapping])
            service = CpuService(
                stack,
                name,
                cluster=cluster,
                task_definition=plain,
                capacity=[cpu],
                desired_count=1,
                min_healthy_percent=0,
                max_healthy_percent=100,
            )
        _balance(service, each, listener, vpc, place)
    return app


def _balance(
    service: GpuService | CpuService, shared: Shared, listener: elbv2.ApplicationListener, vpc: ec2.IVpc, place: int
) -> None:
    if shared.balancer == "none":
        return
    condition = elbv2.ListenerCondition.path_patterns([f"/{place}/*"])
    if shared.balancer == "own":
        balancer = elbv2.ApplicationLoadBalancer(service, "Balancer", vpc=vpc)
        listener = balancer.add_listener("Http", port=80, default_action=_NOTHING, open=False)
    if isinstance(service, GpuService):
        service.add_application_load_balancer(
            "Rule", listener=listener, priority=place + 1, conditions=[condition], health_check_path="/health"
        )
    else:
        kind = elbv2.TargetType.IP if shared.mode == "awsvpc" else elbv2.TargetType.INSTANCE
        scope = Construct(cdk.Stack.of(service), f"Way{place}")
        group = elbv2.ApplicationTargetGroup(scope, "Targets", vpc=vpc, port=80, target_type=kind)
        rule = elbv2.ApplicationListenerRule(
            scope, "Rule", listener=listener, priority=place + 1, conditions=[condition], target_groups=[group]
        )
        service.attach_to_application_target_group(group)
        service.node.add_dependency(rule)
