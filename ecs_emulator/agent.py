"""What an instance's user data tells its ECS agent: the cluster to join, and what to register there.

Amazon Linux writes ``/etc/ecs/ecs.config`` from a shell script
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html), Bottlerocket reads TOML
(https://bottlerocket.dev/en/os/latest/#/api/settings/ecs/).
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["AgentConfig", "agent_config"]

_SHELL = re.compile(r"ECS_(?P<key>CLUSTER|RESERVED_MEMORY)=[\"']?(?P<value>[A-Za-z0-9_-]+)")
_SHELL_ATTRIBUTES = re.compile(r"ECS_INSTANCE_ATTRIBUTES=[\"']?(\{[^}]*\})")
_SECTION = re.compile(r"^\s*\[(?P<name>[^\]]+)\]\s*$")
_SETTING = re.compile(r"^\s*(?P<key>[A-Za-z0-9._\"-]+)\s*=\s*[\"']?(?P<value>[^\"'#]*?)[\"']?\s*(?:#.*)?$")


@dataclass(frozen=True)
class AgentConfig:
    """The agent's configuration.

    Args:
        cluster: The cluster to join; an agent that is told none joins ``default``.
        reserved_memory_mib: Memory that the agent does not register.
        attributes: Attributes that it registers beside the built-in ones.
    """

    cluster: str = "default"
    reserved_memory_mib: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)


@functools.cache
def agent_config(user_data: str) -> AgentConfig:
    """Read the user data of an instance."""
    settings = {match["key"]: match["value"] for match in _SHELL.finditer(user_data)}
    attributes = {
        name: str(value) for found in _SHELL_ATTRIBUTES.findall(user_data) for name, value in json.loads(found).items()
    }
    toml = _toml(user_data)
    prefix = "settings.ecs.instance-attributes."
    attributes |= {key.removeprefix(prefix): value for key, value in toml.items() if key.startswith(prefix)}
    return AgentConfig(
        cluster=settings.get("CLUSTER") or toml.get("settings.ecs.cluster") or "default",
        reserved_memory_mib=int(settings.get("RESERVED_MEMORY") or toml.get("settings.ecs.reserved-memory") or 0),
        attributes=attributes,
    )


def _toml(text: str) -> dict[str, str]:
    """The dotted settings of a Bottlerocket document; Python 3.10 has no TOML reader and strings are all we need."""
    settings, section = {}, ""
    for line in text.splitlines():
        if heading := _SECTION.match(line):
            section = heading["name"].replace('"', "") + "."
        elif setting := _SETTING.match(line):
            settings[section + setting["key"].replace('"', "")] = setting["value"]
    return settings
