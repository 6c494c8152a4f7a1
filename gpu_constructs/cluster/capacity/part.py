"""A part of a capacity: one value that knows by itself what it does to the hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from aws_cdk import aws_autoscaling as autoscaling
from constructs import Construct, Node

from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.fleet import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What a part adds to the resources of its capacity.

    Attributes:
        agent: Settings of the ECS agent, by the names of its variables.
        boot_commands: Lines of user data that run before the agent starts.
        launch_template: Properties of ``LaunchTemplateData`` that CDK's launch template has no argument for.
        group: Properties that CDK's Auto Scaling group has no argument for, as `autoscaling.CfnAutoScalingGroup` takes
            them.
        update_policy: How CloudFormation updates the group, besides what CDK says.
        metadata: What stands under `METADATA_KEY` in the metadata of the group.
    """

    agent: Mapping[str, str] = field(default_factory=dict)
    boot_commands: tuple[str, ...] = ()
    launch_template: Mapping[str, object] = field(default_factory=dict)
    group: Mapping[str, object] = field(default_factory=dict)
    update_policy: Mapping[str, object] = field(default_factory=dict)
    metadata: Mapping[str, object] = field(default_factory=dict)


NO_CONTRIBUTION = Contribution()


class HostGroup:
    """The Auto Scaling group of a capacity. What several parts ask CDK about it is asked once.

    Args:
        construct: The group as CDK made it.
        max_instances: Hosts at most, as given.
        hosts: What its hosts share with those of other capacities of the cluster.
    """

    def __init__(self, construct: autoscaling.AutoScalingGroup, max_instances: int, hosts: ClusterHosts) -> None:
        self.construct = construct
        self.max_instances = max_instances
        self.hosts = hosts

    @cached_property
    def node(self) -> Node:
        """Its place in the tree of constructs."""
        return self.construct.node

    @cached_property
    def name(self) -> str:
        """Its name, known at deploy time."""
        return self.construct.auto_scaling_group_name

    @cached_property
    def resource(self) -> autoscaling.CfnAutoScalingGroup:
        """The resource of CloudFormation."""
        return cast("autoscaling.CfnAutoScalingGroup", self.node.default_child)


class HostPart:
    """One part of a capacity, such as how its hosts are bought.

    Whoever makes a capacity asks every part the same questions, so that a new option is known to its part alone. A part
    answers those that it has an answer to.
    """

    __slots__ = ()

    @property
    def needs_one_zone(self) -> bool:
        """Whether the hosts start in one Availability Zone only, so that the zones of the subnets matter."""
        return False

    def applied_to(self, pool: Pool) -> Pool:
        """A capacity with this part, as the value that every check reads."""
        return pool

    def require_possible(self, pool: Pool) -> None:
        """Refuses what contradicts the capacity and no rule can decide, such as what is only known at deploy time.

        Raises:
            IncompatibleError: AWS refuses it with something else of the capacity, or it would never work.
        """

    def contribution(self, pool: Pool) -> Contribution:  # noqa: ARG002 - of parts that need no pool
        """What it adds to the resources of a capacity."""
        return NO_CONTRIBUTION

    def add_to(self, scope: Construct, group: HostGroup) -> None:
        """Defines what it needs in addition to the Auto Scaling group."""


def contribution_of(parts: Iterable[HostPart], pool: Pool) -> Contribution:
    """What several parts add together."""
    each = [part.contribution(pool) for part in parts]
    return Contribution(
        agent={key: value for one in each for key, value in one.agent.items()},
        boot_commands=tuple(line for one in each for line in one.boot_commands),
        launch_template=_merged(one.launch_template for one in each),
        group=_merged(one.group for one in each),
        update_policy=_merged(one.update_policy for one in each),
        metadata=_merged(one.metadata for one in each),
    )


def _merged(properties: Iterable[Mapping[str, object]]) -> dict[str, object]:
    return {key: value for each in properties for key, value in each.items()}
