"""Findings in the words of Terraform or the AWS CLI, which have other names than the properties of CloudFormation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from gpu_constructs.template.terraform.json_texts import SPELLED
from gpu_constructs.template.terraform.kind import words
from gpu_constructs.template.terraform.kinds import KINDS

# Properties that findings name and that no other word is taken for; of one word alone only those that a rule marks.
_PROPERTIES = frozenset(
    words(
        """
        AcceleratorCount AcceleratorManufacturers AcceleratorNames AcceleratorTotalMemoryMiB
        AcceleratorTypes AllocationStrategy AllowedInstanceTypes AssignPublicIp AssociatePublicIpAddress
        AssumeRolePolicyDocument AttemptDurationSeconds AuthorizationConfig AutoScalingGroupArn
        AutoScalingGroupName AutoScalingGroupProvider AutoScalingInstanceRefresh AwsvpcConfiguration
        BlockDeviceMappings CapacityOptionType CapacityProvider CapacityProviderStrategy CapacityProviders
        CapacityReservationSpecification CapacityReservationTarget CapacityReservations ClusterName
        ComputeResources ContainerDefinitions ContainerProperties CpuArchitecture
        CustomizedMetricSpecification DefaultActions DefaultCapacityProviderStrategy DefaultResult DependsOn
        DesiredCapacity DesiredCount DeviceName Ec2Configuration Ec2InstanceProfileArn EcsProperties
        EFSVolumeConfiguration EvaluateOnExit ExcludedInstanceTypes ExecutionRoleArn FileSystemId
        FilesystemId ForwardConfig HealthCheckGracePeriodSeconds HealthCheckPort HeartbeatTimeout
        HttpEndpoint HttpTokens IamInstanceProfile ImageId ImageIdOverride ImageType InfrastructureRoleArn
        InstanceGenerations InstanceLaunchTemplate InstanceMarketOptions InstanceRequirements InstanceRole
        InstanceType InstanceTypes InstancesDistribution InterfaceType IpProtocol IpcMode
        LaunchConfigurationName LaunchTemplate LaunchTemplateData LaunchTemplateId
        LaunchTemplateSpecification LaunchType LifecycleHookName LifecycleHookSpecificationList
        LifecycleTransition ListenerArn LoadBalancerArn LoadBalancers LocalStorage ManagedDraining
        ManagedInstancesProvider ManagedPolicyArns ManagedScaling ManagedTerminationProtection MarketType
        MaxAttempts MaxCapacity MaxHealthyPercentage MaxSize MaximumPercent MaxvCpus MemoryMiB
        MetadataOptions MetricName MinCapacity MinHealthyPercentage MinSize MinimumHealthyPercent
        MixedInstancesPolicy NetworkConfiguration NetworkInterfaces NetworkMode
        NewInstancesProtectedFromScaleIn NodeProperties NodeRangeProperties
        OnDemandPercentageAboveBaseCapacity OperatingSystemFamily PlacementConstraints PlacementGroup
        PlatformCapabilities PoolState PredictiveScalingConfiguration RequiresCompatibilities
        ReservationPreference RetryStrategy ReuseOnScaleIn RoleName RuntimePlatform
        ScaleInProtectedInstances SchedulingPolicyArn SchedulingPriority SecurityGroupEgress
        SecurityGroupIds SecurityGroupIngress SecurityGroups ServiceConnectConfiguration ServiceRegistries
        ShareIdentifier SharingStrategy SpotAllocationStrategy SuspendProcesses TargetGroupArn TargetGroups
        TargetTrackingScalingPolicyConfiguration TargetType TaskDefinition TaskProperties TaskRoleArn
        TimeoutSeconds TransitEncryption UpdatePolicy UserData VCpuCount VPCZoneIdentifier ValueFrom
        VolumeSize WarmPool WeightedCapacity
        """
    )
)
_OF_CONTAINERS = {each[:1].upper() + each[1:]: each for each in SPELLED.values()}
_OF_CONTAINERS |= {
    each: each.lower()
    for each in words("Command Cpu Devices Environment Essential Image Memory Privileged Secrets Value")
}
# Of jobs they are in a JSON text, and of all else arguments.
_JOB = "aws_batch_job_definition"
_OF_TASKS, _OF_ONE_WORD = frozenset({_JOB, "aws_ecs_task_definition"}), frozenset({"Command", "Cpu", "Memory"})
# Its definition is in the Amazon States Language, whose fields have the capitals of CloudFormation.
_MACHINE = "aws_sfn_state_machine"
# Where a request has not the name of CloudFormation with a small letter: see `property_name`.
_OF_REQUESTS = {"EFSVolumeConfiguration": "efsVolumeConfiguration", "FilesystemId": "fileSystemId"}
_ARGUMENTS_TOO = frozenset(
    words(
        "CpuArchitecture EphemeralStorage ExecutionRoleArn HealthCheck InstanceType JobRoleArn NetworkConfiguration "
        "PlatformVersion RuntimePlatform"
    )
)
_UNITS = frozenset({"EC2", "GPUs", "MiB", "GiB"})
# What Terraform has no block for.
_WITHOUT = frozenset({"AwsvpcConfiguration", "DeploymentConfiguration", "LaunchTemplateData", "UpdatePolicy"})
# What a template declares of an image, and a plan has no place for.
_FACTS = [
    f"Metadata: {{gpu-constructs: {{MachineImage: {{{each}}}}}}} of what names it"
    for each in ("Accelerator: neuron", "DriverVersion: 580.95.05")
]
_SHOWN_IMAGE = (
    "take the id of an image of AWS from aws_ami or the insecure_value of aws_ssm_parameter, so that the plan says "
    "which it is"
)
# What findings say of deploys of CloudFormation and of apps.
_PHRASES = (
    ("only known at deploy time", "only known after the apply"),
    (", or take it from context", ", or pass what makes it unknown, such as an image, by a variable"),
    (", or take them from context", ", or pass what makes them unknown, such as an image, by a variable"),
    ("deleting the stack", "destroying it"),
    *((f"declare it: {each}", _SHOWN_IMAGE) for each in _FACTS),
    *((f", or declare its image: {each}", "") for each in _FACTS),
    (" stands in CloudFormation", " stands in a template and a data source aws_ssm_parameter in Terraform"),
)
_NAMED = re.compile(r"AWS::\w+::\w+|(?<![\w./-])[A-Z][A-Za-z0-9]*(?:\.[A-Z][A-Za-z0-9]*)*(?!\w)")
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def in_terraform(text: str, kind: str, *, is_marked: bool) -> str:
    """A piece of a finding with the arguments in place of properties, and the resources in place of types.

    Args:
        text: The piece.
        kind: The type of the resource that it is about, such as ``aws_ecs_service``.
        is_marked: Whether the rule marks it as the name of properties.
    """

    def named(match: re.Match[str]) -> str:
        types = _types().get(match[0])
        if types is not None or match[0].startswith("AWS::"):
            return types or match[0]
        steps = match[0].split(".")
        is_property = kind != _MACHINE and _is_property(match[0], is_sure=is_marked, is_of_task=kind in _OF_TASKS)
        return ".".join(_steps(steps, kind)) or match[0] if is_property else match[0]

    for phrase, ours in _PHRASES:
        text = text.replace(phrase, ours)
    return _NAMED.sub(named, text)


def in_request(text: str, _resource: str, is_marked: bool) -> str:  # noqa: FBT001 - as `InWords` is called
    """A piece of a finding in the words that the AWS CLI takes in a file, see `requests`: it refuses capitals."""

    def named(match: re.Match[str]) -> str:
        if not _is_property(match[0], is_sure=is_marked, is_of_task=True):
            return match[0]
        return ".".join(_OF_REQUESTS.get(each, each[:1].lower() + each[1:]) for each in match[0].split("."))

    return _NAMED.sub(named, text)


def _is_property(words: str, *, is_sure: bool, is_of_task: bool) -> bool:
    if words in _UNITS or words.startswith("AWS::"):
        return False
    of_task = is_of_task and words in _OF_ONE_WORD
    return is_sure or of_task or any(each in _PROPERTIES or _is_of_container(each) for each in words.split("."))


def _is_of_container(word: str) -> bool:
    return word in _OF_CONTAINERS and len(_HUMPS.split(word)) > 1


def _steps(steps: list[str], kind: str) -> Iterator[str]:
    for each in steps:
        if each not in _WITHOUT:
            is_argument = (each in _ARGUMENTS_TOO and kind != _JOB) or (each == "DependsOn" and kind not in _OF_TASKS)
            in_json = None if is_argument else _OF_CONTAINERS.get(each)
            yield _arguments(kind).get(each) or in_json or _of_any().get(each) or _snake(each)


def _snake(word: str) -> str:
    return "_".join(_HUMPS.split(word.replace("MiB", "Mib").replace("VCpu", "Vcpu"))).lower()


@cache
def _types() -> Mapping[str, str]:
    return {kind.type: name for name, kind in reversed(list(KINDS.items()))}


@cache
def _arguments(kind: str) -> Mapping[str, str]:
    """The arguments of a kind by the names of their properties, as far as these differ."""
    found: dict[str, str] = {}
    for path, each in KINDS[kind].names.items() if kind in KINDS else ():
        if each.steps:
            found.setdefault(each.steps[-1], path.rpartition(".")[2])
    return found


@cache
def _of_any() -> Mapping[str, str]:
    """Likewise of any kind; a property of one word, such as ``Type``, is another in each."""
    names = ((name, each) for kind in reversed(list(KINDS)) for name, each in _arguments(kind).items())
    return {name: each for name, each in names if len(_HUMPS.split(name)) > 1}
