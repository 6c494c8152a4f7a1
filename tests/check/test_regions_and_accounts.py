"""A name means what is in the same region and account, where both are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.rules.catalogue import one_of
from tests.template.written import save

HERE, ELSEWHERE = "aws://111122223333/us-east-1", ["aws://111122223333/us-west-2", "aws://444455556666/us-east-1"]

MISFIT = "GPU060"

Template = dict[str, Any]


def hosts(instance_type: str, cluster: str = "prod", **resources: Any) -> Template:
    """An Auto Scaling group whose hosts join a cluster by its name."""
    data = {
        "InstanceType": instance_type,
        "ImageId": "{{resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id}}",
        "UserData": {"Fn::Base64": f"#!/bin/bash\necho ECS_CLUSTER={cluster} >> /etc/ecs/ecs.config\n"},
    }
    template = {"LaunchTemplateId": {"Ref": "Template"}, "Version": "1"}
    group = {"MinSize": "0", "MaxSize": "4", "AvailabilityZones": ["a"], "LaunchTemplate": template}
    return {
        "Template": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}},
        "Group": {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": group},
        **resources,
    }


def provided(instance_type: str) -> Template:
    """The same with a capacity provider that its cluster lists, both with names."""
    by_default = [{"CapacityProvider": "l4", "Weight": 1}]
    listing = {"Cluster": "prod", "CapacityProviders": ["l4"], "DefaultCapacityProviderStrategy": by_default}
    provider = {"Name": "l4", "AutoScalingGroupProvider": {"AutoScalingGroupArn": {"Ref": "Group"}}}
    return hosts(
        instance_type,
        Cluster={"Type": "AWS::ECS::Cluster", "Properties": {"ClusterName": "prod"}},
        Provider={"Type": "AWS::ECS::CapacityProvider", "Properties": provider},
        List={"Type": "AWS::ECS::ClusterCapacityProviderAssociations", "Properties": listing},
    )


def imported(instance_type: str) -> Template:
    """The same in a cluster that other files define."""
    return {key: each for key, each in provided(instance_type).items() if key != "Cluster"}


def service(gpus: int, *, cluster: str = "prod", **properties: Any) -> Template:
    asked = [{"Type": "GPU", "Value": str(gpus)}]
    containers = [{"Name": "c", "Image": "i", "Memory": 1024, "ResourceRequirements": asked}]
    task = {"Family": "chat", "RequiresCompatibilities": ["EC2"], "ContainerDefinitions": containers}
    runs = {"Cluster": cluster, "TaskDefinition": "chat", "DesiredCount": 2, **properties}
    return {
        "Task": {"Type": "AWS::ECS::TaskDefinition", "Properties": task},
        "Service": {"Type": "AWS::ECS::Service", "Properties": runs},
    }


def on_provider(gpus: int, provider: object = "l4") -> Template:
    return service(gpus, CapacityProviderStrategy=[{"CapacityProvider": provider, "Weight": 1}])


def misfits(folder: Path, *stacks: tuple[str, Template]) -> list[str]:
    """What says, of an app with these stacks, that a task does not fit on its hosts."""
    exports = {"Provider": {"Value": {"Ref": "Provider"}, "Export": {"Name": "provider"}}}
    artifacts = {}
    for number, (environment, resources) in enumerate(stacks):
        save(folder / f"{number}.json", {"Resources": resources, "Outputs": exports if "Provider" in resources else {}})
        properties = {"templateFile": f"{number}.json"}
        artifacts[f"S{number}"] = {
            "type": "aws:cloudformation:stack",
            "environment": environment,
            "properties": properties,
        }
    save(folder / "manifest.json", {"version": "1.0.0", "artifacts": artifacts})
    return [each.rule for each in check_files([str(folder)], rules=one_of(MISFIT)).findings]


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
@pytest.mark.parametrize(
    ("hosts_with", "runs"),
    [
        pytest.param(provided, on_provider, id="provider"),
        pytest.param(provided, lambda gpus: on_provider(gpus, {"Fn::ImportValue": "provider"}), id="export"),
        pytest.param(imported, service, id="default strategy of a cluster of other files"),
        pytest.param(
            lambda each: hosts(each, "default"),
            lambda gpus: service(gpus, cluster="default", LaunchType="EC2"),
            id="default cluster",
        ),
    ],
)
def test_a_name_means_what_is_in_its_own_region_and_account(
    tmp_path: Path, elsewhere: str, hosts_with: Any, runs: Any
) -> None:
    one, other = hosts_with("g6.xlarge"), hosts_with("g6.12xlarge")
    assert misfits(tmp_path, (HERE, one), (HERE, runs(1)), (elsewhere, other), (elsewhere, runs(4))) == []
    assert misfits(tmp_path, (HERE, other), (HERE, runs(4)), (elsewhere, one), (elsewhere, runs(4))) == [MISFIT]


@pytest.mark.parametrize("runs_in", [HERE, "aws://unknown-account/unknown-region"])
def test_a_name_is_found_where_it_may_be_meant(tmp_path: Path, runs_in: str) -> None:
    assert misfits(tmp_path, (HERE, provided("g6.xlarge")), (runs_in, on_provider(4))) == [MISFIT]


@pytest.mark.parametrize(
    ("arn", "expected"),
    [
        ("arn:aws:ecs:us-east-1:111122223333:cluster/prod", [MISFIT]),
        ("arn:aws:ecs:eu-west-1:111122223333:cluster/prod", []),
        ("arn:aws:ecs:us-east-1:999999999999:cluster/prod", []),
    ],
)
def test_an_arn_says_the_region_and_the_account(tmp_path: Path, arn: str, expected: list[str]) -> None:
    on_hosts = service(4, cluster=arn, LaunchType="EC2")
    assert misfits(tmp_path, (HERE, provided("g6.xlarge")), (HERE, on_hosts)) == expected
