"""What runs tasks, other than services, as it is written by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, ResourceRequirement, Starter, Workload
from tests.template.resources.declared import fleet, joined, resource

CLUSTER = {"Type": "AWS::ECS::Cluster", "Properties": {}}
ARN = {"Fn::GetAtt": ["Cluster", "Arn"]}
GPU = [{"Type": "GPU", "Value": "4"}]
TASK = resource("ECS::TaskDefinition", Family="train", ContainerDefinitions=[{"Name": "main", "Memory": 100}])
PARTITION = {"Unknown": "AWS::Partition"}


def runs(**resources: Any) -> tuple[Workload, ...]:
    return fleet({"Cluster": CLUSTER, "Task": TASK, **resources}).workloads


def run(**resources: Any) -> Workload:
    (found,) = runs(**resources)
    return found


def rule(*targets: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return {"Type": "AWS::Events::Rule", "Properties": {"Targets": list(targets), **properties}}


def target(identity: str = "one", **parameters: Any) -> dict[str, Any]:
    given = {"TaskDefinitionArn": {"Ref": "Task"}, **parameters}
    return {"Arn": ARN, "Id": identity, "EcsParameters": given}


def schedule(**of_target: Any) -> dict[str, Any]:
    return {"Type": "AWS::Scheduler::Schedule", "Properties": {"Target": {"Arn": ARN, **of_target}}}


def machine(definition: Any, **properties: Any) -> dict[str, Any]:
    key = "Definition" if isinstance(definition, dict) and "States" in definition else "DefinitionString"
    return {"Type": "AWS::StepFunctions::StateMachine", "Properties": {key: definition, **properties}}


def state(resource: str = "arn:aws:states:::ecs:runTask.sync", **parameters: Any) -> dict[str, Any]:
    given = {"Cluster": "${cluster}", "TaskDefinition": "train", **parameters}
    return {"Type": "Task", "Resource": resource, "Parameters": given, "End": True}


def states(**found: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(found)), "States": found}


def seen(found: Workload) -> tuple[Any, ...]:
    return found.starter, None if found.task is None else found.task.name, found.cluster, found.launch_type


def test_a_rule_runs_a_task_with_each_target_that_is_a_cluster() -> None:
    queue = {"Arn": "arn:aws:sqs:eu-west-1:111122223333:queue", "Id": "queue"}
    (found,) = runs(Nightly=rule(target(LaunchType="EC2", TaskCount=3), queue))
    assert seen(found) == (Starter.RULE, "Task", "Cluster", "EC2")
    assert (found.name, found.desired_count, found.is_service) == ("Nightly", 3, False)
    assert [each.name for each in runs(Nightly=rule(target("a"), target("b")))] == ["Nightly[a]", "Nightly[b]"]


def test_what_is_turned_off_runs_no_copy() -> None:
    assert run(Nightly=rule(target(), State="DISABLED")).desired_count == 0


@pytest.mark.parametrize(
    ("network", "is_configured"),
    [(None, False), ({"AwsVpcConfiguration": {}}, True), ({"Unknown": 0}, UNKNOWN)],
)
def test_the_network_of_a_rule_has_a_name_of_its_own(network: Any, is_configured: Any) -> None:
    assert run(Nightly=rule(target(NetworkConfiguration=network))).network_configuration is is_configured


@pytest.mark.parametrize(("written", "expected"), [("ENABLED", True), ("DISABLED", False), (None, False)])
def test_a_run_says_whether_its_tasks_get_a_public_address(written: Any, expected: bool) -> None:
    for key in ("AwsVpcConfiguration", "AwsvpcConfiguration"):
        network = {key: {"Subnets": ["subnet-0a1"], "AssignPublicIp": written}}
        assert run(Nightly=rule(target(NetworkConfiguration=network))).assigns_public_ip is expected


def test_a_schedule_that_calls_the_api_by_name_runs_what_its_input_says() -> None:
    request = joined('{"Cluster": "', ARN, '", "TaskDefinition": "train:3", "LaunchType": "EC2"}')
    found = run(Nightly=schedule(Arn="arn:aws:scheduler:::aws-sdk:ecs:runTask", Input=request))
    assert seen(found) == (Starter.SCHEDULE, "Task", "Cluster", "EC2")


CLUSTER_OF_IT = {"DefinitionSubstitutions": {"cluster": ARN}}


@pytest.mark.parametrize(
    "definition",
    [
        json.dumps(states(Train=state("arn:aws:states:::ecs:runTask.waitForTaskToken"))),
        json.dumps(states(Train=state("arn:aws:states:::aws-sdk:ecs:runTask"))),
        json.dumps(states(Both={"Type": "Parallel", "Branches": [states(Wait={}), states(Train=state())]})),
        json.dumps(states(Train={**state(), "Parameters": None, "Arguments": state()["Parameters"]})),
    ],
)
def test_a_state_runs_a_task_wherever_it_is_in_the_machine(definition: Any) -> None:
    found = run(Machine=machine(definition, **CLUSTER_OF_IT))
    assert seen(found) == (Starter.STATE_MACHINE, "Task", "Cluster", None)
    assert found.name == "Machine[Train]"


def test_pieces_of_the_deploy_are_read_within_and_outside_of_texts() -> None:
    start, end = json.dumps(states(Train=state(Count="@"))).replace('"@"', "@").split("@")
    arn = start.replace("arn:aws:", "arn:|:").split("|")
    definition = joined(arn[0], PARTITION, arn[1], {"Unknown": "Copies"}, end)
    found = run(Machine=machine(definition, **CLUSTER_OF_IT))
    assert (found.cluster, found.desired_count) == ("Cluster", UNKNOWN)


@pytest.mark.parametrize(
    "parameters",
    [
        {"Cluster.$": "$.cluster", "Cluster": None},
        {"Cluster": "{% $states.input.cluster %}"},
    ],
)
def test_what_only_the_input_says_is_unknown(parameters: dict[str, Any]) -> None:
    written = {key: each for key, each in state(**parameters)["Parameters"].items() if each is not None}
    definition = json.dumps(states(Train={**state(), "Parameters": written}))
    assert run(Machine=machine(definition)).cluster is UNKNOWN


@pytest.mark.parametrize(
    ("overrides", "asked"),
    [
        ({"ContainerOverrides": [{"Name": "main", "ResourceRequirements": GPU}]}, "4"),
        ({"ContainerOverrides": [{"Name": "main", "Environment": []}]}, None),
        ({"ContainerOverrides": [{"Name": "other", "ResourceRequirements": GPU}]}, None),
    ],
)
def test_a_run_asks_for_what_it_overrides(overrides: dict[str, Any], asked: str | None) -> None:
    expected = () if asked is None else (ResourceRequirement(type="GPU", value=asked),)
    of_machine = run(Machine=machine(states(Train=state(Overrides=overrides)), **CLUSTER_OF_IT)).task
    text = json.dumps(overrides).replace("ContainerO", "containerO").replace("Name", "name")
    of_rule = run(Nightly=rule({**target(), "Input": text.replace("ResourceR", "resourceR")})).task
    assert of_machine is not None
    assert of_rule is not None
    assert of_machine.containers[0].requirements == of_rule.containers[0].requirements == expected


def test_a_number_of_gpus_that_the_input_says_is_unknown_and_no_odd_key() -> None:
    asked = {"ResourceRequirements": [{"Type": "GPU", "Value.$": "$.gpus"}], "Command.$": "$.command"}
    overrides = {"ContainerOverrides": [{"Name": "main", **asked}]}
    found = run(Machine=machine(states(Train=state(Overrides=overrides)), **CLUSTER_OF_IT))
    assert found.task is not None
    assert (found.commands, found.task.gpus) == (frozenset({"main"}), UNKNOWN)


def test_a_run_that_learns_its_size_from_an_event_is_not_judged() -> None:
    template = {"InputTemplate": '{"containerOverrides": [{"name": "main", "resourceRequirements": <gpus>}]}'}
    assert run(Nightly=rule({**target(), "InputTransformer": template})).task is None


@pytest.mark.parametrize(
    "definition",
    [
        "[]",
        '{"States": {"A": 3, "B": {"Resource": 4}, "C": {"Branches": 3, "Iterator": []}}}',
        '{"States": {"A": {"Resource": "arn:aws:states:::ecs:runTask", "Parameters": [1]}}}',
        '{"States": {"\\ud800": {"Resource": "arn:aws:states:::ecs:runTask", "Parameters": {}}}}',
    ],
)
def test_a_definition_that_cannot_be_read_runs_nothing(definition: Any) -> None:
    assert runs(Machine=machine(definition)) == ()


@pytest.mark.parametrize(
    ("overrides", "size"),
    [
        ({"cpu": "2048", "memory": "8 GB"}, (2048, 8192)),
        ({"memory": "512"}, (None, 512)),
        ({"containerOverrides": []}, (None, None)),
    ],
)
def test_a_run_may_override_the_size_of_the_whole_task(overrides: Any, size: Any) -> None:
    task = run(Nightly=schedule(EcsParameters={"TaskDefinitionArn": "train"}, Input=json.dumps(overrides))).task
    assert task is not None
    assert (task.cpu_limit, task.memory_limit_mib) == size
