"""Ordinary changes of an app that runs, as ``docs/updates.md`` has them: what takes one deploy, and what takes two."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from ecs_emulator.local import Deployed, Local, NotDeployedError
from gpu_constructs import (
    CapacityChoice,
    GpuCluster,
    GpuService,
    GpuTaskDefinition,
    HostNetwork,
    HostReplacement,
    HostScaling,
    HostStorage,
    Purchase,
)
from gpu_constructs.tasks.task_target import Capacity

from tests.synthesis import Properties, synthesized

IMAGE = ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")
STACK = "Gpu"
IN_USE = "The specified capacity provider is in use and cannot be removed"
FORCED = ecs.ForceNewDeployment(enabled=True, nonce="to the new capacity")

Capacities = Callable[[GpuCluster], Sequence[Capacity]]


class Site:
    """One app in one state after the other.

    Args:
        cloud: Where it is deployed.
    """

    def __init__(self, cloud: Local) -> None:
        self.cloud = cloud
        self._stack: Deployed | None = None

    def deploy(self, capacities: Capacities, **how: Any) -> Deployed:
        """Deploy a service on the last of these capacities, anew or as an update."""
        template = template_of(capacities, **how)
        stack = self._stack
        self._stack = self.cloud.deploy(template) if stack is None else self.cloud.update(stack, template)
        return self._stack

    def events(self) -> str:
        """What the events of the stack say."""
        assert self._stack is not None
        client = self.cloud.account.client("cloudformation")
        events = client.describe_stack_events(StackName=self._stack.id)["StackEvents"]
        return "\n".join(each.get("ResourceStatusReason", "") for each in events)

    @property
    def cluster(self) -> str:
        assert self._stack is not None
        return self._stack.outputs["ClusterName"]

    @property
    def hosts(self) -> dict[str, str]:
        """Instance id to type."""
        return {each.instance_id: each.instance_type for each in self.cloud.account.hosts(self.cluster)}

    def lost(self) -> list[str]:
        """Why tasks stopped that had a place and went with their host."""
        client = self.cloud.account.client("ecs")
        stopped = client.list_tasks(cluster=self.cluster, desiredStatus="STOPPED")["taskArns"]
        described = client.describe_tasks(cluster=self.cluster, tasks=stopped)["tasks"] if stopped else []
        return [each["stoppedReason"] for each in described if each.get("stopCode") == "TerminationNotice"]

    def running(self) -> list[str | None]:
        """The hosts of the tasks that run."""
        tasks = self.cloud.account.tasks(self.cluster)
        return [each.instance_id for each in tasks if each.status == "RUNNING"]

    def destroy(self) -> None:
        """Leave nothing behind."""
        assert self._stack is not None
        self.cloud.destroy(self._stack)


def define(
    stack: cdk.Stack,
    capacities: Capacities,
    *,
    tasks: int = 2,
    network_mode: ecs.NetworkMode | None = None,
    forced: bool = False,
) -> None:
    """A service on the last of some capacities."""
    vpc = ec2.Vpc(stack, "Vpc", nat_gateways=1, max_azs=1, restrict_default_security_group=False)
    cluster = GpuCluster(stack, "Cluster", vpc=vpc)
    used = capacities(cluster)[-1]
    chat = GpuTaskDefinition(stack, "Chat", capacity=[used], network_mode=network_mode)
    chat.add_gpu_container("vllm", image=IMAGE, gpus=1)
    GpuService(
        stack,
        "Service",
        cluster=cluster,
        task_definition=chat,
        desired_count=tasks,
        force_new_deployment=FORCED if forced else None,
    )
    cdk.CfnOutput(stack, "ClusterName", value=cluster.cluster.cluster_name)


@functools.cache
def template_of(capacities: Capacities, **how: Any) -> Properties:
    return synthesized(STACK, functools.partial(define, capacities=capacities, **how))


@pytest.fixture
def site(cloud: Local) -> Site:
    return Site(cloud)


def _l4(cluster: GpuCluster, name: str = "L4", **arguments: Any) -> Capacity:
    return cluster.add_capacity(name, **{"instance_types": ["g6.xlarge"], "max_instances": 4, **arguments})


def _on_l4(cluster: GpuCluster) -> Sequence[Capacity]:
    return [_l4(cluster)]


def _reordered(cluster: GpuCluster) -> Sequence[Capacity]:
    choices = [
        CapacityChoice(name, instance_types=["g6.xlarge"], max_instances=4, purchase=purchase)
        for name, purchase in (("L4", Purchase.on_demand()), ("Spot", Purchase.spot()))
    ]
    return cluster.add_fallback("Order", order=choices)[:1]


MOVES: dict[str, tuple[Capacities, Capacities]] = {
    "another id": (_on_l4, lambda cluster: [_l4(cluster, "Renamed")]),
    "other types": (
        _on_l4,
        lambda cluster: [_l4(cluster, "Ada", instance_types=["g6e.xlarge"])],
    ),
    "an order": (_on_l4, _reordered),
    "a family": (
        _on_l4,
        lambda cluster: [cluster.add_family("g6", max_instances=4)[1]],
    ),
    "without EFA": (
        lambda cluster: [
            _l4(cluster, "Nodes", instance_types=["g6.8xlarge"], network=HostNetwork.efa(), min_instances=2)
        ],
        lambda cluster: [_l4(cluster, "Plain", instance_types=["g6.8xlarge"], min_instances=2)],
    ),
    "a provider with a name": (
        _on_l4,
        lambda cluster: [_l4(cluster, "Named", capacity_provider_name="l4")],
    ),
}
"""What a service runs on, before and after."""

# The others go the same way; ``make matrix`` takes all.
TRIED = MOVES if os.environ.get("MATRIX") == "all" else {name: MOVES[name] for name in ("an order", "a family")}


@pytest.mark.parametrize(("before", "after"), TRIED.values(), ids=TRIED)
def test_a_service_moves_to_another_capacity_in_two_deploys(site: Site, before: Capacities, after: Capacities) -> None:
    site.deploy(before)
    old = set(site.hosts)

    with pytest.raises(NotDeployedError, match=IN_USE):
        site.deploy(after, forced=True)
    site.deploy(lambda cluster: [*before(cluster), *after(cluster)], forced=True)
    moved = site.running()
    done = site.deploy(after, forced=True)

    assert len(moved) == 2
    assert not old.intersection(moved)
    assert done.reason == ""
    assert site.running() == moved
    assert site.lost() == []
    site.destroy()


def test_without_a_forced_deployment_tasks_stay_where_they_are(site: Site) -> None:
    """UpdateService: a changed strategy "doesn't trigger a new service deployment"."""
    before, after = MOVES["another id"]
    site.deploy(before)
    old = site.running()

    site.deploy(lambda cluster: [*before(cluster), *after(cluster)])

    assert site.running() == old
    with pytest.raises(NotDeployedError, match=IN_USE):
        site.deploy(after)
    assert IN_USE in site.events()  # from which the command line takes what it shows
    site.deploy(lambda cluster: [*before(cluster), *after(cluster)], forced=True)
    site.deploy(after, forced=True)
    site.destroy()


@pytest.mark.parametrize(
    ("first", "second"), [(None, "l4"), ("l4", "ada"), ("l4", None)], ids=["set", "changed", "removed"]
)
def test_a_provider_keeps_its_name(site: Site, first: str | None, second: str | None) -> None:
    site.deploy(lambda cluster: [_l4(cluster, capacity_provider_name=first)])

    with pytest.raises(NotDeployedError, match="already used by another capacity provider"):
        site.deploy(lambda cluster: [_l4(cluster, capacity_provider_name=second)])

    site.destroy()


def test_a_service_moves_to_managed_instances_in_one_deploy_where_they_are_all_there_is(site: Site) -> None:
    own = ecs.NetworkMode.AWS_VPC
    site.deploy(_on_l4, network_mode=own)

    l4 = ["g6.xlarge"]
    done = site.deploy(
        lambda of: [of.add_managed_capacity("Managed", instance_types=l4)], network_mode=own, forced=True
    )

    assert done.reason == ""
    assert len(site.running()) == 2
    assert site.lost() == []
    site.destroy()


def _refreshed(gib: int, *, launch_first: bool = True, **arguments: Any) -> Capacities:
    """Hosts of a root volume of a size, whose change makes a new launch template."""
    scaling = HostScaling(replacement=HostReplacement(launch_first=launch_first, percent_at_once=25))
    settings = {"scaling": scaling, "storage": HostStorage(root_volume_gib=gib), **arguments}
    return lambda cluster: [_l4(cluster, **settings)]


@pytest.mark.parametrize(("tasks", "launch_first"), [(1, True), (1, False), (4, True), (4, False)])
def test_running_hosts_are_replaced_and_no_task_is_lost(site: Site, tasks: int, launch_first: bool) -> None:
    site.deploy(_refreshed(100, launch_first=launch_first), tasks=tasks)
    old = set(site.hosts)

    site.deploy(_refreshed(200, launch_first=launch_first), tasks=tasks)

    assert not old.intersection(site.hosts)
    assert set(site.running()) <= set(site.hosts)
    assert len(site.running()) == tasks
    assert site.lost() == []
    site.destroy()


def test_protected_hosts_are_replaced(site: Site) -> None:
    def capacities(gib: int) -> Capacities:
        scaling = HostScaling(replacement=HostReplacement(), managed_termination_protection=True)
        return _refreshed(gib, scaling=scaling)

    site.deploy(capacities(100), tasks=0)
    site.cloud.minutes(site.cluster, 30)
    site.deploy(capacities(200), tasks=0)
    site.destroy()


def test_hosts_that_always_run_stay_as_they_are_without_a_replacement(site: Site) -> None:
    def capacities(gib: int) -> Capacities:
        return lambda cluster: [_l4(cluster, min_instances=2, storage=HostStorage(root_volume_gib=gib))]

    site.deploy(capacities(100))
    old = site.hosts
    site.deploy(capacities(200))
    assert site.hosts == old
    site.destroy()


def test_hosts_that_come_with_tasks_change_their_types_in_one_deploy(site: Site) -> None:
    site.deploy(_on_l4)
    site.deploy(lambda cluster: [_l4(cluster, instance_types=["g6e.xlarge"])])
    assert [site.hosts[str(each)] for each in site.running()] == ["g6e.xlarge"] * 2
    assert site.lost() == []
    site.destroy()


@pytest.mark.parametrize("replacement", [None, HostReplacement()], ids=["hosts stay", "hosts are replaced"])
def test_hosts_that_always_run_change_their_types_in_two_deploys_only(
    site: Site, replacement: HostReplacement | None
) -> None:
    def capacities(kind: str) -> Capacities:
        scaling = HostScaling(replacement=replacement)
        return lambda cluster: [_l4(cluster, instance_types=[kind], min_instances=2, max_instances=2, scaling=scaling)]

    site.deploy(capacities("g6.xlarge"))

    if replacement is None:
        with pytest.raises(NotDeployedError, match="service not stable"):
            site.deploy(capacities("g6e.xlarge"))
        assert site.lost() == []
    else:
        site.deploy(capacities("g6e.xlarge"))
        assert site.lost() != []
    site.destroy()


def test_efa_leaves_its_group_behind_while_hosts_run(site: Site) -> None:
    def capacities(network: HostNetwork | None) -> Capacities:
        return lambda cluster: [_l4(cluster, "Nodes", instance_types=["g6.8xlarge"], network=network, min_instances=2)]

    site.deploy(capacities(HostNetwork.efa()))
    done = site.deploy(capacities(None))

    assert "One or more resources could not be deleted" in done.reason
    with pytest.raises(NotDeployedError, match="has dependencies and cannot be deleted"):
        site.destroy()
    client = site.cloud.account.client("ec2")
    for group in client.describe_placement_groups()["PlacementGroups"]:
        client.delete_placement_group(GroupName=group["GroupName"])
    for group in client.describe_security_groups()["SecurityGroups"]:
        if group["GroupName"] != "default":
            client.delete_security_group(GroupId=group["GroupId"])
    site.destroy()


def test_efa_goes_in_one_deploy_with_hosts_that_are_replaced(site: Site) -> None:
    def capacities(network: HostNetwork | None) -> Capacities:
        scaling = HostScaling(replacement=HostReplacement())
        return lambda cluster: [_l4(cluster, instance_types=["g6.8xlarge"], network=network, scaling=scaling)]

    site.deploy(capacities(HostNetwork.efa()))
    done = site.deploy(capacities(None))

    assert done.reason == ""
    assert len(site.running()) == 2
    assert site.lost() == []
    site.destroy()


def test_a_service_on_a_capacity_block_begins_with_no_copies(site: Site) -> None:
    reserved = {
        "InstanceType": "p5.4xlarge",
        "TotalInstanceCount": 2,
        "ReservationType": "capacity-block",
        "AvailabilityZone": "us-east-1a",
        "StartDate": "2027-01-11T11:30:00Z",
        "EndDate": "2027-01-18T11:30:00Z",
    }
    site.cloud.switch("reservations/cr-0123456789abcdef1", json.dumps(reserved))
    site.cloud.switch("now", "2027-01-10T00:00:00Z")
    block = Purchase.capacity_block(
        "cr-0123456789abcdef1",
        instances=2,
        starts=datetime(2027, 1, 11, 11, 30, tzinfo=timezone.utc),
        ends=datetime(2027, 1, 18, 11, 30, tzinfo=timezone.utc),
    )

    def capacities(cluster: GpuCluster) -> list[Capacity]:
        return [_l4(cluster, "Block", instance_types=["p5.4xlarge"], max_instances=2, purchase=block)]

    with pytest.raises(NotDeployedError, match="service not stable"):
        site.deploy(capacities, tasks=2)

    site.deploy(capacities, tasks=0)
    site.cloud.switch("now", "2027-01-12T00:00:00Z")
    site.deploy(capacities, tasks=2)

    assert len(site.running()) == 2
    site.destroy()


def _l4_after(line: Callable[[GpuCluster], object]) -> Capacities:
    def capacities(cluster: GpuCluster) -> Sequence[Capacity]:
        line(cluster)
        return [_l4(cluster, min_instances=2, max_instances=2)]

    return capacities


def test_monitoring_is_taken_away_in_two_deploys_and_not_in_one(site: Site) -> None:
    site.deploy(_l4_after(lambda cluster: cluster.add_monitoring("Monitoring")))
    with pytest.raises(NotDeployedError, match="not stable"):
        site.deploy(_l4_after(lambda _: None))
    site.deploy(_l4_after(lambda cluster: cluster.leave_room_for_daemons()))
    site.deploy(_l4_after(lambda _: None))
    site.destroy()
