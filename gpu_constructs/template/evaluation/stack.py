"""The resources of one stack: the kinds that matter for placement at once, every other one when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial

from gpu_constructs.fleet import Unknown
from gpu_constructs.template.documents.node import Node, listed, members, under
from gpu_constructs.template.evaluation.evaluator import OF_WORK, Evaluator
from gpu_constructs.template.model import (
    STATE_MACHINES,
    Reference,
    Resource,
    Stack,
    UnreadableError,
    Value,
    references_in,
)

_INIT = "AWS::CloudFormation::Init"
_CREATION = "CreationPolicy"
_UPDATE = "UpdatePolicy"
_BUCKET = "bucket"  # whichever: files are found by their keys

RELEVANT = (
    "AWS::ApplicationAutoScaling::",
    "AWS::AutoScaling::",
    "AWS::Batch::",
    "AWS::CloudFormation::Stack",
    "AWS::EC2::CapacityReservation",
    "AWS::EC2::EC2Fleet",
    "AWS::EC2::Instance",
    "AWS::EC2::LaunchTemplate",
    "AWS::EC2::PlacementGroup",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::SpotFleet",
    "AWS::EC2::Subnet",
    "AWS::ECS::",
    "AWS::IAM::InstanceProfile",
    "AWS::SSM::Parameter",
)
"""What a fleet is read from. What is odd in any other resource is of no interest here and is not remarked."""

# Of what runs tasks or watches them, most does something else, so it is worked out when it is asked for, and nothing in
# it is remarked.
_RUNNING = ("AWS::CloudWatch::", "AWS::Events::Rule", "AWS::Pipes::", "AWS::Scheduler::", *STATE_MACHINES)


class _Later(Mapping[str, Value]):
    """Properties that are worked out when they are asked for."""

    def __init__(
        self,
        evaluator: Evaluator,
        node: Node,
        more: Callable[[Mapping[str, Value]], Mapping[str, Value]] = lambda _: {},
    ) -> None:
        self._evaluator = evaluator
        self._node = node
        self._more = more

    @cached_property
    def _found(self) -> Mapping[str, Value]:
        shared = self._evaluator.shared
        depth = shared.depth
        try:
            with shared.quiet():
                value = self._evaluator.value(self._node)
        except RecursionError:  # the reader itself is deep in something
            value, shared.depth = None, depth
        return {**value, **self._more(value)} if isinstance(value, Mapping) else {}

    def __getitem__(self, key: str) -> Value:
        return self._found[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return repr(self._found)


def stack_of(evaluator: Evaluator) -> Stack:
    """A stack, with its functions worked out."""
    resources = {
        logical_id: resource
        for logical_id, declaration in evaluator.resources.items()
        if (resource := _resource(evaluator, logical_id, declaration)) is not None
    }
    root = evaluator.source.document.file
    exposed = partial(_exposed_by, evaluator)
    return Stack(name=evaluator.name, resources=resources, region=evaluator.place.region, root=root, exposed=exposed)


def _exposed_by(evaluator: Evaluator) -> Iterator[Reference]:
    """What exports that were not met give to other stacks, and outputs without a name to whoever reads them."""
    yield from evaluator.shared.exports.left_by(evaluator)
    if evaluator.file == evaluator.source.document.file:  # what a nested one has, the stack around it reads
        named = {key for _, key in evaluator.exports()}
        yield from references_in([evaluator.output(key) for key in evaluator.outputs if key not in named])


def _resource(evaluator: Evaluator, logical_id: str, declaration: Node) -> Resource | None:
    path, source = ("Resources", logical_id), evaluator.source
    kind = under(declaration, "Type")
    if not isinstance(declaration, dict) or not isinstance(kind, str):
        evaluator.shared.remark(f"resource {logical_id!r} has no type", evaluator.origin(path))
        return None
    exists = evaluator.exists(declaration)
    if exists is False:
        return None
    metadata = members(declaration.get("Metadata"))
    relevant = kind.startswith(RELEVANT)
    construct = metadata.get("aws:cdk:path")
    if not isinstance(construct, str):
        construct = source.construct(logical_id) if relevant or kind.startswith(_RUNNING) else None
    return Resource(
        logical_id=logical_id,
        type=kind,
        stack=evaluator.name,
        properties=_definition(evaluator, declaration)
        if kind in STATE_MACHINES
        else _properties(evaluator, logical_id, declaration, relevant=relevant),
        metadata=metadata,
        init=_Later(evaluator, metadata[_INIT]) if _INIT in metadata else {},
        creation_policy=_Later(evaluator, declaration[_CREATION]) if _CREATION in declaration else {},
        update_policy=_Later(evaluator, declaration[_UPDATE]) if _UPDATE in declaration else {},
        origin=evaluator.origin(path, construct),
        exists=exists,
        depends_on=tuple(each for each in listed(declaration.get("DependsOn")) if isinstance(each, str)),
        platform_of=source.platform_of,
    )


def _properties(
    evaluator: Evaluator, logical_id: str, declaration: Mapping[str, Node], *, relevant: bool
) -> Mapping[str, Value]:
    written = declaration.get("Properties")
    if written is None:
        return {}
    if not relevant:
        return _Later(evaluator, written)
    path = ("Resources", logical_id, "Properties")
    properties = evaluator.at(path, lambda: evaluator.value(written))
    if isinstance(properties, Mapping):
        return properties
    if isinstance(properties, Unknown):
        is_of_work = str(declaration.get("Type")).startswith(OF_WORK)
        text = f"what {logical_id} defines is not known here"
        evaluator.shared.remark(text, evaluator.origin(path), hides_work=is_of_work)
    else:
        evaluator.shared.remark(f"the properties of {logical_id!r} are not an object", evaluator.origin(path))
    return {}


def _definition(evaluator: Evaluator, declaration: Mapping[str, Node]) -> Mapping[str, Value]:
    """Properties of a state machine; a definition in a file of its own reads as if it were written in the template."""

    def from_file(properties: Mapping[str, Value]) -> Mapping[str, Value]:
        where = properties.get("DefinitionS3Location") or properties.get("DefinitionUri")
        if isinstance(where, Mapping) and isinstance(where.get("Key"), str):
            where = f"s3://{_BUCKET}/{where['Key']}"
        try:
            document = evaluator.source.nested(declaration, where) if isinstance(where, str) else None
        except UnreadableError:
            return {}
        return {} if document is None or not isinstance(document.data, dict) else {"Definition": document.data}

    return _Later(evaluator, declaration.get("Properties", {}), from_file)
