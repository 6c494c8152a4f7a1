"""A capacity provider in the words of ECS, its place in a strategy, and the reservations that its hosts run in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from gpu_constructs.cdk.arguments import known_or, of_form, require_kind, whole_number
from gpu_constructs.cdk.calls import written_if_refused
from gpu_constructs.cdk.refusal import require_allowed, require_yes
from gpu_constructs.cdk.tokens import is_text_token, is_token, known_text
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.facts import Architecture
from gpu_constructs.facts.aws_limits import ECS_NAME_FORM, MAX_BASE, MAX_WEIGHT, reserved_prefix
from gpu_constructs.fleet import UNKNOWN, Pool, StrategyItem, Unknown, Workload

_STRATEGY_RULE = "GPU089"


def known_provider_name(value: str | None) -> str | Unknown | None:
    """The name of a capacity provider as far as it is known; rule GPU046 decides whether ECS accepts it."""
    if value is None:
        return None
    if not isinstance(value, str) or (is_token(value) and (reserved_prefix(value) or not is_text_token(value))):
        raise InvalidValueError(
            f"{shown(value)} cannot be the name of a capacity provider",
            argument="capacity_provider_name",
            value=value,
            allowed=f"{ECS_NAME_FORM}, not beginning with aws, ecs or fargate",
            fix="capacity_provider_name='gpu-l4'",
        )
    return known_text(value)


class ProviderCapacity(Construct):
    """What every capacity of a cluster is for tasks and services: a provider, and what it can launch.

    Attributes:
        hosts: What all hosts of the cluster share.
        cluster: The cluster that its hosts join.
        architecture: Processor architecture of its hosts.
        pool: What it can launch, as the value that every check reads.
        instance_type_names: Names of its instance types as given, tokens among them.
        provider: The ECS capacity provider; none where another stack or app has made it.
    """

    provider: ecs.AsgCapacityProvider | ecs.ManagedInstancesCapacityProvider

    comes_first: bool = False

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        hosts: ClusterHosts,
        pool: Pool,
        instance_type_names: Iterable[str],
    ) -> None:
        super().__init__(scope, construct_id)
        self.hosts: ClusterHosts = hosts
        self.cluster: ecs.ICluster = hosts.cluster
        declared = None if isinstance(pool.image, Unknown) else pool.image.image.architecture
        self.architecture: Architecture = declared or pool.instance_types[0].architecture
        self.pool: Pool = pool
        self.instance_type_names: tuple[str, ...] = tuple(instance_type_names)

    @cached_property
    def capacity_provider_name(self) -> str:
        """Name of its capacity provider, which may only be known to CloudFormation at deploy time."""
        return self.provider.capacity_provider_name

    @property
    def gpus(self) -> int:
        """Whole NVIDIA GPUs that each of its hosts has at least; 0 where ECS has none to hand out.

        It has none of CPU and fractional types, of Neuron devices, and of types that are only known at deploy time.
        """
        return min((each.gpus for each in self.pool.instance_types), default=0)

    @written_if_refused
    def strategy(self, *, weight: int = 1, base: int | None = None) -> ecs.CapacityProviderStrategy:
        """This provider as an item of a capacity provider strategy.

        Args:
            weight: Relative share of the tasks above every base, 0 to 1000.
            base: Tasks that run here before any other provider gets one, 0 to 100000; one item of a strategy may have
                a base. Managed Instances share no strategy with Auto Scaling groups.
        """
        share = whole_number(
            "weight", weight, smallest=0, largest=MAX_WEIGHT, unit="shares", fix="weight=1", rule=_STRATEGY_RULE
        )
        first = whole_number(
            "base", base or 0, smallest=0, largest=MAX_BASE, unit="tasks", fix="base=1", rule=_STRATEGY_RULE
        )
        return ecs.CapacityProviderStrategy(
            capacity_provider=self.capacity_provider_name,
            weight=known_or(weight, share),
            base=None if base is None else known_or(base, first),
        )


def require_strategy(
    strategy: Sequence[ecs.CapacityProviderStrategy],
    pools: Mapping[str, Pool],
    *,
    argument: str = "strategy",
    cluster: str = "",
) -> None:
    """Refuses a default strategy that ECS does not accept; with `cluster`, also pools whose cluster is another."""
    for each in strategy:
        require_kind(argument, each, ecs.CapacityProviderStrategy, example="[capacity.strategy(weight=1)]")
    items = tuple(
        StrategyItem(
            provider=known_text(each.capacity_provider),
            pool=pools.get(each.capacity_provider),
            weight=_known_number(each.weight),
            base=_known_number(each.base),
        )
        for each in strategy
    )
    workload = Workload(name="the cluster", task=None, strategy=items)
    arguments = {"CapacityProviderStrategy": argument}
    if cluster:
        require_yes(replace(workload, name="a task without one", cluster=cluster), "GPU217", arguments=arguments)
    require_allowed(workload, arguments)
    require_yes(workload, "GPU140", arguments=arguments)


def _known_number(value: float | None) -> int | Unknown:
    return UNKNOWN if is_token(value) else int(value or 0)


# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html
_ID = r"cr-(?:[0-9a-f]{8}|[0-9a-f]{17})"

# The pattern of the Resource Groups API (botocore 1.44.5, GroupStringV2).
_GROUP = (
    r"arn:aws(?:-[a-z]+)*:resource-groups:[a-z]{2}(?:-[a-z]+)+-\d:[0-9]{12}:group/"
    r"(?:[a-zA-Z0-9_.-]{1,300}|[a-zA-Z0-9_.-]{1,150}/[a-z0-9]{26})"
)


def require_reservation_id(value: str) -> None:
    """Refuses text that cannot be the id of a capacity reservation; a token passes."""
    is_arn = isinstance(value, str) and value.startswith("arn:")
    of_form(
        "reservation_id",
        value,
        _ID,
        "the id of a capacity reservation",
        allowed="cr- and 17 hexadecimal digits",
        fix="the id behind the last slash of the ARN, or resource_group_arn=… for a group of reservations"
        if is_arn
        else "the id that aws ec2 describe-capacity-reservations prints",
    )


def require_group_arn(value: str) -> None:
    """Refuses text that is not a resource group; a token passes."""
    of_form(
        "resource_group_arn",
        value,
        _GROUP,
        "the ARN of a resource group",
        allowed="arn:<partition>:resource-groups:<region>:<account>:group/<name>",
        fix="the ARN that aws resource-groups list-groups prints, of the group that the reservations were added to",
    )
