"""JSON texts within arguments, such as ``container_definitions``: what they hold as properties, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gpu_constructs.template.documents.document import LATER
from gpu_constructs.template.documents.node import Node, Path, members
from gpu_constructs.template.documents.requests import is_free, property_name
from gpu_constructs.template.terraform.kind import words

# Names of several words in what is JSON within an argument: Terraform's provider takes them in any case.
SPELLED: Mapping[str, str] = {
    each.lower(): each
    for each in words(
        """
        containerDefinitions containerName containerPath containerPort cpuArchitecture credentialSpecs dependsOn
        disableNetworking dnsSearchDomains dnsServers dockerLabels dockerSecurityOptions entryPoint environmentFiles
        ephemeralStorage executionRoleArn extraHosts fargatePlatformConfiguration firelensConfiguration hardLimit
        healthCheck hostPath hostPort initProcessEnabled instanceType jobRoleArn linuxParameters logConfiguration
        logDriver mainNode memoryReservation mountPoints networkConfiguration nodeRangeProperties numNodes
        platformVersion portMappings portName readOnly readonlyRootFilesystem repositoryCredentials
        resourceRequirements restartPolicy runtimePlatform secretOptions sharedMemorySize softLimit sourceVolume
        startPeriod startTimeout stopTimeout systemControls targetNodes taskProperties valueFrom volumesFrom
        workingDirectory
        """
    )
}
# What is left of a JSON text of which a part must not be shown: what has to fit, and nothing that may be a secret.
_SHOWN: Final = frozenset(
    words(
        """
        condition container containerName containerPath containerPort containers cpu dependsOn devices essential
        hardLimit hostPath hostPort initProcessEnabled instanceType linuxParameters mainNode memory memoryReservation
        mountPoints name nodeRangeProperties numNodes permissions portMappings privileged protocol readOnly
        resourceRequirements sharedMemorySize softLimit sourceVolume targetNodes taskProperties type ulimits value
        vcpus
        """
    )
)
_WITH_SECRETS: Final = frozenset({"environment", "secrets"})


def in_properties(node: Node, key: str = "", *, hides: bool) -> Node:
    """What a JSON text holds, under the names of properties; where it hides a secret, what has to fit and no more."""
    if isinstance(node, list):
        return [in_properties(each, key, hides=hides) for each in node]
    if not isinstance(node, dict):
        return node
    if is_free(key):
        return {} if hides else dict(node)
    found: dict[str, Node] = {}
    for name, child in node.items():
        spelled = _spelled(name)
        is_hidden = hides and (spelled not in _SHOWN or key in _WITH_SECRETS)
        found[property_name(spelled, below=key)] = LATER if is_hidden else in_properties(child, spelled, hides=hides)
    return found


def keys_behind(path: Path, data: Node) -> Path:
    """The keys of a JSON text behind properties that were made of it, as far as they go."""
    found: list[str | int] = []
    around = ""
    for step in path:
        if isinstance(data, list) and isinstance(step, int) and step < len(data):
            found.append(step)
            data = data[step]
            continue
        names = members(data)
        wanted = str(step).lower()
        name = next((each for each in names if property_name(_spelled(each), below=around).lower() == wanted), None)
        if name is None:
            break
        found.append(name)
        around, data = _spelled(name), names[name]
    return tuple(found)


def _spelled(name: str) -> str:
    return SPELLED.get(name.lower(), name)
