"""Jobs of AWS Batch: what they ask for, how often they are repeated, and what is submitted to a queue."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.fleet import (
    UNKNOWN,
    Fleet,
    JobQueue,
    PoolKind,
    ResourceRequirement,
    Starter,
    Submission,
    Task,
)
from gpu_constructs.rules import Finding, Severity
from gpu_constructs.rules.batch.jobs import accepted_numbers, share_as_its_queue
from gpu_constructs.rules.fit.task_fits import fits_the_smallest
from gpu_constructs.rules.tasks.requests import taken
from tests.reports import of_part
from tests.rules.given import GPU_JOB, a_pool, fleet_of, gpu, job, mps, only, said
from tools.rule_examples import BASES, example_of


@pytest.mark.parametrize(
    ("requirement", "words"),
    [
        (gpu("ALL"), "asks AWS Batch for ALL GPUs of its host"),
        (gpu("0.5"), "asks AWS Batch for '0.5' of a GPU"),
        (replace(mps(), value=None), "asks AWS Batch for a share of a GPU (SharingStrategy)"),
    ],
)
def test_anything_but_whole_gpus_is_an_error(requirement: ResourceRequirement, words: str) -> None:
    finding = only(taken, fleet_of(job(requirement)))
    assert (finding.rule, finding.severity) == ("GPU020", Severity.ERROR)
    assert words in finding.message
    assert "ALL" not in finding.allowed
    assert finding.fix == '{"Type": "GPU", "Value": "1"}'


@pytest.mark.parametrize(
    "task",
    [job(gpu("8")), replace(job(gpu("ALL")), compatibilities=("FARGATE",))],
)
def test_whole_gpus_and_tasks_of_ecs_are_silent(task: Task) -> None:
    assert said(taken, fleet_of(task)) == []


def _submitted(*, shares: Any = False, **changes: Any) -> Fleet:
    queue = JobQueue(name="Queue", has_shares=shares)
    submission = {"name": "Nightly", "starter": Starter.SCHEDULE, "queue": queue, "task": GPU_JOB, **changes}
    return Fleet(submissions=(Submission(**submission),))


@pytest.mark.parametrize(
    ("changes", "words", "severity"),
    [
        ({"shares": True}, "without a share, and Queue has a fair-share policy", Severity.ERROR),
        (
            {"shares": True, "share": True},
            "neither it nor the job definition has a scheduling priority",
            Severity.WARNING,
        ),
    ],
)
def test_a_share_goes_with_the_policy_of_the_queue(changes: dict[str, Any], words: str, severity: Severity) -> None:
    finding = only(share_as_its_queue, _submitted(**changes))
    assert words in finding.message
    assert finding.severity is severity


@pytest.mark.parametrize(
    "changes",
    [
        {"shares": True, "share": UNKNOWN},
        {"shares": True, "task": None},
        {"shares": True, "task": job()},
        {"shares": True, "queue": None},
    ],
)
def test_what_may_be_right_is_not_said(changes: dict[str, Any]) -> None:
    assert said(share_as_its_queue, _submitted(**changes)) == []


@pytest.mark.parametrize(
    ("changes", "fixes"),
    [
        ({"copies": 1}, ["ArrayProperties.Size of 2 to 10,000"]),
        ({"attempts": 11}, ["RetryStrategy.Attempts of 1 to 10"]),
        ({"attempt_seconds": 59}, ["Timeout.AttemptDurationSeconds of 60 or more"]),
        ({"copies": 2, "attempts": UNKNOWN, "attempt_seconds": 60}, []),
        ({"copies": 1, "starter": Starter.RULE}, []),  # EventBridge refuses the target itself
    ],
)
def test_numbers_that_only_a_run_would_see_refused(changes: dict[str, Any], fixes: list[str]) -> None:
    assert [each.fix for each in said(accepted_numbers, _submitted(**changes))] == fixes


def test_a_condition_that_ends_a_job_repeats_nothing_by_choice() -> None:
    retries = '{Attempts: 3, EvaluateOnExit: [{OnExitCode: "1", Action: EXIT}]}'
    assert not of_part("GPU331", f"Resources:\n  Job:\n    Properties:\n      RetryStrategy: {retries}")


def _with_neuron(text: str) -> str:
    """A template of jobs with a Neuron device in place of a GPU."""
    for old, new in {
        '{"Type": "GPU", "Value": "1"}, ': "",
        '"Image": ': '"LinuxParameters": {"Devices": [{"HostPath": "/dev/neuron0"}]}, "Image": ',
        '"ImageType": "ECS_AL2023_NVIDIA"': '"ImageIdOverride": "ami-0123456789abcdef0"',
        "nvidia/cuda:12.8.1-base-ubuntu24.04": "example/infer:1",
        "g6.4xlarge": "inf2.8xlarge",
        "g6.xlarge": "inf2.xlarge",
        "g5.xlarge": "trn1.2xlarge",
    }.items():
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("rule", ["GPU294", "GPU295", "GPU296", "GPU342", "GPU347", "GPU350", "GPU351", "GPU362"])
def test_rules_of_jobs_hold_for_neuron_devices_as_for_gpus(rule: str) -> None:
    example, found = example_of(rule), []
    for part in (example.wrong, example.right):
        said = check_files(["-"], stdin=_with_neuron(example.file(part)).encode()).findings
        found.append([each.rule for each in said if each.severity is not Severity.INFO])
    assert found == [[rule], []]


@pytest.mark.parametrize(
    ("changes", "fixes"),
    [
        ({"Ec2Configuration": [{"ImageType": "ECS_AL2023"}]}, ["image al2023-neuron as ImageIdOverride"]),
        ({"Ec2Configuration": [], "LaunchTemplate": {"LaunchTemplateId": "lt-0123456789abcdef0"}}, []),
    ],
)
def test_an_image_of_batch_has_no_driver_for_neuron_devices(changes: dict[str, Any], fixes: list[str]) -> None:
    template = json.loads(_with_neuron(example_of("GPU294").file(example_of("GPU294").right)))
    template["Resources"]["Environment"]["Properties"]["ComputeResources"].update(changes)
    said = check_files(["-"], stdin=json.dumps(template).encode()).findings
    assert [each.fix for each in said if each.severity is Severity.ERROR] == fixes


def test_nodes_with_neuron_devices_fit_their_hosts() -> None:
    text = _with_neuron(example_of("GPU294").file(example_of("GPU294").right)).replace("14000", "64000")
    found = check_files(["-"], stdin=text.replace('"PlatformCapabilities": ["EC2"], ', "").encode()).findings
    assert [each.rule for each in found if each.severity is Severity.ERROR] == ["GPU061"]


_SUBMIT = "arn:aws:states:::batch:submitJob"
# Another queue, whose hosts have four GPUs, and one on Fargate.
_MORE = """
  Large:
    Type: AWS::Batch::ComputeEnvironment
    Properties:
      Type: MANAGED
      ComputeResources: {Type: EC2, MinvCpus: 0, MaxvCpus: 96, InstanceTypes: [g6.12xlarge], Subnets: !Ref Subnets}
  LargeQueue:
    Type: AWS::Batch::JobQueue
    Properties: {Priority: 1, ComputeEnvironmentOrder: [{Order: 1, ComputeEnvironment: !Ref Large}]}
  Fargate:
    Type: AWS::Batch::ComputeEnvironment
    Properties: {Type: MANAGED, ComputeResources: {Type: FARGATE, MaxvCpus: 16, Subnets: !Ref Subnets}}
  FargateQueue:
    Type: AWS::Batch::JobQueue
    Properties: {Priority: 1, ComputeEnvironmentOrder: [{Order: 1, ComputeEnvironment: !Ref Fargate}]}
