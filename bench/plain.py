"""The measured apps by hand, in plain aws-cdk-lib L2 constructs.

Written as someone would who knows CDK well and wants these very templates: what hosts and containers have in common is
made once and shared, everything else is the straightforward call. `bench.same` holds it to the library's templates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from bench.workloads import CONTAINER_IMAGE, Hosts, Pair, Reference, Workload
from stacks.policies import accept_findings

__all__ = ["build"]

_TENSORFLOW = "tensorflow/tensorflow:2.19.0-gpu"
_GPU_TASKS = {1: "Tensorflow1Gpu", 4: "Tensorflow4Gpu", 8: "Tensorflow8Gpu"}
_ULIMITS = [
    ecs.Ulimit(name=ecs.UlimitName.MEMLOCK, soft_limit=-1, hard_limit=-1),
    ecs.Ulimit(name=ecs.UlimitName.STACK, soft_limit=67108864, hard_limit=67108864),
]
_TRAINING = """
import time, tensorflow as tf
gpus = tf.config.list_logical_devices("GPU")
print("devices:", [gpu.name for gpu in gpus])
strategy = tf.distribute.MirroredStrategy()
batch = 64 * max(1, len(gpus))
with strategy.scope():
    model = tf.keras.applications.ResNet50(weights=None)
    model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
