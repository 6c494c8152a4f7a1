"""What was given is the world: what fits on no host here is an error, unless something here says that there is more."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.check.report import check_files
from tests.cli.templates import template
from tests.template.resources.declared import resource

Body = dict[str, Any]
EIGHT = {
    "family": "train",
    "requiresCompatibilities": ["EC2"],
    "containerDefinitions": [
        {"name": "c", "image": "x", "memory": 4096, "resourceRequirements": [{"type": "GPU", "value": "8"}]}
    ],
}


def by_launch_type() -> Body:
    """Eight GPUs on hosts that have one, in a service that has no strategy."""
    body = template(gpus="8")
    service = body["Resources"]["Service"]["Properties"]
    service.pop("CapacityProviderStrategy", None)
    service["LaunchType"] = "EC2"
    return body


def by_hand() -> Body:
    """The same task, which no service runs."""
    body = template(gpus="8")
    del body["Resources"]["Service"]
    return body


def on_hosts_without_gpus() -> Body:
    body = by_hand()
    data = body["Resources"]["LaunchTemplate"]["Properties"]["LaunchTemplateData"]
    data |= {
        "InstanceType": "c7i.4xlarge",
        "ImageId": "{{resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/recommended/image_id}}",
    }
    return body


def job() -> Body:
    needs = [{"Type": "GPU", "Value": "8"}, {"Type": "VCPU", "Value": "4"}, {"Type": "MEMORY", "Value": "8192"}]
    hosts = {"Type": "EC2", "InstanceTypes": ["g6.xlarge"], "MinvCpus": 0, "MaxvCpus": 64, "Subnets": ["subnet-1"]}
    order = [{"Order": 1, "ComputeEnvironment": {"Ref": "Environment"}}]
    return {
        "Resources": {
            "Environment": resource("Batch::ComputeEnvironment", Type="MANAGED", ComputeResources=hosts),
            "Queue": resource("Batch::JobQueue", Priority=1, ComputeEnvironmentOrder=order),
            "Job": resource(
                "Batch::JobDefinition",
                Type="container",
                ContainerProperties={"Image": "x", "ResourceRequirements": needs},
            ),
        }
    }


def said(*inputs: Any, **more: Any) -> set[tuple[str, str]]:
    """Errors, and warnings that a task does not fit."""
    findings = check_files(inputs, **more).findings
    fit = {"GPU060", "GPU061", "GPU062"}
    return {(each.rule, str(each.severity)) for each in findings if each.rule in fit or str(each.severity) == "error"}


@pytest.mark.parametrize(
    ("body", "rule"),
    [(by_launch_type, "GPU060"), (by_hand, "GPU061"), (on_hosts_without_gpus, "GPU062"), (job, "GPU061")],
)
def test_what_fits_on_no_host_of_the_files_is_an_error_unless_they_are_a_part(
    body: Callable[[], Body], rule: str
) -> None:
    assert said(body()) == {(rule, "error")}
    assert said(body(), partial=True) == {(rule.replace("060", "061"), "warning")}


def test_a_task_definition_of_its_own_is_judged_by_the_hosts_that_it_is_given_with(tmp_path: Path) -> None:
    task, hosts = tmp_path / "task.json", template()
    task.write_text(json.dumps(EIGHT))
    del hosts["Resources"]["Service"]
    assert said(hosts, task) == {("GPU061", "error")}
    assert said(task) == set()


def importing_the_cluster(body: Body) -> None:
    for each in ("Association", "Service"):
        body["Resources"][each]["Properties"]["Cluster"] = {"Fn::ImportValue": "cluster"}


def naming_a_cluster_that_is_elsewhere(body: Body) -> None:
    body["Parameters"] = {"Shared": {"Type": "String", "Default": "shared"}}
    for each in ("Association", "Service"):
        body["Resources"][each]["Properties"]["Cluster"] = {"Ref": "Shared"}
    data = body["Resources"]["LaunchTemplate"]["Properties"]["LaunchTemplateData"]
    data["UserData"]["Fn::Base64"] = {"Fn::Sub": "#!/bin/bash\necho ECS_CLUSTER=${Shared} >> /etc/ecs/ecs.config\n"}


def with_a_strategy_that_names_one(body: Body) -> None:
    other = deepcopy(body["Resources"]["Service"])
    other["Properties"].pop("LaunchType")
    other["Properties"]["CapacityProviderStrategy"] = [{"CapacityProvider": "eight-gpus", "Weight": 1}]
    body["Resources"]["Other"] = other


def with_hosts_whose_cluster_is_not_known(body: Body) -> None:
    data = {"InstanceType": "p5.48xlarge", "ImageId": "ami-0123456789abcdef0"}
    version = {"LaunchTemplateName": "other", "Version": "1"}
    body["Resources"]["OtherLaunch"] = resource(
        "EC2::LaunchTemplate", LaunchTemplateName="other", LaunchTemplateData=data
    )
    body["Resources"]["OtherHosts"] = resource(
        "AutoScaling::AutoScalingGroup",
        MinSize="0",
        MaxSize="1",
        VPCZoneIdentifier=["subnet-1"],
        LaunchTemplate=version,
    )


@pytest.mark.parametrize(
    "says_that_there_is_more",
    [
        importing_the_cluster,
        naming_a_cluster_that_is_elsewhere,
        lambda body: body["Resources"]["Association"]["Properties"]["CapacityProviders"].append("eight-gpus"),
        with_a_strategy_that_names_one,
        with_hosts_whose_cluster_is_not_known,
        lambda body: body["Resources"].update(
            Fleet=resource("EC2::SpotFleet", SpotFleetRequestConfigData={"TargetCapacity": 1})
        ),
    ],
)
def test_files_that_mention_other_hosts_leave_it_open(says_that_there_is_more: Callable[[Body], None]) -> None:
    body = by_launch_type()
    says_that_there_is_more(body)
    assert ("GPU060", "error") not in said(body)


def test_a_queue_with_an_environment_of_another_file_leaves_a_job_open() -> None:
    body = job()
    order = body["Resources"]["Queue"]["Properties"]["ComputeEnvironmentOrder"]
    order.append({"Order": 2, "ComputeEnvironment": {"Fn::ImportValue": "environment"}})
    assert said(body) == {("GPU061", "warning")}


@pytest.mark.parametrize("image", ["/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64", None])
def test_hosts_without_an_agent_or_too_small_leave_nothing_open(image: str | None) -> None:
    body = by_launch_type()
    bastion = {
        "InstanceType": "t3.nano",
        "ImageId": f"{{{{resolve:ssm:{image}}}}}" if image else "ami-0123456789abcdef0",
    }
    body["Resources"]["Bastion"] = resource("EC2::Instance", **bastion)
    assert said(body) == {("GPU060", "error")}


def test_each_cluster_is_a_world_of_its_own() -> None:
    body = by_launch_type()
    other = deepcopy(body["Resources"]["Service"])
    other["Properties"]["Cluster"] = {"Fn::ImportValue": "cluster"}
    body["Resources"]["Other"] = other
    errors = [each for each in check_files([body]).findings if each.rule == "GPU060"]
    assert [each.subject for each in errors] == ["Service"]
