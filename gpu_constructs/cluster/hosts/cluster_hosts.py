"""What all hosts of one cluster share: where they run, who they are, and how their providers join the cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct, IConstruct

from gpu_constructs.cdk.arguments import name as require_name
from gpu_constructs.cdk.arguments import require_same_place, require_same_stage
from gpu_constructs.cdk.calls import stack_of
from gpu_constructs.cdk.tokens import is_token, known_text
from gpu_constructs.cluster.hosts.association import ClusterAssociation
from gpu_constructs.cluster.hosts.network import HostSubnets, require_hosts_here
from gpu_constructs.cluster.hosts.permissions import ManagedRoles
from gpu_constructs.cluster.hosts.shared_hosts import SharedHosts
from gpu_constructs.fleet import UNKNOWN, Pool, PoolKind, Unknown
from gpu_constructs.placement.destinations import carries_gpus
from gpu_constructs.placement.pool_profile import NOTHING_KEPT, FairShare

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch
    from aws_cdk import aws_efs as efs
    from aws_cdk import aws_kms as kms

_Member = TypeVar("_Member")

_NO_CONTROLLER = "@aws-cdk/aws-ecs:disableExplicitDeploymentControllerForCircuitBreaker"


class Resizable(Protocol):
    """A task definition whose sizes follow what daemons leave of its hosts."""

    def room_for_daemons(self, share: FairShare) -> None:
        """Makes room for them."""


class ClusterHosts(SharedHosts):
    """Defines the role, the instance profile and the security group that the hosts of one cluster share.

    For a cluster of another stack or an imported one, which may have hosts of its own, they are made with its first
    capacity here. Attributes besides these are those of `SharedHosts`.

    Attributes:
        cluster: The cluster, as services of this stack see it.
        kept: What daemons keep of each host with NVIDIA GPUs, before tasks share it.
        are_measured: Whether a daemon measures the GPUs of its Auto Scaling groups, see `GpuCluster.add_monitoring`.
    """

    _whose = "an ECS cluster"

    def __init__(
        self,
        scope: Construct,
        *,
        cluster: ecs.ICluster,
        is_new: bool,
        vpc: ec2.IVpc,
        vpc_subnets: ec2.SubnetSelection | None = None,
        associate_public_ip_address: bool = False,
        encryption_key: kms.IKey | None = None,
        keeps: Sequence[str] | None = None,
        default_strategy: Sequence[ecs.CapacityProviderStrategy] | None = None,
        stack: cdk.Stack | None = None,
    ) -> None:
        if not is_new:
            place = cluster.env
            _require_found(stack or cdk.Stack.of(scope), place.region, place.account)
            # User data writes it into a shell script, or into TOML.
            require_name("cluster", cluster.cluster_name, fix="the name that aws ecs list-clusters prints")
        self._is_new = is_new
        self.associate_public_ip_address: bool = associate_public_ip_address
        require_hosts_here(stack or cdk.Stack.of(scope), vpc, encryption_key)
        subnets = HostSubnets.of(vpc, vpc_subnets)
        super().__init__(scope, stack=stack, vpc=vpc, subnets=subnets, encryption_key=encryption_key)
        self._chosen_subnets: list[HostSubnets] = []
        self._let_into: set[efs.IFileSystem] = set()
        self.kept: FairShare = NOTHING_KEPT
        self.are_measured: bool = False
        self.tasks: list[Resizable] = []
        self._alarms: list[cloudwatch.Alarm] = []
        self._tell_of: Callable[[cloudwatch.Alarm], None] | None = None
        self._members: defaultdict[type, list[object]] = defaultdict(list)
        self._seen_without_groups: dict[str, ecs.ICluster] = {}
        is_own = isinstance(cluster, ecs.Cluster) and (is_new or cluster.stack == self.stack)
        self.cluster: ecs.ICluster = cluster if is_own else _seen_from(scope, cluster, vpc)
        self.association: ClusterAssociation = ClusterAssociation(
            scope,
            given=cluster,
            cluster=self.cluster,
            stack=lambda: self.stack,
            keeps=keeps,
            default_strategy=default_strategy,
        )
        if is_own:
            _ = self.instance_profile, self.security_group

    @cached_property
    def security_group(self) -> ec2.SecurityGroup:
        """The hosts' security group."""
        group = super().security_group
        # Services in network mode bridge and host take their connections from here; CDK adds no group for a capacity
        # provider (aws-cdk-lib 2.275, ``addAsgCapacityProvider``).
        self.cluster.connections.add_security_group(group)
        return group

    @property
    def groups_are_known(self) -> bool:
        """Whether the cluster says which security groups hosts have that were not made here."""
        # Until it has any, the group of the hosts that are made here is the only one.
        return len(self.cluster.connections.security_groups) > ("security_group" in self.__dict__)

    def let_into(self, file_system: efs.IFileSystem, *, task: Construct) -> None:
        """Lets the hosts reach a file system that a task mounts, by one rule however many tasks mount it.

        CDK puts a rule between two stacks into the stack of the construct whose connections are asked, which then
        depends on the other. So the side is asked whose stack depends on the other anyway.
        """
        if file_system in self._let_into:
            return
        self._let_into.add(file_system)
        files, hosts, network, tasks = file_system.stack, self.stack, self.vpc.stack, cdk.Stack.of(task)
        # The stack of a file system depends on that of the hosts by their VPC, or by its services.
        comes_after = files != network and tasks != hosts and (tasks == files or network == hosts)
        if files == hosts or comes_after:
            connections = self._connections.get(file_system) or file_system.connections
            connections.allow_default_port_from(self.cluster)
        else:
            self.cluster.connections.allow_to_default_port(file_system)

    def writes_no_controller(self, scope: IConstruct) -> bool:
        """Whether it is known that CDK writes no deployment controller into services of a scope.

        With a circuit breaker it writes one unless the app has its flag (aws-cdk-lib 2.275, ``BaseService``).
        Only a stack is asked, and once: it takes no context after its first child, and no service is its own scope.
        """
        return scope is self._stack and self._has_flag

    @cached_property
    def _has_flag(self) -> bool:
        return cdk.FeatureFlags.of(self.stack).is_enabled(_NO_CONTROLLER) is True

    @cached_property
    def cluster_name(self) -> str:
        """Name of the cluster, which is a token where CloudFormation makes it."""
        return self.cluster.cluster_name

    @cached_property
    def cluster_arn(self) -> str:
        """ARN of the cluster, which is a token."""
        return self.cluster.cluster_arn

    @cached_property
    def place(self) -> tuple[str, str, str]:
        """Partition, region and account of the hosts; tokens that mean the same in every stack, where not known."""
        return self.stack.partition, self.stack.region, self.stack.account

    @cached_property
    def scaling_role_arn(self) -> str:
        """The role with which Application Auto Scaling changes the number of tasks of a service, as CDK names it."""
        return self.stack.format_arn(
            region="",
            service="iam",
            resource="role/aws-service-role/ecs.application-autoscaling.amazonaws.com",
            resource_name="AWSServiceRoleForApplicationAutoScaling_ECSService",
        )

    @cached_property
    def known_name(self) -> str | Unknown:
        """The same, unknown where CloudFormation makes it, as it does for a cluster that was made for these hosts."""
        return UNKNOWN if self._is_new else known_text(self.cluster_name)

    @cached_property
    def region(self) -> str | None:
        """Where the hosts run; None if that is only known at deploy time."""
        region = self.stack.region
        return None if "${" in region else region

    def subnets_of(self, chosen: ec2.SubnetSelection | None) -> HostSubnets:
        """The subnets of one capacity; by default those of the cluster. The same choice is not looked up again."""
        if chosen is None:
            return self.subnets
        known = next((each for each in self._chosen_subnets if each.selection == chosen), None)
        if known is None:
            known = HostSubnets.of(self.vpc, chosen)
            self._chosen_subnets.append(known)
        return known

    def require_same_region(self, scope: IConstruct) -> None:
        """Refuses a service in another region or account than the cluster, which ECS would not find there."""
        if scope is not self._stack:
            _require_found(stack_of(scope), self.stack.region, self.stack.account)
            require_same_stage(scope, self.stack, "cluster", what="cluster")

    def share_stack_with(self, scope: IConstruct) -> bool:
        """Whether a scope is known to be the stack of the hosts and of the cluster, without a request to Node."""
        return scope is self._stack and self.association.is_written_by_cdk

    @cached_property
    def _reserved_prefix(self) -> bool:
        # CloudFormation begins the names it makes with the stack's, a nested stack's with its parent's.
        stack, name = self.stack, self.stack.stack_name
        while is_token(name) and stack.nested_stack_parent is not None:
            stack = stack.nested_stack_parent
            name = stack.stack_name
        return name.lower().startswith(("aws", "ecs", "fargate"))

    def provider_name(self, scope: IConstruct) -> str | None:
        """A name for a capacity provider where CloudFormation's own would be refused, None elsewhere.

        ECS takes no name that begins with aws, ecs or fargate.
        """
        if not self._reserved_prefix:
            return None
        return "cp-" + cdk.Names.unique_resource_name(scope, max_length=200, allowed_special_characters="-_")

    def runs_daemons_on(self, pool: Pool) -> bool:
        """Whether daemons run on the hosts of a pool: those of Auto Scaling groups that have NVIDIA GPUs."""
        return pool.kind is not PoolKind.MANAGED_INSTANCES and carries_gpus(pool)

    def members(self, kind: type[_Member]) -> list[_Member]:
        """What services on the hosts know of each other, by its class, whichever stacks they are in."""
        return cast("list[_Member]", self._members[kind])

    def add_alarm(self, alarm: cloudwatch.Alarm) -> None:
        """Adds an alarm of what runs on the hosts, such as a job, of which those are told that are told of all."""
        self._alarms.append(alarm)
        if self._tell_of is not None:
            self._tell_of(alarm)

    def tell_of_alarms(self, tell_of: Callable[[cloudwatch.Alarm], None]) -> None:
        """Says who is told of the alarms that were and are added."""
        self._tell_of = tell_of
        for each in self._alarms:
            tell_of(each)

    def room_for_daemons(self, share: FairShare) -> None:
        """Keeps CPU and memory of each host with NVIDIA GPUs for daemons, in task definitions before and after."""
        self.kept = FairShare(cpu=self.kept.cpu + share.cpu, memory_mib=self.kept.memory_mib + share.memory_mib)
        for each in self.tasks:
            each.room_for_daemons(self.kept)

    @cached_property
    def managed_roles(self) -> ManagedRoles:
        """The roles of ECS Managed Instances, defined when they are first asked for."""
        return ManagedRoles(self._scope, self.cluster)

    @property
    def cluster_for_managed_tasks(self) -> ecs.ICluster:
        """The cluster as a service on Managed Instances must see it.

        CDK refuses an `ecs.Ec2Service` on a cluster without Auto Scaling groups, and knows no Managed Instances there
        (aws-cdk-lib 2.275, ``validateEc2Service``).
        """
        if self.cluster.has_ec2_capacity:
            return self.cluster
        namespace = self.cluster.default_cloud_map_namespace
        # A namespace may come after the first service, and CDK asks the cluster that a service was given.
        construct_id = "ManagedCluster" if namespace is None else "ManagedClusterWithNamespace"
        if construct_id not in self._seen_without_groups:
            self._seen_without_groups[construct_id] = ecs.Cluster.from_cluster_attributes(
                self._scope,
                construct_id,
                cluster_name=self.cluster.cluster_name,
                cluster_arn=self.cluster.cluster_arn,
                vpc=self.vpc,
                security_groups=[self.security_group],
                default_cloud_map_namespace=namespace,
                execute_command_configuration=self.cluster.execute_command_configuration,
            )
        return self._seen_without_groups[construct_id]


def _require_found(stack: cdk.Stack, region: str, account: str) -> None:
    why = "where ECS does not find it"
    require_same_place(stack, "cluster", region=region, account=account, what="cluster", why=why)


def _seen_from(scope: Construct, cluster: ecs.ICluster, vpc: ec2.IVpc) -> ecs.ICluster:
    """A cluster of another stack as a service here must see it: one with EC2 capacity and connections."""
    if not isinstance(cluster, ecs.Cluster):
        try:
            _ = cluster.connections
        except RuntimeError:  # imported by its ARN alone
            pass
        else:
            return cluster
    return ecs.Cluster.from_cluster_attributes(
        scope, "Cluster", cluster_name=cluster.cluster_name, cluster_arn=cluster.cluster_arn, vpc=vpc
    )
