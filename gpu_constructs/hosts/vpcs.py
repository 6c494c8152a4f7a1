"""Which VPC is meant, as far as it is certain at synth: two texts that are only known at deploy time may be one VPC."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import IncompatibleError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["require_same_vpc"]


def require_same_vpc(storage: ec2.Connections, here: str, *, argument: str) -> None:
    """Refuses shared storage that is certain to be in another VPC than the hosts that are to mount it.

    Its security group says where it is; one that was imported does not. The rule that lets hosts in names their group,
    and the name of a file system is resolved in its own VPC
    (https://docs.aws.amazon.com/efs/latest/ug/mounting-fs-mount-cmd-dns-name.html).

    Args:
        storage: The connections of a file system.
        here: The id of the VPC where the hosts are.
        argument: The argument, as the user spells it.

    Raises:
        IncompatibleError: It is in another one.
    """
    for there in _vpcs_of(storage.security_groups):
        ours, theirs = (None, None) if there == here else (_identity(here), _identity(there))
        if ours is not None and theirs is not None and ours != theirs:
            raise IncompatibleError(
                f"the file system is in VPC {theirs}, and the hosts that mount it in {ours}",
                argument=argument,
                value=theirs,
                allowed=ours,
                fix="a file system in the VPC of the cluster",
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
        return vpc_id
    token = cdk.Tokenization.reverse_string(vpc_id).first_token
    target = token.target if isinstance(token, cdk.Reference) else None
    if not isinstance(target, ec2.CfnVPC):
        return None
    return target.node.path.removesuffix("/Resource")
