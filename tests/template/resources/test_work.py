"""What is read grows with what is written, and not with what each service shares with all others."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.facts.budget import one_call
from gpu_constructs.fleet import UNKNOWN, Fleet
from gpu_constructs.rules import Finding, check
from gpu_constructs.rules.clusters.load_balancers import a_way_for_requests
from gpu_constructs.rules.hosts.starting import may_start_hosts
from gpu_constructs.template import files_of
from gpu_constructs.template.model import Reference, Resource, mentioned
from gpu_constructs.template.resources import groups
from gpu_constructs.template.resources.fleet import STEPS_OF_CONSTRAINT, STEPS_OF_PATTERN, within_patterns
from gpu_constructs.template.resources.index import Index
from tests.template.resources.declared import declared, fleet, joined, resource

_CONTAINER = {"Name": "server", "Image": "x", "Memory": 100, "PortMappings": [{"ContainerPort": 8000}]}


def _of_hosts(*groups: str) -> dict[str, Any]:
    """One capacity provider whose hosts have these security groups."""
    data = {"InstanceType": "g6.xlarge", "SecurityGroupIds": [{"Ref": each} for each in groups]}
    template = {"LaunchTemplateId": {"Ref": "Template"}, "Version": "1"}
    provider = {"AutoScalingGroupArn": {"Ref": "Hosts"}}
    return {
        "Template": resource("EC2::LaunchTemplate", LaunchTemplateData=data),
        "Hosts": resource("AutoScaling::AutoScalingGroup", MinSize=0, MaxSize=1, LaunchTemplate=template),
        "Provider": resource("ECS::CapacityProvider", AutoScalingGroupProvider=provider),
        "Task": resource("ECS::TaskDefinition", NetworkMode="bridge", ContainerDefinitions=[_CONTAINER]),
    }


def _closed(number: int) -> tuple[Finding, ...]:
    """What is said of so many services, listeners and rules of security groups at one target group."""
    v2 = "ElasticLoadBalancingV2"
    rule = {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 2, "SourceSecurityGroupId": {"Ref": "Front"}}
    resources = {
        **_of_hosts("Behind"),
        "Front": resource("EC2::SecurityGroup"),
        "Behind": resource("EC2::SecurityGroup", SecurityGroupIngress=[rule] * number),
        "Balancer": resource(f"{v2}::LoadBalancer", SecurityGroups=[{"Ref": "Front"}] * number),
        "Targets": resource(f"{v2}::TargetGroup", Protocol="HTTP"),
    }
    action = {"Type": "forward", "TargetGroupArn": {"Ref": "Targets"}}
    entry = {"ContainerName": "server", "ContainerPort": 8000, "TargetGroupArn": {"Ref": "Targets"}}
    for each in range(number):
        resources[f"Listener{each}"] = resource(
            f"{v2}::Listener", LoadBalancerArn={"Ref": "Balancer"}, DefaultActions=[action]
        )
        resources[f"Service{each}"] = resource(
            "ECS::Service",
            TaskDefinition={"Ref": "Task"},
            CapacityProviderStrategy=[{"CapacityProvider": {"Ref": "Provider"}}],
            LoadBalancers=[entry],
        )
    files = files_of([declared(resources)])
    return check(files.fleet, rules=[a_way_for_requests], files=files)


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The types of the resources that were looked for, one for each time."""
    found: list[str] = []
    at = Index.at

    def counted(self: Index, reference: Reference, resource_type: str | None = None) -> Resource | None:
        found.append(resource_type or "")
        return at(self, reference, resource_type)

    monkeypatch.setattr(Index, "at", counted)
    return found


def test_beyond_the_budget_no_security_group_is_closed() -> None:
    with one_call(10):
        assert len(_closed(20)) < 10


