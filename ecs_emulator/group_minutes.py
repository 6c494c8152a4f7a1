"""What a minute brings to an Auto Scaling group and its hosts, apart from what the cluster does with them."""

from __future__ import annotations

from . import autoscaling, joining, lifecycle_hooks, reservations, scheduled_actions, warm_pools
from .autoscaling import EmulatedGroup

__all__ = ["pass_a_minute"]


def pass_a_minute(group: EmulatedGroup) -> None:
    """Let everything happen to a group that takes about a minute."""
    group.end([instance for instance in reservations.expired_instances(group.where) if instance in group.running])
    user_data = group.user_data.decode() if group.user_data else ""
    group.end(joining.ended(group.where, group.running, group.template_data, user_data))
    scheduled_actions.run_due(group)
    lifecycle_hooks.pass_a_minute(group)
    autoscaling.replenish(group)
    warm_pools.fill(group)
