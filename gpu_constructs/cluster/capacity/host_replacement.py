"""How a deploy brings a change to hosts that run: an instance refresh of their Auto Scaling group."""

from __future__ import annotations

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling

from gpu_constructs.cdk.arguments import flag, whole_number
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.facts.aws_limits import MAX_PERCENT
from gpu_constructs.fleet import HostUpdate, Pool, Unknown, UpdateMethod, known

_HAS_INSTANCE_REFRESH = hasattr(autoscaling.UpdatePolicy, "instance_refresh")
"""Whether CDK has an argument for it, as aws-cdk-lib 2.275 has and 2.262 has not."""


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class HostReplacement:
    """Replaces running hosts, some at a time, when a deploy changes what the next ones are made from.

    CloudFormation starts an instance refresh when the launch template or how hosts are bought changes: a new image,
    volume, user data, EFA, spot instead of on demand. With ECS managed draining, the tasks of a host move first; the
    deploy ends when the last host is replaced. It needs:

    - a place for the tasks of the hosts that leave. With `launch_first` it is a new host, which takes stock and quota
      for one more. Without, it is free room on the other hosts, or a service that may run one copy less; a `GpuService`
      does so by default where its hosts are full;
    - the same instance types. Running tasks can only be placed on the types that their task definition names: for other
      types, add a second capacity, and remove the first in the next deploy;
    - tasks that end. A host waits up to 48 hours for tasks that were started by hand, and is terminated with them.

    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instance-draining.html

    Args:
        launch_first: Whether a new host comes before an old one goes. By default it does. With False
            there are never more hosts than `max_instances`: for reserved hosts, and where EC2 has no more of them.
        percent_at_once: Hosts that are replaced together, in percent of those that run, 1 to 100; always at least one.
            By default 10.

    Raises:
        InvalidValueError: An argument is wrong by itself.
    """

    launch_first: bool = True
    percent_at_once: int = 10

    def __post_init__(self) -> None:
        flag("launch_first", self.launch_first)
        percent = whole_number(
            "percent_at_once",
            self.percent_at_once,
            smallest=1,
            largest=MAX_PERCENT,
            unit="percent",
            fix="percent_at_once=10",
        )
        if isinstance(percent, Unknown):
            raise InvalidValueError(
                "the percentages of the instance refresh are computed at synth, so this number must be known then",
                argument="percent_at_once",
                fix="percent_at_once=10",
            )
        object.__setattr__(self, "percent_at_once", percent)

    def update_of(self, pool: Pool) -> HostUpdate:
        """The same as the value that every check reads.

        Args:
            pool: What the capacity can launch.
        """
        stay = MAX_PERCENT if self.launch_first else MAX_PERCENT - self.percent_at_once
        if not self.launch_first and isinstance(pool.max_instances, int):
            # All hosts but one at most: Auto Scaling rounds up, and launches first where no host could go.
            stay = min(stay, MAX_PERCENT * (pool.max_instances - 1) // pool.max_instances)
        return HostUpdate(
            method=UpdateMethod.INSTANCE_REFRESH,
            min_healthy_percent=stay,
            max_healthy_percent=MAX_PERCENT + (self.percent_at_once if self.launch_first else 0),
            replaces_protected=pool.managed_termination_protection is True,
        )

    def update_policy(self, pool: Pool, warmup_seconds: int) -> autoscaling.UpdatePolicy | None:
        """The update policy of the Auto Scaling group; None where CDK has no argument for it.

        Args:
            pool: What the capacity can launch.
            warmup_seconds: How long a new host takes until it runs tasks.
        """
        if not _HAS_INSTANCE_REFRESH:
            return None
        update = self.update_of(pool)
        return autoscaling.UpdatePolicy.instance_refresh(
            strategy=autoscaling.InstanceRefreshStrategy.ROLLING,
            instance_warmup=cdk.Duration.seconds(warmup_seconds),
            min_healthy_percentage=known(update.min_healthy_percent),
            max_healthy_percentage=known(update.max_healthy_percent),
            # An instance refresh waits an hour for hosts that are protected from scale-in, and fails.
            scale_in_protected_instances=autoscaling.ScaleInProtectedInstances.REFRESH
            if update.replaces_protected
            else None,
        )

    def update_policy_data(self, pool: Pool, warmup_seconds: int) -> dict[str, object]:
        """The same as it is written into the template where CDK has no argument for it.

        Args:
            pool: What the capacity can launch.
            warmup_seconds: How long a new host takes until it runs tasks.
        """
        if _HAS_INSTANCE_REFRESH:
            return {}
        update = self.update_of(pool)
        preferences: dict[str, object] = {
            "InstanceWarmup": warmup_seconds,
            "MinHealthyPercentage": update.min_healthy_percent,
            "MaxHealthyPercentage": update.max_healthy_percent,
        }
        if update.replaces_protected:
            preferences["ScaleInProtectedInstances"] = "Refresh"
        return {str(update.method): {"Strategy": "Rolling", "Preferences": preferences}}
