"""One template with every part that a fleet is read from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.template.resources.declared import joined

__all__ = ["EVERYTHING", "paths", "with_value"]

_OPTIMIZED = "resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id"
_WANTED = {
    "VCpuCount": {"Min": 4, "Max": 8},
    "MemoryMiB": {"Min": 1024},
    "AcceleratorCount": {"Min": 1},
    "AcceleratorTotalMemoryMiB": {"Min": 1024},
    "AcceleratorManufacturers": ["nvidia"],
    "AllowedInstanceTypes": ["g6.*"],
}
_CONTAINER = {
    "Name": "train",
    "Cpu": "1024",
    "Memory": 2048,
    "MemoryReservation": 1024,
    "Essential": True,
    "Image": "train",
    "ResourceRequirements": [
        {"Type": "GPU", "Value": "1"},
        {"Type": "GPU", "SharingStrategy": {"NvidiaMps": {"Memory": 4096, "MaxComputePercent": 50}}},
    ],
    "PortMappings": [{"ContainerPort": 80, "HostPort": 8080, "Protocol": "tcp"}],
    "LinuxParameters": {"SharedMemorySize": 64, "Devices": [{"HostPath": "/dev/neuron0"}], "Tmpfs": [{"Size": 1}]},
    "Environment": [{"Name": "A", "Value": "1"}],
    "Secrets": [{"Name": "B", "ValueFrom": "arn"}],
    "LogConfiguration": {"LogDriver": "awslogs", "Options": {"awslogs-region": "eu-west-1"}},
}

EVERYTHING: dict[str, Any] = {
    "Cluster": {
        "Type": "AWS::ECS::Cluster",
        "Properties": {
            "ClusterName": "prod",
            "CapacityProviders": ["FARGATE"],
            "DefaultCapacityProviderStrategy": [{"CapacityProvider": "FARGATE", "Weight": 1, "Base": 0}],
        },
    },
    "Listing": {
        "Type": "AWS::ECS::ClusterCapacityProviderAssociations",
        "Properties": {
            "Cluster": {"Ref": "Cluster"},
            "CapacityProviders": [{"Ref": "Provider"}],
            "DefaultCapacityProviderStrategy": [{"CapacityProvider": {"Ref": "Provider"}, "Weight": 1}],
        },
    },
    "Close": {"Type": "AWS::EC2::PlacementGroup", "Properties": {"Strategy": "cluster"}},
    "Subnet": {"Type": "AWS::EC2::Subnet", "Properties": {"AvailabilityZone": "eu-west-1a"}},
    "Template": {
        "Type": "AWS::EC2::LaunchTemplate",
        "Properties": {
            "LaunchTemplateName": "hosts",
            "LaunchTemplateData": {
                "ImageId": _OPTIMIZED,
                "InstanceType": "g6.xlarge",
                "UserData": joined("#!/bin/bash\necho ECS_CLUSTER=", {"Ref": "Cluster"}, " >> /etc/ecs/ecs.config"),
                "NetworkInterfaces": [{"DeviceIndex": 0, "NetworkCardIndex": 0, "AssociatePublicIpAddress": False}],
                "InstanceMarketOptions": {"MarketType": "spot"},
                "CapacityReservationSpecification": {"CapacityReservationPreference": "open"},
                "Placement": {"GroupName": {"Ref": "Close"}},
            },
        },
    },
    "Config": {
        "Type": "AWS::AutoScaling::LaunchConfiguration",
        "Properties": {"InstanceType": "p3.2xlarge", "SpotPrice": "1", "UserData": "#!/bin/sh\ncfn-init"},
        "Metadata": {
            "AWS::CloudFormation::Init": {
                "c": {"commands": {"a": {"command": "echo ECS_CLUSTER=prod >> /etc/ecs/ecs.config"}}}
            }
        },
    },
    "Group": {
        "Type": "AWS::AutoScaling::AutoScalingGroup",
        "Properties": {
            "MinSize": "0",
            "MaxSize": "4",
            "VPCZoneIdentifier": [{"Ref": "Subnet"}],
            "MixedInstancesPolicy": {
                "LaunchTemplate": {
                    "LaunchTemplateSpecification": {"LaunchTemplateId": {"Ref": "Template"}},
                    "Overrides": [{"InstanceType": "g6.xlarge"}, {"InstanceRequirements": _WANTED}],
                },
                "InstancesDistribution": {"OnDemandBaseCapacity": 1, "OnDemandPercentageAboveBaseCapacity": 0},
            },
        },
    },
    "Old": {
        "Type": "AWS::AutoScaling::AutoScalingGroup",
        "Properties": {"LaunchConfigurationName": {"Ref": "Config"}, "MinSize": 1, "MaxSize": 1},
    },
    "Provider": {
        "Type": "AWS::ECS::CapacityProvider",
        "Properties": {
            "Name": "gpu",
            "AutoScalingGroupProvider": {
                "AutoScalingGroupArn": {"Ref": "Group"},
                "ManagedScaling": {"Status": "ENABLED"},
                "ManagedTerminationProtection": "DISABLED",
            },
        },
    },
    "Managed": {
        "Type": "AWS::ECS::CapacityProvider",
        "Properties": {
            "ClusterName": {"Ref": "Cluster"},
            "ManagedInstancesProvider": {
                "InstanceLaunchTemplate": {
                    "InstanceRequirements": _WANTED,
                    "CapacityOptionType": "SPOT",
                    "NetworkConfiguration": {"Subnets": [{"Ref": "Subnet"}]},
                }
            },
        },
    },
    "Host": {
        "Type": "AWS::EC2::Instance",
        "Properties": {
            "InstanceType": "g6.xlarge",
            "UserData": "#!/bin/sh\necho ECS_CLUSTER=prod >> /etc/ecs/ecs.config",
        },
    },
    "Task": {
        "Type": "AWS::ECS::TaskDefinition",
        "Properties": {
            "Family": "train",
            "Cpu": "1 vCPU",
            "Memory": "2 GB",
            "NetworkMode": "bridge",
            "RequiresCompatibilities": ["EC2"],
            "RuntimePlatform": {"CpuArchitecture": "X86_64", "OperatingSystemFamily": "LINUX"},
            "PlacementConstraints": [{"Type": "memberOf", "Expression": "attribute:a exists"}],
            "ContainerDefinitions": [_CONTAINER],
            "Volumes": [{"Name": "v", "Host": {"SourcePath": "/data"}}],
        },
        "Metadata": {
            "gpu-constructs": {"Containers": {"train": {"GpuMemoryMib": 1024, "ComputeCapability": "8.0"}}},
            "aws:cdk:path": "Stack/Task/Resource",
        },
    },
    "Service": {
        "Type": "AWS::ECS::Service",
        "Properties": {
            "Cluster": {"Ref": "Cluster"},
            "TaskDefinition": {"Ref": "Task"},
            "CapacityProviderStrategy": [{"CapacityProvider": {"Ref": "Provider"}, "Weight": 1, "Base": 0}],
            "DesiredCount": 2,
            "ServiceName": "train",
            "SchedulingStrategy": "REPLICA",
            "DeploymentConfiguration": {"MinimumHealthyPercent": 100, "MaximumPercent": 200},
            "PlacementConstraints": [{"Type": "distinctInstance"}],
        },
    },
    "Target": {
        "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
        "Properties": {"ResourceId": "service/prod/train", "MaxCapacity": 8},
    },
    "Environment": {
        "Type": "AWS::Batch::ComputeEnvironment",
        "Properties": {
            "Type": "MANAGED",
            "ComputeResources": {
                "Type": "EC2",
                "InstanceTypes": ["g6", "p4d.24xlarge"],
                "MinvCpus": 0,
                "MaxvCpus": 96,
                "Subnets": [{"Ref": "Subnet"}],
                "Ec2Configuration": [{"ImageType": "ECS_AL2023_NVIDIA"}],
                "LaunchTemplate": {"LaunchTemplateName": "hosts"},
            },
        },
    },
    "Job": {
        "Type": "AWS::Batch::JobDefinition",
        "Properties": {
            "Type": "container",
            "PlatformCapabilities": ["EC2"],
            "ContainerProperties": {"Vcpus": 1, "Memory": 1, "ResourceRequirements": [{"Type": "VCPU", "Value": "1"}]},
        },
    },
    "Jobs": {
        "Type": "AWS::Batch::JobDefinition",
        "Properties": {
            "Type": "multinode",
            "NodeProperties": {
                "NodeRangeProperties": [
                    {"TargetNodes": "0", "Container": {"Memory": 1}},
                    {"TargetNodes": "1:", "EcsProperties": {"TaskProperties": [{"Containers": [{"Name": "a"}]}]}},
                ]
            },
        },
    },
    "Alarm": {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "Namespace": "AWS/ECS",
            "MetricName": "GPUReservation",
            "Dimensions": [{"Name": "ClusterName", "Value": {"Ref": "Cluster"}}, {"Name": "a", "Value": "b"}],
            "Metrics": [{"Id": "m1", "MetricStat": {"Metric": {"Namespace": "AWS/ECS", "MetricName": "GPUs"}}}],
        },
    },
    "Tracked": {
        "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
        "Properties": {
            "TargetTrackingScalingPolicyConfiguration": {
                "CustomizedMetricSpecification": {"Namespace": "AWS/ECS", "MetricName": "GPUUtilization"}
            }
        },
    },
}


def paths(node: Any, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where a value of a template may be replaced: below the type of each resource."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        if len(above) > 1 or key in {"Properties", "Metadata"}:
            yield (*above, key)
        if len(above) > 0 or isinstance(child, dict):
            yield from paths(child, (*above, key))


def with_value(node: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """The same with another value in one place."""
    if not path:
        return value
    if isinstance(node, list):
        return [with_value(each, path[1:], value) if index == path[0] else each for index, each in enumerate(node)]
    return {key: with_value(each, path[1:], value) if key == path[0] else each for key, each in node.items()}
