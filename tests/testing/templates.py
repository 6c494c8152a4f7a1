"""Templates of GPU capacity, as somebody writes them by hand."""

from __future__ import annotations

from typing import Any

IMAGES = "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu"
RELEASE = "al2023-ami-ecs-gpu-hvm-2023.0.20260922-kernel-6.1-x86_64-ebs"


def capacity(
    name: str, *types: str, most: str = "4", least: str = "0", image: str = f"{RELEASE}/image_id", **provider: Any
) -> dict[str, Any]:
    """A capacity provider called so, with everything behind it."""
    return {
        f"{name}Launch": {
            "Type": "AWS::EC2::LaunchTemplate",
            "Properties": {
                "LaunchTemplateData": {
                    "IamInstanceProfile": {"Arn": "arn:aws:iam::123456789012:instance-profile/ecsInstanceRole"},
                    "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 100}}],
                    "ImageId": f"{{{{resolve:ssm:{IMAGES}/{image}}}}}",
                    "UserData": {"Fn::Base64": "#!/bin/bash\necho ECS_CLUSTER=gpu >> /etc/ecs/ecs.config"},
                }
            },
        },
        f"{name}Group": {
            "Type": "AWS::AutoScaling::AutoScalingGroup",
            "Properties": {
                "MinSize": least,
                "MaxSize": most,
                "AvailabilityZones": ["us-east-1a", "us-east-1b"],
                "MixedInstancesPolicy": {
                    "InstancesDistribution": provider.pop("distribution", {"OnDemandPercentageAboveBaseCapacity": 100}),
                    "LaunchTemplate": {
                        "LaunchTemplateSpecification": {
                            "LaunchTemplateId": {"Ref": f"{name}Launch"},
                            "Version": {"Fn::GetAtt": [f"{name}Launch", "LatestVersionNumber"]},
                        },
                        "Overrides": [{"InstanceType": each} for each in types],
                    },
                },
            },
        },
        name: {
            "Type": "AWS::ECS::CapacityProvider",
            "Properties": {
                "AutoScalingGroupProvider": {
                    "AutoScalingGroupArn": {"Ref": f"{name}Group"},
                    "ManagedScaling": {"Status": "ENABLED"},
                    **provider,
                }
            },
        },
    }


def task(name: str, *, count: str = "4", service_on: str | None = None) -> dict[str, Any]:
    """A task definition called so, and a service of it."""
    definition = {
        "Type": "AWS::ECS::TaskDefinition",
        "Properties": {
            "Family": name.lower(),
            "RequiresCompatibilities": ["EC2"],
            "ContainerDefinitions": [
                {
                    "Name": "main",
                    "Image": "nvidia/cuda:12.8.1-base-ubuntu24.04",
                    "Memory": 8192,
                    "ResourceRequirements": [{"Type": "GPU", "Value": count}],
                }
            ],
        },
    }
    if service_on is None:
        return {name: definition}
    service = {
        "Type": "AWS::ECS::Service",
        "DependsOn": "Association",
        "Properties": {
            "Cluster": {"Ref": "Cluster"},
            "TaskDefinition": {"Ref": name},
            "DesiredCount": 1,
            "CapacityProviderStrategy": [{"CapacityProvider": {"Ref": service_on}, "Weight": 1}],
        },
    }
    return {name: definition, f"{name}Service": service}


def template(*parts: dict[str, Any]) -> dict[str, Any]:
    cluster = {"Type": "AWS::ECS::Cluster", "Properties": {"ClusterName": "gpu"}}
    resources = {key: value for part in parts for key, value in part.items()}
    providers = [{"Ref": key} for key, each in resources.items() if each["Type"] == "AWS::ECS::CapacityProvider"]
    association = {
        "Type": "AWS::ECS::ClusterCapacityProviderAssociations",
        "Properties": {"Cluster": {"Ref": "Cluster"}, "CapacityProviders": providers},
    }
    return {"Resources": {"Cluster": cluster, "Association": association, **resources}}


L4 = capacity("L4", "g6.12xlarge")
GOOD = template(L4, task("Train", service_on="L4"))
