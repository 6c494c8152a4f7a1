"""The compute environments of a queue, each with hosts of one shape that AWS Batch starts, and what they share."""

from __future__ import annotations

from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from gpu_constructs.cluster.capacity.gpu_capacity import announce_zones, launch_template_of
from gpu_constructs.cluster.capacity.network import network_resources
from gpu_constructs.cluster.capacity.plan import CapacityPlan
from gpu_constructs.cluster.capacity.purchase import Purchase
from gpu_constructs.cluster.hosts.network import HostSubnets
from gpu_constructs.cluster.hosts.shared_hosts import SharedHosts
from gpu_constructs.facts.declared import metadata_of
from gpu_constructs.facts.own_image import image_metadata
from gpu_constructs.fleet import DECLARED_IMAGE, DECLARED_TYPES, METADATA_KEY, Pool, PurchaseOption, known
from gpu_constructs.jobs.batch.environment_plan import image_type, own_image, user_data_of

# AWS Batch makes a cluster for each compute environment, and may itself use none of other names: statement 11 of
# https://docs.aws.amazon.com/aws-managed-policy/latest/reference/BatchServiceRolePolicy.html
_CLUSTERS = "AWSBatch*"


class QueueHosts(SharedHosts):
    """Defines the role, the instance profile and the security group that the hosts of one queue share.

    The role reaches every cluster that AWS Batch has in this account and region: AWS documents only the beginning of
    their names, and the rest is the name of the environment, which is not known before the deploy.
    """

    _whose = "a queue of AWS Batch"

    @property
    def cluster_arn(self) -> str:
        """The ARN of its clusters."""
        return self.stack.format_arn(service="ecs", resource="cluster", resource_name=_CLUSTERS)

    def let_talk(self) -> None:
        """Lets the hosts, and containers with interfaces of their own on them, reach each other on every port."""
        # Of two rules that are alike, CDK writes one.
        self.security_group.add_ingress_rule(
            self.security_group, ec2.Port.all_traffic(), "The other nodes of a multi-node job"
        )


class BatchEnvironment(Construct):
    """Defines a launch template and a managed compute environment over it.

    It is a `batch.CfnComputeEnvironment`, because aws-cdk-lib 2.275's `batch.ManagedEc2EcsComputeEnvironment` names no
    version of the launch template, so that its hosts keep the first one, and adds security groups that Elastic
    Fabric Adapters do not take. Updates change its hosts in place.

    Made by `GpuBatchQueue`.

    Attributes:
        pool: What it can launch, as the value that every check reads.
        placement_group: The placement group of its hosts; None without.
        efa_security_group: Through which its hosts reach each other by EFA; None without EFA.
    """

    def __init__(self, scope: Construct, *, plan: CapacityPlan, hosts: QueueHosts, update_minutes: float) -> None:
        super().__init__(scope, plan.pool.name)
        self.pool: Pool = plan.pool
        self.purchase: Purchase = plan.purchase
        self.subnets: HostSubnets = plan.subnets
        near, of_efa = network_resources(self, network=plan.network, pool=plan.pool, vpc=hosts.vpc)
        self.placement_group: ec2.IPlacementGroup | None = near
        self.efa_security_group: ec2.ISecurityGroup | None = of_efa
        # Image, types and profile are for the compute environment to say, which goes before the launch template.
        self.launch_template: ec2.LaunchTemplate = launch_template_of(
            self,
            plan,
            ec2.UserData.custom(user_data_of(plan)),
            group=hosts.security_group,
            of_efa=of_efa,
            key=hosts.encryption_key,
        )
        for each in plan.storage.mounts:
            each.require_near(hosts)
            each.let_in(hosts)
        image = own_image(plan)
        self.compute_environment: batch.CfnComputeEnvironment = batch.CfnComputeEnvironment(
            self,
            "Resource",
            type="MANAGED",
            state="ENABLED",
            replace_compute_environment=False,
            update_policy=batch.CfnComputeEnvironment.UpdatePolicyProperty(
                terminate_jobs_on_update=False, job_execution_timeout_minutes=update_minutes
            ),
            compute_resources=batch.CfnComputeEnvironment.ComputeResourcesProperty(
                type="SPOT" if plan.pool.bought.option is PurchaseOption.SPOT else "EC2",
                allocation_strategy=str(plan.pool.allocation),
                instance_types=list(plan.instance_types),
                minv_cpus=known(plan.pool.min_vcpus or 0),
                maxv_cpus=known(plan.pool.max_vcpus or 0),
                instance_role=hosts.instance_profile.instance_profile_arn,
                subnets=plan.subnets.ids,
                # Multi-node jobs have interfaces of their own in these groups. AWS Batch refuses groups here where the
                # launch template lists interfaces (https://github.com/aws/aws-cdk/issues/21577).
                security_group_ids=[hosts.security_group.security_group_id]
                if self.efa_security_group is None
                else None,
                ec2_configuration=[
                    batch.CfnComputeEnvironment.Ec2ConfigurationObjectProperty(
                        image_type=image_type(plan),
                        image_id_override=None if image is None else image.get_image(self).image_id,
                    )
                ],
                launch_template=batch.CfnComputeEnvironment.LaunchTemplateSpecificationProperty(
                    launch_template_id=self.launch_template.launch_template_id,
                    version=self.launch_template.latest_version_number,
                ),
                placement_group=None if self.placement_group is None else self.placement_group.placement_group_name,
                # With an image of AWS Batch, an update of the hosts takes the newest.
                update_to_latest_image_version=True if image is None else None,
            ),
        )
        types, host_image = metadata_of(self.pool.instance_types), plan.machine_image.host_image
        declared: dict[str, object] = {DECLARED_TYPES: types} if types else {}
        if host_image.is_own:
            declared[DECLARED_IMAGE] = image_metadata(host_image.image)
        if declared:
            self.compute_environment.add_metadata(METADATA_KEY, declared)
        # Hosts talk to ECS until they have gone, and the environment is only gone after them.
        self.compute_environment.node.add_dependency(*plan.subnets.way_out)
        announce_zones(self, self.pool)
