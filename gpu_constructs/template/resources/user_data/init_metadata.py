"""What ``cfn-init`` writes into the agent's configuration: commands and files of a resource's metadata.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-init.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpu_constructs.fleet import Unknown
from gpu_constructs.template.model import Resource, Text, Value
from gpu_constructs.template.resources.user_data.settings import (
    CLUSTER,
    AgentSettings,
    ClusterNamed,
    agent_settings_within,
)

__all__ = ["with_init_metadata"]


def with_init_metadata(found: AgentSettings, resource: Resource, cluster_named: ClusterNamed) -> AgentSettings:
    """User data with the settings that it leaves to ``cfn-init``, which may not be all."""
    if not resource.init or found.data.complete:
        return found
    agent: dict[str, str | Unknown] = {}
    cluster: str | Unknown | None = None
    for text in _texts(resource.init):
        more = agent_settings_within(text, cluster_named)
        agent |= dict(more.data.agent)
        cluster = more.cluster if more.data.get(CLUSTER) is not None else cluster
    own = dict(found.data.agent)
    return AgentSettings(
        data=replace(found.data, agent=tuple(sorted({**agent, **own}.items(), key=lambda each: each[0]))),
        cluster=found.cluster if CLUSTER in own or CLUSTER not in agent else cluster,
    )


def _texts(value: Value) -> Iterator[str | Text]:
    """Every text in it that may name the agent's variables."""
    pieces = value.pieces if isinstance(value, Text) else (value,)
    if isinstance(value, (str, Text)):
        if any(isinstance(each, str) and "ECS_" in each for each in pieces):
            yield value
    elif isinstance(value, (Mapping, Sequence)):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)
