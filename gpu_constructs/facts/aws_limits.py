"""What AWS services accept, launch and send: limits, ECS Managed Instances, events; each with the page that states it.

Unless a line says otherwise, a limit is from the API model of botocore 1.44.5, which the API reference repeats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpu_constructs.facts.model import InstanceType

LARGEST_INTEGER = 2**31 - 1
"""The integers of the ECS, EC2 and Auto Scaling APIs have 32 bits."""

MAX_PERCENT = 100
"""Largest percentage of a part: ``maxComputePercent`` of NvidiaMpsAllocation,
``OnDemandPercentageAboveBaseCapacity`` of Auto Scaling's InstancesDistribution."""

# Names

ECS_NAME_FORM = "1 to 255 letters, digits, hyphens and underscores"
"""What the name of a capacity provider, a task definition family or a container consists of.

https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateCapacityProvider.html
https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html
https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html
"""
ECS_NAME = r"[A-Za-z0-9_-]{1,255}"

RESERVED_PROVIDER_PREFIXES = ("aws", "ecs", "fargate")
"""How the name of a capacity provider cannot begin.

https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateCapacityProvider.html
"""

# `us-gov-west-1`, `us-isob-east-1` and `eusc-de-east-1` among them; no page states a pattern.
_REGION = r"[a-z]{2,8}(?:-[a-z]{1,12}){1,3}-[0-9]{1,2}"

# Capacity provider strategies and clusters

FARGATE_PROVIDERS = frozenset({"FARGATE", "FARGATE_SPOT"})
"""Capacity providers that AWS itself defines. The compute environments of AWS Batch have types of the same names.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-capacity-providers.html
https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html
"""

MAX_STRATEGY_PROVIDERS = 20
"""Providers of one capacity provider strategy
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html)."""

MAX_WEIGHT = 1000
"""Largest weight of an item of a strategy (API_CapacityProviderStrategyItem)."""

MAX_BASE = 100_000
"""Largest base of an item of a strategy (API_CapacityProviderStrategyItem)."""

MAX_CLUSTER_PROVIDERS = 20
"""Quota of capacity providers of one cluster (https://docs.aws.amazon.com/general/latest/gr/ecs-service.html)."""

# Managed scaling and Managed Instances

MANAGED_SCALING: Mapping[str, tuple[int, int]] = {
    "InstanceWarmupPeriod": (0, 10_000),
    "MaximumScalingStepSize": (1, 10_000),
    "MinimumScalingStepSize": (1, 10_000),
    "TargetCapacity": (1, MAX_PERCENT),
}
"""Smallest and largest number of each setting, in the words of CloudFormation
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ManagedScaling.html)."""

MAX_STEP_ADJUSTMENTS = 20
"""Step adjustments of one policy of Application Auto Scaling (https://docs.aws.amazon.com/general/latest/gr/as-app.html)."""

MAX_IDLE_SECONDS = 3600
"""``scaleInAfter`` of Managed Instances, in which -1 is never
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_InfrastructureOptimization.html)."""

# Task definitions

MIN_JOB_MEMORY_MIB = 4
"""Memory that AWS Batch takes for a job at least
(https://docs.aws.amazon.com/batch/latest/APIReference/API_ResourceRequirement.html)."""

MIN_CONTAINER_MEMORY_MIB = 6
"""Memory of a container: Docker 20.10 and later refuse less, both as limit and as reservation.

https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html
"""

PROXY_CPU, PROXY_MEMORY_MIB = 256, 64
"""What AWS recommends to add to the size of a task for the proxy of Service Connect.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-connect-concepts-deploy.html
"""

CPU_UNITS_PER_VCPU = 1024
"""What ECS calls a vCPU
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_definition_parameters.html)."""

LARGEST_PORT = 65_535
"""Largest port of TCP and UDP (RFC 9293, RFC 768)."""

DYNAMIC_PORTS = (32_768, LARGEST_PORT)
"""Where Docker chooses the port of the host: "usually 32768 to 60999", or the range of the ECS agent where the kernel's
is not known, 49153 to 65535. CDK allows the same.

https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html
"""

USUAL_DYNAMIC_PORTS = (32_768, 60_999)
"""The part of `DYNAMIC_PORTS` that Docker uses unless the kernel or the ECS agent of a host has another range.

https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html
"""