"""


def _state(queue: str = "Queue", resource: str = _SUBMIT, **request: Any) -> dict[str, Any]:
    parameters = {"JobName": "train", "JobDefinition": "${Job}", "JobQueue": f"${{{queue}}}", **request}
    return {"Type": "Task", "Resource": resource, "Parameters": parameters}


def _asks_for(*requirements: dict[str, Any]) -> dict[str, Any]:
    return {"ContainerOverrides": {"ResourceRequirements": list(requirements)}}


def found(*states: dict[str, Any], gpus: int = 1) -> list[Finding]:
    """Errors about a job of so many GPUs that a state machine submits to hosts with one GPU, or another queue."""
    ends = [{"Next": f"S{number + 1}"} for number in range(len(states) - 1)] + [{"End": True}]
    run = {f"S{number}": {**each, **end} for number, (each, end) in enumerate(zip(states, ends, strict=True))}
    definition = json.dumps({"StartAt": "S0", "States": run})
    machine = f"""
  Machine:
    Type: AWS::StepFunctions::StateMachine
    Properties: {{RoleArn: x, DefinitionString: !Sub '{definition}'}}
"""
    text = (BASES / "batch.yaml").read_text(encoding="utf-8") + _MORE + machine
    text = text.replace('{Type: GPU, Value: "1"}', f'{{Type: GPU, Value: "{gpus}"}}')
    return [each for each in check_files(["-"], stdin=text.encode()).findings if each.severity.value == "error"]


@pytest.mark.parametrize(
    ("gpus", "states", "rules"),
    [
        (4, [_state("LargeQueue")], []),
        (1, [_state(**_asks_for({"Type": "MEMORY", "Value": "64000"}))], ["GPU061"]),
        (1, [_state(**_asks_for({"Type": "VCPU", "Value": "128"}))], ["GPU061"]),
        (1, [_state("FargateQueue")], ["GPU295"]),
    ],
)
def test_a_job_is_judged_on_the_hosts_of_the_queue(gpus: int, states: list[Any], rules: list[str]) -> None:
    assert [each.rule for each in found(*states, gpus=gpus)] == rules


def test_a_submission_asks_for_gpus_as_its_job_definition_does() -> None:
    (finding,) = (each for each in found(_state(**_asks_for({"Type": "GPU", "Value": "ALL"}))) if each.rule == "GPU020")
    assert finding.subject == "Machine[S0]"


@pytest.mark.parametrize(
    "request_",
    [
        {"ContainerOverrides": {"ResourceRequirements.$": "$.sizes"}},
        {"ContainerOverrides.$": "$.overrides"},
        {"EcsPropertiesOverride.$": "$.overrides"},
        {"EcsPropertiesOverride": {"TaskProperties": [{"Containers": [{"Name": "default"}]}]}},
        {"NodeOverrides.$": "$.nodes"},
        {"ContainerOverrides": {"Vcpus": 2}},
    ],
)
def test_sizes_that_only_a_submission_knows_are_not_judged(request_: dict[str, Any]) -> None:
    assert found(_state(**request_), gpus=8) == []


def test_overrides_of_other_things_leave_the_sizes() -> None:
    assert [each.rule for each in found(_state(ContainerOverrides={"Command": ["x"]}), gpus=8)] == ["GPU061"]


_OTHER_QUEUES = [
    "arn:aws:batch:us-east-1:123456789012:job-queue/other",
    "other",
    {"Fn::ImportValue": "queue"},
    {"Ref": "Subnets"},
    {"Fn::Sub": "arn:aws:batch:${AWS::Region}:${AWS::AccountId}:job-queue/other"},
]


def _by_pipe(queue: Any) -> dict[str, Any]:
    parameters = {"BatchJobParameters": {"JobDefinition": "train", "JobName": "x"}}
    properties = {"RoleArn": "x", "Source": "x", "Target": queue, "TargetParameters": parameters}
    return {"Type": "AWS::Pipes::Pipe", "Properties": properties}


def _by_schedule(queue: Any) -> dict[str, Any]:
    request = {"JobDefinition": "train", "JobName": "x", "JobQueue": queue}
    arn = "arn:aws:scheduler:::aws-sdk:batch:submitJob"
    target = {"Arn": arn, "RoleArn": "x", "Input": json.dumps(request)}
    return {"Type": "AWS::Scheduler::Schedule", "Properties": {"ScheduleExpression": "rate(1 day)", "Target": target}}


@pytest.mark.parametrize(
    ("submits", "queues"),
    [(_by_pipe, _OTHER_QUEUES), (_by_schedule, _OTHER_QUEUES[:2])],
)
def test_a_job_in_a_queue_of_other_files_is_not_judged(submits: Any, queues: list[Any]) -> None:
    text = (
        (BASES / "batch.yaml").read_text(encoding="utf-8").replace('{Type: GPU, Value: "1"}', '{Type: GPU, Value: "8"}')
    )
    text = text.replace("Priority: 1", "Priority: 1\n      JobQueueName: jobs")
    text = text.replace("Type: container", "Type: container\n      JobDefinitionName: train")

    def judged(queue: Any) -> list[str]:
        stdin = f"{text}\n  Submits: {json.dumps(submits(queue))}\n".encode()
        return [each.rule for each in check_files(["-"], stdin=stdin).findings if each.rule in {"GPU061", "GPU229"}]

    assert judged("jobs") == ["GPU061"]
    assert [judged(each) for each in queues] == [["GPU229"]] * len(queues)


@pytest.mark.parametrize(("other", "vcpus", "is_found"), [("xlarge", 4, 1), ("xlarge", 64, 0), ("48xlarge", 4, 0)])
def test_batch_does_not_count_devices_when_it_chooses_a_type(other: str, vcpus: int, is_found: int) -> None:
    pool = a_pool(f"inf2.{other}", "inf2.24xlarge", kind=PoolKind.BATCH)
    task = job(devices=("/dev/neuron0", "/dev/neuron5"), cpu=vcpus * 1024)
    found = said(fits_the_smallest, Fleet(pools=(pool,), tasks=(task,)))
    assert [each.fix for each in found] == ["a compute environment of inf2.24xlarge alone"] * is_found
