"""The calls that describe a cluster that runs; all of them only read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from itertools import islice

from botocore.client import BaseClient
from botocore.exceptions import ClientError

from gpu_constructs.account.calls import Clients, clients_of
from gpu_constructs.account.deadline import Deadline
from gpu_constructs.account.live.as_template import launch_templates_of
from gpu_constructs.account.live.described import Answers, Described, Thing, answers, short_name, text, thing
from gpu_constructs.account.live.subjects import definition_of, described_as
from gpu_constructs.account.problems import ERRORS, Call, code_of, problem_of
from gpu_constructs.errors import GpuConstructsError, UnknownNameError, brief, shown
from gpu_constructs.facts.values import dataclass

__all__ = ["CALLS", "about", "clients_of", "clusters_of", "hosts_of"]

CALLS = (
    "ecs:DescribeClusters",
    "ecs:ListServices",
    "ecs:DescribeServices",
    "ecs:ListTasks",
    "ecs:DescribeTasks",
    "ecs:DescribeTaskDefinition",
    "ecs:ListContainerInstances",
    "ecs:DescribeContainerInstances",
    "ecs:DescribeCapacityProviders",
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeScalingActivities",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:DescribeInstances",
)
"""The permissions that they take."""

_MOST = 5_000
"""Things of one kind that are described; a cluster has at most as many hosts."""

_PAGE = 100
"""Names on a page, as ECS limits it."""

_PAGES = 2 * _MOST // _PAGE
"""Pages of one list; some may be empty, and an endpoint may never end them."""

_NO_STACK = "does not exist"
"""Words of CloudFormation, in a ValidationError that names the stack."""

_GONE = {
    "autoscaling:DescribeScalingActivities": frozenset({"ValidationError"}),
    "ec2:DescribeLaunchTemplateVersions": frozenset(
        {"InvalidLaunchTemplateId.NotFound", "InvalidLaunchTemplateId.VersionNotFound"}
    ),
    "ecs:DescribeTaskDefinition": frozenset({"ClientException"}),
}
"""Codes of AWS for what is deleted while others still name it; what it was is then not known."""

_ACTIVITIES = 20
_DEFINITIONS = 100


@dataclass(slots=True)
class _Asking:
    """One cluster in one region, and what was answered so far."""

    clients: Clients
    region: str | None
    cluster: str
    deadline: Deadline
    given: list[Thing] = field(default_factory=list)
    denied: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    made: dict[str, BaseClient] = field(default_factory=dict)

    def client(self, service: str) -> BaseClient:
        if service not in self.made:
            self.made[service] = self.clients(service, self.region)
        return self.made[service]

    @property
    def answers(self) -> Answers:
        return answers(self.given)

    @property
    def live(self) -> Described:
        return Described(
            answers=self.answers, denied=tuple(dict.fromkeys(self.denied)), cut=tuple(dict.fromkeys(self.cut))
        )

    def ask(self, service: str, operation: str, key: str, **arguments: object) -> None:
        """Keeps the things that a call describes; one that is not allowed is named, and the others go on."""
        permission = _permission(service, operation)
        with self._if_allowed(permission):
            answer = self.deadline.call(permission, lambda: getattr(self.client(service), operation)(**arguments))
            self.given.append({key: answer[key]})

    def listed(self, operation: str, key: str, **arguments: object) -> list[str]:
        """The names that a call of ECS lists."""
        permission, is_cut = _permission("ecs", operation), False
        found: list[str] = []

        def read() -> tuple[list[str], bool]:
            asked = {"cluster": self.cluster, "PaginationConfig": {"PageSize": _PAGE}, **arguments}
            pages = iter(self.client("ecs").get_paginator(operation).paginate(**asked))
            names = (each for page in islice(pages, _PAGES) for each in page[key])
            return list(islice(names, _MOST)), next(names, None) is not None or next(pages, None) is not None

        with self._if_allowed(permission):
            found, is_cut = self.deadline.call(permission, read)
        if is_cut:
            self.cut.append(f"more than {len(found)} of {permission}")
        return found

    @contextmanager
    def _if_allowed(self, permission: str) -> Iterator[None]:
        """Goes on without what the credentials may not ask, and without what is gone."""
        try:
            yield
        except ERRORS as error:
            if isinstance(error, ClientError) and code_of(error) in _GONE.get(permission, ()):
                return
            problem = problem_of(error, _call(permission, self.region))
            if not problem.is_denied:
                raise GpuConstructsError(problem.text, fix=problem.fix or None) from error
            self.denied.append(permission)


def about(
    clients: Clients,
    *,
    cluster: str,
    name: str | None = None,
    region: str | None = None,
    deadline: Deadline | None = None,
) -> Described:
    """Describes a cluster: its services and tasks, its hosts, and what starts hosts for it.

    Args:
        clients: Clients of boto3.
        cluster: Its name or ARN.
        name: The service or task whose task definition is described; None for those of all tasks.
        region: Where it is; None for the region of the profile.
        deadline: That of the whole command; by default that of this call.

    Raises:
        UnknownNameError: No service and no task is called so.
        GpuConstructsError: There is no such cluster, or AWS did not answer.
    """
    asking = _Asking(clients=clients, region=region, cluster=cluster, deadline=deadline or Deadline())
    _cluster(asking)
    _work(asking)
    with _needed(asking, name):
        _definitions(asking, name)
    _hosts(asking)
    _groups(asking)
    _launches(asking)
    if name is None:
        _instances(asking)
    return asking.live


def hosts_of(clients: Clients, *, cluster: str, region: str | None = None) -> Described:
    """Describes the hosts of a cluster, and what starts hosts for it.

    Args:
        clients: Clients of boto3.
        cluster: Its name or ARN.
        region: Where it is; None for the region of the profile.

    Raises:
        GpuConstructsError: There is no such cluster, or AWS did not answer.
    """
    asking = _Asking(clients=clients, region=region, cluster=cluster, deadline=Deadline())
    _cluster(asking)
    _hosts(asking)
    _groups(asking)
    return asking.live


@contextmanager
def _needed(asking: _Asking, name: str | None) -> Iterator[None]:
    """What is asked about has to be described, with its task definition."""
    try:
        yield
        is_known = "ecs:DescribeTaskDefinition" not in asking.denied
    except UnknownNameError:
        if not asking.denied and not asking.cut:
            raise
        is_known = False
    if name is not None and not is_known:
        live = asking.live
        reasons = [
            *([f"the credentials may not call {', '.join(live.denied)}"] if live.denied else []),
            *([f"there are {', '.join(live.cut)}"] if live.cut else []),
        ]
        raise GpuConstructsError(f"{shown(name)} cannot be looked at: {'; '.join(reasons)}")


def clusters_of(
    clients: Clients, *, stack: str, region: str | None = None, deadline: Deadline | None = None
) -> tuple[str, ...]:
    """The ECS clusters that a CloudFormation stack has.

    Args:
        clients: Clients of boto3.
        stack: Its name or id.
        region: Where it is; None for the region of the profile.
        deadline: That of the whole command; by default that of this call.

    Raises:
        GpuConstructsError: There is no such stack, it has no cluster, or AWS did not answer.
    """
    permission, by_when = "cloudformation:ListStackResources", deadline or Deadline()

    def read() -> list[Thing]:
        pages = clients("cloudformation", region).get_paginator("list_stack_resources").paginate(StackName=stack)
        return [each for page in islice(pages, _PAGES) for each in page["StackResourceSummaries"]]

    try:
        clusters = [each for each in by_when.call(permission, read) if each.get("ResourceType") == "AWS::ECS::Cluster"]
        found = tuple(each["PhysicalResourceId"] for each in clusters if each.get("PhysicalResourceId"))
    except ERRORS as error:
        if isinstance(error, ClientError) and _NO_STACK in str(error):
            where = f"in {region}" if region else "in the region of the profile"
            fix = "--region REGION names another region, and --cluster NAME a cluster"
            raise GpuConstructsError(f"there is no stack {shown(stack)} {where}", argument="STACK", fix=fix) from error
        problem = problem_of(error, _call(permission, region, if_denied="--cluster NAME"))
        raise GpuConstructsError(problem.text, fix=problem.fix or None) from error
    if not found:
        raise GpuConstructsError(
            f"stack {brief(stack)} has no ECS cluster", fix="name the stack of the cluster, or --cluster"
        )
    return found


def _cluster(asking: _Asking) -> None:
    asking.ask("ecs", "describe_clusters", "clusters", clusters=[asking.cluster])
    if "ecs:DescribeClusters" not in asking.denied and not asking.answers.of("clusters"):
        raise GpuConstructsError(
            f"there is no cluster {brief(asking.cluster)}", fix="--cluster and --region name another one"
        )


def _work(asking: _Asking) -> None:
    names = asking.listed("list_services", "serviceArns")
    for part in _parts(names, 10):  # as the API limits it
        asking.ask("ecs", "describe_services", "services", cluster=asking.cluster, services=part)
    tasks = [
        each
        for status in ("RUNNING", "STOPPED")
        for each in asking.listed("list_tasks", "taskArns", desiredStatus=status)
    ]
    for part in _parts(tasks, 100):
        asking.ask("ecs", "describe_tasks", "tasks", cluster=asking.cluster, tasks=part)


def _definitions(asking: _Asking, name: str | None) -> None:
    if name is None:
        arns = dict.fromkeys(definition_of(each) for each in asking.answers.of("tasks"))
    else:
        arns = {definition_of(described_as(asking.answers, name)): None}
    for arn in islice(filter(None, arns), _DEFINITIONS):
        asking.ask("ecs", "describe_task_definition", "taskDefinition", taskDefinition=arn)


def _hosts(asking: _Asking) -> None:
    found = asking.listed("list_container_instances", "containerInstanceArns")
    if not found and not asking.denied:
        asking.given.append({"containerInstances": []})
    for part in _parts(found, 100):
        asking.ask(
            "ecs", "describe_container_instances", "containerInstances", cluster=asking.cluster, containerInstances=part
        )


def _groups(asking: _Asking) -> None:
    names = {
        each: None
        for described in asking.answers.of("clusters")
        for each in described.get("capacityProviders") or ()
        if isinstance(each, str) and not each.startswith("FARGATE")
    }
    for part in _parts(list(names), 10):  # of more, the API answers with pages
        asking.ask("ecs", "describe_capacity_providers", "capacityProviders", capacityProviders=part)
    for part in _parts(_group_names(asking), 50):
        asking.ask("autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups", AutoScalingGroupNames=part)
    for template, versions in launch_templates_of(asking.answers).items():
        asking.ask(
            "ec2",
            "describe_launch_template_versions",
            "LaunchTemplateVersions",
            LaunchTemplateId=template,
            Versions=sorted(versions),
        )


def _group_names(asking: _Asking) -> list[str]:
    of_providers = (thing(each, "autoScalingGroupProvider") for each in asking.answers.of("capacityProviders"))
    return [short_name(text(each, "autoScalingGroupArn")) for each in of_providers if each]


def _launches(asking: _Asking) -> None:
    for group in _group_names(asking):
        asking.ask(
            "autoscaling",
            "describe_scaling_activities",
            "Activities",
            AutoScalingGroupName=group,
            MaxRecords=_ACTIVITIES,
        )


def _instances(asking: _Asking) -> None:
    names = [text(each, "ec2InstanceId") for each in asking.answers.of("containerInstances")]
    for part in _parts([each for each in names if each.startswith("i-")], 100):
        # By their ids, one that EC2 has forgotten would fail the whole call.
        asking.ask("ec2", "describe_instances", "Reservations", Filters=[{"Name": "instance-id", "Values": part}])


def _permission(service: str, operation: str) -> str:
    return f"{service}:{operation.title().replace('_', '')}"


def _parts(names: Sequence[str], size: int) -> Iterator[list[str]]:
    return (list(names[first : first + size]) for first in range(0, len(names), size))


def _call(permission: str, region: str | None, *, if_denied: str = "") -> Call:
    return Call(service=permission.partition(":")[0], permission=permission, region=region, if_denied=if_denied)