PROMETHEUS_PORT = (51680, "tcp")
"""What the agent keeps only with ``ECS_ENABLE_PROMETHEUS_METRICS`` (``agent/config/config_unix.go``)."""

RESERVED_PORTS = frozenset((*((port, "tcp") for port in (22, 2375, 2376, 51678, 51679)), PROMETHEUS_PORT))
"""Ports that the agent keeps on every host by default.

https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html
"""

# Placement

MAX_PLACEMENT_CONSTRAINTS = 10
"""Constraints of one task: those of its task definition and those given when it is run, together.

https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html
"""

MAX_EXPRESSION_LENGTH = 2000
"""Characters of one expression
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PlacementConstraint.html)."""

MAX_ATTRIBUTE_LENGTH = 128
"""Characters of an attribute's name, and of its value
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Attribute.html)."""

# Services

DEFAULT_MAX_HEALTHY_PERCENT = 200
"""``maximumPercent`` of a deployment where none is written
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DeploymentConfiguration.html)."""

# EC2 and AWS Batch

MAX_USER_DATA_BYTES = 16_384
"""User data of a host before it is encoded as base64
(https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html)."""

SPOT_NOTICE_SECONDS = 120
"""EC2 takes a Spot host back this long after its notice.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/spot-instance-draining-linux-container.html
"""

CAPACITY_BLOCK_ENDS_EARLY_MINUTES = 30
"""EC2 begins to terminate the hosts of a Capacity Block this long before its end.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html
"""

NO_PRICE_THRESHOLD_PERCENT = 999_999
"""Price protection of attribute-based selection that leaves no type out: "To indicate no price protection threshold,
specify a high value, such as 999999".

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceRequirementsRequest.html
"""

MIN_JOB_TIMEOUT_SECONDS = 60
"""Timeout of an attempt of a job of AWS Batch (https://docs.aws.amazon.com/batch/latest/userguide/job_timeouts.html)."""

MAX_JOB_ATTEMPTS = 10
"""Attempts of a job of AWS Batch (https://docs.aws.amazon.com/batch/latest/APIReference/API_RetryStrategy.html)."""

JOB_ARRAY_SIZE = (2, 10_000)
"""Jobs of an array of AWS Batch (https://docs.aws.amazon.com/batch/latest/APIReference/API_ArrayProperties.html)."""

MAX_JOB_CONDITIONS = 5
"""Conditions of its retries (same page)."""

MAX_JOB_NODES = 1000
"""Nodes of a multi-node parallel job (https://docs.aws.amazon.com/batch/latest/userguide/service_limits.html)."""

MAX_QUEUE_ENVIRONMENTS = 3
MAX_JOB_QUEUE_PRIORITY = 9999
"""Environments of a queue, which no request raises, and priority of jobs and queues: https://docs.aws.amazon.com/batch/latest/userguide/service_limits.html"""

BATCH_TYPE_WORDS = frozenset({"default_arm64", "default_x86_64", "optimal"})
"""Words for whatever AWS Batch prefers at the time, all of it without accelerators.

https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html
"""


def reserved_prefix(provider: str) -> str | None:
    """The reserved beginning of a capacity provider's name, or the whole name of one of Fargate; None if it has none.

    Only as the API reference spells it: no page says whether ECS also refuses ``AWS-gpu``, and CDK's own check
    (2.275.0) and the schema of ``AWS::ECS::CapacityProvider`` let it pass.
    """
    if provider in FARGATE_PROVIDERS:
        return provider
    return next((each for each in RESERVED_PROVIDER_PREFIXES if provider.startswith(each)), None)


def is_region(text: str) -> bool:
    """Whether text has the form of a region's name, in any partition."""
    return re.fullmatch(_REGION, text) is not None


# EBS volumes of type gp3: https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html and
# LaunchTemplateEbsBlockDeviceRequest of the EC2 API; the ratio of IOPS and throughput is in the checks of CDK's
# ec2.Volume (2.275.0).
GP3_MAX_GIB = 65536
"""Size of the largest volume."""

GP3_MIN_MIB_PER_SECOND = 125
"""Throughput that every volume comes with."""

GP3_MAX_MIB_PER_SECOND = 2000
"""Throughput at most."""

GP3_IOPS_INCLUDED = 3000
"""IOPS that every volume comes with."""

