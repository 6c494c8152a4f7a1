"""A queue of AWS Batch and its job by hand, in the L2 constructs of aws-cdk-lib where they write the same.

`batch.ManagedEc2EcsComputeEnvironment` names no version of its launch template, so the environment is the L1.
"""

from __future__ import annotations

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from bench.kinds import TRAINING_HOSTS
from bench.plain_deadline import join_deadline
from bench.plain_hosts import Shared, host_policy
from bench.workloads import CONTAINER_IMAGE, Pair
from gpu_constructs import TrainingLauncher

__all__ = ["queue_with_job", "queue_with_training"]

_HOSTS = 4
_VCPUS = 4  # of g6.xlarge
_OF_NODES = {"NCCL_SOCKET_IFNAME": "^lo,docker,ecs"}
_WAIT = {
    batch.JobStateTimeLimitActionsReason.INSUFFICIENT_INSTANCE_CAPACITY: cdk.Duration.seconds(86400),
    batch.JobStateTimeLimitActionsReason.COMPUTE_ENVIRONMENT_MAX_RESOURCE: cdk.Duration.seconds(600),
    batch.JobStateTimeLimitActionsReason.JOB_RESOURCE_REQUIREMENT: cdk.Duration.seconds(600),
}
_LOST_HOST = batch.Reason.custom(on_exit_code="113")
"""How the launcher ends where another host is lost."""
_DEADLINE = "\n".join(join_deadline())
_USER_DATA = f"""\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="==GPU=="

--==GPU==
Content-Type: text/x-shellscript; charset="us-ascii"

#!/bin/bash
cat <<'EOF' >> /etc/ecs/ecs.config
ECS_RESERVED_MEMORY=256
ECS_AWSVPC_BLOCK_IMDS=true
ECS_ENABLE_SPOT_INSTANCE_DRAINING=true
EOF
{_DEADLINE}

--==GPU==--
"""


def queue_with_job(scope: Construct, shared: Shared, pair: Pair) -> None:
    """A queue with one compute environment, and a job with all GPUs of a host."""
    queue = Construct(scope, f"Queue{pair.number}")
    made = _queue(queue, shared, pair, _group(queue, shared))
    train = Construct(queue, "Train")
    batch.EcsJobDefinition(
        train,
        "Definition",
        container=_container(train, pair),
        timeout=cdk.Duration.days(1),
        retry_attempts=3,
        retry_strategies=_retries(),
        propagate_tags=True,
    )
    cdk.CfnOutput(scope, f"Queue{pair.number}Arn", value=made.job_queue_arn)


def queue_with_training(scope: Construct, shared: Shared, pair: Pair) -> None:
    """A queue with one compute environment, and a training over several of its hosts."""
    queue = Construct(scope, f"Queue{pair.number}")
    group = _group(queue, shared)
    made = _queue(queue, shared, pair, group, in_one_zone=True)
    train = Construct(scope, f"Train{pair.number}")
    # Text that is no work for CDK.
    command = TrainingLauncher.torchrun().command(["train.py"], gpus=1)
    container = _container(train, pair, name=f"Train{pair.number}", command=command, **_OF_NODES)
    batch.MultiNodeJobDefinition(
        train,
        "Definition",
        instance_type=ec2.InstanceType(pair.hosts.instance_types[0]),
        containers=[batch.MultiNodeContainer(container=container, start_node=0, end_node=TRAINING_HOSTS - 1)],
        timeout=cdk.Duration.days(1),
        retry_attempts=3,
        retry_strategies=_retries(_LOST_HOST),
        propagate_tags=True,
    )
    group.add_ingress_rule(cast("ec2.IPeer", group), ec2.Port.all_traffic(), "The other nodes of a multi-node job")
    cdk.CfnOutput(scope, f"Queue{pair.number}Arn", value=made.job_queue_arn)


def _queue(
    queue: Construct, shared: Shared, pair: Pair, group: ec2.SecurityGroup, *, in_one_zone: bool = False
) -> batch.JobQueue:
    clusters = cdk.Stack.of(queue).format_arn(service="ecs", resource="cluster", resource_name="AWSBatch*")
    role = iam.Role(
        queue,
        "HostRole",
        assumed_by=cast("iam.IPrincipal", iam.ServicePrincipal("ec2.amazonaws.com")),
        description="Hosts of a queue of AWS Batch: ECS agent and Session Manager",
        inline_policies={"Host": host_policy(clusters)},
    )
    return batch.JobQueue(
        queue,
        "Queue",
        priority=1,
        compute_environments=[
            batch.OrderedComputeEnvironment(
                compute_environment=_environment(queue, shared, pair, role, group, in_one_zone=in_one_zone),
                order=1,
            )
        ],
        job_state_time_limit_actions=[
            batch.JobStateTimeLimitAction(reason=reason, max_time=time) for reason, time in _WAIT.items()
        ],
    )


