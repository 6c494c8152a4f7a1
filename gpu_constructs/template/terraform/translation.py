"""A plan as the template that asks CloudFormation for the same, so that one reader and one set of rules judge both.

What only the apply knows is a reference where the configuration says to what, or else unknown, never a text. What must
not be shown is unknown as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from gpu_constructs.facts.image_table import ROOT_DEVICE
from gpu_constructs.facts.values import kept
from gpu_constructs.fleet import Place
from gpu_constructs.template.documents.document import LATER, Document, Source
from gpu_constructs.template.documents.node import Node, Path, Position, items, listed, members, nodes_in, under
from gpu_constructs.template.terraform.found import Images, Regions
from gpu_constructs.template.terraform.json_texts import keys_behind
from gpu_constructs.template.terraform.kind import capitalized
from gpu_constructs.template.terraform.kinds import KINDS
from gpu_constructs.template.terraform.links import Links, Module
from gpu_constructs.template.terraform.plan import Instance, Plan, plan_of
from gpu_constructs.template.terraform.sources import Sources
from gpu_constructs.template.terraform.words import in_terraform
from gpu_constructs.template.terraform.writer import Known, Writer

# A policy of a role or of a file system as a resource of its own, and a rule without its targets.
_ATTACHMENT, _SYSTEM_POLICY, _RULE = "Terraform::Attachment", "Terraform::FileSystemPolicy", "Terraform::EventRule"
_ROUTE, _ROUTE_TABLE, _PROPAGATION = "AWS::EC2::Route", "AWS::EC2::RouteTable", "AWS::EC2::VPNGatewayRoutePropagation"

_NO_HOSTS, _SO = "do not define hosts of ", ", so it is not known"

_INCOMPLETE = "Terraform::Incomplete"
"""The macro of a plan that leaves something to a later one; as it is none that is known, what is read is not all."""

_WARM_POOL, _POLICY = ".warm_pool", "AWS::IAM::ManagedPolicy"
_ID = re.compile(r"(?:arn:[^\s]{1,2000}|[a-z]{1,8}-[0-9a-f]{8,17})")
_CLOUD_CONTROL = re.compile(r"awscc_(batch|ecs)_(\w+)")
"""Resources of the provider `hashicorp/awscc`, whose arguments are not read."""
_ARNS = ("arn", "arn_without_revision", "id")
# Of other providers, or read by a program or another template.
_CODE = re.compile(
    "(?!aws_)|aws_(?:cloudcontrolapi_|cloudformation_stack|codebuild_project|lambda_invocation|"
    "secretsmanager_secret_version|serverlessapplicationrepository_|servicecatalog_provisioned_product|ssm_)"
)


def source_of(document: Document, *, name: str, region: str | None) -> Source:
    """The stack that a plan or a state is.

    Raises:
        UnreadableError: If it is in a form that is not read.
    """
    plan = plan_of(document.object(), file=document.file)
    made = _Translation(plan, document)
    places = made.places()
    regions = set(places.values())
    return Source(
        name=name,
        document=Document(file=document.file, data=made.template(), find=made.find),
        region=(next(iter(regions)) if len(regions) == 1 else None) or region,
        in_words=lambda text, address, is_marked: made.in_words(text, address, is_marked=is_marked),
        place_of=lambda address: Place(places[address]) if places.get(address) else None,
        made_at=Sources(document.file, plan).line_of,
    )


class _Translation:
    """One plan made into a template, and where each part of that stands in the plan."""

    def __init__(self, plan: Plan, document: Document) -> None:
        self._plan = plan
        self._document = document
        self._has_lines = document.find is not None and (document.line(("format_version",)) or 1) > 1
        self._made = {at: each for at, each in plan.instances.items() if each.type in KINDS and not each.is_data}
        self._known = Known(
            links=Links(plan),
            images=Images(tuple(plan.instances.values())),
            by_id=_by_id(self._made.values()),
            by_name=_by_name(self._made.values()),
        )

    def in_words(self, text: str, address: str, *, is_marked: bool) -> str:
        """A piece of a finding about a resource in the words of Terraform, with why hosts may be missing."""
        instance = self._plan.instances.get(address)
        said = in_terraform(text, "" if instance is None else instance.type, is_marked=is_marked)
        hashed = (at for at in self._made if self._written(at).has_hash)
        if _NO_HOSTS in said and (first := next(hashed, None)) is not None:
            why = f"the plan has only a hash of the user data of {first}; write it as user_data_base64"
            return said.replace(_SO, f" ({why}){_SO}")
        return said

    def places(self) -> Mapping[str, str | None]:
        """The region of each resource."""
        regions = Regions(self._plan, self._known.links)
        return {address: regions.of(each) for address, each in self._made.items()}

    def template(self) -> dict[str, Node]:
        """The template."""
        resources: dict[str, Node] = {at: Writer(self._known, each).resource() for at, each in self._made.items()}
        together = {**_together(resources), **dict(self._unread()), **dict(self._code())}
        made = ((name, each.address) for name, each in self._known.links.outputs() if each.address in self._made)
        outputs: Node = {f"{name} of {address}": {"Value": {"Ref": address}} for name, address in made}
        read: dict[str, Node] = {"Resources": together, "Outputs": outputs}
        return read if self._plan.is_whole else {**read, "Transform": _INCOMPLETE}

    def _unread(self) -> Iterator[tuple[str, Node]]:
        """Work and its hosts of which only the types are read, so that they are named as not checked."""
        for address, each in self._plan.instances.items():
            found = None if each.is_data else _CLOUD_CONTROL.fullmatch(each.type)
            if found is not None:
                service = {"batch": "Batch", "ecs": "ECS"}[found[1]]
                yield address, {"Type": f"AWS::{service}::{capitalized(found[2])}", "Properties": LATER}

    def _code(self) -> Iterator[tuple[str, Node]]:
        """What somebody's program or another provider is given, be it by a function, and the texts of it."""
        by_id = self._known.by_id
        waiting = [each for each in self._plan.instances.values() if not each.is_data and self._is_code(each)]
        found = {each.address for each in waiting}
        alike: dict[tuple[Module, str], list[Instance]] = {}
        for each in waiting:
            named, texts = self._written_in(each, alike)
            waiting += [one for one in named if one.type == "aws_lambda_function" and one.address not in found]
            found.update(one.address for one in named)
            known = [by_id[text][0] for text in nodes_in(each.values) if isinstance(text, str) and text in by_id]
            given = (one for one in (*(one.address for one in named), *known) if one in self._made)
            properties: Node = {"Given": [{"Ref": one} for one in given], "Texts": texts}
            yield f"{each.address}.code", {"Type": f"Custom::{each.type}", "Properties": properties}

    def _written_in(
        self, code: Instance, alike: dict[tuple[Module, str], list[Instance]]
    ) -> tuple[list[Instance], list[Node]]:
        """What a declaration names, and its texts; none where they are those of another instance of it.

        Instances of one declaration are given the same, which `alike` keeps, unless by their own number or key.
        """
        at, links = (code.module, code.declared), self._known.links
        if (named := alike.get(at)) is not None:
            return named, []
        written: Node = dict(links.resource(code))
        named = [one.instance for one in links.of([written], code)]
        texts = [text for text in nodes_in(written) if isinstance(text, str)]
        if not any(text.startswith(("count.", "each.")) for text in texts):
            alike[at] = named
        return named, list(texts)

    def _is_code(self, instance: Instance) -> bool:
        return _CODE.match(instance.type) is not None or "provisioners" in self._known.links.resource(instance)

    def find(self, path: Path) -> Position | None:
        """The argument behind a property, and its line where the plan is not all on one."""
        resource = str(path[1]) if len(path) > 1 else ""
        address = resource.removesuffix(_WARM_POOL)
        instance = self._plan.instances.get(address)
        if instance is None:
            return None
        of = ("warm_pool",) if address != resource else self._arguments(address, path[2:])
        line = column = 0
        if self._has_lines and (found := self._document.position((*instance.at, *of))) is not None:
            line, column = found.line, found.column
        return Position((*path[:2], *(("Properties", *of) if of else ())), line, column)

    def _arguments(self, address: str, path: Path) -> Path:
        if address not in self._made:
            return ()
        writer = self._written(address)
        instance = self._plan.instances[address]
        if path[:1] == ("Properties",) and path[1:2] and str(path[1]) in instance.values:
            return path[1:]  # in the words of Terraform already
        for length in range(len(path), 0, -1):
            of = writer.paths.get(path[:length])
            if of is not None:
                text = writer.texts.get(path[:length])
                return of if text is None else (*of, *keys_behind(path[length:], text))
        return ()

    @kept
    def _written(self, address: str) -> Writer:
        writer = Writer(self._known, self._plan.instances[address])
        writer.resource()
        return writer