GP3_IOPS_FOR_EACH_MIB_PER_SECOND = 4
"""IOPS that a volume must have for each MiB/s."""


# "The following instance types are not supported" of
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/container-instance-eni.html, in a copy of 2023.
_WITHOUT_TRUNK = frozenset({"g3", "g3s", "g4dn", "inf1", "p3dn"})

NVLINK_CONTROLLERS: Mapping[str, int | None] = {"p6-b200": 2, "p6-b300": None}
"""Devices ``/dev/infiniband/uverbs<N>`` of NVLink controllers beside those of EFA, by family; None if unknown how many.

P6-B200 has 10 such devices, 8 of EFA, and no page says which numbers these have
(https://github.com/aws/sagemaker-hyperpod-cli/pull/282 and https://github.com/aws-samples/aws-do-eks/pull/63, read on
2026-11-22). P6-B300 has NVSwitches of the same generation, and no source lists its devices.
"""


def may_have_trunk(instance_type: InstanceType) -> bool:
    """Whether ``awsvpcTrunking`` may give a host more network interfaces: ECS does not support it on some types."""
    return instance_type.family not in _WITHOUT_TRUNK


def _on_the_page(properties: str) -> Mapping[str, str]:
    """Properties as CloudFormation spells them, each with its name on the page of what Managed Instances support.

    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-tasks-services.html, read on
    2026-11-21. The list gets shorter over time: an older copy has dockerLabels too.
    """
    return {
        each: re.sub("^[A-Z]+", lambda found: found[0].lower(), each.rpartition(".")[2]) for each in properties.split()
    }


TASK_SETTINGS_REFUSED = _on_the_page("EphemeralStorage InferenceAccelerators IpcMode ProxyConfiguration")
"""Settings of a task definition that are not valid on Managed Instances."""

VOLUME_SETTINGS_REFUSED = _on_the_page(
    "DockerVolumeConfiguration FSxWindowsFileServerVolumeConfiguration Host.SourcePath"
)
"""Settings of a volume that are not valid there."""

WRITABLE_ON_MANAGED = ("/var/", "/tmp/")  # noqa: S108 (a path on hosts)
"""Where a `sourcePath` may point all the same: the page lists it as not valid, and also says that it "must point to a
writable directory", of which it names these two. Another page has sourcePath for Managed Instances as well:
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/specify-bind-mount-config.html"""

CONTAINER_SETTINGS_REFUSED = _on_the_page(
    """
    DisableNetworking DnsSearchDomains DnsServers DockerSecurityOptions ExtraHosts Hostname Links
    LinuxParameters.MaxSwap LinuxParameters.SharedMemorySize LinuxParameters.Swappiness LinuxParameters.Tmpfs
    """
)
"""Settings of a container that are not valid there."""

SETTINGS_REFUSED = {
    **TASK_SETTINGS_REFUSED,
    **{f"Volumes.{setting}": name for setting, name in VOLUME_SETTINGS_REFUSED.items()},
    **CONTAINER_SETTINGS_REFUSED,
}


def is_managed_size(instance_type: InstanceType) -> bool:
    """Whether a type is large enough: "More than 1 vCPU", and "not nano or micro"."""
    return instance_type.vcpus > 1 and instance_type.size not in {"nano", "micro"}


def may_be_managed(instance_type: InstanceType) -> bool:
    """Whether Managed Instances are known to launch a type."""
    return is_managed_size(instance_type) and (
        instance_type.accelerators is None or instance_type.traits.managed_instances is True
    )


TASK_STATE = "ECS Task State Change"
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html"""
HOST_HEALTH = "ECS Container Instance Health Change"
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_container_instance_health_events.html"""
SERVICE_ACTION = "ECS Service Action"
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_service_events.html"""
DEPLOYMENT_STATE = "ECS Deployment State Change"
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_service_deployment_events.html"""


LOST_HOST = ("InfrastructureHealth", "SpotInterruption", "TerminationNotice")
"""Stop codes of a task whose host is gone: https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html"""
ENDED = "EssentialContainerExited"
"""The stop code of a task whose container ended."""
NOT_STARTED = "TaskFailedToStart"
"""The stop code of a task that ended before its containers ran."""
PLACEMENT_FAILURE = "SERVICE_TASK_PLACEMENT_FAILURE"
"""The name of a service's event that a task could not be placed."""
