"""What a host is told at its first boot, as text: the ECS agent's settings in the form of its operating system.

Agent settings: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html,
Bottlerocket: https://bottlerocket.dev/en/os/latest/api/settings/ecs/
"""

from __future__ import annotations

from gpu_constructs.hardware import OperatingSystem
from gpu_constructs.placement import RESERVED_MEMORY_MIB

__all__ = ["agent_settings", "join_cluster"]


def join_cluster(operating_system: OperatingSystem, cluster_name: str) -> tuple[str, ...]:
    """Lines that make a host register with a cluster.

    For a cluster that CDK made in the same stack, ``Cluster.add_asg_capacity_provider`` writes the same lines itself.

    Args:
        operating_system: Decides the form: shell on Amazon Linux, TOML on Bottlerocket.
        cluster_name: Name of the cluster, which may be a token.
    """
    if operating_system is OperatingSystem.BOTTLEROCKET:
        return ("[settings.ecs]", f'cluster = "{cluster_name}"')
    return (f"echo ECS_CLUSTER={cluster_name} >> /etc/ecs/ecs.config",)


def agent_settings(operating_system: OperatingSystem) -> tuple[str, ...]:
    """Lines for the agent: in a shell in any order with `join_cluster`, in TOML after it, in the table that it opens.

    Memory is kept for the agent and the driver's daemons; tasks in network mode awsvpc cannot reach the instance role
    (bridge tasks are kept from it by the metadata hop limit of the launch template); a host that is about to be
    reclaimed drains instead of dying under its tasks. GPU support needs no line: the GPU images bring their own.

    Args:
        operating_system: Decides the form: shell on Amazon Linux, TOML on Bottlerocket.
    """
    if operating_system is OperatingSystem.BOTTLEROCKET:
        return (
            f"reserved-memory = {RESERVED_MEMORY_MIB}",
            "awsvpc-block-imds = true",
            "enable-spot-instance-draining = true",
        )
    return (
        "#!/bin/bash",
        "cat <<'EOF' >> /etc/ecs/ecs.config",
        f"ECS_RESERVED_MEMORY={RESERVED_MEMORY_MIB}",
        "ECS_AWSVPC_BLOCK_IMDS=true",
        "ECS_ENABLE_SPOT_INSTANCE_DRAINING=true",
        "EOF",
    )
