from __future__ import annotations

import pytest

from gpu_constructs.fleet import Origin
from gpu_constructs.template.model import Resource, Stack
from gpu_constructs.template.resources.names import Names

PROVIDER = "AWS::ECS::CapacityProvider"
CLUSTER = "AWS::ECS::Cluster"


def made(path: str | None, kind: str = PROVIDER, *, stack: str = "Stack", logical_id: str = "Id") -> Resource:
    return Resource(
        logical_id=logical_id,
        type=kind,
        stack=stack,
        properties={},
        metadata={} if path is None else {"aws:cdk:path": path},
        origin=Origin(resource=logical_id),
    )


@pytest.mark.parametrize(
    ("path", "kind", "name"),
    [
        ("Stack/Gpu/L4/Provider/Provider", PROVIDER, "Gpu/L4"),
        ("Stack/Provider/Provider", PROVIDER, "Provider"),
        ("Stack/Gpu/Cluster/Resource", CLUSTER, "Gpu"),
        ("Stack", PROVIDER, "Id"),
    ],
)
def test_the_name_is_the_path_without_what_cdk_adds(path: str | None, kind: str, name: str) -> None:
    assert Names([]).of(made(path, kind)) == name


def test_the_metadata_resource_says_where_the_stacks_own_part_ends() -> None:
    note = made("Prod/Gpu/CDKMetadata/Default", "AWS::CDK::Metadata", stack="renamed", logical_id="CDKMetadata")
    stack = Stack(name="renamed", resources={"CDKMetadata": note})
    assert Names([stack]).of(made("Prod/Gpu/L4/L4", stack="renamed")) == "L4"


def unique(*resources: Resource) -> tuple[str, ...]:
    return Names([]).unique([(each, "") for each in resources])


def test_two_of_one_stack_with_one_name_are_told_apart_by_their_logical_ids() -> None:
    first, second = made("Stack/App/App", logical_id="One"), made("Stack/App/Provider/Provider", logical_id="Two")
    assert unique(first, second) == ("Stack/One", "Stack/Two")


def test_no_two_names_are_ever_alike() -> None:
    tricky = [
        made(None, stack="A", logical_id="x"),
        made(None, stack="A/A", logical_id="x"),
        made("S/A/x", stack="S", logical_id="y"),
        made("S/A/A/x", stack="S", logical_id="z"),
    ]
    assert len(set(unique(*tricky))) == len(tricky)
