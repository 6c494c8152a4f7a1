"""However many services of other stacks share hosts and balancers, each rule of a security group is there once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_efs as efs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2

from gpu_constructs import CpuService, GpuCapacity, GpuCluster, GpuService, GpuTaskDefinition, ModelCache, ModelServer
from tests.synthesis import Site, app_in

_NOTHING = elbv2.ListenerAction.fixed_response(404)
_IMAGE = ecs.ContainerImage.from_registry("vllm/vllm-openai")
_ARN = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/app/given/50dc6c495c0c9188/f2f7dc8efc522ab2"


class _Town:
    """A cluster in its stack, and a listener in that of the network."""

    def __init__(self, app: cdk.App) -> None:
        self.app = app
        site = Site(app, name="Cluster")
        self.stack, self.vpc = site.stack, site.vpc
        self.cluster = GpuCluster(self.stack, "Cluster", vpc=self.vpc)
        self.l4 = self.cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=8)
        self._services = 0

    @cached_property
    def cpu(self) -> GpuCapacity:
        return self.cluster.add_capacity("Cpu", instance_types=["c7i.large"], max_instances=2)

    @cached_property
    def shared(self) -> elbv2.ApplicationListener:
        return self.listener(cdk.Stack(self.app, "Network"))

    def listener(self, stack: cdk.Stack) -> elbv2.ApplicationListener:
        balancer = elbv2.ApplicationLoadBalancer(stack, "Balancer", vpc=self.vpc)
        return balancer.add_listener("Http", port=80, default_action=_NOTHING)

    def imported(self, stack: cdk.Stack) -> elbv2.IApplicationListener:
        group = ec2.SecurityGroup.from_security_group_id(stack, "OfGiven", "sg-12345678", allow_all_outbound=False)
        return elbv2.ApplicationListener.from_application_listener_attributes(
            stack, "Given", listener_arn=_ARN, security_group=group
        )

    def serve(
        self, stack: cdk.Stack, listener: elbv2.IApplicationListener | None = None, name: str | None = None
    ) -> GpuService:
        self._services += 1
        task = GpuTaskDefinition(stack, f"Task{self._services}", capacity=[self.l4])
        task.add_gpu_container("vllm", image=_IMAGE, port_mappings=[ecs.PortMapping(container_port=8000)])
        name = name or f"Service{self._services}"
        service = GpuService(stack, name, cluster=self.cluster, task_definition=task)
        service.add_application_load_balancer(
            "Rule",
            listener=listener or self.shared,
            priority=self._services,
            conditions=[elbv2.ListenerCondition.path_patterns([f"/{self._services}/*"])],
            health_check_path="/health",
        )
        return service

    def serve_without_gpus(self, stack: cdk.Stack) -> None:
        task = ecs.Ec2TaskDefinition(stack, "Web")
        ports = [ecs.PortMapping(container_port=80)]
        task.add_container("web", image=_IMAGE, memory_limit_mib=512, port_mappings=ports)
        service = CpuService(
            stack, "WebService", cluster=self.cluster, task_definition=task, capacity=[self.cpu], desired_count=1
        )
        group = elbv2.ApplicationTargetGroup(stack, "WebTargets", vpc=self.vpc, port=80)
        # The target group is there before its listener, which writes the rules.
        service.attach_to_application_target_group(group)
        condition = elbv2.ListenerCondition.path_patterns(["/web/*"])
        elbv2.ApplicationListenerRule(
            stack, "WebRule", listener=self.shared, priority=99, conditions=[condition], target_groups=[group]
        )


def _two_stacks(town: _Town) -> None:
    for name in ("A", "B"):
        stack = cdk.Stack(town.app, name)
        town.serve(stack)
        town.serve(stack)


def _with_the_cluster(town: _Town) -> None:
    town.serve(cdk.Stack(town.app, "A"))
    town.serve(town.stack)
    town.serve(cdk.Stack(town.app, "B"))


def _with_the_balancer(town: _Town) -> None:
    balancers, last = cdk.Stack(town.app, "Balancers"), cdk.Stack(town.app, "Last")
    of_balancers, shared = town.listener(balancers), town.shared
    town.serve(last, of_balancers)
    town.serve(last, shared)
    town.serve(balancers, of_balancers)
    town.serve(balancers, shared)


def _imported(town: _Town) -> None:
    for name in ("A", "B"):
        stack = cdk.Stack(town.app, name)
        town.serve(stack, town.imported(stack))


def _nested(town: _Town) -> None:
    stack = cdk.Stack(town.app, "A")
    town.serve(stack)
    town.serve(cdk.NestedStack(stack, "Inner"))


def _without_gpus(town: _Town) -> None:
    town.serve(cdk.Stack(town.app, "A"))
    town.serve_without_gpus(cdk.Stack(town.app, "B"))


def _own_balancers(town: _Town) -> None:
    for name in ("A", "B"):
        stack = cdk.Stack(town.app, name)
        town.serve(stack, town.listener(stack))


@pytest.mark.parametrize(
    ("build", "writers", "after"),
    [
        (_two_stacks, {"A": 4}, {("B", "A")}),
        (_with_the_cluster, {"Cluster": 2}, set()),
        (_with_the_balancer, {"Balancers": 8}, set()),
        (_imported, {"A": 4}, {("B", "A")}),
        (_nested, {"A": 4}, set()),
        (_without_gpus, {"A": 4}, {("B", "A")}),
        (_own_balancers, {"A": 4, "B": 4}, set()),
    ],
)
def test_a_rule_is_written_once_and_the_stack_that_relies_on_it_comes_after(
    tmp_path: Path, build: Callable[[_Town], None], writers: dict[str, int], after: set[tuple[str, str]]
) -> None:
    town = _Town(app_in(tmp_path))
    build(town)
    assembly = town.app.synth()
    written: Counter[str] = Counter()
    for file in sorted(Path(assembly.directory).glob("*.template.json")):
        resources: dict[str, Any] = json.loads(file.read_text())["Resources"]
        rules = [each for each in resources.values() if each["Type"].startswith("AWS::EC2::SecurityGroup")]
        written[file.name.partition(".")[0]] += sum(each["Type"][-6:] in {"ngress", "Egress"} for each in rules)
    assert {stack: number for stack, number in written.items() if number} == writers
    names = {each.stack_name for each in assembly.stacks}
    depends = {(each.stack_name, of.id) for each in assembly.stacks for of in each.dependencies if of.id in names}
    known = {"Network", "Cluster", "Balancers"}
    assert {(stack, of) for stack, of in depends if of not in known} == after


_ListenerFor = Callable[[_Town, cdk.Stack], elbv2.IApplicationListener]


def _of_the_network(town: _Town, _: cdk.Stack) -> elbv2.IApplicationListener:
    return town.shared


def _rules(
    folder: Path, *names: str, listener_for: _ListenerFor = _of_the_network, plain: bool = False
) -> dict[str, Any]:
    """The rules in the stack of some services by their ids, behind a listener for that stack."""
    town = _Town(app_in(folder))
    stack = cdk.Stack(town.app, "A")
    listener = listener_for(town, stack)
    for name in names:
        if plain:
            task = ecs.Ec2TaskDefinition(stack, "Task1")
            ports = [ecs.PortMapping(container_port=8000)]
            task.add_container("vllm", image=_IMAGE, memory_limit_mib=512, port_mappings=ports)
            targets = elbv2.ApplicationTargetGroup(stack, "Targets", vpc=town.vpc, port=80)
            service = ecs.Ec2Service(
                stack,
                name,
                cluster=town.cluster.cluster,
                task_definition=task,
                capacity_provider_strategies=[town.cpu.strategy()],
                health_check_grace_period=cdk.Duration.minutes(10),
                min_healthy_percent=100,
            )
            service.attach_to_application_target_group(targets)
            condition = elbv2.ListenerCondition.path_patterns(["/1/*"])
            elbv2.ApplicationListenerRule(
                stack, "Rule", listener=listener, priority=1, conditions=[condition], target_groups=[targets]
            )
        else:
            town.serve(stack, listener, name)
    town.app.synth()
    resources: dict[str, Any] = json.loads((folder / "A.template.json").read_text())["Resources"]
    kinds = {"AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress"}
    return {name: each for name, each in resources.items() if each["Type"] in kinds}


@pytest.mark.parametrize("listener_for", [_of_the_network, _Town.listener, _Town.imported])
def test_the_rule_for_dynamic_ports_is_the_same_whichever_services_are_there(
    tmp_path: Path, listener_for: _ListenerFor
) -> None:
    one = _rules(tmp_path / "one", "Chat", listener_for=listener_for)
    assert len(one) == 4
    assert _rules(tmp_path / "others", "Renamed", "Rank", listener_for=listener_for) == one


def test_it_comes_while_the_rule_of_cdk_is_there(tmp_path: Path) -> None:
    before, after = _rules(tmp_path / "0", "Chat", plain=True), _rules(tmp_path / "1", "Chat")
    assert before.keys().isdisjoint(after)
    described = [json.dumps(each, sort_keys=True) for each in (*before.values(), *after.values())]
    ports = {(each["Properties"]["FromPort"], each["Properties"]["ToPort"]) for each in before.values()}
    assert ports == {(32768, 65535)}
    assert len(set(described)) == len(described) == 6


def _of_files(folder: Path, *names: str, stack_of_files: str = "A", cached: bool = False) -> dict[str, Any]:
    """Rules of a file system that a user opens to services of a stack other than that of the hosts, by stack and id."""
    town = _Town(app_in(folder))
    stack = cdk.Stack(town.app, "A")
    home = stack if stack_of_files == "A" else cdk.Stack(town.app, stack_of_files)
    files = efs.FileSystem(home, "Files", vpc=town.vpc)
    for name in names:
        task = GpuTaskDefinition(stack, f"{name}Task", capacity=[town.l4])
        server = ModelServer.vllm(model="Qwen/Qwen2.5-7B-Instruct")
        task.add_model_server("serve", server=server, gpus=1, cache=ModelCache.efs(files) if cached else None)
        service = GpuService(stack, name, cluster=town.cluster, task_definition=task)
        files.connections.allow_default_port_from(service)
    town.app.synth()
    templates = {each.name: json.loads(each.read_text())["Resources"] for each in folder.glob("*.template.json")}
    return {
        f"{of} {name}": each
        for of, resources in templates.items()
        for name, each in resources.items()
        if each["Type"] == "AWS::EC2::SecurityGroupIngress"
    }


@pytest.mark.parametrize("stack_of_files", ["A", "Storage"])
def test_a_rule_that_a_user_writes_is_the_same_whichever_services_are_there(
    tmp_path: Path, stack_of_files: str
) -> None:
    one = _of_files(tmp_path / "one", "Chat", stack_of_files=stack_of_files)
    assert [each["Properties"]["FromPort"] for each in one.values()] == [2049]
    assert _of_files(tmp_path / "others", "Renamed", "Rank", stack_of_files=stack_of_files) == one


def test_a_rule_for_the_hosts_stays_where_a_user_writes_it_for_a_service_too(tmp_path: Path) -> None:
    (rule,) = _of_files(tmp_path, "Chat", cached=True)
    assert "Chat" not in rule
    assert "HostSecurityGroup" in rule
