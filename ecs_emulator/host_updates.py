"""Instance refreshes: the ``AutoScalingInstanceRefresh`` update policy of a group, with managed draining.

moto 5.2.5 keeps no update policy and refreshes nothing. After `RefreshPreferences` of the Auto Scaling API and
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instance-draining.html:

- hosts that match what the group launches now stay; of the others, as many leave at once as the healthy percentages
  allow, and where they allow none, a new one is launched first;
- a host that leaves is draining: it gets no task, services replace theirs within their percentages, and tasks that
  belong to no service are left alone. It ends when it is empty, or after the time that its lifecycle hook waits, with
  whatever runs on it;
- hosts that are protected from scale-in fail the refresh, unless it is told to replace them.

Not modelled: warm pools, checkpoints, alarms, and the rollback of a refresh.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from . import autoscaling

if TYPE_CHECKING:
    from moto.ec2.models.instances import Instance

    from .autoscaling import EmulatedGroup
    from .running import RunningEcs

__all__ = ["REFRESH", "refresh"]

REFRESH = "AutoScalingInstanceRefresh"
DRAINS_FOR_MINUTES = 60
"""How long a draining host waits for its tasks here; a lifecycle hook waits 48 hours at most."""
ENDS_WITHIN_MINUTES = 600


def refresh(ecs: RunningEcs, group: EmulatedGroup, preferences: dict[str, Any]) -> None:
    """Replace the hosts of a group that were made from something else than it launches now.

    Args:
        ecs: The ECS of its region.
        group: The group.
        preferences: Preferences of the update policy.

    Raises:
        TimeoutError: Hosts are protected, or the refresh does not end.
    """
    outdated = [each for each in group.running if getattr(each, "launched_from", "") != group.blueprint]
    protected = {state.instance.id for state in group.instance_states if state.protected_from_scale_in}
    kept = [each.id for each in outdated if each.id in protected]
    if kept and preferences.get("ScaleInProtectedInstances") != "Refresh":
        raise TimeoutError(f"Instance refresh failed: instances {', '.join(kept)} are protected from scale in")
    running, to_launch = len(group.running), len(outdated)
    low = math.ceil(running * int(preferences.get("MinHealthyPercentage", 100)) / 100)
    high = max(running * int(preferences.get("MaxHealthyPercentage", 110)) // 100, low + 1)
    cluster = autoscaling.config_of(group).cluster
    leaving: dict[str, int] = {}
    for _ in range(ENDS_WITHIN_MINUTES):
        hosts = {each.ec2_instance_id: each for each in ecs.hosts(cluster)}
        for gone in [each for each in outdated if each not in group.running]:
            outdated.remove(gone)
        if not outdated:
            return
        ready = [each for each in group.running if each.id in hosts and each.id not in leaving]
        for each in _next(outdated, leaving, len(ready) - low):
            leaving[each.id] = 0
            if each.id in hosts:
                hosts[each.id].status = "DRAINING"
        before = len(group.running)
        room = high - (before - len(leaving))
        if room > 0 and to_launch:
            autoscaling.launch(group, min(room, to_launch))
            to_launch -= len(group.running) - before
        for each in [each for each in outdated if each.id in leaving]:
            leaving[each.id] += 1
            if each.id not in hosts or hosts[each.id].is_idle or leaving[each.id] > DRAINS_FOR_MINUTES:
                autoscaling.terminate(group, [each])
                del leaving[each.id]
        ecs.pass_a_minute(cluster)
    raise TimeoutError("Instance refresh did not end")


def _next(outdated: list[Instance], leaving: dict[str, int], count: int) -> list[Instance]:
    return [each for each in outdated if each.id not in leaving][: max(count, 0)]
