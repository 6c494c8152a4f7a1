"""The order in which CloudFormation creates resources: what certainly comes after what.

It creates a resource after those that it refers to or depends on, and the others at the same time:
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-dependson.html
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gpu_constructs.template.mentions import references_in
from gpu_constructs.template.model import Reference, Resource
from gpu_constructs.template.resources.index import Index

__all__ = ["Order"]

# Resources whose properties are looked at; of the others, only what they depend on is.
_LOOKED_AT = "AWS::ECS::"


class Order:
    """What comes after one of some resources."""

    def __init__(self, index: Index, goals: Collection[Reference]) -> None:
        self._index = index
        self._found: dict[Reference, bool] = dict.fromkeys(goals, True)

    def puts_after(self, resource: Resource) -> bool:
        """Whether a resource is created after one of the goals."""
        waiting, opened = [resource.reference], set[Reference]()
        while waiting:
            at = waiting[-1]
            if at in self._found:
                waiting.pop()
                continue
            earlier = self._before(at)
            if at in opened:
                self._found[at] = any(self._found.get(each, False) for each in earlier)
                continue
            opened.add(at)
            waiting.extend(each for each in earlier if each not in self._found and each not in opened)
        return self._found[resource.reference]

    def _before(self, reference: Reference) -> Sequence[Reference]:
        resource = self._index.at(reference)
        if resource is None:
            return ()
        named = [Reference(resource.stack, each) for each in resource.depends_on]
        return (*named, *references_in(resource.properties)) if resource.type.startswith(_LOOKED_AT) else named
