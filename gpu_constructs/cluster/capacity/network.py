"""How the hosts of a capacity are connected: by one plain interface, or by EFA for work over many hosts."""

from __future__ import annotations

from dataclasses import field, replace
from typing import cast

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from gpu_constructs.cdk.kinds import checked, with_names_checked
from gpu_constructs.cdk.refusal import ARGUMENTS, require_yes
from gpu_constructs.cluster.capacity.part import HostPart
from gpu_constructs.errors import IncompatibleError, unexpected
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import BOUGHT_IN_ADVANCE, UNKNOWN, NetworkInterface, Pool, PurchaseOption, Unknown
from gpu_constructs.fleet.host import require_one_efa_layout

_ARGUMENT = "network"
_ONE_ADAPTER = (NetworkInterface(), NetworkInterface(device=1, type="efa-only"))
"""What is asked for where no type has EFA, so that the rules refuse it."""


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class HostNetwork(HostPart):
    """How the hosts of a capacity are connected. By default by one plain interface each.

    Attributes:
        has_efa: Whether hosts get every Elastic Fabric Adapter that their type has, see `efa`.
        placement_group: Whether hosts are kept near each other in a cluster placement group, which is in one
            Availability Zone, or the placement group to use. By default there is one with EFA and none without; none
            for hosts of a reservation or a Capacity Block, which determines where they are.
        efa_security_group: The security group through which hosts with EFA reach each other; it must allow all traffic
            from and to itself. By default one is made for the capacity; several capacities whose hosts talk to each
            other share one.
    """

    has_efa: bool = field(default=False, init=False)
    placement_group: bool | ec2.IPlacementGroup | None = None
    efa_security_group: ec2.ISecurityGroup | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        group = self.placement_group
        if group is not None and type(group) is not bool and not hasattr(group, "placement_group_name"):
            raise unexpected(
                "placement_group",
                group,
                "True, False or an ec2.PlacementGroup",
                fix="ec2.PlacementGroup.from_placement_group_name(…) for one that exists",
            )

    @classmethod
    @checked
    def efa(
        cls,
        *,
        placement_group: bool | ec2.IPlacementGroup | None = None,
        security_group: ec2.ISecurityGroup | None = None,
    ) -> HostNetwork:
        """Every Elastic Fabric Adapter that the instance types have, for work over many hosts.

        Hosts must be in private subnets of one Availability Zone: EC2 gives a host with several interfaces no public
        address, and EFA traffic does not leave its zone
        (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html).

        Args:
            placement_group: See `HostNetwork`.
            security_group: See `HostNetwork.efa_security_group`.
        """
        made = cls(placement_group=placement_group)
        object.__setattr__(made, "has_efa", True)
        object.__setattr__(made, "efa_security_group", security_group)
        return made

    @property
    def needs_one_zone(self) -> bool:
        """Whether the zones of its subnets have to be known: with EFA or a placement group they must be one."""
        return self.has_efa or (self.placement_group is not None and self.placement_group is not False)

    def applied_to(self, pool: Pool) -> Pool:
        """A capacity with this network, as the value that every check reads."""
        return replace(pool, interfaces=self._interfaces(pool), placement_group=self._is_cluster_group(pool))

    def require_possible(self, pool: Pool) -> None:
        """Refuses what contradicts the capacity."""
        if pool.bought.option is PurchaseOption.CAPACITY_BLOCK and self._wants_group(pool):
            raise IncompatibleError(
                "a Capacity Block places its hosts itself, near each other, and they cannot start in a placement group",
                argument=_ARGUMENT,
                value=self.placement_group,
                fix="leave placement_group out",
            )
        if not self.needs_one_zone:
            return
        require_yes(pool, "GPU092")
        # Whether its user wants a placement group is for the user to say, so only the zones are asked about.
        require_yes(replace(pool, placement_group=UNKNOWN, zones_are_open=False), "GPU095")
        if self._is_cluster_group(pool) is True and pool.zones is not None and pool.zones > 1:
            raise IncompatibleError(
                f"a cluster placement group is in one Availability Zone, and the subnets of {pool.name} are in "
                f"{pool.zones}",
                argument="vpc_subnets",
                value=pool.zones,
                fix=ARGUMENTS["subnets of one zone"],
            )

    def _interfaces(self, pool: Pool) -> tuple[NetworkInterface, ...]:
        if not self.has_efa:
            return (NetworkInterface(),)
        if not pool.types_are_known:
            raise IncompatibleError(
                "an instance type that is only known at deploy time does not say at which network cards its Elastic "
                "Fabric Adapters are",
                argument=_ARGUMENT,
                value=pool.name,
                fix="take the type from context instead of a parameter",
            )
        with_efa = [each for each in pool.instance_types if each.network.efa_supported is not False]
        if not with_efa:
            return _ONE_ADAPTER
        return require_one_efa_layout(
            with_efa,
            argument=_ARGUMENT,
            fix=lambda layouts: f"one add_capacity for each layout ({layouts} here)",
        )

    def _wants_group(self, pool: Pool) -> bool:
        if self.placement_group is None:
            # EC2 places hosts that were bought in advance itself; a placement group that the reservation was not made
            # in only keeps it from being used (github.com/eksctl-io/eksctl/issues/7949,
            # github.com/terraform-aws-modules/terraform-aws-eks/pull/3730), without a word where hosts go on demand.
            return self.has_efa and pool.bought.option not in BOUGHT_IN_ADVANCE and pool.bought.reservation is None
        return self.placement_group is not False

    def _is_cluster_group(self, pool: Pool) -> bool | Unknown:
        """Whether it keeps hosts near each other, as far as the app knows the group."""
        if self.placement_group is None or isinstance(self.placement_group, bool):
            return self._wants_group(pool)
        if not isinstance(self.placement_group, ec2.PlacementGroup):
            return UNKNOWN
        # Without a strategy EC2 makes a cluster placement group.
        return self.placement_group.strategy in {None, ec2.PlacementGroupStrategy.CLUSTER}


