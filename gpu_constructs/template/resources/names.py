"""What a resource is called: the path that its author gave it in CDK, or its logical id.

The rule, in order:

1. The CDK path (``aws:cdk:path``) without the stack's own part: ``Stack/Gpu/L4/Provider/Provider`` is
   ``Gpu/L4/Provider/Provider``. The stack's part is what stands before ``CDKMetadata`` where that resource has a path;
   else the pieces that make the stack's name when they are joined with hyphens, which is how CDK names a stack within
   stages; else the first piece.
2. Without the ids that CDK's own constructs add: ``Resource`` and ``Default`` at the end, an id that repeats the one
   before it, and the one id that constructs commonly give to a part of this type (``Provider``, ``ASG`` or ``Group``,
   ``TaskDef``, ``Service``, ``Cluster``). Something always stays: ``Gpu/L4``, and ``Cp`` for ``Stack/Cp/Cp``.
3. Without a path: the logical id.
4. Where two of one kind would be called the same: the stack's name and a slash before it; where that does not tell them
   apart either, the stack's name, a slash and the logical id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpu_constructs.facts.budget import MESSAGE
from gpu_constructs.template.model import Resource, Stack

_OF_TYPE: Mapping[str, frozenset[str]] = {
    "AWS::AutoScaling::AutoScalingGroup": frozenset({"ASG", "Group"}),
    "AWS::ECS::CapacityProvider": frozenset({"Provider"}),
    "AWS::ECS::Cluster": frozenset({"Cluster"}),
    "AWS::ECS::Service": frozenset({"Service"}),
    "AWS::ECS::TaskDefinition": frozenset({"TaskDef"}),
}


class Names:
    """Names of resources; metadata of their stacks says where the stack's own part of a path ends."""

    def __init__(self, stacks: Iterable[Stack]) -> None:
        self._own_parts: dict[str, int] = {}
        for stack in stacks:
            for resource in stack.resources.values():
                path = construct_path(resource) if resource.type == "AWS::CDK::Metadata" else None
                if path is not None and path.endswith("/CDKMetadata/Default"):
                    self._own_parts[stack.name] = path.count("/") - 1

    def of(self, resource: Resource) -> str:
        """Its name, which another resource may have as well."""
        path = construct_path(resource)
        if path is None:
            return resource.logical_id
        parts = [each for each in path.split("/") if each]
        own = self._own_parts.get(resource.stack) or _own_parts(parts, resource.stack)
        return "/".join(_without_cdk_ids(parts[own:], resource.type)) or resource.logical_id

    def unique(self, entries: Sequence[tuple[Resource, str]]) -> tuple[str, ...]:
        """A name for each, no two alike."""
        plain = [self.of(resource) + suffix for resource, suffix in entries]
        with_stack = [f"{resource.stack}/{name}" for (resource, _), name in zip(entries, plain, strict=True)]
        by_id = [f"{resource.stack}/{resource.logical_id}{suffix}" for resource, suffix in entries]
        chosen = list(plain)
        for other in (with_stack, by_id):
            count = Counter(chosen)
            chosen = [second if count[first] > 1 else first for first, second in zip(chosen, other, strict=True)]
        return _numbered(chosen)

    def named(self, resources: Iterable[Resource]) -> Iterator[tuple[Resource, str]]:
        """Resources, each with a name, no two alike."""
        listed = tuple(resources)
        return zip(listed, self.unique([(each, "") for each in listed]), strict=True)


def construct_path(resource: Resource) -> str | None:
    """Path of the CDK construct; None where it is not written."""
    metadata: object = resource.metadata
    path = metadata.get("aws:cdk:path") if isinstance(metadata, (dict, Mapping)) else None
    path = path if isinstance(path, str) and path else resource.origin.construct_path
    return path if path and len(path) <= MESSAGE else None


def _own_parts(parts: Sequence[str], stack: str) -> int:
    joined = ""
    for count, part in enumerate(parts, start=1):
        joined = f"{joined}-{part}" if joined else part
        if joined == stack:
            return count
        if len(joined) > len(stack):
            break
    return 1


def _without_cdk_ids(parts: Sequence[str], resource_type: str) -> Sequence[str]:
    if len(parts) > 1 and parts[-1] in {"Resource", "Default"}:
        parts = parts[:-1]
    if len(parts) > 1 and parts[-1] == parts[-2]:
        parts = parts[:-1]
    if len(parts) > 1 and parts[-1] in _OF_TYPE.get(resource_type, frozenset()):
        parts = parts[:-1]
    return parts


def _numbered(names: Sequence[str]) -> tuple[str, ...]:
    # Only names of different stacks that were made to look alike get here: a stack "A/B" and a construct "B" of "A".
    used: set[str] = set()
    result = []
    for name in names:
        unique, number = name, 1
        while unique in used:
            number += 1
            unique = f"{name} ({number})"
        used.add(unique)
        result.append(unique)
    return tuple(result)
