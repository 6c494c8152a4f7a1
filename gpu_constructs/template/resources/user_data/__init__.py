"""What do hosts do at their first boot, as far as it sets up the ECS agent and the local disks?

`settings` reads user data in every form that EC2 takes: `shell` splits a script into commands, `script` follows them,
`cloud_config` and `bottlerocket` read the other forms, and `init_metadata` adds what ``cfn-init`` writes.
"""

from gpu_constructs.template.resources.user_data.init_metadata import with_init_metadata
from gpu_constructs.template.resources.user_data.settings import (
    CLUSTER,
    NOT_KNOWN,
    AgentSettings,
    ClusterNamed,
    agent_settings,
    is_too_long,
)

__all__ = [
    "CLUSTER",
    "NOT_KNOWN",
    "AgentSettings",
    "ClusterNamed",
    "agent_settings",
    "is_too_long",
    "with_init_metadata",
]
