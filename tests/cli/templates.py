"""Templates as somebody might have written them: one pool of hosts, one task, one service."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.template.resources.declared import of, resource

AMI = (
    "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/al2023-ami-ecs-gpu-hvm-2023.0.20260929-kernel-6.1-x86_64-ebs"
)
INSTANCE_TYPE = {"Ref": "InstanceType"}


def template(*, instance_type: object = "g6.xlarge", gpus: str = "1", **more: Any) -> dict[str, Any]:
    """A template that fits as it is.

    Args:
        instance_type: What the hosts are.
        gpus: GPUs of the task's container.
        **more: Further sections, such as ``Parameters``.
    """
    return {**more, "Resources": resources(instance_type=instance_type, gpus=gpus)}


def with_choice(*allowed: str, default: str = "g6.xlarge", **more: Any) -> dict[str, Any]:
    """A template whose instance type is a parameter."""
    parameter = {"Type": "String", "Default": default, "AllowedValues": [default, *allowed]}
    return template(instance_type=INSTANCE_TYPE, Parameters={"InstanceType": parameter}, **more)


def acknowledged(body: dict[str, Any], resource: str, **reasons: Any) -> dict[str, Any]:
    """The template with findings of a resource accepted."""
    body["Resources"][resource].setdefault("Metadata", {})["gpu-constructs"] = {"Acknowledge": reasons}
    return body


def written(body: Mapping[str, Any], path: Path) -> str:
    """Writes a template, and returns the name to read it by."""
    path.write_text(json.dumps(body, indent=1), encoding="utf-8")
    return str(path)


def app(folder: Path, notes: Any, *, body: dict[str, Any] | None = None, in_manifest: bool = False) -> str:
    """A cloud assembly of one stack, with what ``cdk synth`` notes about its constructs."""
    artifact = {
        "type": "aws:cloudformation:stack",
        "environment": "aws://unknown-account/us-east-1",
        "properties": {"templateFile": "Demo.template.json"},
        **({"metadata": notes} if in_manifest else {"additionalMetadataFile": "Demo.metadata.json"}),
    }
    files = {
        "manifest.json": {"version": "55.0.0", "artifacts": {"Demo": artifact}},
        "Demo.template.json": template() if body is None else body,
        "Demo.metadata.json": notes,
    }
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return str(folder)


def resources(*, instance_type: object, gpus: str) -> dict[str, Any]:
    joins = "#!/bin/bash\necho ECS_CLUSTER=${Cluster} >> /etc/ecs/ecs.config\n"
    data = {
        "IamInstanceProfile": {"Arn": "arn:aws:iam::123456789012:instance-profile/ecsInstanceRole"},
        "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 100}}],
        "InstanceType": instance_type,
        "ImageId": f"{{{{resolve:ssm:{AMI}/image_id}}}}",
        "UserData": {"Fn::Base64": {"Fn::Sub": joins}},
    }
    scaled = {
        "AutoScalingGroupArn": {"Ref": "Hosts"},
        "ManagedScaling": {"Status": "ENABLED"},
        "ManagedTerminationProtection": "DISABLED",
    }
    container = {
        "Name": "vllm",
        "Image": "vllm/vllm-openai:v0.11.0",
        "Cpu": 2048,
        "Memory": 8192,
        "ResourceRequirements": [{"Type": "GPU", "Value": gpus}],
    }
    return {
        "Cluster": {"Type": "AWS::ECS::Cluster"},
        "LaunchTemplate": resource("EC2::LaunchTemplate", LaunchTemplateData=data),
        "Hosts": resource(
            "AutoScaling::AutoScalingGroup",
            MinSize="0",
            MaxSize="4",
            LaunchTemplate=of("LaunchTemplate"),
            VPCZoneIdentifier=["subnet-1", "subnet-2"],
            NewInstancesProtectedFromScaleIn=False,
        ),
        "Provider": resource("ECS::CapacityProvider", AutoScalingGroupProvider=scaled),
        "Association": resource(
            "ECS::ClusterCapacityProviderAssociations",
            Cluster={"Ref": "Cluster"},
            CapacityProviders=[{"Ref": "Provider"}],
            DefaultCapacityProviderStrategy=[],
        ),
        "Chat": {
            "Metadata": {"aws:cdk:path": "Demo/Chat/Resource"},
            **resource(
                "ECS::TaskDefinition",
                Family="chat-family",
                RequiresCompatibilities=["EC2"],
                NetworkMode="bridge",
                ContainerDefinitions=[container],
            ),
        },
        "Service": {
            "DependsOn": "Association",
            **resource(
                "ECS::Service",
                Cluster={"Ref": "Cluster"},
                TaskDefinition={"Ref": "Chat"},
                DesiredCount=1,
                CapacityProviderStrategy=[{"CapacityProvider": {"Ref": "Provider"}, "Weight": 1}],
                DeploymentConfiguration={"MinimumHealthyPercent": 0, "MaximumPercent": 200},
            ),
        },
    }
