"""What has to reach a service, and what a service has to reach, is let through, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_ecs_patterns as patterns
from aws_cdk import aws_efs as efs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_rds as rds

from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition
from gpu_constructs.check.report import check_files
from gpu_constructs.rules.catalogue import one_of
from tests.matrix.tasks import EVERYTHING
from tests.reaching import Estate, Opening
from tests.synthesis import Site, app_in

_PORT = 8000
_MODES = [ecs.NetworkMode.BRIDGE, ecs.NetworkMode.HOST, ecs.NetworkMode.AWS_VPC]
_OWNERS = ["new", "of this stack", "of another stack", "imported", "imported by its ARN"]
_PLACES = [
    f"{mode.name.title().replace('_', '')}{owner.title().replace(' ', '')}" for mode in _MODES for owner in _OWNERS
]
_NEW = [each for each in _PLACES if each.endswith("New")]
_LISTENER = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/app/given/50dc6c495c0c9188/f2f7dc8efc522ab2"
_CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/11111111-2222-3333-4444-555555555555"
_GIVEN = "sg-12345678"
_NOTHING = elbv2.ListenerAction.fixed_response(404)
_IMAGE = ecs.ContainerImage.from_registry("vllm/vllm-openai")


def conditions(path: str) -> list[elbv2.ListenerCondition]:
    return [elbv2.ListenerCondition.path_patterns([f"/{path}/*"])]


class Town:
    """One app: a network, load balancers that others use, and a stack for each network mode and owner of a cluster.

    Args:
        folder: Where it is synthesized.
        context: Its feature flags, which open and close ways of their own.
        places: The stacks to build, of `_PLACES`.
    """

    def __init__(self, folder: Path, context: dict[str, object] | None, places: list[str]) -> None:
        self.app = app_in(folder, context)
        self.shared = cdk.Stack(self.app, "Shared")
        self.vpc = ec2.Vpc(self.shared, "Vpc", nat_gateways=1, restrict_default_security_group=False)
        balancer = elbv2.ApplicationLoadBalancer(self.shared, "Balancer", vpc=self.vpc)
        self.balancer = balancer
        self.listener = balancer.add_listener("Http", port=80, default_action=_NOTHING)
        for name in places:
            place = _PLACES.index(name)
            mode, owner = _MODES[place // len(_OWNERS)], _OWNERS[place % len(_OWNERS)]
            self._build(cdk.Stack(self.app, name), mode, owner, 2 * place + 1)

    def _cluster(self, stack: cdk.Stack, owner: str) -> GpuCluster:
        given: ecs.ICluster
        match owner:
            case "new":
                return GpuCluster(stack, "Gpu", vpc=self.vpc)
            case "of this stack":
                given = ecs.Cluster(stack, "Given", vpc=self.vpc)
            case "of another stack":
                given = ecs.Cluster(self.shared, f"{stack.node.id}Given", vpc=self.vpc)
            case "imported":
                given = ecs.Cluster.from_cluster_attributes(stack, "Given", cluster_name=stack.node.id, vpc=self.vpc)
            case _:
                arn = f"arn:aws:ecs:us-east-1:123456789012:cluster/{stack.node.id}"
                given = ecs.Cluster.from_cluster_arn(stack, "Given", arn)
        return GpuCluster(stack, "Gpu", cluster=given, vpc=self.vpc)

    def _build(self, stack: cdk.Stack, mode: ecs.NetworkMode, owner: str, priority: int) -> None:
        cluster = self._cluster(stack, owner)
        l4 = cluster.add_capacity("L4", instance_types=["g6.2xlarge"], max_instances=2)
        task = GpuTaskDefinition(stack, "Task", capacity=[l4], network_mode=mode)
        ports = [ecs.PortMapping(container_port=_PORT)]
        task.add_gpu_container("vllm", image=_IMAGE, port_mappings=ports)
        service = GpuService(stack, "Service", cluster=cluster, task_definition=task)
        self._by_our_methods(stack, service, priority)
        self._by_cdks_methods(stack, service, mode)
        if mode is not ecs.NetworkMode.HOST:  # its port is taken
            patterns.ApplicationLoadBalancedEc2Service(
                stack, "Pattern", cluster=cluster.cluster, task_definition=task, open_listener=False
            )

    def _by_our_methods(self, stack: cdk.Stack, service: GpuService, priority: int) -> None:
        certificate = acm.Certificate.from_certificate_arn(stack, "Certificate", _CERTIFICATE)
        service.add_application_load_balancer("Https", certificate=certificate, health_check_path="/health")
        service.add_network_load_balancer("Tcp", protocol=elbv2.Protocol.TCP)
        group = ec2.SecurityGroup.from_security_group_id(stack, "OfGiven", _GIVEN)
        given = elbv2.ApplicationListener.from_application_listener_attributes(
            stack, "GivenListener", listener_arn=_LISTENER, security_group=group
        )
        for name, listener in (("Rule", self.listener), ("GivenRule", given)):
            service.add_application_load_balancer(
                name,
                listener=listener,
                priority=priority,
                conditions=conditions(stack.node.id),
                health_check_path="/health",
            )

    def _by_cdks_methods(self, stack: cdk.Stack, service: GpuService, mode: ecs.NetworkMode) -> None:
        kind = elbv2.TargetType.IP if mode is ecs.NetworkMode.AWS_VPC else elbv2.TargetType.INSTANCE
        attached = elbv2.ApplicationTargetGroup(stack, "Attached", vpc=self.vpc, port=80, target_type=kind)
        service.attach_to_application_target_group(attached)
        target = service.load_balancer_target(container_name="vllm", container_port=_PORT)
        balancer = elbv2.ApplicationLoadBalancer(stack, "Balancer", vpc=self.vpc)
        listener = balancer.add_listener("Http", port=80)
        listener.add_targets("Chat", port=80, targets=[service])
        listener.add_targets("Named", port=80, targets=[target], priority=1, conditions=conditions("named"))
        other = elbv2.ApplicationLoadBalancer(stack, "OtherBalancer", vpc=self.vpc)
        other.add_listener("Http", port=80, default_target_groups=[attached])
        allowed = ec2.SecurityGroup(stack, "Network", vpc=self.vpc)
        network = elbv2.NetworkLoadBalancer(stack, "NetworkBalancer", vpc=self.vpc, security_groups=[allowed])
        network.add_listener("Tcp", port=80).add_targets("Chat", port=_PORT, targets=[service])
        ports = (32768, 65535) if mode is ecs.NetworkMode.BRIDGE else (_PORT, _PORT)
        service.connections.allow_from(network, ec2.Port.tcp_range(*ports))


def estate_of(app: cdk.App) -> Estate:
    """What the app has open; the rules for foreign templates find no hole in it."""
    folder = Path(app.synth().directory)
    assert check_files([folder], rules=one_of("GPU204", "GPU206", "GPU298")).findings == ()
    templates = folder.glob("*.template.json")
    return Estate(
        {each.name.partition(".")[0]: json.loads(each.read_text()) for each in templates}, {_LISTENER: _GIVEN}
    )


@pytest.fixture(scope="module")
def estates(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Estate]:
    """What is open with the feature flags of new apps, and without any."""
    contexts = {True: Site.recommended_context(), False: None}
    return {
        flags: estate_of(Town(tmp_path_factory.mktemp("town"), context, _BUILT[flags]).app)
        for flags, context in contexts.items()
    }


# Tasks have groups of their own in mode awsvpc and those of their hosts in the others, whoever owns the cluster. Flags
# decide about groups of the library and of CDK, whoever owns it too. `make matrix` builds all places.
_OF_EACH = [each for each in _PLACES if each.startswith("Bridge") or each in _NEW or each == "AwsVpcOfAnotherStack"]
_BUILT = {True: _PLACES if EVERYTHING else _OF_EACH, False: _NEW}


@pytest.mark.parametrize(("flags", "place"), [(flags, each) for flags, places in _BUILT.items() for each in places])
def test_every_load_balancer_reaches_its_tasks_and_no_other_way_is_open(
    estates: dict[bool, Estate], flags: bool, place: str
) -> None:
    estate = estates[flags]
    needed = {name: of for name, of in estate.needed.items() if name.startswith(f"{place}.")}
    ways = set[Opening]().union(*needed.values())
    (of_service,) = [each for name, each in needed.items() if ".Service" in name]
    assert len({each.source for each in of_service}) == 7
    tasks = {each.target for each in ways}
    assert {each for each in estate.ingress if each.target in tasks} == ways
    let_out = [each for each in estate.egress if each.source in {way.source for way in ways}]
    assert all(any(each.covers(way) for each in let_out) for way in ways if way.source != _GIVEN)
    # Nor is any other way open to a load balancer.
    assert {each for each in let_out if each.target in tasks} <= ways


@pytest.mark.parametrize("mode", _MODES)
def test_a_service_reaches_its_file_system_and_its_database(site: Site, mode: ecs.NetworkMode) -> None:
    task = site.task(network_mode=mode)
    task.add_gpu_container("vllm", image=_IMAGE)
    service = GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    files = efs.FileSystem(site.stack, "Models", vpc=site.vpc)
    files.connections.allow_default_port_from(service)
    engine = rds.DatabaseInstanceEngine.postgres(version=rds.PostgresEngineVersion.VER_17)
    database = rds.DatabaseInstance(site.stack, "Users", vpc=site.vpc, engine=engine)
    database.connections.allow_default_port_from(service)
    estate = estate_of(site.app)
    (tasks,) = {each.source for each in estate.ingress}
    assert ("ServiceSecurityGroup" if mode is ecs.NetworkMode.AWS_VPC else "HostSecurityGroup") in tasks
    assert {(each.target[:12], each.first) for each in estate.ingress} == {
        ("Stack.Models", 2049),
        ("Stack.UsersS", 0),
    }
    assert {each.target for each in estate.egress if each.source == tasks} == {"0.0.0.0/0"}


def test_a_plain_service_of_the_cluster_is_reached_too(site: Site) -> None:
    site.capacity("c7i.2xlarge", min_instances=1)
    task = ecs.Ec2TaskDefinition(site.stack, "Task")
    task.add_container("web", image=_IMAGE, memory_limit_mib=512, port_mappings=[ecs.PortMapping(container_port=_PORT)])
    service = ecs.Ec2Service(
        site.stack, "Service", cluster=site.cluster.cluster, task_definition=task, min_healthy_percent=50
    )
    balancer = elbv2.ApplicationLoadBalancer(site.stack, "Balancer", vpc=site.vpc)
    balancer.add_listener("Http", port=80).add_targets("Chat", port=80, targets=[service])
    estate = estate_of(site.app)
    (needed,) = estate.needed.values()
    assert len(needed) == 1
    assert needed <= estate.ingress


def test_managed_instances_are_reached_in_host_mode(site: Site) -> None:
    managed = site.cluster.add_managed_capacity("Managed", instance_types=["g6.2xlarge"])
    task = site.task(managed, network_mode=ecs.NetworkMode.HOST)
    task.add_gpu_container("vllm", image=_IMAGE, port_mappings=[ecs.PortMapping(container_port=_PORT)])
    service = GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    endpoint = service.add_network_load_balancer("Tcp", protocol=elbv2.Protocol.TCP)
    assert endpoint.target_group is not None
    let_in = [each for each in estate_of(site.app).ingress if each.target.startswith("Stack.ClusterHost")]
    assert [(each.source[:16], each.first, each.last) for each in let_in] == [("Stack.ServiceTcp", _PORT, _PORT)]
