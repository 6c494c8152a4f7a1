"""Where hosts run: their subnets, and which VPC is meant, as far as it is certain at synth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from aws_cdk import aws_ec2 as ec2
from constructs import IDependable

from gpu_constructs.cdk.arguments import require_same_place
from gpu_constructs.cdk.calls import translated
from gpu_constructs.cdk.tokens import is_list_token, is_token, known_text
from gpu_constructs.errors import IncompatibleError, InvalidValueError, argument_named, unexpected
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Subnet, written_subnet_id, written_zone

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
import aws_cdk as cdk

_FIX = "a VPC with PRIVATE_WITH_EGRESS subnets, or vpc_subnets=… with endpoints of AWS, see docs/security.md"


@dataclass(frozen=True, kw_only=True)
class HostSubnets:
    """Subnets of one VPC that hosts run in. What CDK says about them is asked once, for all capacities in them."""

    selection: ec2.SubnetSelection
    subnets: Sequence[ec2.ISubnet]
    has_public: bool
    vpc: ec2.IVpc
    selected: ec2.SelectedSubnets | None = None

    @cached_property
    def ids(self) -> list[str]:
        """The ids of the subnets."""
        return [each.subnet_id for each in self.subnets] if self.selected is None else self.selected.subnet_ids

    @cached_property
    def known(self) -> tuple[Subnet, ...]:
        """What a template says of each: the zone of one that the app makes, the id of another."""
        ids = [None if isinstance(each, ec2.Subnet) else each.subnet_id for each in self.subnets]
        if any(map(is_list_token, ids)):
            return ()
        return tuple(
            Subnet(zone=written_zone(known_text(subnet.availability_zone)))
            if id_ is None
            else Subnet(id=written_subnet_id(id_))
            for subnet, id_ in zip(self.subnets, ids, strict=True)
        )

    @cached_property
    def way_out(self) -> tuple[IDependable, ...]:
        """What has to be there for hosts in them to reach anything."""
        if self.selected is not None:
            return (self.selected.internet_connectivity_established,)
        return tuple(each.internet_connectivity_established for each in self.subnets)

    @cached_property
    def zones(self) -> int | None:
        """In how many Availability Zones they are; None for a VPC that CDK has yet to look up."""
        if self.in_one_zone:
            return 1
        return None if self._is_pending or _are_unknown(self._zone_names) else len(self._zone_names)

    @cached_property
    def zones_are_open(self) -> bool:
        """Whether their zones are only known at deploy time, which no look-up changes."""
        return _are_unknown(self._zone_names) and not self._is_pending

    @property
    def unreached(self) -> str | None:
        """What a task with an interface of its own in them does not reach, in words; None in private ones."""
        if not self.has_public:
            return None
        # https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_AwsVpcConfiguration.html
        return (
            "the interface of a task on EC2 has no public address, also where its host has one: in a public subnet it "
            "reaches Amazon S3 and other services through endpoints of the VPC alone; private subnets with a NAT "
            "gateway have a way out"
        )

    @property
    def in_one_zone(self) -> bool:
        """Whether they certainly are in one Availability Zone."""
        return len(self._zone_names) == 1 and not _are_unknown(self._zone_names)

    @cached_property
    def _is_pending(self) -> bool:
        return bool((self.selected or selected_subnets(self.vpc, self.selection)).is_pending_lookup)

    @cached_property
    def _zone_names(self) -> frozenset[str]:
        if self.selected is not None:
            return frozenset(self.selected.availability_zones)
        return frozenset(each.availability_zone for each in self.subnets)

    @classmethod
    def of(cls, vpc: ec2.IVpc, chosen: ec2.SubnetSelection | None) -> HostSubnets:
        """The chosen subnets of a VPC; by default the private ones with a way out."""
        if chosen is None:
            private = vpc.private_subnets
            if not private:
                raise InvalidValueError(
                    f"{vpc.node.path} has no private subnets with a way out, where hosts run by default",
                    argument="vpc",
                    fix=_FIX,
                )
            return cls(selection=ec2.SubnetSelection(subnets=private), subnets=private, has_public=False, vpc=vpc)
        if not isinstance(chosen, ec2.SubnetSelection):
            raise unexpected("vpc_subnets", chosen, "an ec2.SubnetSelection", fix=_FIX)
        _require_of(vpc, chosen.subnets or ())
        with argument_named("vpc_subnets"), translated():
            selected = selected_subnets(vpc, chosen)
        # CDK has a stand-in for a VPC that it has yet to look up.
        is_pending = bool(selected.is_pending_lookup)
        if not is_pending and not selected.subnet_ids:
            zones = [each.availability_zone for each in _every(vpc)]
            if not chosen.availability_zones or all(is_token(each) or written_zone(each) for each in zones):
                raise _none_like(vpc, chosen)
            # CDK's command line looks the zones up, and runs the app again.
            names, kind = chosen.subnet_group_name, chosen.subnet_type
            return cls.of(vpc, ec2.SubnetSelection(subnet_group_name=names, subnet_type=kind))
        has_public = not is_pending and selected.has_public
        return cls(selection=chosen, subnets=selected.subnets, has_public=has_public, vpc=vpc, selected=selected)


def _every(vpc: ec2.IVpc) -> tuple[ec2.ISubnet, ...]:
    return (*vpc.private_subnets, *vpc.public_subnets, *vpc.isolated_subnets)


def _none_like(vpc: ec2.IVpc, chosen: ec2.SubnetSelection) -> InvalidValueError:
    zones = list(dict.fromkeys(written_zone(known_text(each.availability_zone)) for each in _every(vpc)))
    asked = chosen.availability_zones or ()
    if not asked or not zones or any(map(is_token, asked)) or {*asked} & {*zones}:
        return InvalidValueError("no subnet of the VPC is like that", argument="vpc_subnets", fix=_FIX)
    if None in zones:
        where = f"{', '.join(asked)} is only known at deploy time, because {cdk.Stack.of(vpc).node.path} has no region"
        fix = f"ec2.Vpc(…, availability_zones={[*asked]!r}), or a stack with env=cdk.Environment(…)"
        return InvalidValueError(
            f"whether the VPC has a subnet in {where}", argument="vpc_subnets", value=[*asked], fix=fix
        )
    return InvalidValueError(
        f"no subnet of the VPC is in {', '.join(asked)}",
        argument="vpc_subnets",
        value=[*asked],
        allowed=", ".join(filter(None, zones)),
        fix=f"ec2.SubnetSelection(availability_zones=[{zones[0]!r}])",
    )


def _require_of(vpc: ec2.IVpc, subnets: Sequence[ec2.ISubnet]) -> None:
    """Refuses subnets of another VPC: EC2 starts no host whose subnet and security group are of different networks."""
    for each in subnets:
        of = each.node.scope
        if of is not None and hasattr(of, "vpc_id") and of is not vpc and of.node.path != vpc.node.path:
            raise InvalidValueError(
                f"{each.node.path} is a subnet of another VPC than {vpc.node.path}, where the hosts run",
                argument="vpc_subnets",
                value=each.node.path,
                fix="subnets of the VPC of the cluster",
            )


def _are_unknown(zones: frozenset[str]) -> bool:
    return any(map(is_list_token, zones))


def selected_subnets(vpc: ec2.IVpc, chosen: ec2.SubnetSelection) -> ec2.SelectedSubnets:
    """What CDK finds for a selection; it takes one by its parts."""
    return vpc.select_subnets(
        availability_zones=chosen.availability_zones,
        one_per_az=chosen.one_per_az,
        subnet_filters=chosen.subnet_filters,
        subnet_group_name=chosen.subnet_group_name,
        subnets=chosen.subnets,
        subnet_type=chosen.subnet_type,
    )


# What CDK puts in the place of a VPC or of that of a load balancer until it has looked them up.
_NOT_LOOKED_UP = "vpc-12345"


def require_hosts_here(stack: cdk.Stack, vpc: ec2.IVpc, key: kms.IKey | None) -> None:
    """Refuses a VPC and a key that are certain to be in another region; another account may share them."""
    # A VPC of this stack is in its region, and without a known region of the stack nothing is certain; asking is slow.
    if (not isinstance(vpc, ec2.Vpc) or vpc.stack != stack) and not is_token(stack.region):
        why = "where no host can be in a subnet of that VPC"
        require_same_place(stack, "vpc", region=vpc.env.region, what="VPC", why=why)
    if key is not None:
        require_same_place(
            stack, "encryption_key", region=key.env.region, what="key", why="where nothing is encrypted with that key"
        )


def require_storage_in(here: str, storage: ec2.Connections, *, argument: str) -> None:
    """Refuses shared storage that is certain to be in another VPC than the hosts that are to mount it.

    Its security group says where it is; one that was imported does not. The rule that lets hosts in names their group,
    and the name of a file system is resolved in its own VPC
    (https://docs.aws.amazon.com/efs/latest/ug/mounting-fs-mount-cmd-dns-name.html).
    """
    for each in storage.security_groups:
        resource = each.node.default_child if isinstance(each, ec2.SecurityGroup) else None
        there = resource.vpc_id if isinstance(resource, ec2.CfnSecurityGroup) else None
        if there is not None:
            ours, theirs = (None, None) if there == here else (_identity(here), _identity(there))
            if ours is not None and theirs is not None and ours != theirs:
                raise IncompatibleError(
                    f"the file system is in VPC {theirs}, and the hosts that mount it in {ours}",
                    argument=argument,
                    value=theirs,
                    allowed=ours,
                    fix="a file system in the VPC of the cluster",
                )


def _identity(vpc_id: str) -> str | None:
    """The id, or the path of a VPC that this app makes; None where it is neither, such as a parameter."""
    if not is_token(vpc_id):
        return None if vpc_id == _NOT_LOOKED_UP else vpc_id
    token = cdk.Tokenization.reverse_string(vpc_id).first_token
    target = token.target if isinstance(token, cdk.Reference) else None
    if not isinstance(target, ec2.CfnVPC):
        return None
    return target.node.path.removesuffix("/Resource")