def _by_id(instances: Iterable[Instance]) -> dict[str, tuple[str, bool]]:
    """Resources that exist, by their ids and ARNs, each with whether that is the ARN."""
    written = ((each.address, each.values.get(name)) for each in instances for name in _ARNS)
    ids = [(value, at) for at, value in written if isinstance(value, str) and _ID.fullmatch(value)]
    return {value: (at, value.startswith("arn:")) for value, at in reversed(ids)}


def _by_name(instances: Iterable[Instance]) -> dict[tuple[str, str], str]:
    """Resources by their type and the name that they are given."""
    named = [(each, name) for each in instances if isinstance(name := each.values.get("name"), str)]
    return {(each.type, name): each.address for each, name in reversed(named)}


# -- what Terraform has in several resources and CloudFormation in one, or the other way round ------------------------


def _together(resources: dict[str, Node]) -> dict[str, Node]:
    """The same with policies in their roles, targets of rules with these, and parts that are resources of their own."""
    apart = {_ATTACHMENT, _RULE, _SYSTEM_POLICY}
    found: dict[str, Node] = {name: each for name, each in resources.items() if _type(each) not in apart}
    for name, each in resources.items():
        if name in found and isinstance(each, dict):
            if _type(each) == "AWS::Events::Rule":
                _properties(each).update(_properties(resources.get(_address(each.pop("Rule", None)))))
            found[name] = _alone(each)
            _finish(name, _properties(each))
            if _type(each) == "AWS::EC2::SecurityGroup":
                _close(name, _properties(each))
            found.update(_warm_pool(name, _properties(each)))
            found.update(_routes(name, each))
    for name, each in resources.items():
        _forget_scaled(each, found)
        if _type(each) == _ATTACHMENT:
            found.update(_attached(name, each, found))
        if _type(each) == _SYSTEM_POLICY:
            written = _properties(each)
            _properties(found.get(_address(written.get("FileSystemId"))))["FileSystemPolicy"] = written.get(
                "PolicyDocument"
            )
    return found


