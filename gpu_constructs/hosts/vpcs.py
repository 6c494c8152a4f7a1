"""Which VPC is meant, as far as it is certain at synth: two texts that are only known at deploy time may be one VPC."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms

from gpu_constructs.cdk.same_place import require_same_place
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import IncompatibleError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aws_cdk import aws_elasticloadbalancingv2 as elbv2

# What CDK puts in the place of a VPC or of that of a load balancer until it has looked them up.
_NOT_LOOKED_UP = "vpc-12345"


def require_hosts_here(stack: cdk.Stack, vpc: ec2.IVpc, key: kms.IKey | None) -> None:
    """Refuses a VPC and a key that are certain to be in another region than the hosts; another account may share them.

    Args:
        stack: Where the hosts are defined.
        vpc: Where they run.
        key: For their volumes; None for keys of AWS.

    Raises:
        IncompatibleError: One of them is in another region.
    """
    require_same_place(
        stack, "vpc", region=vpc.env.region, what="VPC", why="where no host can be in a subnet of that VPC"
    )
    if key is not None:
        require_same_place(
            stack, "encryption_key", region=key.env.region, what="key", why="where nothing is encrypted with that key"
        )


def require_storage_in(here: str, storage: ec2.Connections, *, argument: str) -> None:
    """Refuses shared storage that is certain to be in another VPC than the hosts that are to mount it.

    Its security group says where it is; one that was imported does not. The rule that lets hosts in names their group,
    and the name of a file system is resolved in its own VPC
    (https://docs.aws.amazon.com/efs/latest/ug/mounting-fs-mount-cmd-dns-name.html).

    Args:
        here: The id of the VPC where the hosts are.
        storage: The connections of a file system.
        argument: The argument, as the user spells it.

    Raises:
        IncompatibleError: It is in another one.
    """
    for there in _vpcs_of(storage.security_groups):
        _require_same(here, there, what="file system", who="the hosts that mount it", argument=argument)


def require_balancer_in(here: str, balancer: elbv2.IApplicationLoadBalancer) -> None:
    """Refuses a load balancer that is certain to be in another VPC, whose target groups cannot be in that of a service.

    Args:
        here: The id of the VPC where the service is.
        balancer: As given; one that was imported may not say where it is.

    Raises:
        IncompatibleError: It is in another one.
    """
    if (vpc := balancer.vpc) is not None:
        _require_same(here, vpc.vpc_id, what="load balancer", who="the service", argument="load_balancer")


def _require_same(here: str, there: str, *, what: str, who: str, argument: str) -> None:
    ours, theirs = (None, None) if there == here else (_identity(here), _identity(there))
    if ours is not None and theirs is not None and ours != theirs:
        raise IncompatibleError(
            f"the {what} is in VPC {theirs}, and {who} in {ours}",
            argument=argument,
            value=theirs,
            allowed=ours,
            fix=f"a {what} in the VPC of the cluster",
        )


def _vpcs_of(groups: Iterable[ec2.ISecurityGroup]) -> Iterable[str]:
    for each in groups:
        resource = each.node.default_child if isinstance(each, ec2.SecurityGroup) else None
        vpc_id = resource.vpc_id if isinstance(resource, ec2.CfnSecurityGroup) else None
        if vpc_id is not None:
            yield vpc_id


def _identity(vpc_id: str) -> str | None:
    """The id, or the path of a VPC that this app makes; None where it is neither, such as a parameter."""
    if not is_token(vpc_id):
        return None if vpc_id == _NOT_LOOKED_UP else vpc_id
    token = cdk.Tokenization.reverse_string(vpc_id).first_token
    target = token.target if isinstance(token, cdk.Reference) else None
    if not isinstance(target, ec2.CfnVPC):
        return None
    return target.node.path.removesuffix("/Resource")