def network_resources(
    scope: Construct, *, network: HostNetwork, pool: Pool, vpc: ec2.IVpc
) -> tuple[ec2.IPlacementGroup | None, ec2.ISecurityGroup | None]:
    """The placement group of a capacity and the security group of its EFA, defined where none was given."""
    if isinstance(network.efa_security_group, ec2.SecurityGroup):
        _require_of(vpc, network.efa_security_group)
    group = network.placement_group
    if group is None or isinstance(group, bool):
        group = None
        if pool.placement_group is True:
            group = ec2.PlacementGroup(scope, "PlacementGroup", strategy=ec2.PlacementGroupStrategy.CLUSTER)
    return group, (network.efa_security_group or _efa_security_group(scope, vpc)) if network.has_efa else None


def interfaces_data(pool: Pool, of_hosts: ec2.ISecurityGroup, of_efa: ec2.ISecurityGroup | None) -> dict[str, object]:
    """What hosts with EFA add to ``LaunchTemplateData``; ``SecurityGroupIds`` must not stand next to it."""
    if of_efa is None:
        return {}
    ids = [of_hosts.security_group_id, of_efa.security_group_id]
    return {
        "NetworkInterfaces": [
            {
                "NetworkCardIndex": each.card,
                "DeviceIndex": each.device,
                "InterfaceType": each.type,
                "Groups": ids,
                "DeleteOnTermination": True,
            }
            for each in pool.interfaces
        ]
    }


def _require_of(vpc: ec2.IVpc, group: ec2.SecurityGroup) -> None:
    """Refuses a group of another VPC, which EC2 accepts at no network interface of a host."""
    resource = cast("ec2.CfnSecurityGroup", group.node.default_child)
    found, wanted = (group.stack.resolve(each) for each in (resource.vpc_id, vpc.vpc_id))
    # Two ids, or two resources of one stack; what is known in different ways may be the same VPC.
    is_alike = all(isinstance(each, str) for each in (found, wanted)) or all("Ref" in each for each in (found, wanted))
    if found != wanted and is_alike:
        raise IncompatibleError(
            f"{group.node.path} is a security group of another VPC than {vpc.node.path}, where the hosts run",
            argument="security_group",
            value=group.node.path,
            fix="a security group of the VPC of the cluster",
        )


def _efa_security_group(scope: Construct, vpc: ec2.IVpc) -> ec2.SecurityGroup:
    # EFA wants both directions allowed to the group itself; a rule to any address does not do. CDK drops an egress rule
    # to the group itself from a group with allow_all_outbound. As separate resources, the rules are deleted before
    # the group that they name.
    # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start-nccl.html#nccl-start-base-setup
    group = ec2.SecurityGroup(
        scope,
        "EfaSecurityGroup",
        vpc=vpc,
        description="Hosts of a capacity with EFA: all traffic among themselves",
        allow_all_outbound=False,
    )
    all_traffic = ec2.Port.all_traffic()
    group.add_ingress_rule(group, all_traffic, "EFA from the other hosts")
    group.add_egress_rule(group, all_traffic, "EFA to the other hosts")
    return group