def _finish(name: str, properties: dict[str, Node]) -> None:
    """Writes properties that are made of several arguments."""
    properties.update({key: list(_rules(properties.get(key), key, name)) for key in _GROUPS if key in properties})
    _write_disks(properties)
    if properties.get("SchedulingStrategy") == "DAEMON":
        properties.pop("DesiredCount", None)
    for size in _SIZES if "ScheduledActionName" in properties else ():
        if properties.get(size) == _AS_IT_IS:
            del properties[size]


_NOTHING: Node = {"IpProtocol": "icmp", "CidrIp": "255.255.255.255/32"}
"""No egress, as CDK writes it: Terraform removes the rule that EC2 gives each group, and CloudFormation does not.
https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/security_group"""


def _close(group: str, properties: dict[str, Node]) -> None:
    """Writes that a security group without egress lets nothing out but what rules of their own say."""
    written = properties.get("SecurityGroupEgress")
    # Of a module, a dynamic block may write it, of which the configuration in a plan says nothing.
    if written == [] or (written is None and not group.startswith("module.")):
        properties["SecurityGroupEgress"] = [_NOTHING]


_SIZES, _AS_IT_IS = ("MinSize", "MaxSize", "DesiredCapacity"), -1
_GROUPS = {"SecurityGroupIngress": "SourceSecurityGroupId", "SecurityGroupEgress": "DestinationSecurityGroupId"}


def _type(declaration: Node) -> Node:
    return under(declaration, "Type")


def _properties(declaration: Node) -> dict[str, Node]:
    return members(under(declaration, "Properties"))


def _address(node: Node) -> str:
    """The resource that a reference leads to; empty where it is none."""
    found, *_ = [*items(under(node, "Fn::GetAtt")), under(node, "Ref")]
    return found if isinstance(found, str) else ""


def _rules(blocks: Node, key: str, own: str) -> Iterator[Node]:
    """Rules of a security group, of which CloudFormation has one for each address and each group."""
    for block in items(blocks) if isinstance(blocks, list) else [LATER]:
        written = members(block)
        if block == LATER:
            yield block
            continue
        ports = {
            "FromPort": written.get("FromPort"),
            "ToPort": written.get("ToPort"),
            "IpProtocol": written.get("Protocol"),
        }
        sides = [{"CidrIp": each} for each in listed(written.get("CidrBlocks"))]
        sides += [{"CidrIpv6": each} for each in listed(written.get("Ipv6CidrBlocks"))]
        sides += [{_GROUPS[key]: each} for each in listed(written.get("SecurityGroups"))]
        sides += [{_GROUPS[key]: {"Ref": own}}] if written.get("Self") is True else []
        yield from ({**ports, **each} for each in sides or [{}])  # else for a prefix list, or for what is not known


def _alone(declaration: dict[str, Node]) -> dict[str, Node]:
    """A rule of a security group that is a resource of its own, with the direction that an argument gives it."""
    properties = _properties(declaration)
    if "Type" not in properties or "GroupId" not in properties:
        return declaration
    key = "SecurityGroupEgress" if properties["Type"] == "egress" else "SecurityGroupIngress"
    other = properties.get("GroupId") if properties.get("Self") is True else properties.get("SourceSecurityGroupId")
    addresses = [*listed(properties.get("CidrBlocks")), None]
    ports = {name: properties.get(name) for name in ("FromPort", "ToPort", "IpProtocol", "GroupId")}
    side: dict[str, Node] = {"CidrIp": addresses[0]} if other is None else {_GROUPS[key]: other}
    return {**declaration, "Type": f"AWS::EC2::{key}", "Properties": {**ports, **side}}


