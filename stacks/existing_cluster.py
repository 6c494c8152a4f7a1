"""A cluster that is there already gains GPU hosts, and keeps its capacity providers and its default strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from gpu_constructs import GpuCluster, GpuTaskDefinition, ModelServer

__all__ = ["ExistingClusterStack"]

_PROVIDER = "gpu-l4"
_Printed = Mapping[str, Any]


class ExistingClusterStack(cdk.Stack):
    """Adds hosts with one L4 each to a cluster, and a task that asks one of them what it is.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        cluster: The cluster, as ``aws ecs describe-clusters`` prints it.
        subnets: Subnets for the hosts, as ``aws ec2 describe-subnets`` prints them.
        max_instances: Hosts at most. With 0 the cluster is given back as it was, which comes before ``cdk destroy``.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, cluster: _Printed, subnets: Sequence[_Printed], max_instances: int
    ) -> None:
        super().__init__(scope, construct_id, description="GPU hosts for an ECS cluster that was there before")
        zones, ids = ([each[key] for each in subnets] for key in ("AvailabilityZone", "SubnetId"))
        vpc = ec2.Vpc.from_vpc_attributes(
            self, "Vpc", vpc_id=subnets[0]["VpcId"], availability_zones=zones, private_subnet_ids=ids
        )
        given = ecs.Cluster.from_cluster_attributes(self, "Given", cluster_name=cluster["clusterName"], vpc=vpc)
        # After the first deployment the provider of this stack is among them.
        kept = [each for each in cluster["capacityProviders"] if each != _PROVIDER]
        default = [_item(each) for each in cluster["defaultCapacityProviderStrategy"]]
        gpus = GpuCluster(self, "Cluster", cluster=given, keep_capacity_providers=kept, default_strategy=default)
        if max_instances > 0:
            l4 = gpus.add_capacity(
                "L4", instance_types=["g6.xlarge"], max_instances=max_instances, capacity_provider_name=_PROVIDER
            )
            check = GpuTaskDefinition(self, "Check", capacity=[l4])
            check.add_model_server("gpu", server=ModelServer.preset("cuda"), gpus=1, command=["nvidia-smi"])
            cdk.CfnOutput(self, "CheckRunTask", value=check.run_task_command())
            stop = f"gpu-constructs stop-tasks --cluster {cluster['clusterName']} --capacity {_PROVIDER}"
            cdk.CfnOutput(self, "StopTasks", value=stop)


def _item(printed: _Printed) -> ecs.CapacityProviderStrategy:
    name, weight, base = printed["capacityProvider"], printed.get("weight"), printed.get("base")
    return ecs.CapacityProviderStrategy(capacity_provider=name, weight=weight, base=base)
