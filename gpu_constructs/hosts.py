"""What all hosts of one cluster share: where they run, who they are, and how their providers join the cluster."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct, IConstruct

from gpu_constructs.construction import creating, translated
from gpu_constructs.errors import IncompatibleError, InvalidValueError, argument_named, shown
from gpu_constructs.notices import warn
from gpu_constructs.rules import PUBLIC_SUBNETS
from gpu_constructs.tokens import is_token

__all__ = ["ClusterHosts", "host_role"]

# Kept on the app's own node, so that a second list for the same cluster is seen from any of its stacks.
_ASSOCIATED = "gpu-constructs:capacity-provider-association"


def host_role(scope: Construct, construct_id: str, *, cluster: ecs.ICluster) -> iam.Role:
    """Defines the role of a cluster's hosts: the ECS agent on this one cluster and Session Manager, nothing else.

    Images and logs belong to the tasks' execution roles, so the hosts need neither. Narrower than
    AmazonEC2ContainerServiceforEC2Role and AmazonSSMManagedInstanceCore, which may read any SSM parameter. Actions:
    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/instance_IAM_role.html and
    https://docs.aws.amazon.com/systems-manager/latest/userguide/getting-started-create-iam-instance-profile.html
    """
    of_cluster = {"ArnEquals": {"ecs:cluster": cluster.cluster_arn}}
    statements = [
        iam.PolicyStatement(
            sid="RegisterWithTheCluster",
            actions=[
                "ecs:DeregisterContainerInstance",
                "ecs:RegisterContainerInstance",
                "ecs:SubmitAttachmentStateChanges",
                "ecs:SubmitContainerStateChange",
                "ecs:SubmitTaskStateChange",
            ],
            resources=[cluster.cluster_arn],
        ),
        iam.PolicyStatement(
            sid="TalkToTheCluster",
            actions=["ecs:Poll", "ecs:StartTelemetrySession", "ecs:UpdateContainerInstancesState"],
            resources=["*"],
            conditions=of_cluster,
        ),
        iam.PolicyStatement(sid="FindTheEndpoint", actions=["ecs:DiscoverPollEndpoint"], resources=["*"]),
        iam.PolicyStatement(
            sid="SessionManager",
            actions=[
                "ssm:UpdateInstanceInformation",
                "ssmmessages:CreateControlChannel",
                "ssmmessages:CreateDataChannel",
                "ssmmessages:OpenControlChannel",
                "ssmmessages:OpenDataChannel",
            ],
            resources=["*"],
        ),
    ]
    return iam.Role(
        scope,
        construct_id,
        assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
        description="Hosts of an ECS cluster: ECS agent and Session Manager",
        inline_policies={"Host": iam.PolicyDocument(statements=statements)},
    )


class ClusterHosts(Construct):
    """Defines the role, the instance profile and the security group that the hosts of one cluster share.

    The role is handed to launch templates in a form that ignores additions, so that its policy stays the one that is
    written here; grant more through `role` itself.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        cluster: The cluster the hosts join; one that CDK made in this stack, one of another stack or an imported one.
        vpc: Where the hosts run.
        vpc_subnets: Subnets of the hosts. By default the private subnets with a way out.

    Raises:
        InvalidValueError: The VPC has no private subnets and no others were chosen, or none is as chosen.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        cluster: ecs.ICluster,
        vpc: ec2.IVpc,
        vpc_subnets: ec2.SubnetSelection | None = None,
    ) -> None:
        with creating(scope, construct_id):
            super().__init__(scope, construct_id)
        self.vpc: ec2.IVpc = vpc
        self.vpc_subnets: ec2.SubnetSelection = vpc_subnets or ec2.SubnetSelection(
            subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS
        )
        _require_subnets(self, vpc, vpc_subnets)
        self.stack: cdk.Stack = cdk.Stack.of(self)
        # A cluster that CDK made here keeps its own list of providers. Into any other the list is written by one
        # resource of this stack, because a provider of this stack in a list of that stack would make a cycle.
        self._own_cluster = cluster if isinstance(cluster, ecs.Cluster) and cluster.stack == self.stack else None
        self.cluster: ecs.ICluster = self._own_cluster or _seen_from(self, cluster, vpc)
        self.role: iam.Role = host_role(self, "Role", cluster=self.cluster)
        self.instance_profile: iam.InstanceProfile = iam.InstanceProfile(
            self, "Profile", role=self.role.without_policy_updates()
        )
        self.security_group: ec2.SecurityGroup = ec2.SecurityGroup(
            self, "SecurityGroup", vpc=vpc, description="Hosts of an ECS cluster: no way in, any way out"
        )
        self.region: str | None = None if is_token(self.stack.region) else self.stack.region
        self._reserved_prefix = _stack_name(self.stack).lower().startswith(("aws", "ecs", "fargate"))
        self._key = cluster.node.path if isinstance(cluster, ecs.Cluster) else _imported_key(self.stack, cluster)
        self._providers: list[str] = []
        self._chosen_names: set[str] = set()
        self._association: ecs.CfnClusterCapacityProviderAssociations | None = None

    def provider_name(self, scope: IConstruct) -> str | None:
        """A name for a capacity provider where CloudFormation's own would be refused, None elsewhere.

        CloudFormation begins a name with the stack's, and ECS takes none that begins with aws, ecs or fargate.
        """
        if not self._reserved_prefix:
            return None
        return "cp-" + cdk.Names.unique_resource_name(scope, max_length=200, allowed_special_characters="-_")

    def require_free(self, provider_name: str | None) -> None:
        """Refuses to begin on a provider that could not join the cluster.

        Args:
            provider_name: The name that was chosen; None where CloudFormation makes one.

        Raises:
            InvalidValueError: The name is taken in this cluster.
            IncompatibleError: Another stack writes the cluster's list of providers.
        """
        if provider_name is not None and provider_name in self._chosen_names:
            raise InvalidValueError(
                f"a capacity of this cluster is already called {provider_name!r}",
                argument="capacity_provider_name",
                value=provider_name,
                fix="another name, or leave it out",
            )
        if not self._providers:
            self._require_unclaimed()
        if provider_name is not None:
            self._chosen_names.add(provider_name)

    def attach(self, provider: ecs.AsgCapacityProvider, name: str) -> bool:
        """Adds a capacity provider to the cluster.

        Args:
            provider: The provider.
            name: Its name, which it has already been asked for.

        Returns:
            Whether CDK also wrote the lines into the user data that make its hosts join the cluster.
        """
        if not self._providers:
            self.node.root.node.add_metadata(_ASSOCIATED, [self._key, self.stack.node.path])
        self._providers.append(name)
        if self._own_cluster is not None:
            self._own_cluster.add_asg_capacity_provider(provider)
            return True
        if self._association is None:
            self._association = ecs.CfnClusterCapacityProviderAssociations(
                self,
                "Association",
                cluster=self.cluster.cluster_name,
                capacity_providers=self._providers,
                default_capacity_provider_strategy=[],
            )
        else:
            self._association.capacity_providers = self._providers
        return False

    @property
    def association(self) -> IConstruct:
        """What a service must outlive it by: a provider can only leave the cluster when no service uses it."""
        return self._own_cluster or self._association or self.cluster

    def _require_unclaimed(self) -> None:
        """PutClusterCapacityProviders replaces the whole list, so only one resource may write it."""
        claims = [entry.data for entry in self.node.root.node.metadata if entry.type == _ASSOCIATED]
        owners = [stack for key, stack in claims if key == self._key]
        here = self.stack.node.path
        if self._own_cluster is not None:
            # CDK keeps one list for the cluster it made here, whoever adds to it.
            owners = [stack for stack in owners if stack != here]
        if owners:
            raise IncompatibleError(
                f"stack {owners[0]} already writes the list of capacity providers of this cluster, and a second list "
                "would replace it",
                argument="cluster",
                value=self._key,
                fix="add to the GpuCluster that is already there"
                if owners[0] == here
                else "add all capacity of one cluster in one stack, and use it from the others",
            )


