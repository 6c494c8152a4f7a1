"""Warnings about a cluster as a whole: where its hosts run and how many providers it has."""

from __future__ import annotations

from gpu_constructs.rules.finding import Finding

__all__ = ["MAX_PROVIDERS", "provider_findings", "subnet_findings"]

MAX_PROVIDERS = 20
"""Capacity providers of one cluster at most (https://docs.aws.amazon.com/general/latest/gr/ecs-service.html)."""


def subnet_findings(*, has_public: bool) -> tuple[Finding, ...]:
    """Warnings about the subnets of the hosts.

    Args:
        has_public: Whether a public subnet is among them.
    """
    if not has_public:
        return ()
    return (
        Finding(
            rule="GPU008",
            message="hosts get no public address, and a public subnet has no other way out: they only reach ECS if the "
            "VPC has endpoints for it; choose private subnets with a NAT gateway",
        ),
    )


def provider_findings(providers: int) -> tuple[Finding, ...]:
    """Warnings about the number of capacity providers.

    Args:
        providers: Capacities that were added to the cluster, the newest included.
    """
    # Once, for the first that is too many.
    if providers != MAX_PROVIDERS + 1:
        return ()
    return (
        Finding(
            rule="GPU013",
            message=f"this is capacity provider number {providers} of the cluster, and the service quota is "
            f"{MAX_PROVIDERS}; give the rest a cluster of their own",
        ),
    )
