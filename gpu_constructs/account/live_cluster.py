"""The calls that describe a cluster that runs; all of them only read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gpu_constructs.account.answers import (
    Answers,
    Thing,
    UnansweredError,
    answers,
    short_name,
    text,
    texts,
    thing,
    things,
)
from gpu_constructs.account.calls import Calls, Clients, clients_of
from gpu_constructs.account.deadline import Deadline
from gpu_constructs.account.live.as_template import launch_templates_of
from gpu_constructs.account.live.subjects import definition_of, described_as
from gpu_constructs.errors import GpuConstructsError, UnknownNameError, brief, shown

__all__ = ["about", "clients_of", "clusters_of", "hosts_of"]

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
    "ecs:DescribeTaskDefinition": frozenset({"ClientException", "InvalidParameterException"}),
}
"""Codes of AWS for what is deleted while others still name it; what it was is then not known."""

_ACTIVITIES = 20


class _Asking:
    """One cluster in one region, and what was answered so far."""

    def __init__(self, clients: Clients, region: str | None, cluster: str, deadline: Deadline | None) -> None:
        self.cluster = cluster
        self._calls = Calls(clients, region, deadline=deadline or Deadline())
        self._given: list[Thing] = []
        self._denied: dict[str, None] = {}
        self._cut: dict[str, None] = {}

    @property
    def known(self) -> Answers:
        """What was described so far."""
        return answers(self._given, denied=self._denied, cut=self._cut)

    def ask(self, permission: str, key: str, **arguments: object) -> None:
        """Keeps the things that a call describes; one that is not allowed is named, and the others go on."""
        with self._if_allowed(permission):
            answer = self._calls.ask(permission, **arguments)
            if key not in answer:
                raise UnansweredError(f"AWS answered {permission} in an unknown form")
            self._given.append({key: answer[key]})

    def ask_in_parts(self, permission: str, key: str, name: str, values: Sequence[str], size: int, **more: str) -> None:
        """Asks about many things, as many at a time as the API takes; about none, nothing is asked."""
        for first in range(0, len(values), size):
            self.ask(permission, key, **{name: list(values[first : first + size])}, **more)

    def listed(self, permission: str, key: str, **arguments: object) -> list[str]:
        """The names that a call of ECS lists."""
        found: list[str] = []
        with self._if_allowed(permission):
            asked = {"cluster": self.cluster, "PaginationConfig": {"PageSize": _PAGE}, **arguments}
            pages, has_more = self._calls.pages(permission, _PAGES, **asked)
            found = [name for page in pages for name in texts(page, key)]
            if has_more or len(found) > _MOST:
                found = found[:_MOST]
                self._cut[f"more than {len(found)} of {permission}"] = None
        return found

    def has_no_hosts(self) -> None:
        """Says that the hosts were asked for, and that there are none."""
        self._given.append({"containerInstances": []})

    @contextmanager
    def _if_allowed(self, permission: str) -> Iterator[None]:
        """Goes on without what the credentials may not ask, and without what is gone."""
        try:
            yield
        except UnansweredError as problem:
            if problem.code in _GONE.get(permission, ()):
                return
            if not problem.is_denied:
                raise
            self._denied[permission] = None


def about(
    clients: Clients,
    *,
    cluster: str,
    name: str | None = None,
    region: str | None = None,
    deadline: Deadline | None = None,
) -> Answers:
    """Describes a cluster, by its name or ARN: its services, its hosts, and what starts hosts for it.

    With `name`, it also describes that service or task and its task definition. `deadline` covers the whole command; by
    default it covers this call.

    Raises:
        UnknownNameError: No service and no task is called so.
        GpuConstructsError: There is no such cluster, or AWS did not answer.
    """
    asking = _Asking(clients, region, cluster, deadline)
    _cluster(asking)
    services = asking.listed("ecs:ListServices", "serviceArns")
    asking.ask_in_parts("ecs:DescribeServices", "services", "services", services, 10, cluster=cluster)
    if name is not None:
        _subject(asking, name)
    _hosts(asking)
    _groups(asking)
    for group in _group_names(asking):
        asking.ask(
            "autoscaling:DescribeScalingActivities", "Activities", AutoScalingGroupName=group, MaxRecords=_ACTIVITIES
        )
    return asking.known


def hosts_of(clients: Clients, *, cluster: str, region: str | None = None) -> Answers:
    """Describes the hosts of a cluster, and what starts hosts for it."""
    asking = _Asking(clients, region, cluster, None)
    _cluster(asking)
    _hosts(asking)
    _groups(asking)
    return asking.known


def _subject(asking: _Asking, name: str) -> None:
    """Describes the tasks, and the task definition of what is asked about, which has to be there."""
    tasks = [
        each
        for status in ("RUNNING", "STOPPED")
        for each in asking.listed("ecs:ListTasks", "taskArns", desiredStatus=status)
    ]
    asking.ask_in_parts("ecs:DescribeTasks", "tasks", "tasks", tasks, 100, cluster=asking.cluster)
    try:
        definition = definition_of(described_as(asking.known, name))
    except UnknownNameError:
        if not asking.known.not_read:
            _require_no_family(asking, name)
            raise
    else:
        permission = "ecs:DescribeTaskDefinition"
        asking.ask(permission, "taskDefinition", taskDefinition=definition)
        if permission not in asking.known.denied:
            return
    known = asking.known
    reasons = [
        *([f"the credentials may not call {', '.join(known.denied)}"] if known.denied else []),
        *([f"there are {', '.join(known.cut)}"] if known.cut else []),
    ]
    raise GpuConstructsError(f"{shown(name)} cannot be looked at: {'; '.join(reasons)}")


def _require_no_family(asking: _Asking, name: str) -> None:
    """Says of a name without a service and without a task that it is a task definition, where it is one."""
    asking.ask("ecs:DescribeTaskDefinition", "taskDefinition", taskDefinition=name)
    if any(short_name(name).partition(":")[0] == text(each, "family") for each in asking.known.of("taskDefinition")):
        raise GpuConstructsError(
            f"{shown(name)} is a task definition, and in the cluster {brief(asking.cluster)} no task of it runs, waits "
            "or stopped within the last hour",
            argument="NAME",
            fix="name the service that runs it, or another --cluster; nothing starts a task without a service, a "
            "schedule or aws ecs run-task",
        )


def clusters_of(
    clients: Clients, *, stack: str, region: str | None = None, deadline: Deadline | None = None
) -> tuple[str, ...]:
    """The ECS clusters that a CloudFormation stack has.

    Raises:
        GpuConstructsError: There is no such stack, it has no cluster, or AWS did not answer.
    """
    calls = Calls(clients, region, if_denied="--cluster NAME", deadline=deadline or Deadline())
    try:
        pages, _ = calls.pages("cloudformation:ListStackResources", _PAGES, StackName=stack)
    except UnansweredError as error:
        if _NO_STACK not in error.problem:
            raise
        where = f"in {region or calls.region_name()}"
        fix = "--region REGION names another region, and --cluster NAME a cluster"
        raise GpuConstructsError(f"there is no stack {shown(stack)} {where}", argument="STACK", fix=fix) from error
    resources = [each for page in pages for each in things(page, "StackResourceSummaries")]
    clusters = [each for each in resources if text(each, "ResourceType") == "AWS::ECS::Cluster"]
    found = tuple(filter(None, (text(each, "PhysicalResourceId") for each in clusters)))
    if not found:
        raise GpuConstructsError(
            f"stack {brief(stack)} has no ECS cluster", fix="name the stack of the cluster, or --cluster"
        )
    return found


def _cluster(asking: _Asking) -> None:
    asking.ask("ecs:DescribeClusters", "clusters", clusters=[asking.cluster])
    if not asking.known.denied and not asking.known.of("clusters"):
        raise GpuConstructsError(
            f"there is no cluster {brief(asking.cluster)}", fix="--cluster and --region name another one"
        )


def _hosts(asking: _Asking) -> None:
    hosts = asking.listed("ecs:ListContainerInstances", "containerInstanceArns")
    if not hosts and not asking.known.denied:
        asking.has_no_hosts()
    permission, key = "ecs:DescribeContainerInstances", "containerInstances"
    asking.ask_in_parts(permission, key, key, hosts, 100, cluster=asking.cluster)


def _groups(asking: _Asking) -> None:
    providers = dict.fromkeys(
        each
        for described in asking.known.of("clusters")
        for each in texts(described, "capacityProviders")
        if not each.startswith("FARGATE")
    )
    key = "capacityProviders"
    # Of more than ten, the API answers with pages.
    asking.ask_in_parts("ecs:DescribeCapacityProviders", key, key, list(providers), 10)
    permission, key = "autoscaling:DescribeAutoScalingGroups", "AutoScalingGroups"
    asking.ask_in_parts(permission, key, "AutoScalingGroupNames", _group_names(asking), 50)
    for template, versions in launch_templates_of(asking.known).items():
        asking.ask(
            "ec2:DescribeLaunchTemplateVersions",
            "LaunchTemplateVersions",
            LaunchTemplateId=template,
            Versions=sorted(versions),
        )


def _group_names(asking: _Asking) -> list[str]:
    of_providers = (thing(each, "autoScalingGroupProvider") for each in asking.known.of("capacityProviders"))
    return [short_name(text(each, "autoScalingGroupArn")) for each in of_providers if each]
