"""What do hosts do at their first boot, as far as it sets up the ECS agent and the local disks?

`settings` reads user data in every form that EC2 takes, and what ``cfn-init`` adds: `shell` splits a script into
commands, `script` follows them, and `agent` knows what a setting is.
"""

from gpu_constructs.template.resources.user_data.settings import (
    CLUSTER,
    NOT_KNOWN,
    AgentSettings,
    ClusterNamed,
    agent_settings,
    is_refused,
    is_too_long,
    with_init_metadata,
)

__all__ = [
    "CLUSTER",
    "NOT_KNOWN",
    "AgentSettings",
    "ClusterNamed",
    "agent_settings",
    "is_refused",
    "is_too_long",
    "with_init_metadata",
]
