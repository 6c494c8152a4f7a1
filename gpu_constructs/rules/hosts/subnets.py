"""Where hosts run: do they have a way out?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import Pool
from gpu_constructs.rules.rule import Problem, warning

__all__ = ["way_out"]


@warning(
    "GPU008",
    question="do hosts without a public address run in subnets with another way out?",
    because="a host that cannot reach the ECS endpoints never registers; only the constructs find it, because a "
    "template does not show what kind of subnet an id stands for",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/networking-outbound.html",
)
def way_out(pool: Pool) -> Iterator[Problem]:
    """Hosts without a public address in a public subnet."""
    if pool.public_subnets is True:
        yield Problem(
            message="hosts get no public address, and a public subnet has no other way out: they reach ECS only if the "
            "VPC has endpoints for it",
            fix="private subnets with a NAT gateway",
            property_name="VPCZoneIdentifier",
        )
