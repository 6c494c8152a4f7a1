"""A cluster that is there already: what it cannot be given any more, and where it runs."""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from gpu_constructs.errors import InvalidValueError

__all__ = ["network_of", "require_new"]


def require_new(**given: object) -> None:
    """Refuses what only a new cluster is given.

    Args:
        given: Arguments for a new cluster; None where one was left out.

    Raises:
        InvalidValueError: One of them was given.
    """
    for argument, value in given.items():
        if value is not None:
            raise InvalidValueError(
                "a cluster that is there already keeps what it has",
                argument=argument,
                value=value,
                fix="leave it out, or change the cluster where it is defined",
            )


def network_of(cluster: ecs.ICluster) -> ec2.IVpc:
    """The VPC of a cluster.

    Args:
        cluster: As the user gave it.

    Raises:
        InvalidValueError: It does not say where it runs.
    """
    try:
        return cluster.vpc
    except RuntimeError:
        raise InvalidValueError(
            "a cluster that was imported by its ARN alone does not say where it runs",
            argument="vpc",
            fix="give its vpc",
        ) from None
