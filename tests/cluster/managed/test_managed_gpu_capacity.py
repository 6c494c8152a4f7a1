"""A capacity provider of ECS Managed Instances: what it defines, on which clusters, and what it refuses."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs

from gpu_constructs import (
    GpuCluster,
    GpuConstructsError,
    GpuService,
    GpuTaskDefinition,
    IncompatibleError,
    InvalidValueError,
    ManagedGpuCapacity,
    ManagedOperation,
    ManagedStorage,
    Purchase,
    UnknownNameError,
)
from gpu_constructs.facts import Architecture
from tests.synthesis import Properties, Site

PROVIDER = "AWS::ECS::CapacityProvider"
GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/gpus"


def managed(site: Site, name: str = "Managed", **arguments: Any) -> ManagedGpuCapacity:
    if "need" not in arguments:
        arguments = {"instance_types": ["g6.xlarge"], **arguments}
    return site.cluster.add_managed_capacity(name, **arguments)


def provider(site: Site) -> Properties:
    written: Properties = site.only(PROVIDER)["ManagedInstancesProvider"]
    return written


def launch(site: Site) -> Properties:
    written: Properties = provider(site)["InstanceLaunchTemplate"]
    return written


def test_the_provider_belongs_to_its_cluster_and_to_no_list(site: Site) -> None:
    managed(site)
    cluster: Any = site.cluster.cluster
    assert site.only(PROVIDER)["ClusterName"] == {"Ref": site.stack.get_logical_id(cluster.node.default_child)}
    assert site.properties("AWS::ECS::ClusterCapacityProviderAssociations") == []
    assert site.properties("AWS::AutoScaling::AutoScalingGroup") == []


def test_hosts_run_where_the_clusters_hosts_run_and_let_nothing_in(site: Site) -> None:
    site.make_vpc()
    managed(site)
    network = launch(site)["NetworkConfiguration"]
    assert all("PrivateSubnet" in each["Ref"] for each in network["Subnets"])
    assert len(network["Subnets"]) == 2
    assert "SecurityGroupIngress" not in site.only("AWS::EC2::SecurityGroup")
    (group,) = network["SecurityGroups"]
    assert "HostSecurityGroup" in group["Fn::GetAtt"][0]


def test_the_defaults_are_those_of_production(site: Site) -> None:
    managed(site)
    assert provider(site)["PropagateTags"] == "CAPACITY_PROVIDER"
    assert provider(site)["AutoRepairConfiguration"] == {"ActionsStatus": "ENABLED"}
    assert "InfrastructureOptimization" not in provider(site)
    written = launch(site)
    assert written["StorageConfiguration"] == {"StorageSizeGiB": 100}
    assert written["CapacityOptionType"] == "ON_DEMAND"
    assert written["InstanceMetadataTagsPropagation"] is False
    assert written.keys().isdisjoint({"Monitoring", "FipsEnabled", "CapacityReservations", "LocalStorageConfiguration"})


RESERVED = Purchase.reservations(resource_group_arn=GROUP, only=True)

OPTIONS: list[tuple[dict[str, Any], str, Any]] = [
    ({"operation": ManagedOperation(automatic_repair=False)}, "AutoRepairConfiguration", {"ActionsStatus": "DISABLED"}),
    ({"operation": ManagedOperation(scale_in_after_seconds=0)}, "InfrastructureOptimization", {"ScaleInAfter": 0}),
    ({"operation": ManagedOperation(scale_in_after_seconds=-1)}, "InfrastructureOptimization", {"ScaleInAfter": -1}),
    ({"storage": ManagedStorage(volume_gib=500)}, "StorageConfiguration", {"StorageSizeGiB": 500}),
    ({"purchase": Purchase.spot()}, "CapacityOptionType", "SPOT"),
    ({"purchase": RESERVED}, "CapacityOptionType", "RESERVED"),
    (
        {"purchase": RESERVED},
        "CapacityReservations",
        {"ReservationGroupArn": GROUP, "ReservationPreference": "RESERVATIONS_ONLY"},
    ),
    (
        {"purchase": Purchase.reservations(resource_group_arn=GROUP)},
        "CapacityReservations",
        {"ReservationGroupArn": GROUP, "ReservationPreference": "RESERVATIONS_FIRST"},
    ),
]


@pytest.fixture(scope="module")
def written(shared_site: Site) -> list[Properties]:
    """What is written for each row of the table, of the provider and of its hosts, in one app."""
    for number, (arguments, _, _) in enumerate(OPTIONS):
        managed(shared_site, f"Managed{number}", **arguments)
    providers = [each["ManagedInstancesProvider"] for each in shared_site.properties(PROVIDER)]
    return [{**each, **each["InstanceLaunchTemplate"]} for each in providers]


@pytest.mark.parametrize("row", range(len(OPTIONS)), ids=lambda row: OPTIONS[row][1])
def test_options_of_the_provider_and_its_hosts(written: list[Properties], row: int) -> None:
    _, key, value = OPTIONS[row]
    assert written[row][key] == value


def test_local_disks_take_the_place_of_the_volume(site: Site) -> None:
    managed(site, storage=ManagedStorage(local_disks=True))
    written = launch(site)
    assert written["LocalStorageConfiguration"] == {"UseLocalStorage": True}
    assert written["InstanceRequirements"]["LocalStorage"] == "required"
    assert "StorageConfiguration" not in written


def roles(site: Site) -> dict[str, Properties]:
    return {
        each["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]["Service"]: each
        for each in site.properties("AWS::IAM::Role")
        if "Managed Instances" in each.get("Description", "")
    }


def test_ecs_launches_and_ends_hosts_with_a_policy_of_aws(site: Site) -> None:
    managed(site)
    (arn,) = roles(site)["ecs.amazonaws.com"]["ManagedPolicyArns"]
    assert arn["Fn::Join"][1][-1] == ":iam::aws:policy/AmazonECSInfrastructureRolePolicyForManagedInstances"
    assert all("RoleName" not in each for each in roles(site).values())


def test_roles_are_made_once_for_all_capacities_of_a_cluster(site: Site) -> None:
    managed(site, "One")
    managed(site, "Two", instance_types=["g5.xlarge"])
    assert len(roles(site)) == 2
    assert (
        len({str(each["ManagedInstancesProvider"]["InfrastructureRoleArn"]) for each in site.properties(PROVIDER)}) == 1
    )


def test_faces_that_tasks_and_services_need(site: Site) -> None:
    capacity = managed(site, instance_types=["g6.xlarge", "g6.12xlarge"], capacity_provider_name="gpus")
    assert capacity.cluster is site.cluster.cluster
    assert capacity.architecture is Architecture.X86_64
    assert capacity.instance_type_names == ("g6.xlarge", "g6.12xlarge")
    assert (capacity.gpus, capacity.comes_first) == (1, False)
    assert isinstance(capacity.provider, ecs.ManagedInstancesCapacityProvider)
    assert site.cluster.capacities == (capacity,)
    assert site.only(PROVIDER)["Name"] == "gpus"
    item = capacity.strategy(weight=3, base=2)
    assert (item.capacity_provider, item.weight, item.base) == (capacity.capacity_provider_name, 3, 2)
    with pytest.raises(InvalidValueError, match="weight"):
        capacity.strategy(weight=1001)


@pytest.mark.parametrize(
    ("arguments", "error", "argument"),
    [
        ({"instance_types": None}, InvalidValueError, "instance_types"),
        ({"instance_types": ["g6.xlage"]}, UnknownNameError, "instance_types"),
        ({"instance_types": ["g4ad.xlarge"]}, IncompatibleError, "instance_types"),
        ({"purchase": Purchase.spot(on_demand_base=1)}, IncompatibleError, "purchase"),
        ({"purchase": Purchase.reservations()}, IncompatibleError, "purchase"),
        ({"purchase": "spot"}, InvalidValueError, "purchase"),
        ({"storage": 100}, InvalidValueError, "storage"),
        ({"instance_types": ["g5g.xlarge"], "storage": ManagedStorage(local_disks=True)}, IncompatibleError, "storage"),
        ({"operation": {"automatic_repair": True}}, InvalidValueError, "operation"),
        ({"capacity_provider_name": "ecs-gpus"}, InvalidValueError, "capacity_provider_name"),
        ({"vpc_subnets": "private"}, InvalidValueError, "vpc_subnets"),
    ],
)
def test_what_is_refused_leaves_nothing_behind(
    untouched: Site, arguments: dict[str, Any], error: type[GpuConstructsError], argument: str
) -> None:
    assert untouched.cluster.capacities == ()
    with untouched.refuses(error) as caught:
        managed(untouched, **arguments)
    assert caught.value.argument == argument
    assert caught.value.fix


def test_a_name_is_taken_once_whatever_the_kind(site: Site) -> None:
    site.capacity("g6.xlarge", capacity_provider_name="gpus")
    with pytest.raises(InvalidValueError, match="already called 'gpus'"):
        managed(site, capacity_provider_name="gpus")


def served(cluster: GpuCluster, scope: cdk.Stack) -> GpuService:
    capacity = cluster.add_managed_capacity("Managed", instance_types=["g6.xlarge"])
    task = GpuTaskDefinition(scope, "Task", capacity=[capacity])
    task.add_gpu_container("train", image=ecs.ContainerImage.from_registry("train"))
    return GpuService(scope, "Service", cluster=cluster, task_definition=task)


def test_a_service_on_a_cluster_without_any_group(site: Site) -> None:
    served(site.cluster, site.stack)
    service = site.only("AWS::ECS::Service")
    assert service["Cluster"] == site.only(PROVIDER)["ClusterName"]
    assert "LaunchType" not in service
    assert not service.get("PlacementStrategies")
    (item,) = service["CapacityProviderStrategy"]
    assert "ManagedProvider" in item["CapacityProvider"]["Ref"]
    assert service["DeploymentConfiguration"]["MinimumHealthyPercent"] == 100
    assert service["NetworkConfiguration"]["AwsvpcConfiguration"]["SecurityGroups"]


def test_a_cluster_of_another_stack_keeps_its_own_list(site: Site) -> None:
    own = ecs.Cluster(site.stack, "Own", vpc=site.vpc)
    other = cdk.Stack(site.app, "Other")
    served(GpuCluster(other, "Gpu", cluster=own), other)
    (written,) = site.properties(PROVIDER, other)
    assert "Fn::ImportValue" in written["ClusterName"]
    assert site.properties("AWS::ECS::ClusterCapacityProviderAssociations", other) == []


def test_cdk_and_our_own_checks_find_nothing(recommended_flags: Site) -> None:
    served(recommended_flags.cluster, recommended_flags.stack)
    managed(recommended_flags, "Reserved", purchase=RESERVED)
    assert recommended_flags.warnings() == []
