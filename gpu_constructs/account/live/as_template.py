"""A running cluster written as the template that would make it, so that it is read as every template is."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any

from gpu_constructs.account.answers import Answers, Thing, number, short_name, text, thing, things

# With spaces, which the name of a capacity provider cannot have: those are the ids of what is described.
_CLUSTER, _TASK = "the cluster", "the task"
_PROVIDER = "AWS::ECS::CapacityProvider"
_DEFAULT = "$Default"


def as_template(answers: Answers, *, definition: Thing, sent: Thing) -> dict[str, Any]:
    """A template with one task definition, a service for what was sent with it, and the capacity of the cluster."""
    capacity = capacity_template(answers)["Resources"]
    names = [name for name, resource in capacity.items() if resource["Type"] == _PROVIDER]
    return {
        "Resources": {
            **capacity,
            _TASK: {"Type": "AWS::ECS::TaskDefinition", "Properties": _pascal(definition)},
            "the service": {"Type": "AWS::ECS::Service", "Properties": _service(sent, names)},
        }
    }


def capacity_template(answers: Answers) -> dict[str, Any]:
    """A template with the capacity of the cluster alone."""
    resources: dict[str, Any] = {_CLUSTER: {"Type": "AWS::ECS::Cluster"}}
    for provider in answers.of("capacityProviders"):
        group = group_of(answers, provider)
        if group is not None:
            resources |= _capacity(answers, provider, group)
    names = [name for name, resource in resources.items() if resource["Type"] == _PROVIDER]
    resources["the providers"] = {
        "Type": "AWS::ECS::ClusterCapacityProviderAssociations",
        "Properties": {
            "Cluster": {"Ref": _CLUSTER},
            "CapacityProviders": [{"Ref": each} for each in names],
            "DefaultCapacityProviderStrategy": [],
        },
    }
    return {"Resources": resources}


def group_of(answers: Answers, provider: Thing) -> Thing | None:
    """The Auto Scaling group of a capacity provider; None where it has none or that was not described."""
    name = short_name(text(thing(provider, "autoScalingGroupProvider"), "autoScalingGroupArn"))
    return next((each for each in answers.of("AutoScalingGroups") if text(each, "AutoScalingGroupName") == name), None)


def launch_templates_of(answers: Answers) -> Mapping[str, frozenset[str]]:
    """Ids of the launch templates of the groups that were described, each with the versions that they launch."""
    found: dict[str, frozenset[str]] = {}
    for group in answers.of("AutoScalingGroups"):
        specification = _specification(group)
        name = text(specification, "LaunchTemplateId")
        if name:
            found[name] = found.get(name, frozenset()) | {text(specification, "Version") or _DEFAULT}
    return found


def _specification(group: Thing) -> Thing:
    of_policy = thing(thing(group, "MixedInstancesPolicy"), "LaunchTemplate")
    return thing(of_policy, "LaunchTemplateSpecification") or thing(group, "LaunchTemplate")


def _capacity(answers: Answers, provider: Thing, group: Thing) -> dict[str, Any]:
    name = text(provider, "name")
    of_group, of_launch = f"{name} group", f"{name} launch"
    own = thing(provider, "autoScalingGroupProvider")
    properties: dict[str, Any] = {key: group[key] for key in ("MinSize", "MaxSize", "DesiredCapacity") if key in group}
    properties["VPCZoneIdentifier"] = text(group, "VPCZoneIdentifier").split(",")
    properties["AvailabilityZones"] = group.get("AvailabilityZones") or []
    mixed, specification = thing(group, "MixedInstancesPolicy"), _specification(group)
    reference = {"LaunchTemplateId": {"Ref": of_launch}, "Version": "1"}
    if mixed:
        launch = thing(mixed, "LaunchTemplate")
        overrides = [
            {key: value for key, value in each.items() if key != "LaunchTemplateSpecification"}
            for each in things(launch, "Overrides")
        ]
        properties["MixedInstancesPolicy"] = {
            **mixed,
            "LaunchTemplate": {"LaunchTemplateSpecification": reference, "Overrides": overrides},
        }
    else:
        properties["LaunchTemplate"] = reference
    data = _launch_data(answers, specification) or _as_seen(answers, name, group)
    return {
        name: {
            "Type": _PROVIDER,
            "Properties": {
                "Name": name,
                "AutoScalingGroupProvider": {**_pascal(own), "AutoScalingGroupArn": {"Ref": of_group}},
            },
        },
        of_group: {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": properties},
        of_launch: {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}},
    }


def _launch_data(answers: Answers, specification: Thing) -> dict[str, Any]:
    """What the version of a launch template launches; empty where it was not described."""
    wanted = text(specification, "LaunchTemplateId"), text(specification, "LaunchTemplateName")
    version = text(specification, "Version") or _DEFAULT
    found = [
        each
        for each in answers.of("LaunchTemplateVersions")
        if text(each, "LaunchTemplateId") == wanted[0] or text(each, "LaunchTemplateName") == wanted[1]
    ]
    numbers = {str(each.get("VersionNumber")): each for each in found}
    default = next((each for each in found if each.get("DefaultVersion") is True), None)
    newest = max(found, key=lambda each: number(each, "VersionNumber") or 0, default=None)
    chosen = {_DEFAULT: default, "$Latest": newest}.get(version, numbers.get(version))
    data = dict(thing(chosen or {}, "LaunchTemplateData"))
    written = _decoded(text(data, "UserData"))
    if written is not None:
        data["UserData"] = {"Fn::Base64": written}
    return data


def _as_seen(answers: Answers, provider: str, group: Thing) -> dict[str, Any]:
    """Where the launch template was not described, its hosts say which type it launches."""
    types = [text(each, "InstanceType") for each in things(group, "Instances")]
    types += [
        text(attribute, "value")
        for host in answers.of("containerInstances")
        if text(host, "capacityProviderName") == provider
        for attribute in things(host, "attributes")
        if text(attribute, "name") == "ecs.instance-type"
    ]
    return {"InstanceType": next(filter(None, types), "")} if any(types) else {}


def _service(sent: Thing, names: Iterable[str]) -> dict[str, Any]:
    strategy = [
        {**_pascal(each), "CapacityProvider": _provider(text(each, "capacityProvider"), names)}
        for each in things(sent, "capacityProviderStrategy")
    ]
    alone = text(sent, "capacityProviderName")
    if alone and not strategy:
        strategy = [{"CapacityProvider": _provider(alone, names), "Weight": 1}]
    launch_type = {"LaunchType": text(sent, "launchType") or "EC2"}
    daemon = {"SchedulingStrategy": "DAEMON"} if sent.get("schedulingStrategy") == "DAEMON" else {"DesiredCount": 1}
    return {
        "Cluster": {"Ref": _CLUSTER},
        "TaskDefinition": {"Ref": _TASK},
        **daemon,
        **({"CapacityProviderStrategy": strategy} if strategy else launch_type),
        "PlacementConstraints": [_pascal(each) for each in things(sent, "placementConstraints")],
    }


def _provider(name: str, names: Iterable[str]) -> str | Mapping[str, str]:
    return {"Ref": name} if name in names else name


def _pascal(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The names of the API as CloudFormation writes them: ``memoryReservation`` is ``MemoryReservation`` there."""
    if isinstance(value, dict):
        return {f"{str(key)[:1].upper()}{str(key)[1:]}": _pascal(each) for key, each in value.items()}
    return [_pascal(each) for each in value] if isinstance(value, list) else value


def _decoded(user_data: str) -> str | None:
    try:
        return base64.b64decode(user_data, validate=True).decode() or None
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
