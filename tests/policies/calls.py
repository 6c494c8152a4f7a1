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

from ecs_emulator.permissions import Place, calls_before_start, calls_of_state
from ecs_emulator.policies import Call
from ecs_emulator.resource import camel_case
from gpu_constructs.account.live.self_test import task_definition
from gpu_constructs.cluster.monitoring.daemon_task import LOADER, PROGRAM
from gpu_constructs.facts import instance_type
from gpu_constructs.facts.names import HOST_LOG
from tests.policies.world import HERE, World

_Made = Iterator[tuple[str, Call]]
_LOGS = ("logs:CreateLogStream", "logs:PutLogEvents")
_AGENT = ("Poll", "StartTelemetrySession")
_ON_CLUSTER = ("RegisterContainerInstance", "SubmitAttachmentStateChanges", "SubmitTaskStateChange")
_OLDER = ("DeregisterContainerInstance", "SubmitContainerStateChange")
_SSM = (
    "ssm:UpdateInstanceInformation",
    *(f"ssmmessages:{verb}{kind}Channel" for verb in ("Create", "Open") for kind in ("Control", "Data")),
)
_READS = ("s3:GetObject",)
_WRITES = (*_READS, "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload")
_OF_KEYS = {
    "sqs:ReceiveMessage": ("Decrypt",),
    "sqs:SendMessage": ("Decrypt", "GenerateDataKey"),
    "s3:GetObject": ("Decrypt",),
    "s3:PutObject": ("Decrypt", "GenerateDataKey"),
}
_READ_ONLY = {"DATA", "TEXTS"}
_MOUNTED = re.compile(r"mount-s3 --read-only --allow-other --prefix (\S+) \\*'?(\w+)")
_WORKER = re.compile(r"https://sqs\S+/(\w+) (\w+)")
_COLLECTED = re.compile(r'aws\("(\w+)"\)\.(\w+)\(')
_PLACE = re.compile(r"(?:^|')s3://([^/]+)/?([^{']*)")


def calls_of(world: World) -> list[tuple[str, Call]]:
    """Every call with the ARN of the role that makes it."""
    parts: tuple[Callable[[World], _Made], ...] = (_machines, _starts, _hosts, _mounts, _tasks, _jobs, _shells)
    return [each for part in parts for each in part(world)]


def _machines(world: World) -> _Made:
    groups = tuple(world.of("AutoScaling::AutoScalingGroup"))
    for name, machine in world.of("StepFunctions::StateMachine").items():
        place = Place(HERE, world.arn(name), lambda each: _roles_of(world, each), lambda _: groups)
        for state in _states(json.loads(machine["DefinitionString"])):
            if state["Type"] == "Task":
                asked = state["Resource"].split(":states:::")[1]
                for each in calls_of_state(asked, state["Parameters"], place):
                    yield machine["RoleArn"], each
                    yield from ((machine["RoleArn"], of_key) for of_key in _of_key(world, each))
                if "TaskDefinition" in state["Parameters"]:
                    role = _roles_of(world, state["Parameters"]["TaskDefinition"])[0]
                    for container in state["Parameters"]["Overrides"]["ContainerOverrides"]:
                        yield from _data(world, role, container)