def _write_disks(properties: dict[str, Node]) -> None:
    root, disks = properties.pop("Root", None), listed(properties.pop("Disks", None))
    blocks = [{"DeviceName": ROOT_DEVICE, **root}] if isinstance(root, dict) else []
    blocks += [each for each in disks if isinstance(each, dict)]
    if blocks:
        properties["BlockDeviceMappings"] = [
            {
                "DeviceName": each.get("DeviceName"),
                "Ebs": {name: value for name, value in each.items() if name != "DeviceName"},
            }
            for each in blocks
        ]


def _warm_pool(group: str, properties: dict[str, Node]) -> dict[str, Node]:
    """The warm pool of a group, which is a block there."""
    block = properties.pop("WarmPool", None)
    if not isinstance(block, dict) or block == LATER:
        return {}
    of_group: dict[str, Node] = {"AutoScalingGroupName": {"Ref": group}, **block}
    return {f"{group}{_WARM_POOL}": {"Type": "AWS::AutoScaling::WarmPool", "Properties": of_group}}


def _routes(table: str, declaration: Node) -> dict[str, Node]:
    """The routes of a table that are blocks there, and what stands for those that a gateway adds."""
    if _type(declaration) != _ROUTE_TABLE:
        return {}
    properties = _properties(declaration)
    blocks = listed(properties.pop("Routes", None))
    of_block = ({} if each == LATER else members(each) for each in blocks)
    found: dict[str, Node] = {
        f"{table}.route[{number}]": {"Type": _ROUTE, "Properties": {**each, "RouteTableId": {"Ref": table}}}
        for number, each in enumerate(of_block)
    }
    return found | ({f"{table}.propagated": {"Type": _PROPAGATION}} if properties.pop("PropagatingVgws", None) else {})


def _attached(name: str, attachment: Node, resources: Mapping[str, Node]) -> dict[str, Node]:
    """Writes policies into their roles; what may be for any role is a policy of one that is not known."""
    written, is_open = _properties(attachment), False
    arns = listed(written["PolicyArns"]) if "PolicyArns" in written else [written.get("PolicyArn")]
    for each in _roles_of(written):
        role = resources.get(_address(each))
        is_open |= _type(role) != "AWS::IAM::Role" and not isinstance(each, str)
        of_role = _properties(role) if _type(role) == "AWS::IAM::Role" else {}
        for arn in arns:
            policy = _properties(resources.get(_address(arn)))
            document = policy.get("PolicyDocument", written.get("PolicyDocument"))
            key = "ManagedPolicyArns" if document is None else "Policies"
            item: Node = arn if document is None else {"PolicyDocument": document}
            of_role[key] = [*listed(of_role.get(key)), item]
    return {name: {"Type": _POLICY, "Properties": {"Roles": LATER}}} if is_open else {}


def _roles_of(attachment: dict[str, Node]) -> list[Node]:
    """The roles of an attachment, or one that is not known; none where it is of users and groups."""
    if "Role" in attachment:
        return [attachment["Role"]]
    roles = attachment.get("Roles", [])
    return roles if isinstance(roles, list) else [LATER]


def _forget_scaled(declaration: Node, resources: Mapping[str, Node]) -> None:
    """Leaves out a number that something else scales.

    No apply sets it again with ``ignore_changes``, and a plan does not say whether that is written.
    """
    properties = _properties(declaration)
    if _type(declaration) == "AWS::ApplicationAutoScaling::ScalableTarget":
        service = properties.get("ResourceId")
        name = service.rpartition("/")[2] if isinstance(service, str) else ""
        *_, parts = items(under(service, "Fn::Join")) or [None]
        *_, last = items(parts) or [None]
        address = _address(last)
        for at, each in resources.items():
            if _type(each) == "AWS::ECS::Service" and (
                at == address or _properties(each).get("ServiceName") == (name or 0)
            ):
                _properties(each).pop("DesiredCount", None)
    elif _type(declaration) == "AWS::ECS::CapacityProvider":
        provider = properties.get("AutoScalingGroupProvider")
        if under(provider, "ManagedScaling", "Status") == "ENABLED":
            group = _properties(resources.get(_address(under(provider, "AutoScalingGroupArn"))))
            # With hosts it does not begin empty: "the initial capacity of the Auto Scaling group at the time of its
            # creation" (API_CreateAutoScalingGroup), or what it has before the apply.
            group |= {"DesiredCapacity": LATER} if group.pop("DesiredCapacity", None) else {}
