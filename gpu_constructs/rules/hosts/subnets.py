"""Where hosts run: whether they have a way out."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.rules.context import Context
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule

__all__ = ["way_out"]


@rule(
    "GPU008",
    Severity.WARNING,
    about=Context,
    question="do hosts without a public address run in subnets with another way out?",
    because="a host that cannot reach the ECS endpoints never registers; said by the constructs, because a template "
    "does not tell what kind of subnet an id stands for",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/networking-outbound.html",
)
def way_out(context: Context) -> Iterator[Problem]:
    """Hosts without a public address in a public subnet."""
    for pool in context.fleet.pools:
        if pool.public_subnets is True:
            yield Problem(
                about=pool,
                message="hosts get no public address, and a public subnet has no other way out: they only reach ECS if "
                "the VPC has endpoints for it",
                fix="choose private subnets with a NAT gateway",
            )
