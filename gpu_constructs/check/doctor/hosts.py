"""Hosts of earlier years: launch configurations, and instance types that no region offers any more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial

from gpu_constructs.check.doctor.proposals import Proposal, below, member, resources
from gpu_constructs.errors import shown
from gpu_constructs.facts import RECORDED, InstanceType, accelerated, instance_type
from gpu_constructs.facts.drivers import gib_of
from gpu_constructs.facts.prices import dollars, on_demand_price
from gpu_constructs.rules.finding import and_list
from gpu_constructs.template.documents.edits import EditError, TextEdits
from gpu_constructs.template.documents.node import Node, Path, items, members, under

_NAME = "LaunchConfigurationName"
_WITHOUT_BID = ", and without SpotPrice, which was for a retired type: the on-demand price is then the most"
_TYPE = re.compile(r"(?<![\w.-])[a-z][\w-]*\.[\w-]+(?![\w.-])")

_BATCH_IMAGES = {"ECS_AL2": "ECS_AL2023", "ECS_AL2_NVIDIA": "ECS_AL2023_NVIDIA"}  # without a GPU and with some
# https://docs.aws.amazon.com/batch/latest/APIReference/API_Ec2Configuration.html

# What is the same in a launch template, and what has another name there, with the key in between.
# https://docs.aws.amazon.com/autoscaling/ec2/userguide/migrate-to-launch-templates.html
_SAME = re.compile("BlockDeviceMappings|EbsOptimized|ImageId|InstanceType|KernelId|KeyName|MetadataOptions|UserData")
_WRAPPED = {
    "InstanceMonitoring": ("Monitoring", "Enabled"),
    "PlacementTenancy": ("Placement", "Tenancy"),
    "SecurityGroups": ("SecurityGroupIds", ""),
}


def launch_templates(file: str, data: Node) -> Iterator[Proposal]:
    """Launch templates in the place of the launch configurations of Auto Scaling groups."""
    names = {group: _properties(data, group).get(_NAME) for group in resources(data)}
    named = {str(each.get("Ref")): group for group, each in names.items() if isinstance(each, dict)}
    for name, group in named.items():
        if name.isalnum() and name in resources(data):
            new = re.sub(r"LaunchConfig(uration)?|LaunchConf|$", "LaunchTemplate", name, count=1)
            while new in resources(data) or new in str(member(data, "Parameters")):
                new += "2"
            is_outdated = "SpotPrice" in _properties(data, name) and _has_retired_types(data)
            bid = _WITHOUT_BID if is_outdated else ""
            yield Proposal(
                file,
                ("Resources", name, "Type"),
                f"{group} has the launch configuration {name}, which accounts since 2024-10-01 cannot create, and "
                "which launches no type that is newer than 2022",
                f"a launch template, {new}, with another id, as CloudFormation changes no type{bid}",
                partial(_to_launch_template, data, name, new),
                rule="GPU055",
                about=group,
                property_name="LaunchTemplate",
                becomes=new,
            )


def _properties(data: Node, name: str) -> dict[str, Node]:
    return members(member(resources(data).get(name), "Properties")[1])


def _to_launch_template(data: Node, name: str, new: str, text: TextEdits) -> None:
    properties, top = _properties(data, name), ("Resources", name, "Properties")
    groups, public = properties.get("SecurityGroups"), properties.get("AssociatePublicIpAddress")
    card = {"DeviceIndex": 0, "AssociatePublicIpAddress": public, **({"Groups": groups} if groups else {})}
    highest = {} if _has_retired_types(data) else {"SpotOptions": {"MaxPrice": properties.get("SpotPrice")}}
    market: Node = {"MarketType": "spot", **highest}
    written: dict[str, tuple[str, Node]] = {
        "AssociatePublicIpAddress": ("NetworkInterfaces", [card]),
        "SpotPrice": ("InstanceMarketOptions", market),
    }
    is_arn = re.search(r"'Arn'|\.Arn|\barn:", str(properties.get("IamInstanceProfile")))
    wrapped = {**_WRAPPED, "IamInstanceProfile": ("IamInstanceProfile", "Arn" if is_arn else "Name")}
    _require_translatable(data, properties, {*written, *wrapped, _NAME})
    for old in properties:
        key, inner = wrapped.get(old, (old, ""))
        if old in written:
            text.rename((*top, old), written[old][0])
            text.put((*top, written[old][0]), written[old][1])
        elif old == _NAME or (old == "SecurityGroups" and "AssociatePublicIpAddress" in properties):
            text.remove((*top, old))
        elif old in wrapped:
            text.rename((*top, old), key)
            if inner:
                text.wrap((*top, key), inner)
    text.wrap(top, "LaunchTemplateData")
    if _NAME in properties:
        text.add(top, "LaunchTemplateName", properties[_NAME])
    text.put(("Resources", name, "Type"), "AWS::EC2::LaunchTemplate")
    _refer(data, name, new, text)
    text.rename(("Resources", name), new)
    text.exchange_words(rf"(--resource[ =]|-r )([\"']?){name}\b", rf"\g<1>\g<2>{new}")
    text.exchange_words(rf"\bResources\.{name}\.Metadata", f"Resources.{new}.Metadata")


def _require_translatable(data: Node, properties: dict[str, Node], known: set[str]) -> None:
    """Refuses what a launch template has not, and names of security groups, of which it takes the ids."""
    if unknown := [each for each in properties if each not in known and not _SAME.fullmatch(each)]:
        raise EditError(f"a launch template has no {unknown[0]}")
    if "NoDevice" in str(properties.get("BlockDeviceMappings")):
        raise EditError("NoDevice is another value there")
    for each in items(properties.get("SecurityGroups")):
        name = under(each, "Ref")
        is_name = isinstance(each, str) and not each.startswith("sg-")
        if is_name or (isinstance(name, str) and name in resources(data) and "VpcId" not in _properties(data, name)):
            raise EditError(f"{shown(name or each)} may be the name of a security group")


def _refer(data: Node, name: str, new: str, text: TextEdits) -> None:
    """What refers to the launch configuration refers to the launch template; refused where that means another thing."""
    version: Node = {"Fn::GetAtt": [new, "LatestVersionNumber"]}
    for path, node in below(data):
        if isinstance(node, str) and node == name and "DependsOn" in path[2:4]:
            text.put(path, new)
        elif path[3:] == (_NAME,) and node == {"Ref": name}:
            text.rename(path, "LaunchTemplate")
            text.put((*path[:3], "LaunchTemplate"), {"LaunchTemplateId": {"Ref": new}, "Version": version})
        elif isinstance(node, str) and path[-2:] != (_NAME, "Ref"):
            is_named = node == name and (path[-1] == "Ref" or "Fn::GetAtt" in path[-2:-1])
            if is_named or re.search(rf"\$\{{{name}[.}}]", node):
                raise EditError(f"{path[1]} refers to {name}")


@cache
def _successors() -> Mapping[str, InstanceType]:
    """The types to move to, by the name of a type with NVIDIA GPUs that no region offers, and by that of its family."""
    old = [each for each in accelerated() if each.gpus and not each.is_offered_anywhere]
    found = {each.name: instance_type(each.replaced_by) for each in old if each.replaced_by}
    return {each.family: found[each.name] for each in reversed(old) if each.name in found} | found


def _has_retired_types(data: Node) -> bool:
    return any(isinstance(node, str) and node in _successors() for _, node in below(data))


def retired(file: str, data: Node) -> Iterator[Proposal]:
    """Instance types that no region offers, each written anew wherever the file has it, and images of AWS Batch."""
    places: dict[str, list[tuple[Path, Node]]] = {}
    for path, node in below(data):
        is_key = path[:1] == ("Mappings",) and str(path[-1]) in _successors() and "." in str(path[-1])
        text = str(path[-1]) if is_key else node if isinstance(node, str) else ""
        name = text if "." in text or _is_listed(path) else ""
        found = [name] if name in _successors() else _TYPE.findall(text) if "ecs.instance-type" in text else []
        for each in _successors().keys() & found if path[-1:] != ("Description",) else ():
            places.setdefault(each, []).append((path, None if is_key else node))
        if path and str(path[-1]).lower() == "imagetype" and text in _BATCH_IMAGES:
            message = f"AWS Batch refuses new compute environments on {text} since 2026-06-30"
            new_image = _BATCH_IMAGES["ECS_AL2_NVIDIA" if _has_only_gpus(data, path) else text]
            old_types = _left_behind(data, path) if "NVIDIA" in new_image else {}
            change = new_image + (f", without {and_list(old_types.values())}" if old_types else "")
            edit = partial(_to_2023, path, new_image, old_types)
            yield Proposal(file, path, message, change, edit, "GPU003")
    for name, found_at in places.items():
        new, is_type = _successors()[name], "." in name
        old = instance_type(name) if is_type else None
        was = f"the family {name}" if old is None else _told(old)
        message = f"{was} was offered in none of the regions recorded on {RECORDED:%Y-%m-%d}"
        nearest = "the nearest with at least as many GPUs and as much memory of each"
        change = f"{_told(new)}, {nearest}" if is_type else f"{new.family}, whose {_told(new)} is {nearest}"
        if old is not None and new.memory_mib < old.memory_mib:
            change += f"; the host has {new.memory_mib // 1024} GiB of memory, and had {old.memory_mib // 1024}"
        edit = partial(_exchanged, name, new.name if is_type else new.family, found_at)
        yield Proposal(file, found_at[0][0], message, change, edit, "GPU001", property_name="InstanceType")


def _is_listed(path: Path) -> bool:
    """Whether a value is in a list of instance types, which AWS Batch takes families in as well."""
    return "'instancetypes', " in str(path[-2:]).lower()


def _types_beside(data: Node, image: Path) -> dict[Path, str]:
    """The instance types and families of the compute environment that an image is for."""
    return {at: str(node) for at, node in below(data) if at[:-2] == image[:-3] and _is_listed(at)}


def _has_only_gpus(data: Node, image: Path) -> bool:
    """Whether each type has NVIDIA GPUs, for which no other entry of Ec2Configuration names an image."""
    beside = [str(node) for at, node in below(data) if at[:-2] == image[:-2] and at[-1] == image[-1] and at != image]
    families = {each.family for each in accelerated() if each.gpus}
    types = _types_beside(data, image).values()
    has_gpus = bool(types) and all(each.split(".")[0] in families for each in types)
    return has_gpus and not any("NVIDIA" in each for each in beside)


def _left_behind(data: Node, image: Path) -> dict[Path, str]:
    """Types beside others that AWS Batch does not support on the new image, and for which no other type is proposed."""
    listed = _types_beside(data, image)
    gone = {each.family for each in accelerated() if each.traits.unsupported_by_batch}
    old = {at: each for at, each in listed.items() if each.split(".")[0] in gone and each not in _successors()}
    return old if len(old) < len(listed) else {}


def _to_2023(image: Path, name: str, left: Mapping[Path, str], text: TextEdits) -> None:
    text.put(image, name)
    for path, each in left.items():
        text.remove((*path[:-1], text.names(path[:-1]).index(each)))


def _told(each: InstanceType) -> str:
    devices, price = each.accelerators, on_demand_price(each.name)
    has = "" if devices is None else f"{devices.count} x {devices.model} of {gib_of(devices.memory_mib or 0):g} GiB"
    return f"{each} ({has}{'' if price is None else f', {dollars(price.usd_per_hour)} an hour in {price.region}'})"


def _exchanged(old: str, new: str, places: Sequence[tuple[Path, Node]], text: TextEdits) -> None:
    for path, node in places:
        names = text.names(path[:-1])  # as other proposals have left them
        if node is not None and node != old:
            text.put(path, re.sub(rf"(?<![\w.-]){re.escape(old)}(?![\w.-])", new, str(node)))
            continue
        here = (*path[:-1], names.index(old) if isinstance(path[-1], int) else path[-1])
        if new in names and (node is None or isinstance(path[-1], int)):
            text.remove(here)
        elif node is None:
            text.rename(here, new)
        else:
            text.put(here, new)
