"""The order in which CloudFormation creates resources: what certainly comes after what.

It creates a resource after those that it refers to or depends on, and the others at the same time:
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-dependson.html
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gpu_constructs.template.mentions import references_in
from gpu_constructs.template.model import Reference, Resource
from gpu_constructs.template.resources.index import Index

# Resources whose properties are looked at; of the others, only what they depend on is.
_LOOKED_AT = "AWS::ECS::"


class Order:
    """What comes after one of some resources."""

    def __init__(self, index: Index, goals: Collection[Reference]) -> None:
        self._index = index
        self._found: dict[Reference, bool] = dict.fromkeys(goals, True)

    def puts_after(self, resource: Resource) -> bool:
        """Whether a resource is created after one of the goals."""
        first = resource.reference
        if first in self._found:
            return self._found[first]
        waiting, opened = [(first, self._before(first))], {first}
        while waiting:
            at, earlier = waiting[-1]
            for each in earlier:
                known = self._found.get(each)
                if known:  # whatever led here comes after it too
                    self._found.update((later, True) for later, _ in waiting)
                    return True
                if known is None and each not in opened:
                    opened.add(each)
                    waiting.append((each, self._before(each)))
                    break
            else:
                self._found[at] = False
                waiting.pop()
        return False

    def _before(self, reference: Reference) -> Iterator[Reference]:
        resource = self._index.at(reference)
        if resource is None:
            return
        for each in resource.depends_on:
            yield Reference(resource.stack, each)
        if resource.type.startswith(_LOOKED_AT):
            yield from references_in(resource.properties)
