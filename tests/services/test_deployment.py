"""A service is deployed with the GPUs and host ports there are, takes CDK's options by name, and replaces nothing."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_servicediscovery as cloudmap

from gpu_constructs import GpuService, IncompatibleError
from tests.synthesis import Ground, Site

_PORTS = [ecs.PortMapping(container_port=8000)]
_OF_ECS = ecs.DeploymentController(type=ecs.DeploymentControllerType.ECS)
_ROLLED_BACK = ecs.DeploymentCircuitBreaker(rollback=True)
# "Update requires: Replacement" in the reference of AWS::ECS::Service, which `cdk diff` shows as well.
_OWN = ("Plain", "Ours", "Kept")
_REPLACING = ("Cluster", "DeploymentController", "LaunchType", "Role", "SchedulingStrategy", "ServiceName")


def serve(
    site: Site,
    *,
    mode: ecs.NetworkMode | None = None,
    late: ecs.PortMapping | None = None,
    **service: Any,
) -> GpuService:
    task = site.task(site.capacity("g6.12xlarge", max_instances=4), network_mode=mode)
    container = task.add_gpu_container("vllm", image=site.image, port_mappings=None if late else _PORTS)
    if late:
        container.add_port_mappings(late)
    return GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task, **service)


def deployment(site: Site) -> dict[str, Any]:
    configuration: dict[str, Any] = site.only("AWS::ECS::Service")["DeploymentConfiguration"]
    return configuration


@pytest.mark.parametrize(
    ("mode", "late"),
    [
        (ecs.NetworkMode.HOST, None),
        (ecs.NetworkMode.HOST, ecs.PortMapping(container_port=8000)),
        (ecs.NetworkMode.BRIDGE, ecs.PortMapping(container_port=8000, host_port=80)),
    ],
)
def test_a_host_has_a_port_once_so_a_copy_stops_before_the_next_one_starts(
    site: Site, mode: ecs.NetworkMode, late: ecs.PortMapping | None
) -> None:
    serve(site, mode=mode, late=late, desired_count=4)
    assert (deployment(site)["MinimumHealthyPercent"], deployment(site)["MaximumPercent"]) == (75, 100)
    assert site.warnings(unchanged=True) == []


@pytest.mark.parametrize("more", [(), (ecs.PlacementConstraint.distinct_instances(),)])
def test_copies_on_different_hosts_are_counted_by_hosts(site: Site, more: tuple[ecs.PlacementConstraint, ...]) -> None:
    linux = ecs.PlacementConstraint.member_of("attribute:ecs.os-type == linux")
    serve(site, desired_count=4, one_task_per_host=True, placement_constraints=[linux, *more])
    written = site.only("AWS::ECS::Service")["PlacementConstraints"]
    assert [each["Type"] for each in written] == ["memberOf", "distinctInstance"]
    assert (deployment(site)["MinimumHealthyPercent"], deployment(site)["MaximumPercent"]) == (75, 100)
    assert site.warnings(unchanged=True) == []


def test_options_of_cdk_are_taken_by_name_and_replace_our_defaults(site: Site) -> None:
    alarm = cloudwatch.Alarm.from_alarm_name(site.stack, "Alarm", "errors")
    serve(
        site,
        circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=False),
        deployment_alarms=ecs.DeploymentAlarmConfig(alarm_names=[alarm.alarm_name]),
        propagate_tags=ecs.PropagatedTagSource.TASK_DEFINITION,
        availability_zone_rebalancing=ecs.AvailabilityZoneRebalancing.ENABLED,
        min_healthy_percent=50,
        max_healthy_percent=150,
    )
    service = site.only("AWS::ECS::Service")
    assert deployment(site)["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": False}
    assert deployment(site)["Alarms"] == {"AlarmNames": ["errors"], "Enable": True, "Rollback": True}
    assert (service["PropagateTags"], service["AvailabilityZoneRebalancing"]) == ("TASK_DEFINITION", "ENABLED")
    spread, packed = service["PlacementStrategies"]
    assert (spread["Type"], packed) == ("spread", {"Type": "binpack", "Field": "memory"})


@pytest.mark.parametrize(
    ("mode", "record"),
    [(ecs.NetworkMode.AWS_VPC, "A"), (ecs.NetworkMode.BRIDGE, "SRV"), (ecs.NetworkMode.HOST, "SRV")],
)
def test_it_has_a_name_in_cloud_map(site: Site, mode: ecs.NetworkMode, record: str) -> None:
    namespace = cloudmap.PrivateDnsNamespace(site.stack, "Names", name="gpu.local", vpc=site.vpc)
    serve(site, mode=mode, cloud_map_options=ecs.CloudMapOptions(name="chat", cloud_map_namespace=namespace))
    (found,) = site.only("AWS::ServiceDiscovery::Service")["DnsConfig"]["DnsRecords"]
    assert found["Type"] == record


def test_a_namespace_may_come_after_the_first_service_on_managed_instances(site: Site) -> None:
    managed = site.cluster.add_managed_capacity("Managed", instance_types=["g6.xlarge"])
    for name in ("First", "Second"):
        task = site.task(managed, name=f"{name}Task")
        task.add_gpu_container("vllm", image=site.image, port_mappings=_PORTS)
        options = None if name == "First" else ecs.CloudMapOptions(name="chat")
        GpuService(site.stack, name, cluster=site.cluster, task_definition=task, cloud_map_options=options)
        if name == "First":
            assert isinstance(site.cluster.cluster, ecs.Cluster)
            site.cluster.cluster.add_default_cloud_map_namespace(name="gpu.local")
    assert site.only("AWS::ServiceDiscovery::Service")["Name"] == "chat"


@pytest.mark.parametrize("flags", ["site", "recommended_flags"])
@pytest.mark.parametrize("breaker", [None, _ROLLED_BACK])
def test_a_plain_service_becomes_one_of_ours_without_being_replaced(
    request: pytest.FixtureRequest, flags: str, breaker: ecs.DeploymentCircuitBreaker | None
) -> None:
    site: Site = request.getfixturevalue(flags)
    l4 = site.capacity("g6.xlarge")
    task = site.task(l4)
    task.add_gpu_container("vllm", image=site.image, port_mappings=_PORTS)
    arguments: dict[str, Any] = {"task_definition": task, "circuit_breaker": breaker, "min_healthy_percent": 50}
    ecs.Ec2Service(
        site.stack,
        "Plain",
        cluster=site.cluster.cluster,
        capacity_provider_strategies=[l4.strategy(weight=1)],
        **arguments,
    )
    GpuService(site.stack, "Ours", cluster=site.cluster, **arguments)
    GpuService(site.stack, "Kept", cluster=site.cluster, deployment_controller=_OF_ECS, **arguments)
    found = {name: each["Properties"] for name, each in site.template()["Resources"].items() if "Service" in name[:12]}
    plain, ours, kept = (next(each for name, each in found.items() if name.startswith(own)) for own in _OWN)
    same = kept if "DeploymentController" in plain else ours
    for name in _REPLACING:
        assert plain.get(name) == same.get(name), name


def test_what_ecs_does_not_deploy_is_refused(ground: Ground) -> None:
    code_deploy = ecs.DeploymentController(type=ecs.DeploymentControllerType.CODE_DEPLOY)
    with pytest.raises(IncompatibleError, match="deployment_controller: a GPU service is deployed by ECS itself"):
        serve(ground, deployment_controller=code_deploy)
