"""Capacity that another stack or another app has made."""

from __future__ import annotations

from collections.abc import Iterable

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from gpu_constructs.capacity.choice import CapacityChoice
from gpu_constructs.capacity.host_mounts import HostMount
from gpu_constructs.capacity.plan import plan_capacity
from gpu_constructs.cdk.calls import stack_of, written_if_refused
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet import Pool
from gpu_constructs.hardware import Architecture
from gpu_constructs.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.hosts.providers import strategy_item


class ImportedGpuCapacity(Construct):
    """Capacity that another stack or app has made, and that tasks and services here use; it defines no resource.

    Made by `GpuCapacity.from_attributes`, where the arguments are explained.

    Attributes:
        hosts: What all hosts of the cluster share.
        cluster: The cluster that its hosts join.
        architecture: Processor architecture of its hosts.
        pool: What it can launch, as the value that every check reads.
        instance_type_names: Names of its instance types.
        capacity_provider_name: Name of its capacity provider.
        mounts: Shared storage that every host mounts; see `HostStorage`.
        comes_first: Whether services fill it before any other capacity; never.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        hosts: ClusterHosts,
        choice: CapacityChoice,
        capacity_provider_name: str,
    ) -> None:
        stack_of(scope)
        plan = plan_capacity(choice, hosts)
        super().__init__(scope, construct_id)
        self.hosts: ClusterHosts = hosts
        self.cluster: ecs.ICluster = hosts.cluster
        self.architecture: Architecture = plan.architecture
        self.pool: Pool = plan.pool
        self.instance_type_names: tuple[str, ...] = tuple(plan.choice.instance_types)
        self.capacity_provider_name: str = capacity_provider_name
        self.mounts: tuple[HostMount, ...] = tuple(plan.parts.storage.mounts)
        self.comes_first: bool = False

    @property
    def gpus(self) -> int:
        """Whole NVIDIA GPUs of one host; 0 where ECS has none to hand out (CPU, Neuron, fractional types, tokens)."""
        return self.pool.instance_types[0].gpus if self.pool.instance_types else 0

    @written_if_refused
    def strategy(self, *, weight: int = 1, base: int | None = None) -> ecs.CapacityProviderStrategy:
        """This provider as an item of a capacity provider strategy, see `GpuCapacity.strategy`.

        Args:
            weight: Relative share of the tasks above every base, 0 to 1000.
            base: Tasks that run here before any other provider gets one, 0 to 100000.

        Raises:
            InvalidValueError: A number is not within these limits.
        """
        return strategy_item(self.capacity_provider_name, weight=weight, base=base)


def require_known_groups(capacity: Iterable[Construct]) -> None:
    """Refuses capacity whose hosts are in security groups that are not known, so that no rule could be made for them.

    Args:
        capacity: Where tasks may run that use the network of their host.

    Raises:
        IncompatibleError: The cluster of imported capacity does not know the security groups of its hosts: it was
            imported without them, or it is of this stack, where CDK adds none for a capacity provider.
    """
    for each in capacity:
        if isinstance(each, ImportedGpuCapacity) and not each.hosts.groups_are_known:
            raise IncompatibleError(
                f"the security groups of the hosts of {each.pool.name} are not known, and no rule can name them",
                argument="capacity",
                value=each.pool.name,
                fix="cluster.connections.add_security_group(*hosts.connections.security_groups), with the ecs.Cluster "
                "and the Auto Scaling group of the hosts, before the service is defined"
                if each.hosts.association.is_written_by_cdk
                else "security_groups=[…] in ecs.Cluster.from_cluster_attributes, those of the hosts",
            )
