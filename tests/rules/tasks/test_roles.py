"""What the roles of a task allow, who may assume them, and what ECS neither reads nor mounts without one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.changed import severities

_VOLUMES = "policy/service-role/AmazonECSInfrastructureRolePolicyForVolumes"
_EXECUTION = "arn:aws:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy"


_ECR = "111122223333.dkr.ecr.us-east-1.amazonaws.com/vllm:1"
_FROM_SNAPSHOT = {"BlockDeviceMappings": [{"DeviceName": "/dev/xvdb", "Ebs": {"SnapshotId": "snap-0123456789abcdef0"}}]}
_ELSEWHERE = {each: {"Type": "AWS::SNS::Topic"} for each in ("Hosts", "Provider", "Association", "Service")}


def _container(**properties: Any) -> dict[str, Any]:
    gpu = {"Type": "GPU", "Value": "1"}
    return {"Name": "vllm", "Image": "x:1", "Memory": 8192, "ResourceRequirements": [gpu], **properties}


def _allowing(*actions: str) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": [*actions], "Resource": "*"}
    return {"ExecutionRole": {"Policies": [{"PolicyName": "Own", "PolicyDocument": {"Statement": [statement]}}]}}


def _apart(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Apart": {"Type": kind, "Properties": properties}}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"Fn::Sub": "${Token}:key::"}, ["error"]),
        ("arn:aws:secretsmanager:us-east-1:111122223333:secret:token", ["warning"]),
        ("arn:aws:ssm:us-east-1:111122223333:parameter/token", ["warning"]),
        ("/vllm/token", ["error"]),
        ({"Fn::Sub": "/${AWS::StackName}/token"}, ["error"]),
        ({"Fn::Sub": "arn:aws:ssm:us-east-1:${AWS::AccountId}:parameter/token"}, ["error"]),
        ({"Fn::Sub": "arn:${AWS::Partition}:secretsmanager:us-east-1:${AWS::AccountId}:secret:token"}, ["warning"]),
        ({"Fn::Sub": "${AWS::StackName}/token"}, []),
        ({"Fn::ImportValue": "Token"}, []),
    ],
)
def test_a_secret_that_is_elsewhere_may_have_a_policy_of_its_own(source: Any, expected: list[str]) -> None:
    getting = _container(Secrets=[{"Name": "HF_TOKEN", "ValueFrom": source}])
    assert severities("GPU257", {"Task": {"ContainerDefinitions": [getting]}}) == expected


def test_a_parameter_of_the_files_is_read_with_the_role_alone() -> None:
    getting = _container(Secrets=[{"Name": "HF_TOKEN", "ValueFrom": {"Ref": "Apart"}}])
    parameter = _apart("AWS::SSM::Parameter", Type="String", Value="x")
    assert severities("GPU257", {"Task": {"ContainerDefinitions": [getting]}}, **parameter) == ["error"]


def test_what_is_certain_is_said_first() -> None:
    elsewhere = "arn:aws:ssm:us-east-1:111122223333:parameter/token"
    getting = _container(Secrets=[{"Name": each, "ValueFrom": each} for each in (elsewhere, "/vllm/token")])
    assert severities("GPU257", {"Task": {"ContainerDefinitions": [getting]}}) == ["error"]


_PULLS: Any = {"Task": {"ContainerDefinitions": [_container(Image=_ECR)]}, "ExecutionRole": {"ManagedPolicyArns": None}}


def _without_role(**container: Any) -> dict[str, Any]:
    return {"Task": {"ContainerDefinitions": [_container(**container)], "ExecutionRoleArn": None}}


def _group(name: Any, create: str = "true") -> dict[str, Any]:
    logs = {"LogDriver": "awslogs", "Options": {"awslogs-group": name, "awslogs-create-group": create}}
    return {"Task": {"ContainerDefinitions": [_container(LogConfiguration=logs)]}}


@pytest.mark.parametrize(
    ("properties", "resources", "expected"),
    [
        (_allowing("secretsmanager:GetSecretValue"), {}, []),
        ({"ExecutionRole": {"ManagedPolicyArns": [_EXECUTION, {"Fn::ImportValue": "Policy"}]}}, {}, []),
        ({}, _apart("AWS::IAM::Policy", Roles=[{"Ref": "ExecutionRole"}]), []),
        ({}, _apart("Custom::Attach", Role={"Ref": "ExecutionRole"}), []),
        (_allowing("secretsmanager:DescribeSecret", "ssm:*"), {}, ["error"]),
        ({}, _apart("AWS::SecretsManager::ResourcePolicy", SecretId="x"), ["warning"]),
        (_without_role(RepositoryCredentials={"CredentialsParameter": "a"}), {}, ["error"]),
        (_without_role(EnvironmentFiles=[{"Type": "s3", "Value": "arn:aws:s3:::a/b.env"}]), {}, ["error"]),
        (_without_role(EnvironmentFiles={"Fn::ImportValue": "Files"}), {}, []),
        ({**_PULLS, "Template": {"LaunchTemplateData": _FROM_SNAPSHOT}}, {}, ["warning"]),
        (_PULLS, _ELSEWHERE, ["warning"]),
        # RegisterTaskDefinition says that.
        (_without_role(Secrets=[{"Name": "A", "ValueFrom": "/a"}]), {}, []),
        # awslogs makes a group with the role.
        (_group("/vllm"), _apart("AWS::Logs::LogGroup"), ["warning"]),
        (_group({"Fn::Sub": "/${AWS::StackName}"}), _apart("AWS::Logs::LogGroup", LogGroupName="/a"), ["warning"]),
        (_group("/vllm", "false"), {}, []),
        (_group("/vllm"), _apart("AWS::Logs::LogGroup", LogGroupName="/vllm"), []),
        (_group("/vllm"), _apart("AWS::Logs::LogGroup", LogGroupName={"Ref": "AWS::StackName"}), []),
        (_group("/vllm"), _apart("Custom::LogRetention", LogGroupName="/vllm"), []),
        (_group({"Ref": "Apart"}), _apart("AWS::Logs::LogGroup"), []),
        (_group({"Fn::ImportValue": "Group"}), {}, []),
        ({**_group("/vllm"), **_allowing("logs:Create*")}, {}, []),
    ],
)
def test_what_ecs_reads_for_a_container_needs_a_role_that_allows_it_or_may(
    properties: dict[str, Any], resources: dict[str, Any], expected: list[str]
) -> None:
    assert severities("GPU257", properties, **resources) == expected


@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        ({"Service": "ec2.amazonaws.com"}, ["error"]),
        ({"Service": ["ec2.amazonaws.com", "ecs-tasks.amazonaws.com"]}, []),
        ({"Service": {"Fn::ImportValue": "Service"}}, []),
        ("*", []),
    ],
)
def test_tasks_assume_their_roles(principal: Any, expected: list[str]) -> None:
    statement = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}
    trust = {"ExecutionRole": {"AssumeRolePolicyDocument": {"Statement": [statement]}}}
    assert severities("GPU275", trust) == expected
    own = {"Task": {"TaskRoleArn": {"Fn::GetAtt": ["ExecutionRole", "Arn"]}, "ExecutionRoleArn": None}}
    assert severities("GPU275", {**trust, **own}) == expected
    job = _container(JobRoleArn=own["Task"]["TaskRoleArn"])
    for form, container in (("ContainerProperties", job), ("NodeProperties", job), ("EcsProperties", _container())):
        found = _severities_with_a_role(form, container, None, "GPU275", **trust["ExecutionRole"])
        assert found == expected * (2 + ("JobRoleArn" in container))


@pytest.mark.parametrize(
    ("image", "mode", "policy", "expected"),
    [
        (_ECR, None, None, ["error"]),
        ("vllm/vllm-openai:v0.11.0", None, None, []),
        (_ECR, None, "AmazonEC2ContainerRegistryReadOnly", []),
        (_ECR, None, "Own", []),  # what it allows is not known
        (_ECR, "non-blocking", "AmazonEC2ContainerRegistryReadOnly", ["warning"]),  # only logs are lost
        (_ECR, "blocking", "AmazonEC2ContainerRegistryReadOnly", ["error"]),
        (_ECR, None, "CloudWatchAgentServerPolicy", ["error"]),
        ("vllm/vllm-openai:v0.11.0", "blocking", "CloudWatchAgentServerPolicy", []),
        (_ECR, "blocking", "service-role/AmazonECSTaskExecutionRolePolicy", []),
    ],
)
@pytest.mark.parametrize("form", [None, "ContainerProperties", "NodeProperties", "EcsProperties"])
def test_an_execution_role_pulls_and_logs_instead_of_the_hosts(
    form: str | None, image: str, mode: str | None, policy: str | None, expected: list[str]
) -> None:
    logs = {"LogDriver": "awslogs", "Options": {"mode": mode}} if mode else {"LogDriver": "json-file"}
    assert _severities_with_a_role(form, _container(Image=image, LogConfiguration=logs), policy) == expected


def test_a_job_logs_with_awslogs_by_default() -> None:
    read_only = "AmazonEC2ContainerRegistryReadOnly"
    assert _severities_with_a_role("ContainerProperties", _container(Image=_ECR), read_only) == ["warning"]
    assert _severities_with_a_role(None, _container(Image=_ECR), read_only) == []


def _severities_with_a_role(
    form: str | None, container: dict[str, Any], policy: str | None, rule: str = "GPU257", **role: Any
) -> list[str]:
    """Of a task, or of a job in one of its forms, with one policy of AWS in its execution role."""
    with_role = {**container, "ExecutionRoleArn": {"Fn::GetAtt": ["ExecutionRole", "Arn"]}}
    forms = {
        "ContainerProperties": with_role,
        "NodeProperties": {"NumNodes": 1, "NodeRangeProperties": [{"Container": with_role}]},
        "EcsProperties": {"TaskProperties": [{**with_role, "Containers": [container]}]},
    }
    job = {"Type": "AWS::Batch::JobDefinition", "Properties": {"Type": "container", form: forms[form]}} if form else {}
    policies = [f"arn:aws:iam::aws:policy/{policy}"] if policy else None
    task = {"ContainerDefinitions": [_container() if form else container]}
    properties = {"Task": task, "ExecutionRole": {"ManagedPolicyArns": policies, **role}}
    return severities(rule, properties, of="GPU257", **({"Job": job} if job else {}))


@pytest.mark.parametrize(
    ("service", "policies", "others", "expected"),
    [
        ("ecs.amazonaws.com", [], {}, ["error"]),
        ("ec2.amazonaws.com", [_VOLUMES], {}, ["error"]),
        ("ecs.amazonaws.com", [_VOLUMES], {}, []),
        ("ecs.amazonaws.com", ["policy/Own"], {}, []),
        ("ecs.amazonaws.com", [], _apart("AWS::IAM::Policy", Roles=[{"Ref": "Volumes"}]), []),
        ("ecs.amazonaws.com", [], {"exported": "Volumes"}, []),
    ],
)
def test_a_role_makes_volumes(service: Any, policies: Any, others: dict[str, Any], expected: list[str]) -> None:
    volume = {"Name": "data", "ManagedEBSVolume": {"RoleArn": {"Fn::GetAtt": ["Volumes", "Arn"]}}}
    trust = {"Statement": {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}}
    role = {"Properties": {"AssumeRolePolicyDocument": trust, "ManagedPolicyArns": policies}, "Type": "AWS::IAM::Role"}
    assert (
        severities("GPU275", {"Service": {"VolumeConfigurations": [volume]}}, of="GPU257", Volumes=role, **others)
        == expected
    )


_ROLE = {"AWS": {"Fn::GetAtt": ["Task", "Role"]}}


def _statement(action: Any, principal: Any = "*", effect: Any = "Allow") -> dict[str, Any]:
    return {"Effect": effect, "Principal": principal, "Action": action}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"Statement": [_statement("elasticfilesystem:*", _ROLE)]}, ["error"]),
        ({"Statement": [_statement("*", effect="Deny"), _statement("elasticfilesystem:ClientWrite")]}, ["error"]),
        ({"Statement": [_statement("elasticfilesystem:Client*")]}, []),
        ({"Statement": [_statement("*", {"AWS": ["*"]})]}, []),
        ({"Statement": [_statement("*", {"AWS": {"Fn::ImportValue": "Who"}})]}, []),
        ({"Fn::ImportValue": "Policy"}, []),
        (None, []),
    ],
)
def test_a_policy_that_may_let_everyone_mount_is_fine(policy: Any, expected: list[str]) -> None:
    # The statement of the example is taken away, so that nothing of it is left in a policy.
    files = {"Type": "AWS::EFS::FileSystem", "Properties": {} if policy is None else {"FileSystemPolicy": policy}}
    assert severities("GPU237", Files=files) == expected


@pytest.mark.parametrize("multi_node", [False, True])
def test_a_job_of_aws_batch_mounts_it_likewise(*, multi_node: bool) -> None:
    container: dict[str, Any] = {
        "Image": "x",
        "ResourceRequirements": [{"Type": "GPU", "Value": "1"}],
        "Volumes": [{"Name": "models", "EfsVolumeConfiguration": {"FileSystemId": {"Ref": "Files"}}}],
    }
    ranges = {"NumNodes": 2, "NodeRangeProperties": [{"TargetNodes": "0:", "Container": container}]}
    of_job = {"NodeProperties": ranges} if multi_node else {"ContainerProperties": container}
    job = {"Type": "AWS::Batch::JobDefinition", "Properties": of_job}
    with_task: dict[str, Any] = {"Task": {"Volumes": []}}
    assert severities("GPU237", with_task, Job=job) == ["error"]
    container["Volumes"][0]["EfsVolumeConfiguration"] |= {
        "AuthorizationConfig": {"Iam": "ENABLED"},
        "TransitEncryption": "ENABLED",
    }
    assert severities("GPU237", with_task, Job=job) == []
