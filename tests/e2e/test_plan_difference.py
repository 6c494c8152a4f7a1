"""What ``plan --diff`` says that AWS refuses, the emulator refuses, and it takes the two deploys that do it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from ecs_emulator.local import Deployed, Local, NotDeployedError
from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition
from gpu_constructs.check import check_files
from gpu_constructs.check.planning.updates import update_of

from tests.synthesis import Properties, app_in

IMAGE = ecs.ContainerImage.from_registry("vllm/vllm-openai:v0.11.0")
HTTP = elbv2.ApplicationProtocol.HTTP
ON_B = elbv2.ListenerCondition.path_patterns(["/b/*"])


def service_of(stack: cdk.Stack, name: str, cluster: GpuCluster, capacity: str = "L4", **options: Any) -> GpuService:
    (used,) = (each for each in cluster.capacities if each.node.id == capacity)
    task = GpuTaskDefinition(stack, f"{name}Task", capacity=[used])
    task.add_gpu_container("vllm", image=IMAGE, port_mappings=[ecs.PortMapping(container_port=8000)])
    return GpuService(stack, name, cluster=cluster, task_definition=task, **options)


def cluster_of(
    stack: cdk.Stack, *capacities: str, names: ecs.CloudMapNamespaceOptions | None = None, hosts: int = 4
) -> GpuCluster:
    vpc = ec2.Vpc(stack, "Vpc", nat_gateways=1, restrict_default_security_group=False)
    cluster = GpuCluster(stack, "Cluster", vpc=vpc, default_cloud_map_namespace=names)
    for each in capacities or ("L4",):
        cluster.add_capacity(each, instance_types=["g6.xlarge"], max_instances=hosts)
    return cluster


def served(first: str = "A", second: str = "B", *, priority: int = 10, name: str | None = None) -> Callable[..., None]:
    """Two services behind one balancer, which is that of the first."""

    def define(app: cdk.App) -> None:
        stack = cdk.Stack(app, "Served")
        cluster = cluster_of(stack)
        owner = service_of(stack, first, cluster)
        http = owner.add_application_load_balancer("Http", protocol=HTTP, health_check_path="/health")
        service_of(stack, second, cluster, service_name=name).add_application_load_balancer(
            "Http", listener=http.listener, conditions=[ON_B], priority=priority, health_check_path="/health"
        )

    return define


def connected(*names: str) -> Callable[..., None]:
    """A cluster with a namespace, and services that are ``model`` in it."""

    def define(app: cdk.App) -> None:
        stack = cdk.Stack(app, "Connected")
        models = ecs.CloudMapNamespaceOptions(name="models", use_for_service_connect=True)
        cluster = cluster_of(stack, names=models)
        for each in names:
            task = GpuTaskDefinition(stack, f"{each}Task", capacity=[cluster.capacities[0]])
            port = ecs.PortMapping(container_port=8000, name="model")
            task.add_gpu_container("vllm", image=IMAGE, port_mappings=[port])
            service = GpuService(stack, each, cluster=cluster, task_definition=task)
            service.enable_service_connect(services=[ecs.ServiceConnectService(port_mapping_name="model")])

    return define


def apart(*capacities: str) -> Callable[..., None]:
    """A cluster in one stack, and in another a service on the last of its capacities."""

    def define(app: cdk.App) -> None:
        cluster = cluster_of(cdk.Stack(app, "Base"), *capacities)
        forced = ecs.ForceNewDeployment(enabled=True, nonce=f"to {capacities[-1]}")
        service_of(cdk.Stack(app, "Top"), "Chat", cluster, capacities[-1], force_new_deployment=forced)

    return define


def two_of(name: str, *, hosts: int, apart: bool = False) -> Callable[..., None]:
    """A service of two copies on so many hosts, in the stack of its cluster or in another."""

    def define(app: cdk.App) -> None:
        stack = cdk.Stack(app, "Two")
        cluster = cluster_of(stack, hosts=hosts)
        service_of(cdk.Stack(app, "Of") if apart else stack, name, cluster, desired_count=2)

    return define


class Account:
    """Stacks of an account, deployed in the order of their app."""

    def __init__(self, cloud: Local, folder: Path) -> None:
        self._cloud, self._folder, self._number = cloud, folder, 0
        self._deployed: dict[str, Deployed] = {}
        self._templates: dict[str, Properties] = {}
        self._before: Path | None = None

    def deploy(self, define: Callable[..., None], *, unsaid: str = "") -> list[str]:
        """Deploys an app, and says what the difference to the one before says that is refused.

        Args:
            define: The app.
            unsaid: What AWS refuses besides, of load balancers.
        """
        self._number += 1
        app = app_in(self._folder / str(self._number))
        define(app)
        found = app.synth()
        now = Path(found.directory)
        refused = []
        if self._before is not None:
            old, new = (check_files([each], rules=()) for each in (self._before, now))
            told = [each.answer for each in update_of(old.stacks, new.stacks, old.fleet, new.fleet).refused]
            refused = [each.removeprefix("Export … ").removesuffix(" …") for each in told]
        refused += [unsaid] if unsaid else []
        if refused:
            with pytest.raises(NotDeployedError, match="|".join(map(re.escape, refused))):
                self._deploy(now, [each.stack_name for each in found.stacks])
        else:
            self._deploy(now, [each.stack_name for each in found.stacks])
            self._before = now
        return refused

    def _deploy(self, folder: Path, names: list[str]) -> None:
        for name in names:
            template = json.loads((folder / f"{name}.template.json").read_text())
            old = self._deployed.get(name)
            if old is None:
                self._deployed[name] = self._cloud.deploy(template, name)
            elif self._templates[name] != template:
                self._deployed[name] = self._cloud.update(old, template)
            self._templates[name] = template

    def destroy(self) -> None:
        for each in reversed(self._deployed.values()):
            self._cloud.destroy(each)


@pytest.fixture
def account(cloud: Local, tmp_path: Path) -> Account:
    return Account(cloud, tmp_path)


def test_a_service_leaves_a_capacity_of_another_stack_in_two_deploys(account: Account) -> None:
    account.deploy(apart("L4"))
    assert account.deploy(apart("Ada")) == ["cannot be deleted as it is in use by Top"]
    assert account.deploy(apart("L4", "Ada")) == []
    assert account.deploy(apart("Ada")) == []
    account.destroy()


def test_a_service_of_another_stack_leaves_bridge_before_the_stack_of_its_cluster(cloud: Local, tmp_path: Path) -> None:
    folders = []
    for mode in (ecs.NetworkMode.BRIDGE, ecs.NetworkMode.AWS_VPC):
        app = app_in(tmp_path / mode.name)
        cluster = cluster_of(cdk.Stack(app, "Base"))
        top = cdk.Stack(app, "Top")
        task = GpuTaskDefinition(top, "ChatTask", capacity=[*cluster.capacities], network_mode=mode)
        task.add_gpu_container("vllm", image=IMAGE, port_mappings=[ecs.PortMapping(container_port=8000)])
        service = GpuService(top, "Chat", cluster=cluster, task_definition=task)
        service.add_application_load_balancer("Http", protocol=HTTP, health_check_path="/health")
        folders.append(Path(app.synth().directory))
    bridge, vpc = folders
    base, top_now = (cloud.deploy_assembly(bridge, each) for each in ("Base", "Top"))
    templates = {each: json.loads((vpc / f"{each}.template.json").read_text()) for each in ("Base", "Top")}
    with pytest.raises(NotDeployedError, match="cannot be deleted as it is in use by Top"):
        cloud.update(base, templates["Base"])
    top_now = cloud.update(top_now, templates["Top"])
    base = cloud.update(base, templates["Base"])
    cloud.destroy(top_now)
    cloud.destroy(base)


@pytest.mark.parametrize("apart", [False, True])
def test_a_service_with_another_id_needs_room_for_all_copies_twice(account: Account, apart: bool) -> None:
    account.deploy(two_of("Chat", hosts=2, apart=apart))
    assert account.deploy(two_of("Renamed", hosts=2, apart=apart)) == ["service not stable"]
    assert account.deploy(two_of("Renamed", hosts=4, apart=apart)) == []
    assert account.deploy(two_of("Renamed", hosts=2, apart=apart)) == []
    account.destroy()


def test_services_that_share_a_balancer_are_renamed_in_two_deploys(account: Account) -> None:
    account.deploy(served(name="chat"))
    groups = "The following target groups cannot be associated with more than one load balancer"
    account.deploy(served("Renamed", name="chat"), unsaid=groups)
    in_use = "The specified priority is in use"  # the emulator's words
    assert account.deploy(served(second="Renamed"), unsaid=in_use)[0] == "Priority … is currently in use"
    assert account.deploy(served(second="Renamed", priority=11, name="chat")) == ["already exists"]
    assert account.deploy(served(second="Renamed", priority=11, name="other")) == []
    assert account.deploy(served(second="Renamed", name="chat")) == []
    account.destroy()


def test_a_service_in_service_connect_is_renamed_in_two_deploys(account: Account) -> None:
    account.deploy(connected("Chat"))
    assert account.deploy(connected("Renamed")) == ["SC service is already used by"]
    assert account.deploy(connected()) == []
    assert account.deploy(connected("Renamed")) == []
    account.destroy()
