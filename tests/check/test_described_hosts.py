"""Hosts that a user describes take the tasks whose hosts no file defines."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.check.report import Report, check_files
from gpu_constructs.errors import InvalidValueError, UnknownNameError
from gpu_constructs.facts import accelerated, general
from tests.cli.templates import template

SHARED = {"CapacityProvider": "shared-gpus", "Weight": 1}


def elsewhere(copies: int = 1, **properties: Any) -> dict[str, Any]:
    """A task and its service, whose cluster and providers another team has."""
    body = template()
    kept = {each: body["Resources"][each] for each in ("Chat", "Service")}
    service = kept["Service"]["Properties"]
    del service["CapacityProviderStrategy"]
    service |= {"Cluster": "shared", "DesiredCount": copies, **properties}
    return {"Resources": kept}


def reviewed(body: dict[str, Any], instance_type: str = "g6.xlarge", number: int = 2) -> Report:
    return check_files([body], hosts={instance_type: number})


@pytest.mark.parametrize(
    ("properties", "missing"),
    [
        ({"LaunchType": "EC2"}, "hosts of cluster shared"),
        ({"LaunchType": "EC2", "Cluster": {"Fn::ImportValue": "cluster"}}, "hosts of its cluster"),
        ({"CapacityProviderStrategy": [SHARED]}, "capacity provider shared-gpus"),
    ],
)
def test_what_is_unchecked_without_them_is_judged_with_them(properties: dict[str, Any], missing: str) -> None:
    (unchecked,) = check_files([elsewhere(**properties)]).unchecked
    assert unchecked.message == f"these files do not define {missing}, so it is not known whether Chat fits its hosts"
    assert reviewed(elsewhere(**properties)).unchecked == ()
    (error,) = [each for each in reviewed(elsewhere(**properties), "c7i.large").findings if each.rule == "GPU060"]
    assert "does not fit on any host of its cluster here (2 described hosts c7i.large: GPUs: 1 asked" in error.message


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ({"Fn::GetAtt": ["Made", "Arn"]}, "a custom resource, Made, makes the Auto Scaling group of Provider"),
        ({"Fn::ImportValue": "group"}, "no file that was read shows which Auto Scaling group Provider has"),
    ],
)
def test_they_stand_for_a_group_that_no_file_describes(made: dict[str, Any], reason: str) -> None:
    body = template()
    resources = body["Resources"]
    resources["Provider"]["Properties"]["AutoScalingGroupProvider"]["AutoScalingGroupArn"] = made
    hosts = resources.pop("Hosts")
    resources["Made"] = {"Type": "Custom::Group", "Properties": {"ServiceToken": "arn"}}
    alone = {each.rule: each for each in check_files([body]).findings}
    assert alone["GPU005"].message.startswith(reason)
    assert ("--hosts g6.xlarge=4" in alone["GPU005"].fix) is ("Fn::GetAtt" in made)
    assert "GPU229" in alone
    assert not {"GPU005", "GPU229"} & {each.rule for each in reviewed(body).findings}
    resources["Made"]["Properties"]["Name"] = {"Ref": "Hosts"}  # whose ARN it looks up
    rules = {each.rule for each in check_files([{"Resources": {**resources, "Hosts": hosts}}]).findings}
    assert ("GPU005" in rules) is ("Fn::ImportValue" in made)


def test_a_host_of_no_file_has_no_metadata_that_declares_its_image() -> None:
    found = {each.rule: each for each in reviewed(elsewhere(LaunchType="EC2"), "p2.xlarge").findings}
    assert found["GPU229"].fix == "describe hosts of a type for which there is an ECS-optimized image"


def test_every_type_in_more_clusters_than_can_be_judged_is_refused() -> None:
    body = elsewhere(LaunchType="EC2")
    service = body["Resources"].pop("Service")
    for number in range(81):
        properties = {**service["Properties"], "Cluster": f"c{number}"}
        body["Resources"][f"Service{number}"] = {**service, "Properties": properties}
    types = [each.name for each in (*accelerated(), *general())]
    with pytest.raises(InvalidValueError, match=f"{len(types)} types of hosts are described for each of 81 clusters"):
        check_files([body], hosts=dict.fromkeys(types, 1))


def test_a_task_that_no_service_runs_is_judged_by_them() -> None:
    alone = {"Resources": {"Chat": elsewhere()["Resources"]["Chat"]}}
    (unchecked,) = check_files([alone]).unchecked
    assert unchecked.message.startswith("these files do not define its hosts, ")
    assert reviewed(alone).unchecked == ()
    assert [each.rule for each in reviewed(alone, "c7i.large").findings] == ["GPU062"]


@pytest.mark.parametrize(("compatibilities", "count"), [(["EC2"], 1), (["EC2", "FARGATE"], 0), ([], 0)])
def test_a_task_without_gpus_that_no_service_runs_is_unchecked_if_only_ec2_runs_it(
    compatibilities: list[str], count: int
) -> None:
    task = elsewhere()["Resources"]["Chat"]
    del task["Properties"]["ContainerDefinitions"][0]["ResourceRequirements"]
    task["Properties"]["RequiresCompatibilities"] = compatibilities
    assert len(check_files([{"Resources": {"Chat": task}}]).unchecked) == count


def test_hosts_that_the_files_define_are_judged_as_they_are() -> None:
    findings = reviewed(template(gpus="8"), "p5.48xlarge").findings
    assert "GPU060" in {each.rule for each in findings}


@pytest.mark.parametrize(
    ("hosts", "error"), [({"g6.xlarg": 1}, UnknownNameError), ({"g6.xlarge": 0}, InvalidValueError)]
)
def test_what_describes_no_hosts_is_refused(hosts: dict[str, int], error: type[Exception]) -> None:
    with pytest.raises(error):
        check_files([elsewhere()], hosts=hosts)
