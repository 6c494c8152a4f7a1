"""A part of a capacity: one value that knows by itself what it does to the hosts."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import NO_USER_DATA, Pool, UserData


@dataclass(slots=True, kw_only=True)
class Contribution:
    """What the parts of a capacity add to its resources; every part writes into the same one.

    Attributes:
        agent: Settings of the ECS agent, by the names of its variables.
        boot_commands: Lines of user data that run before the agent starts.
        last_commands: Lines of user data that the user gave, which run after all others.
        told_by_user: What they tell the agent, as a reader of the template sees it.
        attributes: Custom attributes of the hosts, besides those of their types.
        launch_template: Properties of ``LaunchTemplateData`` that CDK's launch template has no argument for.
        group: Properties that CDK's Auto Scaling group has no argument for, as `autoscaling.CfnAutoScalingGroup` takes
            them.
        update_policy: How CloudFormation updates the group, besides what CDK says.
        metadata: What stands under `METADATA_KEY` in the metadata of the group.
    """

    agent: dict[str, str] = field(default_factory=dict)
    boot_commands: list[str] = field(default_factory=list)
    last_commands: list[str] = field(default_factory=list)
    told_by_user: UserData = NO_USER_DATA
    attributes: dict[str, str] = field(default_factory=dict)
    group_arguments: dict[str, Any] = field(default_factory=dict)
    launch_arguments: dict[str, Any] = field(default_factory=dict)
    launch_template: dict[str, object] = field(default_factory=dict)
    group: dict[str, object] = field(default_factory=dict)
    update_policy: dict[str, object] = field(default_factory=dict)
    metadata: dict[str, object] = field(default_factory=dict)


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

    @property
    def rules(self) -> tuple[str, ...]:
        """Ids of the rules that decide about it, the first one first; none where no answer can be no."""
        return ()

    def applied_to(self, pool: Pool) -> Pool:
        """A capacity with this part, as the value that every check reads."""
        return pool

    def require_possible(self, pool: Pool) -> None:
        """Refuses what contradicts the capacity and no rule can decide, such as what is only known at deploy time."""

    def contribute(self, adds: Contribution, pool: Pool) -> None:
        """Adds what it adds to the resources of a capacity."""