images = tf.random.uniform((batch, 224, 224, 3))
labels = tf.random.uniform((batch,), maxval=1000, dtype=tf.int32)
data = tf.data.Dataset.from_tensors((images, labels)).repeat(20)
model.fit(data, verbose=0)
start = time.time()
model.fit(data, verbose=0)
print("total images/sec: %.2f" % (20 * batch / (time.time() - start)))
"""


def build(app: cdk.App, workload: Workload) -> None:
    """Defines the stacks of a workload in an app."""
    if workload.reference:
        _TensorflowBenchmark(app, "tensorflow-benchmark", reference=workload.reference)
        return
    shared = _vpc(cdk.Stack(app, "network")) if len(workload.clusters) > 1 else None
    for number, clusters in enumerate(workload.stacks()):
        _FleetStack(app, f"fleet-{number}", clusters=clusters, vpc=shared)


class _TensorflowBenchmark(cdk.Stack):
    """The reference stack: CPU and GPU hosts, and a training task for each number of GPUs that the hosts have."""

    def __init__(self, scope: cdk.App, construct_id: str, *, reference: Reference) -> None:
        super().__init__(scope, construct_id, description="TensorFlow training on 1, 4 or 8 GPUs of an ECS host")
        gpu_hosts = reference.gpu_hosts
        shared = _Shared.define(self, "", _vpc(self))
        cpu = _capacity(self, "Cpu", shared, reference.cpu_hosts, warmup_seconds=300, max_instances=2)
        gpu = _capacity(self, "Gpu", shared, gpu_hosts, warmup_seconds=600, max_instances=2)

        cdk.CfnOutput(self, "ClusterName", value=shared.cluster.cluster_name)
        cdk.CfnOutput(self, "CpuCapacityProvider", value=cpu.capacity_provider_name)
        cdk.CfnOutput(self, "GpuCapacityProvider", value=gpu.capacity_provider_name)
        image = ecs.ContainerImage.from_registry(_TENSORFLOW)
        for gpus, name in _GPU_TASKS.items():
            if gpus > gpu_hosts.gpus:
                types = ", ".join(gpu_hosts.instance_types)
                text = f"this task needs {gpus} GPUs; GPUs of a host of {types}: {gpu_hosts.gpus}"
                cdk.CfnOutput(self, f"{name}LeftOut", value=text)
                continue
            task = _task(
                self,
                name,
                family=f"tensorflow-{gpus}-gpu",
                image=image,
                hosts=gpu_hosts,
                gpus=gpus,
                command=["python", "-c", _TRAINING],
            )
            cdk.CfnOutput(
                self,
                f"{name}RunTask",
                value=f"aws ecs run-task --cluster {shared.cluster.cluster_name} --task-definition {task.family} "
                f"--capacity-provider-strategy capacityProvider={gpu.capacity_provider_name},weight=1",
            )
        accept_findings(self)


class _FleetStack(cdk.Stack):
    """Clusters with some capacities, and a task for each."""

    def __init__(self, scope: cdk.App, construct_id: str, *, clusters: list[list[Pair]], vpc: ec2.Vpc | None) -> None:
        super().__init__(scope, construct_id)
        network = vpc or _vpc(self)
        image = ecs.ContainerImage.from_registry(CONTAINER_IMAGE)
        for number, pairs in enumerate(clusters):
            shared = _Shared.define(self, str(number), network)
            for pair in pairs:
                _capacity(self, f"Capacity{pair.number}", shared, pair.hosts, warmup_seconds=600, max_instances=4)
                _task(
                    self,
                    f"Task{pair.number}",
                    family=f"gpu-task-{pair.number}",
                    image=image,
                    hosts=pair.hosts,
                    gpus=pair.hosts.gpus,
                    command=["nvidia-smi"],
                )


def _vpc(scope: Construct) -> ec2.Vpc:
    return ec2.Vpc(
        scope,
        "Vpc",
        max_azs=2,
        nat_gateways=1,
        restrict_default_security_group=False,
        gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
    )


@dataclass
class _Shared:
    """What the hosts of one cluster have in common."""

    vpc: ec2.Vpc
    cluster: ecs.Cluster
    instance_profile: iam.InstanceProfile
    security_group: ec2.SecurityGroup
    images: dict[str, ec2.IMachineImage]

    @classmethod
    def define(cls, scope: Construct, suffix: str, vpc: ec2.Vpc) -> _Shared:
        cluster = ecs.Cluster(
            scope,
            f"Cluster{suffix}",
            vpc=cast("ec2.IVpc", vpc),
            container_insights_v2=ecs.ContainerInsights.ENHANCED,
        )
        role = iam.Role(
            scope,
            f"HostRole{suffix}",
            assumed_by=cast("iam.IPrincipal", iam.ServicePrincipal("ec2.amazonaws.com")),
            description="Hosts of an ECS cluster: ECS agent and Session Manager",
            inline_policies={"Host": _host_policy(cluster.cluster_arn)},
        )
        return cls(
            vpc=vpc,
            cluster=cluster,
            # Without the policy updates that every capacity provider would add for the agent, a second time.
            instance_profile=iam.InstanceProfile(scope, f"HostProfile{suffix}", role=role.without_policy_updates()),
            security_group=ec2.SecurityGroup(
                scope,
                f"HostSecurityGroup{suffix}",
                vpc=cast("ec2.IVpc", vpc),
                description="Hosts of an ECS cluster: no way in, any way out",
            ),
            images={},
        )

    def image(self, parameter: str) -> ec2.IMachineImage:
        if parameter not in self.images:
            self.images[parameter] = ec2.MachineImage.from_ssm_parameter(parameter, os=ec2.OperatingSystemType.LINUX)
        return self.images[parameter]


def _host_policy(cluster_arn: str) -> iam.PolicyDocument:
    return iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(
                sid="RegisterWithTheCluster",
                actions=[
                    "ecs:DeregisterContainerInstance",
                    "ecs:RegisterContainerInstance",
                    "ecs:SubmitAttachmentStateChanges",
                    "ecs:SubmitContainerStateChange",
                    "ecs:SubmitTaskStateChange",
                ],
                resources=[cluster_arn],
            ),
            iam.PolicyStatement(
                sid="TalkToTheCluster",
                actions=["ecs:Poll", "ecs:StartTelemetrySession", "ecs:UpdateContainerInstancesState"],
                resources=["*"],
                conditions={"ArnEquals": {"ecs:cluster": cluster_arn}},
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
    )


def _capacity(
    scope: Construct, name: str, shared: _Shared, hosts: Hosts, *, warmup_seconds: int, max_instances: int
) -> ecs.AsgCapacityProvider:
    user_data = ec2.UserData.for_linux()
    user_data.add_commands(
        "cat <<'EOF' >> /etc/ecs/ecs.config",
        "ECS_RESERVED_MEMORY=256",
        "ECS_AWSVPC_BLOCK_IMDS=true",
        "ECS_ENABLE_SPOT_INSTANCE_DRAINING=true",
        "EOF",
    )
    launch_template = ec2.LaunchTemplate(
        scope,
        f"{name}LaunchTemplate",
        machine_image=shared.image(hosts.image_parameter),
        instance_type=ec2.InstanceType(hosts.instance_types[0]),
        instance_profile=cast("iam.IInstanceProfile", shared.instance_profile),
        security_group=cast("ec2.ISecurityGroup", shared.security_group),
        user_data=user_data,
        block_devices=[
            ec2.BlockDevice(
                device_name=hosts.device,
                volume=ec2.BlockDeviceVolume.ebs(
                    100, encrypted=True, volume_type=ec2.EbsDeviceVolumeType.GP3, delete_on_termination=True
                ),
            )
        ],
        associate_public_ip_address=False,
        require_imdsv2=True,
        http_put_response_hop_limit=1,
    )
    private = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)
    if len(hosts.instance_types) == 1:
        group = autoscaling.AutoScalingGroup(
            scope,
            f"{name}Group",
            vpc=cast("ec2.IVpc", shared.vpc),
            vpc_subnets=private,
            launch_template=cast("ec2.ILaunchTemplate", launch_template),
            min_capacity=0,
            max_capacity=max_instances,
        )
    else:
        group = autoscaling.AutoScalingGroup(
            scope,
            f"{name}Group",
            vpc=cast("ec2.IVpc", shared.vpc),
            vpc_subnets=private,
            mixed_instances_policy=autoscaling.MixedInstancesPolicy(
                launch_template=cast("ec2.ILaunchTemplate", launch_template),
                launch_template_overrides=[
                    autoscaling.LaunchTemplateOverrides(instance_type=ec2.InstanceType(each))
                    for each in hosts.instance_types
                ],
                instances_distribution=autoscaling.InstancesDistribution(
                    on_demand_percentage_above_base_capacity=100,
                    on_demand_allocation_strategy=autoscaling.OnDemandAllocationStrategy.PRIORITIZED,
                ),
            ),
            min_capacity=0,
            max_capacity=max_instances,
        )
    provider = ecs.AsgCapacityProvider(
        scope,
        f"{name}Provider",
        auto_scaling_group=cast("autoscaling.IAutoScalingGroup", group),
        enable_managed_scaling=True,
        enable_managed_draining=True,
        enable_managed_termination_protection=False,
        instance_warmup_period=warmup_seconds,
    )
    shared.cluster.add_asg_capacity_provider(provider)
    return provider


def _task(
    scope: Construct,
    name: str,
    *,
    family: str,
    image: ecs.ContainerImage,
    hosts: Hosts,
    gpus: int,
    command: list[str],
) -> ecs.Ec2TaskDefinition:
    types = ", ".join(hosts.instance_types)
    share = hosts.shares[gpus - 1]
    task = ecs.Ec2TaskDefinition(
        scope,
        name,
        family=family,
        placement_constraints=[ecs.PlacementConstraint.member_of(f"attribute:ecs.instance-type in [{types}]")],
    )
    log_group = logs.LogGroup(
        scope, f"{name}Logs", retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
    )
    task.add_container(
        "training",
        image=image,
        gpu_count=gpus,
        cpu=share.cpu,
        memory_limit_mib=share.memory_mib,
        linux_parameters=ecs.LinuxParameters(
            scope, f"{name}LinuxParameters", shared_memory_size=share.shared_memory_mib
        ),
        ulimits=_ULIMITS,
        command=command,
        environment={"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"},
        logging=ecs.LogDrivers.aws_logs(stream_prefix="training", log_group=cast("logs.ILogGroup", log_group)),
    )
    return task
