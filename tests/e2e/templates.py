"""Small CloudFormation templates of one cluster with one capacity provider, for tests of what AWS refuses."""

from __future__ import annotations

from typing import Any

__all__ = ["Template", "cluster_template", "resource", "service", "task_definition"]

Template = dict[str, Any]


def cluster_template(
    instance_type: str = "g6.xlarge", *, max_size: int = 2, protected: bool = False, image: str = "ami-own"
) -> Template:
    """A cluster, its capacity provider and the network that its hosts need."""
    user_data = {"Fn::Base64": {"Fn::Sub": "echo ECS_CLUSTER=${Cluster} >> /etc/ecs/ecs.config"}}
    return {
        "Resources": {
            "Vpc": resource("EC2::VPC", CidrBlock="10.0.0.0/16"),
            "Subnet": resource("EC2::Subnet", VpcId={"Ref": "Vpc"}, CidrBlock="10.0.0.0/24"),
            "Cluster": resource("ECS::Cluster"),
            "LaunchTemplate": resource(
                "EC2::LaunchTemplate",
                LaunchTemplateData={"ImageId": image, "InstanceType": instance_type, "UserData": user_data},
            ),
            "Group": resource(
                "AutoScaling::AutoScalingGroup",
                MinSize="0",
                MaxSize=str(max_size),
                NewInstancesProtectedFromScaleIn=protected,
                VPCZoneIdentifier=[{"Ref": "Subnet"}],
                LaunchTemplate={
                    "LaunchTemplateId": {"Ref": "LaunchTemplate"},
                    "Version": {"Fn::GetAtt": ["LaunchTemplate", "LatestVersionNumber"]},
                },
            ),
            "Provider": resource(
                "ECS::CapacityProvider",
                AutoScalingGroupProvider={
                    "AutoScalingGroupArn": {"Ref": "Group"},
                    "ManagedScaling": {"Status": "ENABLED", "TargetCapacity": 100},
                    "ManagedTerminationProtection": "DISABLED",
                },
            ),
            "Associations": resource(
                "ECS::ClusterCapacityProviderAssociations",
                Cluster={"Ref": "Cluster"},
                CapacityProviders=[{"Ref": "Provider"}],
                DefaultCapacityProviderStrategy=[{"CapacityProvider": {"Ref": "Provider"}, "Weight": 1}],
            ),
            "Task": task_definition(gpus=1),
        },
        "Outputs": {
            name: {"Value": {"Ref": name}} for name in ("Cluster", "Group", "Provider", "Task", "LaunchTemplate")
        },
    }


def task_definition(*, gpus: int, expression: str | None = None) -> Template:
    """A task of one container that asks for GPUs."""
    constraints = [{"Type": "memberOf", "Expression": expression}] if expression else []
    container = {
        "Name": "training",
        "Image": "cuda",
        "Memory": 512,
        "ResourceRequirements": [{"Type": "GPU", "Value": str(gpus)}],
    }
    return resource(
        "ECS::TaskDefinition",
        ContainerDefinitions=[container],
        PlacementConstraints=constraints,
        RequiresCompatibilities=["EC2"],
    )


def service(*, count: int) -> Template:
    """A service of that task on the capacity provider, which one at a time replaces its tasks."""
    made = resource(
        "ECS::Service",
        Cluster={"Ref": "Cluster"},
        TaskDefinition={"Ref": "Task"},
        DesiredCount=count,
        CapacityProviderStrategy=[{"CapacityProvider": {"Ref": "Provider"}, "Weight": 1}],
        DeploymentConfiguration={"MinimumHealthyPercent": 0, "MaximumPercent": 100},
    )
    return {**made, "DependsOn": "Associations"}


def resource(kind: str, **properties: Any) -> Template:
    """One resource of a template; ``AWS::`` goes without saying."""
    return {"Type": f"AWS::{kind}", "Properties": properties}