def _states(definition: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for state in definition["States"].values():
        yield state
        for inner in (state.get("Iterator"), state.get("ItemProcessor"), *state.get("Branches", ())):
            yield from _states(inner) if inner else ()


def _roles_of(world: World, definition: str) -> list[str]:
    (made,) = (each for name, each in world.of("ECS::TaskDefinition").items() if world.arn(name) == definition)
    return [made["TaskRoleArn"], made["ExecutionRoleArn"]]


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
        cluster = f"arn:aws:ecs:{HERE}:cluster/AWSBatch-0123" if is_batch else world.cluster
        host = cluster.replace(":cluster/", ":container-instance/") + "/0123"
        yield role, Call("ecs:DiscoverPollEndpoint")
        for each in (*_AGENT, *(("PutSystemLogEvents",) if is_managed else ("UpdateContainerInstancesState",))):
            yield role, Call(f"ecs:{each}", host, {} if is_managed else {"ecs:cluster": cluster})
        for each in (*_ON_CLUSTER, *(() if is_managed else _OLDER)):
            yield role, Call(f"ecs:{each}", cluster)
        if not is_managed:
            yield from ((role, Call(each)) for each in _SSM)
            ends = f"arn:aws:logs:{HERE}:log-group:{HOST_LOG}"
            for each in ("CreateLogGroup", "PutRetentionPolicy"):
                yield role, Call(f"logs:{each}", ends)
                yield role, Call(f"logs:{each}", f"{ends}:log-stream:")
            yield from ((role, Call(each, f"{ends}:log-stream:i-0123")) for each in _LOGS)
            stream = f"{log['awslogs-group']}:log-stream:{log['awslogs-stream-prefix']}/self-test/0123"
            yield from ((role, Call(each, f"arn:aws:logs:{HERE}:log-group:{stream}")) for each in _LOGS)
    for provider in world.of("ECS::CapacityProvider").values():
        if managed := provider.get("ManagedInstancesProvider"):
            (name,) = (each for each in world.of("IAM::Role") if "ManagedHostRole" in each)
            passed = Call("iam:PassRole", world.arn(name), {"iam:PassedToService": "ec2.amazonaws.com"})
            yield managed["InfrastructureRoleArn"], passed


def _mounts(world: World) -> _Made:
    """Mountpoint for S3 on hosts; Lustre takes no permissions."""
    for made in world.of("EC2::LaunchTemplate").values():
        data = made["LaunchTemplateData"]
        if found := _MOUNTED.search(str(data["UserData"])):
            profile = data["IamInstanceProfile"]["Arn"].rpartition("/")[2]
            (role,) = world.resources[profile]["Roles"]
            yield from _of_bucket(world, world.arn(role), found[2], found[1], reads=True)


def _shells(world: World) -> _Made:
    """ECS Exec: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-exec.html."""
    for service in world.of("ECS::Service").values():
        if not service.get("EnableExecuteCommand"):
            continue
        (role, _) = _roles_of(world, service["TaskDefinition"])
        (cluster,) = world.of("ECS::Cluster").values()
        shells = cluster["Configuration"]["ExecuteCommandConfiguration"]
        group = f"arn:aws:logs:{HERE}:log-group:{shells['LogConfiguration']['CloudWatchLogGroupName']}"
        yield from ((role, Call(each)) for each in (*_SSM[1:], "logs:DescribeLogGroups"))
        yield from ((role, Call(each, f"{group}:log-stream:0123")) for each in _LOGS)
        yield role, Call("logs:DescribeLogStreams", f"{group}:*")
        yield role, Call("kms:Decrypt", shells["KmsKeyId"])


def _of_batch(world: World) -> Iterator[dict[str, str]]:
    for each in world.of("Batch::ComputeEnvironment").values():
        profile = each["ComputeResources"]["InstanceRole"].rpartition("/")[2]
        yield {"RoleArn": world.arn(world.resources[profile]["Roles"][0])}


def _tasks(world: World) -> _Made:
    for task in world.of("ECS::TaskDefinition").values():
        for container in task["ContainerDefinitions"]:
            starts = calls_before_start(camel_case(container), HERE)
            yield from ((task.get("ExecutionRoleArn", ""), each) for each in starts)
            yield from _data(world, task["TaskRoleArn"], container)
            if container.get("Command") == [LOADER]:
                given = {each["Name"]: each["Value"] for each in container["Environment"]}
                read = f"arn:aws:s3:::{given['PROGRAM_BUCKET']}/{given['PROGRAM_KEY']}"
                yield task["TaskRoleArn"], Call("s3:GetObject", read)
                for service, method in _COLLECTED.findall(PROGRAM.read_text()):
                    yield from ((task["TaskRoleArn"], each) for each in _collects(world, service, method))
            if found := _WORKER.search(str(container.get("Command"))):
                queue = f"arn:aws:sqs:{HERE}:{found[1]}"
                yield from ((task["TaskRoleArn"], Call(f"sqs:{each}Message", queue)) for each in ("Receive", "Delete"))
                yield task["TaskRoleArn"], Call("s3:PutObject", f"arn:aws:s3:::{found[2]}/one.png")
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
            starts = calls_before_start(camel_case(container), HERE)
            yield from ((container["ExecutionRoleArn"], each) for each in starts)
            yield from _data(world, container["JobRoleArn"], container)


def _data(world: World, role: str, container: dict[str, Any]) -> _Made:
    """Places in S3, in variables and in the command of a copy; what is read only has a name that says so."""
    variables = {each["Name"]: each.get("Value", each.get("Value.$")) for each in container.get("Environment", ())}
    places = {**variables, **{f"{at}": each for at, each in enumerate(container.get("Command", ()))}}
    for name, text in places.items():
        if found := _PLACE.search(str(text)):
            bucket, prefix = found[1], found[2]
            yield from _of_bucket(world, role, bucket, prefix, reads=name in _READ_ONLY or name.isdigit())


def _of_bucket(world: World, role: str, bucket: str, prefix: str, *, reads: bool) -> _Made:
    yield role, Call("s3:ListBucket", f"arn:aws:s3:::{bucket}", {"s3:prefix": prefix})
    for each in _READS if reads else _WRITES:
        call = Call(each, f"arn:aws:s3:::{bucket}/{prefix}one")
        yield role, call
        yield from ((role, of_key) for of_key in _of_key(world, call))


def _of_key(world: World, call: Call) -> Iterator[Call]:
    """What a call needs of the key of its queue or bucket.

    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html and
    https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html
    """
    if call.action in _OF_KEYS:
        made = world.resources.get(
            re.split("[:/]", call.resource.removeprefix("arn:aws:s3:::"))[-1 if "sqs" in call.action else 0], {}
        )
        rules = made.get("BucketEncryption", {}).get("ServerSideEncryptionConfiguration", ())
        keys = [each["ServerSideEncryptionByDefault"].get("KMSMasterKeyID") for each in rules]
        for key in filter(None, [made.get("KmsMasterKeyId"), *keys]):
            yield from (Call(f"kms:{each}", key) for each in _OF_KEYS[call.action])


def _collects(world: World, service: str, method: str) -> Iterator[Call]:
    name = f"{service}:{''.join(map(str.capitalize, method.split('_')))}"
    if service == "events":
        about = {"events:source": "gpu-constructs", "events:detail-type": "GPU Fault"}
        yield Call(name, f"arn:aws:events:{HERE}:event-bus/default", about)
        return
    cluster = world.cluster
    kind = {"describe_tasks": "task", "describe_container_instances": "container-instance"}[method]
    yield Call(name, cluster.replace(":cluster/", f":{kind}/") + "/0123", {"ecs:cluster": cluster})
