"""What replaces a resource in an update, and what AWS answers where two cannot be there at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_constructs.facts.values import dataclass

PROVIDER = "AWS::ECS::CapacityProvider"
SERVICE = "AWS::ECS::Service"
ASSOCIATIONS = "AWS::ECS::ClusterCapacityProviderAssociations"
BALANCER = "AWS::ElasticLoadBalancingV2::LoadBalancer"
_RULE = "AWS::ElasticLoadBalancingV2::ListenerRule"

# Properties that the schema of a type calls ``createOnlyProperties``.
REPLACED_BY: Mapping[str, tuple[str, ...]] = {
    PROVIDER: ("Name", "ClusterName", "AutoScalingGroupProvider.AutoScalingGroupArn"),
    SERVICE: ("ServiceName", "Cluster", "Role", "SchedulingStrategy"),
    ASSOCIATIONS: ("Cluster",),
    "AWS::AutoScaling::AutoScalingGroup": ("AutoScalingGroupName", "InstanceId"),
    "AWS::Batch::ComputeEnvironment": ("ComputeEnvironmentName", "Type", "ComputeResources.SpotIamFleetRole"),
    "AWS::Batch::JobQueue": ("JobQueueName", "JobQueueType"),
    "AWS::EC2::LaunchTemplate": ("LaunchTemplateName",),
    "AWS::ECS::Cluster": ("ClusterName",),
    BALANCER: ("Name", "Scheme", "Type"),
    "AWS::ElasticLoadBalancingV2::Listener": ("LoadBalancerArn",),
    _RULE: ("ListenerArn",),
}

MAY_REPLACE_SERVICE = ("LaunchType", "DeploymentController.Type")
"""What CloudFormation may replace a service for. The schema calls the first ``conditionalCreateOnly``, and says nothing
of the second, which UpdateService takes; CDK and older pages of CloudFormation say that both replace it.
https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_UpdateService.html"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A change that AWS refuses in one deploy, with what it answers, and the two deploys that do it."""

    answer: str
    steps: tuple[str, str]
    source: str
    change: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    """What only one resource at a time can have.

    Attributes:
        keys: Properties that no other resource has alike; without the last, which may be a list, there is nothing to
            share.
        what: What that is, in words; ``{}`` stands for the last.
        refusal: What AWS answers the second.
    """

    type: str
    keys: tuple[str, ...]
    what: str
    refusal: Refusal


ROOM = "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-update-behaviors.html"
_ECS = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_"

IN_USE = Refusal(
    answer="The specified capacity provider is in use and cannot be removed",
    steps=(
        "keep it, let its services use other capacity, with force_new_deployment, or take them out, and deploy",
        "remove it, and deploy",
    ),
    source=f"{_ECS}PutClusterCapacityProviders.html",
)
EXPORTED = Refusal(
    answer="Export … cannot be {} as it is in use by {}",
    steps=IN_USE.steps,
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-exports.html",
)
CLUSTER_EXPORTED = replace(
    EXPORTED,
    steps=(
        "add a cluster with the new name, let services use it, keep what the old one exports, and deploy",
        "remove the old cluster, and deploy",
    ),
)
_NAME = Refusal(
    answer="already exists",
    steps=(
        "keep its construct id and what it stands on, or give the new one another name, and deploy",
        "give it the old name, if it has to be that one, and deploy",
    ),
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html",
)
CONNECTED = "ServiceConnectConfiguration.Services"
UNIQUE: tuple[Unique, ...] = (
    Unique(
        type=SERVICE,
        keys=("Cluster", "ServiceConnectConfiguration.Namespace", CONNECTED),
        what="the name {} of Service Connect",
        refusal=Refusal(
            answer="SC service is already used by …",
            steps=("remove the old service, and deploy", "add the new one, and deploy; its clients wait in between"),
            source="https://github.com/aws/copilot-cli/issues/4659",
        ),
    ),
    *(
        Unique(type=type_, keys=tuple(keys), what="the name {}", refusal=_NAME)
        for type_, *keys in (
            (PROVIDER, "Name"),
            (SERVICE, "Cluster", "ServiceName"),
            ("AWS::AutoScaling::AutoScalingGroup", "AutoScalingGroupName"),
            ("AWS::Batch::ComputeEnvironment", "ComputeEnvironmentName"),
            ("AWS::Batch::JobQueue", "JobQueueName"),
            ("AWS::EC2::LaunchTemplate", "LaunchTemplateName"),
            ("AWS::ECS::Cluster", "ClusterName"),
        )
    ),
    Unique(
        type=_RULE,
        keys=("ListenerArn", "Priority"),
        what="the priority {}",
        refusal=Refusal(
            answer="Priority … is currently in use",
            steps=("give the new rule another priority, and deploy", "give it the old one, if it has to be that one"),
            source="https://github.com/aws/aws-cdk/issues/29496",
        ),
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
