"""What cdk-nag's AwsSolutions pack finds in the resources of this library, and why they stay as they are.

::

    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks())
    acknowledge_aws_solutions(app)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias, TypeVar

import aws_cdk as cdk
import jsii
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_batch as batch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct, IConstruct, IValidation

from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cluster.capacity.gpu_capacity import GpuCapacity
from gpu_constructs.cluster.gpu_cluster import GpuCluster
from gpu_constructs.cluster.monitoring.gpu_monitoring import GpuMonitoring
from gpu_constructs.cluster.monitoring.recovery import GpuRecovery
from gpu_constructs.facts.servers import known_servers
from gpu_constructs.jobs.batch.queue import GpuBatchJob, GpuBatchQueue
from gpu_constructs.jobs.data import JobData
from gpu_constructs.jobs.gpu_job import GpuJob
from gpu_constructs.jobs.machine import STARTER
from gpu_constructs.jobs.training.multi_node_training import MultiNodeTraining
from gpu_constructs.services.gpu_service import GpuService
from gpu_constructs.tasks.task_definition import GpuTaskDefinition

_Finding: TypeAlias = tuple[IConstruct, str, str]
"""A resource, what cdk-nag finds there without the name of the pack, and why that stays."""

_Resource = TypeVar("_Resource", bound=cdk.CfnResource)

_HOSTS_WITHOUT_RESOURCES = (
    "ecs:DiscoverPollEndpoint, ssm:UpdateInstanceInformation, and ssmmessages know no resources in "
    "IAM; the other actions are for one cluster by a condition"
)
_HOSTS_NAMED_LATER = "AWS completes this name when it creates the resource; the name of the cluster or group is given"
_TASKS_OF_CLUSTER = (
    "tasks and revisions have no names before they are made; those of one cluster and one family are allowed"
)
_EXECUTIONS = "executions have names of their own, and these are those of the one job that is started"
_OBJECTS_OF_DATA = "objects of a job have no names before they are written; the bucket and the prefix are given"
_HOSTS_AND_TASKS_OF_CLUSTER = "hosts and tasks have no names before they are there; those of one cluster are allowed"
_JOBS_LISTED = "AWS Batch lists jobs and describes environments of no resource"
_DESCRIBED_GROUPS = (
    "Describe actions of Auto Scaling know no resources in IAM; the actions of ECS are for one cluster by a condition"
)
_TASKS_WITHOUT_RESOURCES = "ecr:GetAuthorizationToken, logs:DescribeLogGroups and ssmmessages know no resources in IAM"

# What CDK allows a task or its agent, for images from ECR and for ECS Exec.
_OF_NO_RESOURCE = frozenset(
    {
        "ecr:GetAuthorizationToken",
        "logs:DescribeLogGroups",
        "ssmmessages:CreateControlChannel",
        "ssmmessages:CreateDataChannel",
        "ssmmessages:OpenControlChannel",
        "ssmmessages:OpenDataChannel",
    }
)

# The same for the log group that ECS Exec writes to.
_OF_STREAMS = frozenset({"logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"})
_STREAMS = re.compile(r"arn:[^*]*:logs:[^*]*:log-group:[^*]*:\*")


@checked
def acknowledge_aws_solutions(scope: Construct) -> None:
    """Acknowledges what cdk-nag's AwsSolutions pack finds in the resources of this library, each with its reason.

    Your own resources keep their findings, and so do your own decisions: environment variables, access logs of a load
    balancer, access to it from the internet. Call it before or after the constructs are defined.

    Args:
        scope: The app, or a part of it.

    Raises:
        InvalidValueError: `scope` is not a construct.
    """
    scope.node.add_validation(_Acknowledging(scope))


@jsii.implements(IValidation)
class _Acknowledging:
    """Called once at synth, after the aspects and before the plugins; an aspect would be called for every construct."""

    def __init__(self, scope: IConstruct) -> None:
        self._scope = scope
        self._done: set[tuple[IConstruct, str]] = set()

    def validate(self) -> list[str]:
        """Acknowledges what is found, and finds nothing itself."""
        for construct in self._scope.node.find_all():
            found = (one for kind, find in _BY_KIND.items() if isinstance(construct, kind) for one in find(construct))
            for resource, finding, reason in found:
                if (resource, finding) not in self._done:
                    self._done.add((resource, finding))
                    rule = cdk.Acknowledgment(id=f"AwsSolutions::AwsSolutions-{finding}", reason=reason)
                    cdk.Validations.of(resource).acknowledge(rule)
        return []


def _of_queue(queue: GpuBatchQueue) -> Iterator[_Finding]:
    yield from _in_roles(queue, "HostRole", anything=_HOSTS_WITHOUT_RESOURCES, named_later=_HOSTS_NAMED_LATER)
    if queue.watched is not None:
        yield from _of_machine(queue.watched)
        yield from _in_roles(queue.watched, "Role", anything=_JOBS_LISTED, named_later=_JOBS_LISTED)


def _of_batch_container(container: batch.EcsEc2ContainerDefinition) -> Iterator[_Finding]:
    if isinstance(container.node.scope, GpuBatchJob):
        yield from _of_roles(container, "ExecutionRole")


def _of_cluster(cluster: GpuCluster) -> Iterator[_Finding]:
    # What is granted to these roles later is in resources of its own.
    for name in ("HostRole", "ManagedHostRole"):
        yield from _in_roles(cluster, name, anything=_HOSTS_WITHOUT_RESOURCES, named_later=_HOSTS_NAMED_LATER)
    for role in _defined(cluster, iam.CfnRole, "InfrastructureRole"):
        managed = "arn:<AWS::Partition>:iam::aws:policy/AmazonECSInfrastructureRolePolicyForManagedInstances"
        yield role, f"IAM4[Policy::{managed}]", "AWS keeps in it what ECS needs to start and end Managed Instances"


def _in_roles(scope: IConstruct, name: str, *, anything: str, named_later: str) -> Iterator[_Finding]:
    """The wildcards in the policies that a role was made with: of any resource, and of some."""
    for role in _defined(scope, iam.CfnRole, name):
        for each in _resolved(role, role.policies):
            for _, wildcard in _wildcards(each["policyDocument"]):
                yield role, f"IAM5[Resource::{wildcard}]", anything if wildcard == "*" else named_later


def _of_capacity(capacity: GpuCapacity) -> Iterator[_Finding]:
    for group in _defined(capacity, autoscaling.CfnAutoScalingGroup, "Group"):
        yield group, "AS3", "ECS managed scaling moves the group with the tasks; the cluster has Container Insights"
        if group.mixed_instances_policy is not None:
            reason = "the rule does not follow a mixed instances policy to its launch template, which encrypts volumes"
            yield group, "EC26", reason


def _of_task(task: GpuTaskDefinition) -> Iterator[_Finding]:
    for resource in _defined(task, ecs.CfnTaskDefinition, "Resource"):
        containers = _resolved(resource, resource.container_definitions)
        if {each["name"] for container in containers for each in container.get("environment", ())} <= _settings():
            yield resource, "ECS2", "the variables are settings of the driver, EFA and the model server, and no secrets"
    yield from _of_roles(task, "TaskRole", "ExecutionRole")


def _of_roles(scope: IConstruct, *names: str) -> Iterator[_Finding]:
    for role in names:
        made = scope.node.try_find_child(role)
        for policy in () if made is None else _defined(made, iam.CfnPolicy, "DefaultPolicy"):
            yield from _of_task_policy(policy)


def _of_task_policy(policy: iam.CfnPolicy) -> Iterator[_Finding]:
    allowed: dict[str, set[str]] = {}
    for actions, wildcard in _wildcards(_resolved(policy, policy.policy_document)):
        allowed.setdefault(wildcard, set()).update(actions)
    for wildcard, every in allowed.items():
        if wildcard == "*" and every <= _OF_NO_RESOURCE:
            yield policy, "IAM5[Resource::*]", _TASKS_WITHOUT_RESOURCES
        elif _STREAMS.fullmatch(wildcard) and every <= _OF_STREAMS:
            yield policy, f"IAM5[Resource::{wildcard}]", "the ARN of a log group ends so, for the streams in it"


def _of_service(service: GpuService) -> Iterator[_Finding]:
    for group in service.node.find_all():
        if isinstance(group, ec2.CfnSecurityGroup):
            allowed = [each.get("cidrIp") for each in _resolved(group, group.security_group_ingress) or ()]
            if any(isinstance(each, Mapping) for each in allowed) and "0.0.0.0/0" not in allowed:
                yield group, "EC23", "it lets in the addresses of its VPC, which the rule does not read from the VPC"


def _of_job(job: GpuJob) -> Iterator[_Finding]:
    yield from _of_data(job.task_definition.task_role, job.data)
    yield from _in_roles(job, "Role", anything=_TASKS_OF_CLUSTER, named_later=_TASKS_OF_CLUSTER)
    for each in job.node.children:
        if isinstance(each, sqs.Queue) and isinstance(each.node.default_child, sqs.CfnQueue):
            yield each.node.default_child, "SQS3", "it is itself a dead-letter queue, of starts or of jobs"
        if isinstance(each, sfn.StateMachine):
            yield from _of_machine(each)
            for policy in _defined(each.role, iam.CfnPolicy, "DefaultPolicy") if each is not job.state_machine else ():
                for _, wildcard in _wildcards(_resolved(policy, policy.policy_document)):
                    yield policy, f"IAM5[Resource::{wildcard}]", "executions of the job have no names before they start"
    for starter in [each for each in job.node.children if each.node.id.endswith(STARTER)]:
        yield from _of_machine(starter)
        yield from _in_roles(starter, "Role", anything=_TASKS_OF_CLUSTER, named_later=_EXECUTIONS)


def _of_monitoring(monitoring: GpuMonitoring) -> Iterator[_Finding]:
    task = monitoring.task_definition
    if task is not None:
        for resource in _defined(task, ecs.CfnTaskDefinition, "Resource"):
            yield resource, "ECS2", "the variables are the names of the cluster and of its metrics, and no secrets"
        for policy in _defined(task.task_role, iam.CfnPolicy, "DefaultPolicy"):
            for _, wildcard in _wildcards(_resolved(policy, policy.policy_document)):
                yield policy, f"IAM5[Resource::{wildcard}]", _HOSTS_AND_TASKS_OF_CLUSTER
    if monitoring.recovery is not None:
        yield from _of_recovery(monitoring.recovery)


def _of_machine(scope: IConstruct) -> Iterator[_Finding]:
    for machine in _defined(scope, sfn.CfnStateMachine, "StateMachine", "Resource"):
        yield machine, "SF1", "Step Functions keeps the history of each execution for 90 days, with its error and cause"
        yield machine, "SF2", "it calls services of AWS alone, each of which its history has"


def _of_recovery(recovery: GpuRecovery) -> Iterator[_Finding]:
    for table in _defined(recovery, dynamodb.CfnTable, "Table"):
        yield table, "DDB3", "it counts the hosts of a day, which are in the history of the executions as well"
    yield from _of_machine(recovery)
    yield from _in_roles(recovery, "Role", anything=_DESCRIBED_GROUPS, named_later=_HOSTS_NAMED_LATER)


def _of_data(role: iam.IRole, data: Sequence[JobData]) -> Iterator[_Finding]:
    """What CDK allows a job for its data; the same wildcards for anything else are its owner's."""
    places = [(each.bucket, each.prefix) for each in data if each.bucket is not None]
    for policy in _defined(role, iam.CfnPolicy, "DefaultPolicy") if places else ():
        arns = [arn for bucket, prefix in places for arn in (bucket.bucket_arn, bucket.arn_for_objects(f"{prefix}*"))]
        of_data = {_flat(_resolved(policy, each)) for each in arns}
        ours, theirs = set[str](), set[str]()
        for statement in _resolved(policy, policy.policy_document)["Statement"]:
            resources = set(map(_flat, _listed(statement["Resource"])))
            named = {f"Action::{each}" for each in _listed(statement["Action"])}
            named |= {f"Resource::{each}" for each in resources}
            (ours if resources <= of_data else theirs).update(each for each in named if "*" in each)
        for finding in sorted(ours - theirs):
            yield policy, f"IAM5[{finding}]", _OBJECTS_OF_DATA


