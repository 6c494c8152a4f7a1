"""Stacks written down in a test, without the file that they would be read from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_constructs.fleet import UNKNOWN, Fleet, Origin, Pool, Task, Workload
from gpu_constructs.template.documents.node import listed
from gpu_constructs.template.model import Reference, Resource, Stack, Text
from gpu_constructs.template.resources.fleet import Files, files_of, fleet_of


def declared(resources: Mapping[str, Any], *, name: str = "Stack", region: str | None = None) -> Stack:
    """A stack of resources as a template writes them, with ``Ref`` and ``Fn::GetAtt`` and no other function."""
    return Stack(
        name=name,
        region=region,
        resources={
            logical_id: Resource(
                logical_id=logical_id,
                type=resource["Type"],
                stack=name,
                properties=_value(resource.get("Properties", {}), name),
                metadata=resource.get("Metadata", {}),
                creation_policy=_value(resource.get("CreationPolicy", {}), name),
                update_policy=_value(resource.get("UpdatePolicy", {}), name),
                init=_value(resource.get("Metadata", {}).get("AWS::CloudFormation::Init", {}), name),
                depends_on=tuple(map(str, listed(resource.get("DependsOn")))),
                origin=Origin(resource=logical_id, file="template.json", path=("Resources", logical_id)),
            )
            for logical_id, resource in resources.items()
        },
    )


def joined(*pieces: Any, stack: str = "Stack") -> Text:
    return Text(tuple(_value(each, stack) for each in pieces))


def files(resources: Mapping[str, Any]) -> Files:
    return files_of([declared(resources)])


def fleet(resources: Mapping[str, Any], **arguments: Any) -> Fleet:
    return fleet_of([declared(resources, **arguments)])


def only_task(properties: Mapping[str, Any], metadata: Mapping[str, Any] | None = None) -> Task:
    resource = {"Type": "AWS::ECS::TaskDefinition", "Properties": properties, "Metadata": metadata or {}}
    (task,) = fleet({"Task": resource}).tasks
    return task


def only_pool(resources: Mapping[str, Any], **arguments: Any) -> Pool:
    (pool,) = fleet(resources, **arguments).pools
    return pool


def only_workload(resources: Mapping[str, Any]) -> Workload:
    (workload,) = fleet(resources).workloads
    return workload


def pool_of_data(data: Mapping[str, Any], group: Mapping[str, Any] | None = None, **more: Any) -> Pool:
    """The pool of an Auto Scaling group with a launch template of this data, behind a capacity provider."""
    (pool,) = fleet_of_data(data, group, **more).pools
    return pool


def fleet_of_data(
    data: Mapping[str, Any],
    group: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    update_policy: Mapping[str, Any] | None = None,
    group_metadata: Mapping[str, Any] | None = None,
    **others: Any,
) -> Fleet:
    """The same with what could not be read, and other resources beside it."""
    launches = {"MinSize": "0", "MaxSize": "4", "LaunchTemplate": {"LaunchTemplateId": {"Ref": "Template"}}}
    scaled = {"AutoScalingGroupArn": {"Ref": "Group"}, "ManagedScaling": {"Status": "ENABLED"}}
    return fleet(
        {
            "Template": {**resource("EC2::LaunchTemplate", LaunchTemplateData=data), "Metadata": metadata or {}},
            "Group": {
                **resource("AutoScaling::AutoScalingGroup", **{**launches, **(group or {})}),
                "UpdatePolicy": update_policy or {},
                "Metadata": group_metadata or {},
            },
            "Provider": resource("ECS::CapacityProvider", AutoScalingGroupProvider=scaled),
            **others,
        }
    )


def resource(kind: str, **properties: Any) -> dict[str, Any]:
    """A resource of AWS as a template has it."""
    return {"Type": f"AWS::{kind}", "Properties": properties}


def of(logical_id: str) -> dict[str, Any]:
    """The latest version of a launch template."""
    return {"LaunchTemplateId": {"Ref": logical_id}, "Version": {"Fn::GetAtt": [logical_id, "LatestVersionNumber"]}}


def mixed(*overrides: Any, **distribution: Any) -> dict[str, Any]:
    """A group that launches from a mixed instances policy over `Template`."""
    return {
        "LaunchTemplate": None,
        "MixedInstancesPolicy": {
            "LaunchTemplate": {"LaunchTemplateSpecification": of("Template"), "Overrides": list(overrides)},
            "InstancesDistribution": distribution,
        },
    }


def _value(written: Any, stack: str) -> Any:
    if isinstance(written, Mapping):
        match written:
            case {"Ref": str(logical_id)}:
                return Reference(stack, logical_id)
            case {"Fn::GetAtt": [str(logical_id), str(attribute)]}:
                return Reference(stack, logical_id, attribute)
            case {"Unknown": _}:
                return UNKNOWN
        return {key: _value(value, stack) for key, value in written.items()}
    return [_value(each, stack) for each in written] if isinstance(written, list) else written