def _group(scope: Construct, shared: Shared) -> ec2.SecurityGroup:
    return ec2.SecurityGroup(
        scope,
        "HostSecurityGroup",
        vpc=cast("ec2.IVpc", shared.vpc),
        description="Hosts of a queue of AWS Batch: no way in, any way out",
    )


def _environment(
    scope: Construct, shared: Shared, pair: Pair, role: iam.Role, group: ec2.SecurityGroup, *, in_one_zone: bool
) -> batch.CfnComputeEnvironment:
    template = ec2.LaunchTemplate(
        scope,
        "LaunchTemplate",
        user_data=ec2.UserData.custom(_USER_DATA),
        instance_initiated_shutdown_behavior=ec2.InstanceInitiatedShutdownBehavior.TERMINATE,
        block_devices=[
            ec2.BlockDevice(
                device_name="/dev/xvda",
                volume=ec2.BlockDeviceVolume.ebs(
                    100, encrypted=True, volume_type=ec2.EbsDeviceVolumeType.GP3, delete_on_termination=True
                ),
            )
        ],
        require_imdsv2=True,
        http_put_response_hop_limit=1,
    )
    profile = iam.InstanceProfile(scope, "HostProfile", role=cast("iam.IRole", role))
    subnets = shared.subnets(in_one_zone=in_one_zone)
    environment = batch.CfnComputeEnvironment(
        scope,
        "Environment",
        type="MANAGED",
        state="ENABLED",
        replace_compute_environment=False,
        update_policy=batch.CfnComputeEnvironment.UpdatePolicyProperty(
            terminate_jobs_on_update=False, job_execution_timeout_minutes=30
        ),
        compute_resources=batch.CfnComputeEnvironment.ComputeResourcesProperty(
            type="EC2",
            allocation_strategy="BEST_FIT_PROGRESSIVE",
            instance_types=list(pair.hosts.instance_types),
            minv_cpus=0,
            maxv_cpus=_HOSTS * _VCPUS,
            instance_role=profile.instance_profile_arn,
            subnets=subnets.subnet_ids,
            security_group_ids=[group.security_group_id],
            ec2_configuration=[
                batch.CfnComputeEnvironment.Ec2ConfigurationObjectProperty(
                    image_type="ECS_AL2023_NVIDIA",
                    image_id_override=shared.image(pair.hosts.image_parameter).get_image(scope).image_id,
                )
            ],
            launch_template=batch.CfnComputeEnvironment.LaunchTemplateSpecificationProperty(
                launch_template_id=template.launch_template_id, version=template.latest_version_number
            ),
        ),
    )
    environment.node.add_dependency(subnets.internet_connectivity_established)
    return environment


def _container(
    scope: Construct, pair: Pair, *, name: str = "Train", command: list[str] | None = None, **variables: str
) -> batch.EcsEc2ContainerDefinition:
    share = pair.hosts.shares[0]
    principal = cast("iam.IPrincipal", iam.ServicePrincipal("ecs-tasks.amazonaws.com"))
    group = logs.LogGroup(
        scope, "Logs", retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
    )
    return batch.EcsEc2ContainerDefinition(
        scope,
        "Container",
        image=ecs.ContainerImage.from_registry(CONTAINER_IMAGE),
        cpu=share.cpu // 1024,
        memory=cdk.Size.mebibytes(share.memory_mib),
        gpu=1,
        command=command,
        environment={"NVIDIA_DRIVER_CAPABILITIES": "compute,utility", **variables},
        linux_parameters=batch.LinuxParameters(
            scope, "LinuxParameters", shared_memory_size=cdk.Size.mebibytes(share.shared_memory_mib)
        ),
        ulimits=[
            batch.Ulimit(name=batch.UlimitName.MEMLOCK, soft_limit=-1, hard_limit=-1),
            batch.Ulimit(name=batch.UlimitName.STACK, soft_limit=67108864, hard_limit=67108864),
        ],
        logging=ecs.LogDrivers.aws_logs(stream_prefix=name, log_group=cast("logs.ILogGroup", group)),
        job_role=cast("iam.IRole", iam.Role(scope, "JobRole", assumed_by=principal)),
    )


def _retries(*also: batch.Reason) -> list[batch.RetryStrategy]:
    return [
        batch.RetryStrategy.of(batch.Action.RETRY, batch.Reason.SPOT_INSTANCE_RECLAIMED),
        batch.RetryStrategy.of(batch.Action.RETRY, batch.Reason.CANNOT_PULL_CONTAINER),
        *(batch.RetryStrategy.of(batch.Action.RETRY, each) for each in also),
        batch.RetryStrategy.of(batch.Action.EXIT, batch.Reason.custom(on_reason="*")),
    ]
