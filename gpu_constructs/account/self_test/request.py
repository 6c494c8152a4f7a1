"""What a self-test is asked to do, which hosts that are, and the permissions that it takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from gpu_constructs.account.answers import Answers, text
from gpu_constructs.account.live.as_template import capacity_template
from gpu_constructs.account.live.hosts import RegisteredHost, registered_hosts
from gpu_constructs.account.live.self_test import FAMILY, IMAGE
from gpu_constructs.account.live.subjects import is_of_construct
from gpu_constructs.check.report import check_files
from gpu_constructs.errors import InvalidValueError, UnknownNameError, brief, shown
from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.budget import NAME
from gpu_constructs.facts.values import dataclass

_MOST_NAMES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be tested, and how.

    Args:
        cluster: Name or ARN of the cluster.
        capacity: Capacity providers that are tested with one task each, for which managed scaling starts a host where
            none is free.
        hosts: Instances that are tested. Where neither is given, one host of each type is tested, of those that are
            there.
        image: An image with a shell; with PyTorch and nccl-tests it tests CUDA and NCCL as well.
        log_group: A log group that exists. By default ``gpu-constructs-self-test``, which is made if it is not there.
        execution_role: ARN of the role that pulls the image and writes the log. By default the role of the hosts does.
        minutes: How many minutes it waits for all tests together.
        region: Where the cluster is; None for the region of the profile.
    """

    cluster: str
    capacity: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    image: str = IMAGE
    log_group: str | None = None
    execution_role: str | None = None
    minutes: float = 20
    region: str | None = None

    def __post_init__(self) -> None:
        """Refuses a time that does not pass.

        Raises:
            InvalidValueError: It is not above 0.
        """
        if not 0 < self.minutes < math.inf:
            raise InvalidValueError(
                f"expects a time above 0, got {self.minutes:g} minutes", argument="minutes", value=self.minutes
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One task of the test, and where it goes.

    Attributes:
        about: The host, the type or the capacity provider.
        kind: The type whose GPUs it asks for, all of them.
        provider: The capacity provider that it goes to; None for hosts that are there.
        expression: The placement constraint that its host meets; None where its provider alone decides.
    """

    about: str
    kind: InstanceType
    provider: str | None = None
    expression: str | None = None


def targets_of(answers: Answers, request: Request) -> tuple[Target, ...]:
    """The tasks of a test.

    Raises:
        UnknownNameError: There is no such host or capacity provider.
        InvalidValueError: Its GPUs are not known, or there is nothing to test.
    """
    managed = {text(each, "name") for each in answers.of("capacityProviders") if "managedInstancesProvider" in each}
    # Their tasks require the compatibility MANAGED_INSTANCES, and those of other hosts EC2.
    hosts = [each for each in registered_hosts(answers) if each.provider not in managed]
    if not request.hosts and not request.capacity:
        kinds = {each.type_name: each.instance_type for each in hosts if each.status == "ACTIVE"}
        found = tuple(_of_type(kind) for kind in kinds.values() if kind is not None and kind.gpus)
        if not found:
            raise InvalidValueError(
                f"cluster {brief(request.cluster, NAME)} has no host with a whole NVIDIA GPU",
                fix="--capacity names a capacity provider that starts one",
            )
        return found
    return (*_of_hosts(request.hosts, hosts), *_of_capacity(request.capacity, answers, hosts))


def _of_type(kind: InstanceType) -> Target:
    return Target(about=str(kind), kind=kind, expression=f"attribute:ecs.instance-type == {kind}")


def _of_hosts(names: Sequence[str], hosts: Sequence[RegisteredHost]) -> Iterator[Target]:
    known = {each.instance_id: each for each in hosts}
    for name in dict.fromkeys(names):
        host = known.get(name)
        if host is None:
            raise UnknownNameError(
                f"no host of the cluster is {shown(name)}",
                argument="--host",
                value=name,
                nearest=tuple(brief(each, NAME) for each in known)[:_MOST_NAMES],
            )
        kind = _with_gpus([host.instance_type] if host.instance_type else [], str(host), "--host")
        yield Target(about=str(host), kind=kind, expression=f"ec2InstanceId == {name}")


def _of_capacity(names: Sequence[str], answers: Answers, hosts: Sequence[RegisteredHost]) -> Iterator[Target]:
    known = [text(each, "name") for each in answers.of("capacityProviders")]
    pools = {each.name: each for each in check_files([capacity_template(answers)], rules=()).fleet.pools}
    for name in dict.fromkeys(_provider_called(each, known) for each in names):
        types = list(pools[name].instance_types) if name in pools else []
        types = types or [each.instance_type for each in hosts if each.provider == name and each.instance_type]
        yield Target(about=name, kind=_with_gpus(types, name, "--capacity"), provider=name)


def _provider_called(name: str, known: Sequence[str]) -> str:
    """The capacity provider of a name, of a capacity, or of a part of the name that CloudFormation made."""
    if not known or name in known:
        return name
    made: list[str] = []
    for part in (f"{name}Provider", name):  # the first one is what `add_capacity` leads to
        made = made or [each for each in known if is_of_construct(each, part)]
    if len(made) == 1:
        return made[0]
    raise UnknownNameError(
        f"{shown(name)} may be several capacity providers"
        if made
        else f"the cluster has no capacity provider {shown(name)}",
        argument="--capacity",
        value=name,
        nearest=tuple(brief(each, NAME) for each in made or known)[:_MOST_NAMES],
    )


def _with_gpus(types: Sequence[InstanceType], name: str, argument: str) -> InstanceType:
    """One of the types, which all have the same number of GPUs: a task asks for all of its host."""
    numbers = sorted({each.gpus for each in types})
    if len(numbers) != 1 or not numbers[0]:
        has = " or ".join(map(str, numbers)) if numbers else "an unknown number of"
        fix = "--host tests one host" if argument == "--capacity" else None
        raise InvalidValueError(f"{brief(name, NAME)} has {has} whole NVIDIA GPUs", argument=argument, fix=fix)
    return types[0]


def policy(request: Request) -> Mapping[str, object]:
    """The least policy of IAM that lets a test run.

    Args:
        request: What is asked for.
    """
    group = f"arn:aws:logs:*:*:log-group:{request.log_group or FAMILY}"
    made = () if request.log_group else ("logs:CreateLogGroup", "logs:PutRetentionPolicy")
    rows: list[tuple[Sequence[str], str | list[str]]] = [
        (_READS, "*"),
        (("ecs:DeregisterTaskDefinition", "ecs:RegisterTaskDefinition"), "*"),
        (("ecs:RunTask",), f"arn:aws:ecs:*:*:task-definition/{FAMILY}:*"),
        (("ecs:StopTask",), "arn:aws:ecs:*:*:task/*"),
        ((*made, "logs:GetLogEvents"), [group, f"{group}:*"]),
    ]
    if request.execution_role:
        rows.append((("iam:PassRole",), request.execution_role))
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": sorted(actions), "Resource": resource} for actions, resource in rows
        ],
    }


_READS = (
    "autoscaling:DescribeAutoScalingGroups",
    "cloudformation:ListStackResources",
    "ec2:DescribeLaunchTemplateVersions",
    "ecs:DescribeCapacityProviders",
    "ecs:DescribeClusters",
    "ecs:DescribeContainerInstances",
    "ecs:DescribeTasks",
    "ecs:ListContainerInstances",
    "ecs:ListTasks",
)
