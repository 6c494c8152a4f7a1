"""A template of the largest number of resources that CloudFormation takes, every one of which matters for placement."""

from __future__ import annotations

from typing import Any

from tests.template.resources.declared import of, resource

AMI = "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id"


def large_template(resources: int = 500) -> dict[str, Any]:
    """Services, task definitions, groups and launch templates in equal parts; about 1 MB as indented JSON."""
    return {
        "Parameters": {
            "Count": {"Type": "Number", "Default": 2},
            **{name: {"Type": "String"} for name in ("A", "B", "Cluster", "Logs")},
        },
        "Conditions": {"Many": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Count"}, "1"]}]}},
        "Resources": {
            f"{name}{index}": resource for index in range(resources // 4) for name, resource in _block(index).items()
        },
    }


def _block(index: int) -> dict[str, Any]:
    joins = ["#!/bin/bash\necho ECS_CLUSTER=", {"Ref": "Cluster"}, " >> ecs.config\n" * 20]
    data = {
        "ImageId": f"{{{{resolve:ssm:{AMI}}}}}",
        "InstanceType": "g6.xlarge",
        "UserData": {"Fn::Base64": {"Fn::Join": ["", joins]}},
        "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": True, "VolumeSize": 100}}],
    }
    launches = {
        "LaunchTemplateSpecification": of(f"Launch{index}"),
        "Overrides": [{"InstanceType": name} for name in ("g6.xlarge", "g6.2xlarge", "g6.4xlarge")],
    }
    return {
        "Task": {
            **resource(
                "ECS::TaskDefinition",
                Family={"Fn::Sub": f"task-${{AWS::Region}}-{index}"},
                ContainerDefinitions=[_container(name) for name in ("server", "metrics", "proxy")],
                RequiresCompatibilities=["EC2"],
                Tags=[{"Key": f"key{each}", "Value": "value"} for each in range(5)],
            ),
            "Metadata": {"aws:cdk:path": f"Stack/Task{index}/Resource"},
        },
        "Service": {
            "Condition": "Many",
            **resource(
                "ECS::Service",
                Cluster={"Fn::ImportValue": "network:Cluster"},
                TaskDefinition={"Ref": f"Task{index}"},
                DesiredCount={"Fn::If": ["Many", {"Ref": "Count"}, 1]},
                CapacityProviderStrategy=[{"CapacityProvider": {"Ref": f"Group{index}"}, "Weight": 1}],
                NetworkConfiguration={"AwsvpcConfiguration": {"Subnets": [{"Ref": "A"}, {"Ref": "B"}]}},
            ),
        },
        "Group": resource(
            "AutoScaling::AutoScalingGroup",
            MaxSize="4",
            MinSize="0",
            MixedInstancesPolicy={"LaunchTemplate": launches},
            Tags=[{"Key": "Name", "PropagateAtLaunch": True, "Value": f"Stack/Group{index}"}],
        ),
        "Launch": resource("EC2::LaunchTemplate", LaunchTemplateData=data),
    }


def _container(name: str) -> dict[str, Any]:
    return {
        "Name": name,
        "Image": {
            "Fn::Join": ["", [{"Ref": "AWS::AccountId"}, ".dkr.ecr.", {"Ref": "AWS::Region"}, ".amazonaws.com/x"]]
        },
        "Memory": 4096,
        "Cpu": 1024,
        "Essential": True,
        "Environment": [{"Name": f"VARIABLE_{each}", "Value": f"value {each}"} for each in range(8)],
        "ResourceRequirements": [{"Type": "GPU", "Value": "1"}],
        "LogConfiguration": {
            "LogDriver": "awslogs",
            "Options": {"awslogs-group": {"Ref": "Logs"}, "mode": "non-blocking"},
        },
    }