def test_beyond_the_budget_no_pattern_is_judged_and_that_is_noted() -> None:
    written = ["attribute:ecs.instance-type =~ g6.*", "attribute:ecs.instance-type !~ g5.*", "attribute:zone == a"]
    constraints = [{"Type": "memberOf", "Expression": each} for each in written]
    resources = {
        "Task": resource("ECS::TaskDefinition", PlacementConstraints=constraints),
        "Service": resource("ECS::Service", TaskDefinition={"Ref": "Task"}, PlacementConstraints=constraints),
    }
    with one_call(4 * (STEPS_OF_CONSTRAINT + STEPS_OF_PATTERN)):
        assert not fleet(resources).remarks
    with one_call(4 * (STEPS_OF_CONSTRAINT + STEPS_OF_PATTERN) - 1):
        found = fleet(resources)
    (service,) = found.workloads
    assert service.task is not None
    for found_constraints in (
        *(each.constraints for each in found.tasks),
        service.constraints,
        service.task.constraints,
    ):
        assert [each.expression for each in found_constraints] == [UNKNOWN, UNKNOWN, written[2]]
    (remark,) = found.remarks
    assert "4 patterns in placement constraints" in remark.text


def test_a_fleet_without_patterns_is_as_it_was_when_more_was_done_than_there_was_work_for() -> None:
    with one_call(1) as left:
        assert not left.spend(2)
        assert within_patterns(Fleet()) == Fleet()


def test_a_group_is_read_once_for_all_its_capacity_providers(looked_up: list[str]) -> None:
    resources = {**_of_hosts(), "Other": _of_hosts()["Provider"]}
    assert len(fleet(resources).pools) == 2
    assert looked_up.count("AWS::EC2::LaunchTemplate") == 1


def test_the_target_of_many_scaling_policies_is_read_once(looked_up: list[str]) -> None:
    number = 50
    resource_id = joined("service/c/", *({"Fn::GetAtt": [f"Service{each}", "Name"]} for each in range(number)))
    policy = resource("ApplicationAutoScaling::ScalingPolicy", ScalingTargetId={"Ref": "Target"}, PolicyType="x")
    resources = {
        "Service0": resource("ECS::Service"),
        "Target": resource("ApplicationAutoScaling::ScalableTarget", ResourceId=resource_id),
        **{f"Policy{each}": policy for each in range(number)},
    }
    (workload,) = fleet(resources).workloads
    assert workload.scaling is not None
    assert workload.scaling.by == ("x",) * number
    assert len(looked_up) < 5 * number  # not the square, 2,500


def test_policies_are_read_once_for_all_managed_instances(looked_up: list[str]) -> None:
    number = 30
    managed = "arn:aws:iam::aws:policy/AmazonECSInfrastructureRolePolicyForManagedInstances"
    profile = {"Ec2InstanceProfileArn": {"Fn::GetAtt": ["Profile", "Arn"]}}
    provider = {"InfrastructureRoleArn": {"Fn::GetAtt": ["Passing", "Arn"]}, "InstanceLaunchTemplate": profile}
    resources = {
        "Passing": resource("IAM::Role", ManagedPolicyArns=[managed]),
        "Passed": resource("IAM::Role", RoleName="other"),
        "Profile": resource("IAM::InstanceProfile", Roles=[{"Ref": "Passed"}]),
        **{f"Policy{each}": resource("IAM::Policy", Roles=[{"Ref": "Passed"}]) for each in range(number)},
        **{f"P{each}": resource("ECS::CapacityProvider", ManagedInstancesProvider=provider) for each in range(number)},
    }
    read = files_of([declared(resources)])
    assert len(check(read.fleet, rules=[may_start_hosts], files=read)) == number
    assert looked_up.count("AWS::IAM::Role") < 5 * number  # not the square, 900


def test_schedules_are_read_once_for_all_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    number = 30
    read: list[Resource] = []
    said = mentioned

    def counted(resource: Resource) -> tuple[str, list[Reference]]:
        read.append(resource)
        return said(resource)

    monkeypatch.setattr(groups, "mentioned", counted)
    resources = _of_hosts()
    data = resources["Template"]["Properties"]["LaunchTemplateData"]
    data["InstanceMarketOptions"] = {"MarketType": "capacity-block"}
    for each in range(number):
        group = {"AutoScalingGroupArn": {"Ref": f"Hosts{each}"}}
        resources[f"Hosts{each}"] = resources["Hosts"]
        resources[f"Provider{each}"] = resource("ECS::CapacityProvider", AutoScalingGroupProvider=group)
        resources[f"Schedule{each}"] = resource("Scheduler::Schedule", ScheduleExpression="rate(1 day)")
    fleet(resources)
    assert len(read) == number
