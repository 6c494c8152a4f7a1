"""What is called with each role of an app, read from its template: what is not known here is an error.

The agent: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/instance_IAM_role.html. Integrations of Step
Functions: https://docs.aws.amazon.com/step-functions/latest/dg/service-integration-iam-templates.html. S3 on buckets
and objects: https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3.html.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from gpu_constructs.account.live.self_test import task_definition
from gpu_constructs.cluster.monitoring.daemon_task import LOADER, PROGRAM
from gpu_constructs.facts import instance_type
from tests.policies.simulator import Call
from tests.policies.world import HERE, World

__all__ = ["calls_of"]

_Made = Iterator[tuple[str, Call]]
_RULE = f"arn:aws:events:{HERE}:rule/StepFunctionsGetEventsFor"
_HEARS = ("events:PutTargets", "events:PutRule", "events:DescribeRule")
_LOGS = ("logs:CreateLogStream", "logs:PutLogEvents")
_PULL = ("ecr:BatchCheckLayerAvailability", "ecr:GetDownloadUrlForLayer", "ecr:BatchGetImage")
_AGENT = ("Poll", "StartTelemetrySession")
_ON_CLUSTER = ("RegisterContainerInstance", "SubmitAttachmentStateChanges", "SubmitTaskStateChange")
_OLDER = ("DeregisterContainerInstance", "SubmitContainerStateChange")
_SSM = (
    "ssm:UpdateInstanceInformation",
    *(f"ssmmessages:{verb}{kind}Channel" for verb in ("Create", "Open") for kind in ("Control", "Data")),
)
_READS = ("s3:GetObject",)
_WRITES = (*_READS, "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload")
_COLLECTED = re.compile(r'aws\("(\w+)"\)\.(\w+)\(')
_PLACE = re.compile(r"(?:^|')s3://([^/]+)/?([^{']*)")


def calls_of(world: World) -> list[tuple[str, Call]]:
    """Every call with the ARN of the role that makes it."""
    parts: tuple[Callable[[World], _Made], ...] = (_machines, _starts, _hosts, _tasks, _jobs)
    return [each for part in parts for each in part(world)]


def _machines(world: World) -> _Made:
    for name, machine in world.of("StepFunctions::StateMachine").items():
        for state in _states(json.loads(machine["DefinitionString"])):
            if state["Type"] == "Task":
                asked = state["Resource"].split(":states:::")[1]
                for each in _integration(world, name, asked, state["Parameters"]):
                    yield machine["RoleArn"], each
                if "TaskDefinition" in state["Parameters"]:
                    role = _definition(world, state["Parameters"])["TaskRoleArn"]
                    for container in state["Parameters"]["Overrides"]["ContainerOverrides"]:
                        yield from _data(role, container)


def _states(definition: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for state in definition["States"].values():
        yield state
        for inner in (state.get("Iterator"), state.get("ItemProcessor"), *state.get("Branches", ())):
            yield from _states(inner) if inner else ()


def _integration(world: World, machine: str, asked: str, given: dict[str, Any]) -> Iterator[Call]:
    service, _, action = asked.removeprefix("aws-sdk:").partition(":")
    name = f"{'states' if service == 'sfn' else service}:{action[:1].upper()}{action[1:]}"
    if asked == "ecs:runTask.sync":
        yield from _run_task(world, given)
    elif asked == "states:startExecution.sync:2":
        execution = given["StateMachineArn"].replace(":stateMachine:", ":execution:") + ":one"
        yield Call("states:StartExecution", given["StateMachineArn"])
        yield from (Call(f"states:{each}Execution", execution) for each in ("Describe", "Stop"))
        yield from (Call(each, f"{_RULE}StepFunctionsExecutionRule") for each in _HEARS)
    elif service == "ecs":
        cluster = given["Cluster"]
        kind = "task" if action in {"describeTasks", "stopTask"} else "container-instance"
        resource = cluster.replace(":cluster/", f":{kind}/") + "/0123"
        yield Call(name, resource, {"ecs:cluster": cluster})
    elif service == "dynamodb":
        yield Call(name, f"arn:aws:dynamodb:{HERE}:table/{given['TableName']}")
    elif service == "sns":
        yield Call(name, given["TopicArn"])
    elif service == "sqs":
        yield Call(name, f"arn:aws:sqs:{HERE}:{given['QueueUrl'].rpartition('/')[2]}")
    elif service == "sfn":
        yield Call(name, given.get("StateMachineArn", world.arn(machine)))
    elif asked.endswith("terminateInstanceInAutoScalingGroup"):
        for group in world.of("AutoScaling::AutoScalingGroup"):
            yield Call(name, f"arn:aws:autoscaling:{HERE}:autoScalingGroup:0123:autoScalingGroupName/{group}")
    else:
        assert asked == "aws-sdk:autoscaling:describeAutoScalingInstances", f"a call that is not known: {asked}"
        yield Call(name)


def _run_task(world: World, given: dict[str, Any]) -> Iterator[Call]:
    cluster, definition = given["Cluster"], given["TaskDefinition"]
    inside = {"ecs:cluster": cluster}
    task = cluster.replace(":cluster/", ":task/") + "/0123"
    yield Call("ecs:RunTask", definition, inside)
    yield from (Call(f"ecs:{each}", task, inside) for each in ("StopTask", "DescribeTasks"))
    if "PropagateTags" in given:
        yield Call("ecs:TagResource", task, {"ecs:CreateAction": "RunTask"})
    yield from (Call(each, f"{_RULE}ECSTaskRule") for each in _HEARS)
    for role in ("TaskRoleArn", "ExecutionRoleArn"):
        passed = _definition(world, given)[role]
        yield Call("iam:PassRole", passed, {"iam:PassedToService": "ecs-tasks.amazonaws.com"})


def _definition(world: World, given: dict[str, Any]) -> dict[str, Any]:
    definitions = world.of("ECS::TaskDefinition").items()
    (made,) = (each for name, each in definitions if world.arn(name) == given["TaskDefinition"])
    return made


def _starts(world: World) -> _Made:
    targets = [each["Target"] for each in world.of("Scheduler::Schedule").values()]
    for each in targets:
        if "DeadLetterConfig" in each:
            yield each["RoleArn"], Call("sqs:SendMessage", each["DeadLetterConfig"]["Arn"])
    targets += [target for each in world.of("Events::Rule").values() for target in each["Targets"]]
    for each in targets:
        if "RoleArn" in each:
            yield each["RoleArn"], Call("states:StartExecution", each["Arn"])


def _hosts(world: World) -> _Made:
    """The agents of ECS and Systems Manager, and the self-test, whose task has no role of its own."""
    options: Any = task_definition(instance_type("g6.xlarge"))
    assert "executionRoleArn" not in options
    log = options["containerDefinitions"][0]["logConfiguration"]["options"]
    for profile in world.of("IAM::InstanceProfile").values():
        (name,) = profile["Roles"]
        role = world.arn(name)
        is_batch = any(each["RoleArn"] == role for each in _of_batch(world))
        is_managed = "Managed" in name
        cluster = f"arn:aws:ecs:{HERE}:cluster/AWSBatch-0123" if is_batch else world.arn(*world.of("ECS::Cluster"))
        host = cluster.replace(":cluster/", ":container-instance/") + "/0123"
        yield role, Call("ecs:DiscoverPollEndpoint")
        for each in (*_AGENT, *(("PutSystemLogEvents",) if is_managed else ("UpdateContainerInstancesState",))):
            yield role, Call(f"ecs:{each}", host, {"ecs:cluster": cluster})
        for each in (*_ON_CLUSTER, *(() if is_managed else _OLDER)):
            yield role, Call(f"ecs:{each}", cluster)
        if not is_managed:
            yield from ((role, Call(each)) for each in _SSM)
            stream = f"{log['awslogs-group']}:log-stream:{log['awslogs-stream-prefix']}/self-test/0123"
            yield from ((role, Call(each, f"arn:aws:logs:{HERE}:log-group:{stream}")) for each in _LOGS)
    for provider in world.of("ECS::CapacityProvider").values():
        if managed := provider.get("ManagedInstancesProvider"):
            (name,) = (each for each in world.of("IAM::Role") if "ManagedHostRole" in each)
            passed = Call("iam:PassRole", world.arn(name), {"iam:PassedToService": "ec2.amazonaws.com"})
            yield managed["InfrastructureRoleArn"], passed


def _of_batch(world: World) -> Iterator[dict[str, str]]:
    for each in world.of("Batch::ComputeEnvironment").values():
        profile = each["ComputeResources"]["InstanceRole"].rpartition("/")[2]
        yield {"RoleArn": world.arn(world.resources[profile]["Roles"][0])}


def _tasks(world: World) -> _Made:
    for task in world.of("ECS::TaskDefinition").values():
        for container in task["ContainerDefinitions"]:
            if "LogConfiguration" in container:
                group = container["LogConfiguration"]["Options"]["awslogs-group"]
                yield from _started(task["ExecutionRoleArn"], container, group)
            yield from _data(task["TaskRoleArn"], container)
            if container.get("Command") == [LOADER]:
                given = {each["Name"]: each["Value"] for each in container["Environment"]}
                read = f"arn:aws:s3:::{given['PROGRAM_BUCKET']}/{given['PROGRAM_KEY']}"
                yield task["TaskRoleArn"], Call("s3:GetObject", read)
                for service, method in _COLLECTED.findall(PROGRAM.read_text()):
                    yield from ((task["TaskRoleArn"], each) for each in _collects(world, service, method))
        for volume in task.get("Volumes", ()):
            system = volume.get("EFSVolumeConfiguration", {})
            if system.get("AuthorizationConfig", {}).get("IAM") == "ENABLED":
                arn = f"arn:aws:elasticfilesystem:{HERE}:file-system/{system['FilesystemId']}"
                through = {"elasticfilesystem:AccessedViaMountTarget": "true"}
                for each in ("ClientMount", "ClientWrite", "ClientRootAccess"):
                    yield task["TaskRoleArn"], Call(f"elasticfilesystem:{each}", arn, through)


def _jobs(world: World) -> _Made:
    for job in world.of("Batch::JobDefinition").values():
        nodes = [each["Container"] for each in job.get("NodeProperties", {}).get("NodeRangeProperties", ())]
        for container in filter(None, [job.get("ContainerProperties"), *nodes]):
            group = container["LogConfiguration"]["Options"]["awslogs-group"]
            yield from _started(container["ExecutionRoleArn"], container, group)
            yield from _data(container["JobRoleArn"], container)


def _started(role: str, container: dict[str, Any], group: str) -> _Made:
    for each in _LOGS:
        yield role, Call(each, f"arn:aws:logs:{HERE}:log-group:{group}:log-stream:a/b/0123")
    if repository := re.search(r"\.dkr\.ecr\..*/(\w+):", container["Image"]):
        yield role, Call("ecr:GetAuthorizationToken")
        for each in _PULL:
            yield role, Call(each, f"arn:aws:ecr:{HERE}:repository/{repository[1]}")
    for secret in container.get("Secrets", ()):
        yield role, Call("secretsmanager:GetSecretValue", secret["ValueFrom"])


def _data(role: str, container: dict[str, Any]) -> _Made:
    """Places in S3, in variables and in the command of a copy; what is read only has a name that says so."""
    variables = {each["Name"]: each.get("Value", each.get("Value.$")) for each in container.get("Environment", ())}
    places = {**variables, **{f"{at}": each for at, each in enumerate(container.get("Command", ()))}}
    for name, text in places.items():
        if found := _PLACE.search(str(text)):
            bucket, prefix = found[1], found[2]
            yield role, Call("s3:ListBucket", f"arn:aws:s3:::{bucket}", {"s3:prefix": prefix})
            for each in _READS if name == "TEXTS" or name.isdigit() else _WRITES:
                yield role, Call(each, f"arn:aws:s3:::{bucket}/{prefix}one")


def _collects(world: World, service: str, method: str) -> Iterator[Call]:
    name = f"{service}:{''.join(map(str.capitalize, method.split('_')))}"
    if service == "events":
        about = {"events:source": "gpu-constructs", "events:detail-type": "GPU Fault"}
        yield Call(name, f"arn:aws:events:{HERE}:event-bus/default", about)
        return
    cluster = world.arn(*world.of("ECS::Cluster"))
    kind = {"describe_tasks": "task", "describe_container_instances": "container-instance"}[method]
    yield Call(name, cluster.replace(":cluster/", f":{kind}/") + "/0123", {"ecs:cluster": cluster})
