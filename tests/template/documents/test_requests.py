"""What the AWS CLI takes in a file is read as a template would say it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.check.report import Report, check_files
from gpu_constructs.cli.check import summary
from gpu_constructs.fleet import Fleet
from gpu_constructs.rules import Severity
from gpu_constructs.template import UnreadableError, fleet_of
from tests.template.written import read_stacks

SIZES = [{"type": "GPU", "value": "1"}, {"type": "VCPU", "value": "4"}, {"type": "MEMORY", "value": "12000"}]
CONTAINER = {"image": "train:1", "resourceRequirements": SIZES, "linuxParameters": {"sharedMemorySize": 64}}
JOB = {"jobDefinitionName": "train", "type": "container", "timeout": {"attemptDurationSeconds": 600}}
ONE = {**JOB, "containerProperties": CONTAINER, "parameters": {"epochs": "3"}}
GANG = {
    **JOB,
    "type": "multinode",
    "nodeProperties": {
        "numNodes": 2,
        "mainNode": 0,
        "nodeRangeProperties": [{"targetNodes": "0:", "container": {**CONTAINER, "instanceType": "g6.xlarge"}}],
    },
}
SEVERAL = {**JOB, "ecsProperties": {"taskProperties": [{"containers": [{**CONTAINER, "name": "main"}]}]}}
OF_EKS = {
    **JOB,
    "jobDefinitionName": "pods",
    "eksProperties": {"podProperties": {"containers": [{"image": "train:1"}]}},
}
TASK = {
    "family": "chat",
    "requiresCompatibilities": ["EC2"],
    "containerDefinitions": [
        {"name": "main", "image": "chat:1", "memory": 12000, "resourceRequirements": [{"type": "GPU", "value": "1"}]}
    ],
}
SERVICE = {
    "cluster": "gpu",
    "serviceName": "chat-service",
    "taskDefinition": "chat:3",
    "desiredCount": 2,
    "capacityProviderStrategy": [{"capacityProvider": "l4", "weight": 1}],
    "deploymentConfiguration": {"minimumHealthyPercent": 50},
    "networkConfiguration": {"awsvpcConfiguration": {"subnets": ["subnet-1"]}},
    "placementConstraints": [{"type": "distinctInstance"}],
}
EIGHT = {"containerOverrides": [{"name": "main", "resourceRequirements": [{"type": "GPU", "value": "8"}]}]}
RUN = {"cluster": "gpu", "taskDefinition": "chat", "count": 2, "overrides": EIGHT}
SUBMISSION = {"jobName": "night", "jobQueue": "queue", "jobDefinition": "train"}


def read(*contents: Mapping[str, Any]) -> Fleet:
    stacks = read_stacks(contents)
    return fleet_of(stacks.stacks, tasks=stacks.tasks, remarks=stacks.remarks)


def in_template(**resources: tuple[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    return {
        "Resources": {name: {"Type": kind, "Properties": _pascal(each)} for name, (kind, each) in resources.items()}
    }


def _pascal(value: Any) -> Any:
    if isinstance(value, dict):
        return {f"{key[0].upper()}{key[1:]}": _pascal(each) for key, each in value.items()}
    return [_pascal(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("job", [ONE, GANG, SEVERAL])
def test_a_job_is_the_one_of_a_template(job: Mapping[str, Any]) -> None:
    (task,) = read(job).tasks
    assert (task,) == read(in_template(train=("AWS::Batch::JobDefinition", job))).tasks
    assert (task.gpus, task.memory_mib, task.attempt_seconds) == (1, 12000, 600)


def test_a_job_without_hosts_is_sent_to_its_compute_environment() -> None:
    (found,) = check_files([ONE]).unchecked
    assert found.fix == "check these files with the compute environment and the job queue of its jobs"
    hosts = {"type": "EC2", "instanceTypes": ["g6.xlarge"], "ec2Configuration": [{"imageType": "ECS_AL_NVIDIA"}]}
    (found,) = check_files([ONE, {"computeEnvironmentName": "gpu", "computeResources": hosts}]).unchecked
    assert "imageType of AWS Batch: ECS_AL2023_NVIDIA, or ECS_AL2023 without" in found.fix


def test_a_service_is_the_one_of_a_template_and_finds_its_task_by_family() -> None:
    (service,) = read(SERVICE, TASK).workloads
    there = in_template(**{"chat-service": ("AWS::ECS::Service", SERVICE)})
    assert (service,) == read(there, TASK).workloads
    assert service.task is not None
    assert (service.name, service.is_service, service.desired_count, service.task.name) == (
        "chat-service",
        True,
        2,
        "chat",
    )


@pytest.mark.parametrize("name", ["other:1", "${TASK}"])
def test_a_task_definition_of_other_files_is_not_checked(name: str) -> None:
    report = check_files([{**SERVICE, "taskDefinition": name}])
    assert "do not define the task definition of chat-service" in report.unchecked_line
    assert [each for each in report.findings if each.severity is not Severity.INFO] == []


def test_a_run_is_judged_with_what_it_overrides(tmp_path: Path) -> None:
    for name, content in (("run.json", RUN), ("task.json", TASK)):
        (tmp_path / name).write_text(json.dumps(content, indent=1))
    report = check_files([tmp_path / "run.json", tmp_path / "task.json"], hosts={"g6.xlarge": 4})
    (error,) = (each for each in report.findings if each.severity is Severity.ERROR)
    assert (error.rule, error.subject, error.value) == ("GPU060", "run", 8)
    assert error.origin is not None
    assert error.origin.path == ("overrides", "containerOverrides", 0, "resourceRequirements")
    (run,) = report.fleet.workloads
    assert (run.is_service, run.desired_count, run.starter.value) == (False, 2, "command")


@pytest.mark.parametrize("is_template", [True, False])
def test_a_submission_is_judged_on_the_queue_that_it_names(*, is_template: bool) -> None:
    resources = {"type": "EC2", "instanceTypes": ["g6.xlarge"], "maxvCpus": 64}
    environment = {"type": "MANAGED", "computeEnvironmentName": "hosts", "computeResources": resources}
    order = [{"order": 1, "computeEnvironment": "hosts"}]
    queue = {"jobQueueName": "queue", "computeEnvironmentOrder": order}
    template = in_template(hosts=("AWS::Batch::ComputeEnvironment", environment), queue=("AWS::Batch::JobQueue", queue))
    there = [template] if is_template else [environment, queue]
    large = {**SUBMISSION, "containerOverrides": {"resourceRequirements": [{"type": "GPU", "value": "4"}]}}

    def errors(*contents: Mapping[str, Any]) -> list[tuple[str, str]]:
        found = check_files([*contents]).findings
        return [(each.rule, each.subject) for each in found if each.severity is Severity.ERROR]

    assert errors(*there, ONE, SUBMISSION) == []
    assert errors(*there, ONE, large) == [("GPU061", "night")]
    assert errors(*there, ONE, {**large, "jobQueue": "of-others"}) == []


@pytest.mark.parametrize("content", [OF_EKS, in_template(pods=("AWS::Batch::JobDefinition", OF_EKS))])
def test_jobs_on_kubernetes_are_counted_and_left_alone(content: Mapping[str, Any]) -> None:
    report: Report = check_files([content, ONE])
    assert (report.skipped_jobs, len(report.fleet.tasks)) == (1, 1)
    assert summary(report).endswith("; 1 job for Amazon EKS skipped")
    assert summary(check_files([content])).endswith("found in template; 1 job for Amazon EKS skipped")
    assert check_files([ONE]).skipped_jobs == 0


@pytest.mark.parametrize(
    "content",
    [
        {"taskDefinition": "chat", "overrides": []},
        {"serviceName": {}, "taskDefinition": "chat", "capacityProviderStrategy": "l4"},
        {"nodeProperties": {"nodeRangeProperties": {"0": []}}},
        {"jobQueue": [], "jobDefinition": {}},
    ],
)
def test_wrong_kinds_of_values_are_no_crash(content: Mapping[str, Any]) -> None:
    check_files([content, TASK, ONE])


@pytest.mark.parametrize("content", [{"taskDefinition": 5}, {"containerProperties": "x"}, {"jobQueue": "queue"}])
def test_what_is_no_request_is_told_what_is_read(content: Mapping[str, Any]) -> None:
    with pytest.raises(
        UnreadableError, match="a service .serviceName and taskDefinition., a run of a task or a job, a compute"
    ):
        read_stacks([content])
