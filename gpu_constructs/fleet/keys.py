"""Keys of templates: this library's own, and those that ECS has for task definitions and containers.

The latter are in CloudFormation's spelling, and a dot leads to what is below. As of botocore 1.44.5 and the
CloudFormation schema of ``AWS::ECS::TaskDefinition`` of 2026-10-20, whose ``additionalProperties`` is false on every
level (https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-taskdefinition.html).
``TrustedExecutionConfiguration`` is younger: https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_TrustedExecutionConfiguration.html,
read on 2026-11-22.
"""

from __future__ import annotations

METADATA_KEY = "gpu-constructs"
"""Key in the ``Metadata`` of a resource, for the needs of containers and for what is accepted; the constructs write it,
the reader reads it, and it is the first half of the ids by which findings are acknowledged in a CDK app."""

CHECKS_GPUS = "ChecksGpus"
"""Under that key of an Auto Scaling group: whether its hosts count their GPUs before they take tasks."""

DECLARED_TYPES = "InstanceTypes"
"""Under that key of what launches hosts: the types of its hosts that the catalogue does not have, by name."""

DECLARED_IMAGE = "MachineImage"
"""Under that key of whatever names the AMI of hosts: what an AMI of the user's own can do."""

KEEPS_PROVIDERS = "KeepsCapacityProviders"
"""Under that key of a list of capacity providers: whether it names every other provider that its cluster has."""

KEEPS_STRATEGY = "KeepsDefaultStrategy"
"""Under that key of a list of capacity providers: whether it has the default strategy that its cluster should have."""

RESERVED_INSTANCES = "ReservedInstances"
"""Under that key of an Auto Scaling group: how many hosts are reserved, which no property says."""

TASK_KEYS = (
    "ContainerDefinitions",
    "Cpu",
    "EnableFaultInjection",
    "EphemeralStorage",
    "ExecutionRoleArn",
    "Family",
    "InferenceAccelerators",
    "IpcMode",
    "Memory",
    "NetworkMode",
    "PidMode",
    "PlacementConstraints",
    "ProxyConfiguration",
    "RequiresCompatibilities",
    "RuntimePlatform",
    "RuntimePlatform.CpuArchitecture",
    "RuntimePlatform.OperatingSystemFamily",
    "Tags",
    "TaskRoleArn",
    "TrustedExecutionConfiguration",
    "Volumes",
)

CONTAINER_KEYS = (
    "Command",
    "Cpu",
    "CredentialSpecs",
    "DependsOn",
    "DisableNetworking",
    "DnsSearchDomains",
    "DnsServers",
    "DockerLabels",
    "DockerSecurityOptions",
    "EntryPoint",
    "Environment",
    "EnvironmentFiles",
    "Essential",
    "ExtraHosts",
    "FirelensConfiguration",
    "HealthCheck",
    "Hostname",
    "Image",
    "Interactive",
    "Links",
    "LinuxParameters",
    "LinuxParameters.Capabilities",
    "LinuxParameters.Devices",
    "LinuxParameters.InitProcessEnabled",
    "LinuxParameters.MaxSwap",
    "LinuxParameters.SharedMemorySize",
    "LinuxParameters.Swappiness",
    "LinuxParameters.Tmpfs",
    "LogConfiguration",
    "Memory",
    "MemoryReservation",
    "MountPoints",
    "Name",
    "PortMappings",
    "Privileged",
    "PseudoTerminal",
    "ReadonlyRootFilesystem",
    "RepositoryCredentials",
    "ResourceRequirements",
    "RestartPolicy",
    "Secrets",
    "StartTimeout",
    "StopTimeout",
    "SystemControls",
    "Ulimits",
    "User",
    "VersionConsistency",
    "VolumesFrom",
    "WorkingDirectory",
)
