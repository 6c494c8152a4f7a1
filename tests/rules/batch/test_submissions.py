"""Jobs that a state machine submits are judged with what it asks for, on the compute environments of their queue."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpu_constructs.checking.report import check_files
from gpu_constructs.rules import Finding
from tools.rule_examples import BASES

_FOUR_GPUS = {"Type": "GPU", "Value": "4"}
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
    return {"Type": "Task", "Resource": resource, "Parameters": parameters, "End": True}


def _asks_for(*requirements: dict[str, Any]) -> dict[str, Any]:
    return {"ContainerOverrides": {"ResourceRequirements": list(requirements)}}


def found(*states: dict[str, Any], gpus: int = 1) -> list[Finding]:
    """Errors about a job of so many GPUs that a state machine submits to hosts with one GPU, or another queue."""
    definition = json.dumps({"StartAt": "S0", "States": {f"S{number}": each for number, each in enumerate(states)}})
    machine = f"""
  Machine:
    Type: AWS::StepFunctions::StateMachine
    Properties: {{RoleArn: x, DefinitionString: !Sub '{definition}'}}
"""
    text = (BASES / "batch.yaml").read_text(encoding="utf-8") + _MORE + machine
    text = text.replace('{Type: GPU, Value: "1"}', f'{{Type: GPU, Value: "{gpus}"}}')
    return [each for each in check_files(["-"], stdin=text.encode()).findings if each.severity.value == "error"]


@pytest.mark.parametrize("resource", [_SUBMIT, f"{_SUBMIT}.sync", "arn:aws:states:::aws-sdk:batch:submitJob"])
def test_a_submission_for_more_gpus_than_its_queue_has_is_an_error_there(resource: str) -> None:
    (finding,) = found(_state(resource=resource, **_asks_for(_FOUR_GPUS)))
    assert (finding.rule, finding.subject) == ("GPU061", "Machine[S0]")
    assert "Environment: GPUs: 4 asked, g6.xlarge has 1" in finding.message
    assert finding.ways  # tried on the job as it is submitted


@pytest.mark.parametrize(
    ("gpus", "states", "rules"),
    [
        (4, [_state("LargeQueue")], []),
        (4, [_state()], ["GPU061"]),
        (4, [_state(), _state("LargeQueue")], ["GPU061"]),
        (4, [_state(**_asks_for({"Type": "GPU", "Value": "1"}))], []),
        (1, [_state("LargeQueue", **_asks_for(_FOUR_GPUS))], []),
        (1, [_state(**_asks_for({"Type": "MEMORY", "Value": "64000"}))], ["GPU061"]),
        (1, [_state(**_asks_for({"Type": "VCPU", "Value": "128"}))], ["GPU061"]),
        (1, [_state("FargateQueue")], ["GPU295"]),
        (8, [_state("Elsewhere", JobQueue="arn:aws:batch:us-east-1:123456789012:job-queue/other")], ["GPU061"]),
    ],
)
def test_a_job_is_judged_on_the_hosts_of_the_queue(gpus: int, states: list[Any], rules: list[str]) -> None:
    assert [each.rule for each in found(*states, gpus=gpus)] == rules


@pytest.mark.parametrize(
    "request_",
    [
        {"ContainerOverrides": {"ResourceRequirements.$": "$.sizes"}},
        {"ContainerOverrides.$": "$.overrides"},
        _asks_for({"Type": "GPU", "Value.$": "$.gpus"}),
        _asks_for({"Type.$": "$.kind", "Value": "1"}),
        {"EcsPropertiesOverride": {"TaskProperties": [{"Containers": []}]}},
        {"ContainerOverrides": {"Vcpus": 2}},
    ],
)
def test_sizes_that_only_a_submission_knows_are_not_judged(request_: dict[str, Any]) -> None:
    assert found(_state(**request_), gpus=8) == []


def test_overrides_of_other_things_leave_the_sizes() -> None:
    assert [each.rule for each in found(_state(ContainerOverrides={"Command": ["x"]}), gpus=8)] == ["GPU061"]