@cache
def _settings() -> frozenset[str]:
    """Variables that containers get from this library, and the region, which CDK writes for Managed Instances."""
    of_servers = (name for each in known_servers().values() for name in (*each.environment, *each.cache_variables))
    return frozenset({*of_servers, "AWS_REGION", "FI_EFA_USE_DEVICE_RDMA", "FI_PROVIDER", "NVIDIA_DRIVER_CAPABILITIES"})


def _defined(scope: IConstruct, kind: type[_Resource], *names: str) -> Iterator[_Resource]:
    """Those of its children that are such a resource, or an L2 around one."""
    for name in names:
        child = scope.node.try_find_child(name)
        resource = child if child is None or isinstance(child, kind) else child.node.default_child
        if isinstance(resource, kind):
            yield resource


def _resolved(resource: cdk.CfnResource, value: object) -> Any:  # noqa: ANN401 - a part of a template
    return cdk.Stack.of(resource).resolve(value)


def _wildcards(document: Mapping[str, Any]) -> Iterator[tuple[frozenset[str], str]]:
    """Actions that are allowed on more than one resource, and which, as cdk-nag writes it."""
    for statement in document["Statement"]:
        actions = frozenset(_listed(statement["Action"]))
        yield from ((actions, text) for text in map(_flat, _listed(statement["Resource"])) if "*" in text)


def _listed(value: Any) -> Sequence[Any]:  # noqa: ANN401 - a part of a template
    return value if isinstance(value, list) else [value]


def _flat(value: Any) -> str:  # noqa: ANN401 - a part of a template
    """A resource as cdk-nag 3.0.2 writes it into the id of a finding (``flattenCfnReference``)."""
    match value:
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(map(_flat, parts))
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{resource}.{attribute}>"
        case {"Fn::ImportValue": export}:
            return _flat(export)
        case {"Ref": name}:
            return f"<{name}>"
        case _:
            return value if isinstance(value, str) else json.dumps(value)


_BY_KIND: Mapping[type, Callable[[Any], Iterator[_Finding]]] = {
    GpuCluster: _of_cluster,
    GpuCapacity: _of_capacity,
    GpuBatchQueue: _of_queue,
    GpuTaskDefinition: _of_task,
    batch.EcsEc2ContainerDefinition: _of_batch_container,
    GpuService: _of_service,
    GpuJob: _of_job,
    GpuMonitoring: _of_monitoring,
    MultiNodeTraining: lambda training: _of_data(training.job_role, training.data),
}
"""What finds something in the resources of a construct."""
