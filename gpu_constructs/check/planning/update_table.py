"""What makes CloudFormation replace a resource, and what only one resource at a time can have: the data of `updates`.

Properties are those that the schema of the type calls ``createOnlyProperties``. While a stack is updated, what is
new is there beside what is gone, which is deleted last
(https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-update-behaviors.html).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from gpu_constructs.facts.values import dataclass

PROVIDER: Final = "AWS::ECS::CapacityProvider"
SERVICE: Final = "AWS::ECS::Service"
_TARGET_GROUP: Final = "AWS::ElasticLoadBalancingV2::TargetGroup"
ASSOCIATIONS: Final = "AWS::ECS::ClusterCapacityProviderAssociations"

REPLACED_BY: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        PROVIDER: ("Name", "ClusterName", "AutoScalingGroupProvider.AutoScalingGroupArn"),
        SERVICE: ("ServiceName", "Cluster", "Role", "SchedulingStrategy"),
        ASSOCIATIONS: ("Cluster",),
        _TARGET_GROUP: ("Name", "Port", "Protocol", "ProtocolVersion", "TargetType", "VpcId", "IpAddressType"),
        "AWS::AutoScaling::AutoScalingGroup": ("AutoScalingGroupName", "InstanceId"),
        "AWS::Batch::ComputeEnvironment": ("ComputeEnvironmentName", "Type", "ComputeResources.SpotIamFleetRole"),
        "AWS::Batch::JobQueue": ("JobQueueName", "JobQueueType"),
        "AWS::EC2::LaunchTemplate": ("LaunchTemplateName",),
        "AWS::EC2::SecurityGroup": ("GroupName", "GroupDescription", "VpcId"),
        "AWS::ECS::Cluster": ("ClusterName",),
        "AWS::ElasticLoadBalancingV2::LoadBalancer": ("Name", "Type", "Scheme"),
        "AWS::IAM::Role": ("RoleName", "Path"),
        "AWS::Logs::LogGroup": ("LogGroupName",),
        "AWS::ServiceDiscovery::Service": ("NamespaceId", "Name", "Type"),
        "AWS::StepFunctions::StateMachine": ("StateMachineName", "StateMachineType"),
    }
)

MAY_REPLACE_SERVICE: Final = ("LaunchType", "DeploymentController.Type")
"""What CloudFormation may replace a service for. The schema calls the first ``conditionalCreateOnly``, and says nothing
of the second, which UpdateService takes; CDK and older pages of CloudFormation say that both replace it.
https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_UpdateService.html"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What AWS answers, and what to do instead.

    Attributes:
        answer: What AWS answers; the ``{}`` of exports stand for the export and who imports it.
        steps: The two deploys that do it.
        source: Where that is written.
    """

    answer: str
    steps: tuple[str, str]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    """What only one resource at a time can have.

    Attributes:
        type: The type of the resource.
        keys: Properties that no other resource has alike; without the last there is nothing to share.
        what: What that is, in words; ``{}`` stands for the last.
        refusal: What AWS answers the second.
    """

    type: str
    keys: tuple[str, ...]
    what: str
    refusal: Refusal


_ECS: Final = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_"

IN_USE: Final = Refusal(
    answer="The specified capacity provider is in use and cannot be removed",
    steps=(
        "keep it beside the new capacity, let services use the new one, with force_new_deployment, and deploy",
        "remove it, and deploy",
    ),
    source=f"{_ECS}PutClusterCapacityProviders.html",
)
_EXPORTS: Final = "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-exports.html"
CHANGED_EXPORT: Final = Refusal(
    answer="Export {} cannot be updated as it is in use by {}",
    steps=(
        "keep the export, add another one with the new value, let the other stack import that, and deploy",
        "remove the old export, and deploy",
    ),
    source=_EXPORTS,
)
REMOVED_EXPORT: Final = Refusal(
    answer="Export {} cannot be deleted as it is in use by {}",
    steps=("keep it, in CDK with export_value(…) of its stack, and deploy", "remove that line, and deploy"),
    source=_EXPORTS,  # and "deadly embrace": https://docs.aws.amazon.com/cdk/api/v2/docs/aws-cdk-lib.Stack.html
)
_NAME: Final = Refusal(
    answer="already exists",
    steps=(
        "keep its construct id and what it stands on, or give the new one another name, and deploy",
        "give it the old name, if it has to be that one, and deploy",
    ),
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html",
)
UNIQUE: Final[tuple[Unique, ...]] = (
    *(
        Unique(type=type_, keys=tuple(keys), what="the name {}", refusal=_NAME)
        for type_, *keys in (
            (PROVIDER, "Name"),
            (SERVICE, "Cluster", "ServiceName"),
            (_TARGET_GROUP, "Name"),
            ("AWS::AutoScaling::AutoScalingGroup", "AutoScalingGroupName"),
            ("AWS::Batch::ComputeEnvironment", "ComputeEnvironmentName"),
            ("AWS::Batch::JobQueue", "JobQueueName"),
            ("AWS::EC2::LaunchTemplate", "LaunchTemplateName"),
            ("AWS::EC2::SecurityGroup", "VpcId", "GroupName"),
            ("AWS::ECS::Cluster", "ClusterName"),
            ("AWS::ElasticLoadBalancingV2::LoadBalancer", "Name"),
            ("AWS::IAM::Role", "RoleName"),
            ("AWS::Logs::LogGroup", "LogGroupName"),
            ("AWS::ServiceDiscovery::Service", "NamespaceId", "Name"),
            ("AWS::StepFunctions::StateMachine", "StateMachineName"),
        )
    ),
    Unique(
        type=PROVIDER,
        keys=("AutoScalingGroupProvider.AutoScalingGroupArn",),
        what="its Auto Scaling group",
        refusal=Refusal(
            answer="The specified Auto Scaling group ARN is already being used by another capacity provider",
            steps=(
                "add a capacity with another construct id, let services use it, and deploy",
                "remove the old capacity, and deploy",
            ),
            source=f"{_ECS}CreateCapacityProvider.html",
        ),
    ),
)