def _require_subnets(scope: Construct, vpc: ec2.IVpc, chosen: ec2.SubnetSelection | None) -> None:
    fix = "a VPC with PRIVATE_WITH_EGRESS subnets, or vpc_subnets=… with endpoints for ecs, ecr, s3 and logs"
    if chosen is None:
        if not vpc.private_subnets:
            raise InvalidValueError(
                f"{vpc.node.path} has no private subnets with a way out, where hosts run by default",
                argument="vpc",
                fix=fix,
            )
        return
    if not isinstance(chosen, ec2.SubnetSelection):
        raise InvalidValueError(
            f"expects an ec2.SubnetSelection, got {shown(chosen)}", argument="vpc_subnets", value=chosen, fix=fix
        )
    with argument_named("vpc_subnets"), translated():
        selected = vpc.select_subnets(
            availability_zones=chosen.availability_zones,
            one_per_az=chosen.one_per_az,
            subnet_filters=chosen.subnet_filters,
            subnet_group_name=chosen.subnet_group_name,
            subnets=chosen.subnets,
            subnet_type=chosen.subnet_type,
        )
    if not selected.subnet_ids:
        raise InvalidValueError("no subnet of the VPC is like that", argument="vpc_subnets", fix=fix)
    if selected.has_public:
        warn(scope, [PUBLIC_SUBNETS])


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


def _imported_key(stack: cdk.Stack, cluster: ecs.ICluster) -> str:
    """Two imports of one name in one environment are one cluster."""
    name = cluster.cluster_name
    return cluster.node.path if is_token(name) else f"{stack.environment}/{name}"


def _stack_name(stack: cdk.Stack) -> str:
    """The name that CloudFormation puts before those it makes: a nested stack's begins with its parent's."""
    while stack.nested_stack_parent is not None:
        stack = stack.nested_stack_parent
    return stack.stack_name
