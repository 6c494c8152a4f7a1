"""What ``cfn-init`` writes into the agent's configuration: commands and files of a resource's metadata.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-init.html

Metadata is kept as it was written, so the functions that make texts are worked out here, as far as they say plainly
which resource they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.template.model import Reference, Resource, Text
from gpu_constructs.template.resources.user_data.settings import (
    CLUSTER,
    AgentSettings,
    ClusterNamed,
    agent_settings_within,
)

__all__ = ["with_init_metadata"]

_KEY = "AWS::CloudFormation::Init"
_MOST_NODES = 2000
_VARIABLE = re.compile(r"\$\{([A-Za-z0-9:]{1,255})(?:\.[A-Za-z0-9.]{1,255})?\}")


def with_init_metadata(found: AgentSettings, resource: Resource, cluster_named: ClusterNamed) -> AgentSettings:
    """User data with the settings that it leaves to ``cfn-init``; nobody says that these are all.

    Args:
        found: The user data itself.
        resource: The resource with the metadata.
        cluster_named: The one name of a cluster.
    """
    metadata: object = resource.metadata
    written = metadata.get(_KEY) if isinstance(metadata, Mapping) else None
    if written is None or found.data.complete:
        return found
    agent: dict[str, str | Unknown] = {}
    cluster: str | Unknown | None = None
    for text in _texts(written, resource.stack):
        more = agent_settings_within(text, cluster_named)
        agent |= dict(more.data.agent)
        cluster = more.cluster if more.data.get(CLUSTER) is not None else cluster
    own = dict(found.data.agent)
    return AgentSettings(
        data=replace(found.data, agent=tuple(sorted({**agent, **own}.items(), key=lambda each: each[0]))),
        cluster=found.cluster if CLUSTER in own or CLUSTER not in agent else cluster,
    )


def _texts(node: object, stack: str) -> Iterator[Text]:
    """Every text in it that may name the agent's variables."""
    waiting, seen = [node], 0
    while waiting and seen < _MOST_NODES:
        here = waiting.pop()
        seen += 1
        if isinstance(here, str):
            yield Text((here,))
        elif isinstance(here, Mapping):
            made = _made(here, stack)
            if made is not None:
                yield made
            else:
                waiting.extend(reversed(list(here.values())[:_MOST_NODES]))
        elif isinstance(here, (list, tuple)):
            waiting.extend(reversed(here[:_MOST_NODES]))


def _made(node: Mapping[str, object], stack: str) -> Text | None:
    """The text that ``Fn::Sub`` or ``Fn::Join`` makes; None for anything else."""
    match node:
        case {"Fn::Sub": str(template)} | {"Fn::Sub": [str(template), *_]}:
            return Text(tuple(_substituted(template, stack)))
        case {"Fn::Join": [str(between), [*parts]]}:
            pieces: list[str | Reference | Unknown] = []
            for part in parts[:_MOST_NODES]:
                pieces += [between] if pieces and between else []
                pieces.append(_piece(part, stack))
            return Text(tuple(pieces))
        case _:
            return None


def _piece(node: object, stack: str) -> str | Reference | Unknown:
    match node:
        case str(text):
            return text
        case {"Ref": str(logical_id)}:
            return Reference(stack, logical_id)
        case _:
            return UNKNOWN


def _substituted(template: str, stack: str) -> Iterator[str | Reference | Unknown]:
    position = 0
    for found in _VARIABLE.finditer(template):
        yield template[position : found.start()]
        yield Reference(stack, found[1])
        position = found.end()
    yield template[position:]
