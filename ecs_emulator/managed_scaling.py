"""Cluster auto scaling: how a capacity provider's Auto Scaling group follows the tasks; inert in moto 5.2.5.

After https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html:

- a task that needs more than the *smallest* type of the group never makes it grow, and neither does one whose placement
  constraints do not hold for every type; such a task stays in PROVISIONING;
- from zero instances it grows to two, and never past MaxSize or the maximum step;
- a host that stays idle for fifteen minutes is terminated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import autoscaling
from .placement import Demand, Host, Placement, place, reason_against

if TYPE_CHECKING:
    from .autoscaling import EmulatedGroup
    from .hosts import EcsHost

__all__ = ["IDLE_MINUTES", "hosts_needed", "scale_in", "scale_out"]

IDLE_MINUTES = 15
FROM_ZERO = 2


def hosts_needed(demands: Sequence[Demand], types: Sequence[Host]) -> int:
    """How many more hosts the tasks need.

    Args:
        demands: The tasks that wait.
        types: One empty host of each type that the group can launch.

    Returns:
        The number of hosts of the smallest type; tasks that do not fit it do not count.
    """
    if not types:
        return 0
    fitting = [demand for demand in demands if all(reason_against(demand, host) is None for host in types)]
    smallest = replace(
        types[0],
        cpu=min(host.cpu for host in types),
        memory=min(host.memory for host in types),
        gpus=min((host.gpus for host in types), key=len),
        gpu_total=min(host.gpu_total for host in types),
        gpu_memory_mib=min(host.gpu_memory_mib for host in types),
        neuron=min(host.neuron for host in types),
    )
    filled: list[Host] = []
    for demand in fitting:
        outcome = place(demand, filled)
        if isinstance(outcome, Placement):
            filled[[host.arn for host in filled].index(outcome.host.arn)] = outcome.host
            continue
        fresh = place(demand, [replace(smallest, arn=str(len(filled)))])
        assert isinstance(fresh, Placement)
        filled.append(fresh.host)
    return len(filled)


def scale_out(group: EmulatedGroup, scaling: dict[str, Any], demands: Sequence[Demand], registered: int) -> None:
    """Launch what the waiting tasks need, unless earlier launches have yet to register.

    Args:
        group: The provider's group.
        scaling: The provider's managed scaling settings.
        demands: What the tasks that wait for the provider need.
        registered: How many hosts of the provider are registered.
    """
    running = len(autoscaling.instances(group))
    needed = hosts_needed(demands, autoscaling.sample_hosts(group))
    if scaling.get("status") != "ENABLED" or not needed or running > registered:
        return
    if running == 0:
        needed = max(needed, FROM_ZERO)
    step = min(max(needed, int(scaling["minimumScalingStepSize"])), int(scaling["maximumScalingStepSize"]))
    room = int(group.max_size or 0) - running
    if room > 0:
        autoscaling.launch(group, min(step, room))


def scale_in(group: EmulatedGroup, provider: dict[str, Any], hosts: Sequence[EcsHost]) -> None:
    """Terminate the hosts that have been idle for long enough; called once a minute.

    Args:
        group: The provider's group.
        provider: The provider's settings.
        hosts: Its registered hosts.
    """
    for host in hosts:
        host.idle_minutes = host.idle_minutes + 1 if host.is_idle else 0
    if provider["managedScaling"].get("status") != "ENABLED":
        return
    # Scale-in protection holds hosts back, unless managed termination protection lifts it from the idle ones.
    managed = provider.get("managedTerminationProtection") == "ENABLED"
    protected = {state.instance.id for state in group.instance_states if state.protected_from_scale_in and not managed}
    idle = [host for host in hosts if host.idle_minutes >= IDLE_MINUTES and host.ec2_instance_id not in protected]
    surplus = len(autoscaling.instances(group)) - int(group.min_size or 0)
    doomed = {host.ec2_instance_id for host in idle[: max(surplus, 0)]}
    if doomed:
        autoscaling.terminate(group, [item for item in autoscaling.instances(group) if item.id in doomed])
