"""Networks of hosts: do they reach ECS?"""

from __future__ import annotations

from gpu_constructs.fleet import Pool, PoolKind
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import or_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_SUBNETS = {PoolKind.MANAGED_INSTANCES: "Subnets", PoolKind.BATCH: "ComputeResources.Subnets"}
# Hosts register without them.
_REPORTS = frozenset({"ecs-telemetry", "monitoring"})


@warning(
    "GPU008",
    question="do hosts without a public address run in subnets with another way out?",
    because="a host that cannot reach the ECS endpoints never registers; only the constructs find it, because a "
    "template does not show what kind of subnet an id stands for",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/networking-outbound.html",
    changes="InstanceType",
)
def way_out(pool: Pool) -> Problems:
    """Hosts without a public address in a public subnet."""
    if pool.public_subnets is True:
        yield Problem(
            message="hosts get no public address, and a public subnet has no other way out: they reach ECS only if the "
            "VPC has endpoints for it",
            fix="private subnets with a NAT gateway, or associate_public_ip_address=True of the GpuCluster",
            property_name="VPCZoneIdentifier",
        )


@error(
    "GPU228",
    question="can hosts in subnets without a way out reach ECS?",
    because="without a route out, or without the public address that an internet gateway takes, the agent reaches ECS "
    "only through endpoints for ecs, ecs-agent and ecs-telemetry; without the first two, its host never registers; the "
    "rule needs the routes and the VPC of every subnet in the files",
    softer="where other files may have more routes and endpoints",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/vpc-endpoints.html",
)
def reaches_ecs(context: Context) -> Problems:
    for pool in context.fleet.pools:
        if pool.missing_endpoints:
            what = "have no route out"
            if not pool.has_no_route_out:
                what = "have a route to an internet gateway only, and the hosts get no public address to use it"
            yield Problem(
                about=pool,
                message=f"the subnets of {pool.name} {what}, and their VPC has no endpoint for "
                f"{or_list(pool.missing_endpoints)}",
                fix="a NAT gateway, or interface endpoints for them, with private DNS and a security group that lets "
                "the hosts in, and for ECR, logs and S3 as tasks need them; in CDK a HostEndpoints defines them",
                property_name=_SUBNETS.get(pool.kind, "VPCZoneIdentifier"),
                is_certain=context.fleet.is_whole and not _REPORTS.issuperset(pool.missing_endpoints),
            )


@error(
    "GPU277",
    question="do the security groups of the hosts let them reach ECS?",
    because="the agent reaches ECS at port 443, through a route out or an endpoint; a host whose security groups let "
    "nothing out there never registers",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/networking-connecting-vpc.html",
)
def lets_out(pool: Pool) -> Problems:
    if pool.details.lets_nothing_out:
        yield Problem(
            message=f"security group {pool.details.lets_nothing_out} of {pool.name} lets nothing out at port 443, "
            "where the agent reaches ECS",
            fix="SecurityGroupEgress with IpProtocol tcp and port 443; in CDK allow_all_outbound=True",
            property_name="SecurityGroupIds",
        )
