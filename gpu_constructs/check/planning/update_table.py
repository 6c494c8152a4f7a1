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
TARGET_GROUP: Final = "AWS::ElasticLoadBalancingV2::TargetGroup"
LISTENER: Final = "AWS::ElasticLoadBalancingV2::Listener"
LISTENER_RULE: Final = "AWS::ElasticLoadBalancingV2::ListenerRule"
ASSOCIATIONS: Final = "AWS::ECS::ClusterCapacityProviderAssociations"
_INGRESS: Final = "AWS::EC2::SecurityGroupIngress"
_EGRESS: Final = "AWS::EC2::SecurityGroupEgress"
_PORTS: Final = ("FromPort", "ToPort", "CidrIp", "CidrIpv6")

REPLACED_BY: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        PROVIDER: ("Name", "ClusterName", "AutoScalingGroupProvider.AutoScalingGroupArn"),
        SERVICE: ("ServiceName", "Cluster", "Role", "SchedulingStrategy"),
        ASSOCIATIONS: ("Cluster",),
        TARGET_GROUP: ("Name", "Port", "Protocol", "ProtocolVersion", "TargetType", "VpcId", "IpAddressType"),
        LISTENER: ("LoadBalancerArn",),
        LISTENER_RULE: ("ListenerArn",),
        "AWS::AutoScaling::AutoScalingGroup": ("AutoScalingGroupName", "InstanceId"),
        "AWS::Batch::ComputeEnvironment": ("ComputeEnvironmentName", "Type", "ComputeResources.SpotIamFleetRole"),
        "AWS::Batch::JobQueue": ("JobQueueName", "JobQueueType"),
        "AWS::EC2::LaunchTemplate": ("LaunchTemplateName",),
        "AWS::EC2::SecurityGroup": ("GroupName", "GroupDescription", "VpcId"),
        _INGRESS: ("GroupId", "SourceSecurityGroupId", "SourcePrefixListId", "IpProtocol", *_PORTS),
        _EGRESS: ("GroupId", "DestinationSecurityGroupId", "DestinationPrefixListId", "IpProtocol", *_PORTS),
        "AWS::ECS::Cluster": ("ClusterName",),
        "AWS::EFS::MountTarget": ("FileSystemId", "SubnetId"),
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
        items: The property whose items have the last key; none for the resource.
        otherwise: The key of an item in place of one that it does not have.
    """

    type: str
    keys: tuple[str, ...]
    what: str
    refusal: Refusal
    items: str = ""
    otherwise: str = ""


_ECS: Final = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_"
_ELB: Final = "https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_"
_KEPT_APART: Final = ("keep the construct id, or leave the new one out, and deploy", "add the new one, and deploy")

IN_USE: Final = Refusal(
    answer="The specified capacity provider is in use and cannot be removed",
    steps=(
        "keep it beside the new capacity, let services use the new one, with force_new_deployment, and deploy",
        "remove it, and deploy",
    ),
    source=f"{_ECS}PutClusterCapacityProviders.html",
)
TWO_BALANCERS: Final = Refusal(
    answer="The following target groups cannot be associated with more than one load balancer",
    steps=(
        "add the new load balancer beside the old one, with more target groups for its services, and deploy",
        "remove the old load balancer with its target groups, and deploy",
    ),
    source="https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/780",
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
_RULE: Final = Refusal(
    answer="the specified rule already exists",
    steps=_KEPT_APART,
    source="https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html",  # InvalidPermission.Duplicate
)

UNIQUE: Final[tuple[Unique, ...]] = (
    *(
        Unique(type=type_, keys=tuple(keys), what="the name {}", refusal=_NAME)
        for type_, *keys in (
            (PROVIDER, "Name"),
            (SERVICE, "Cluster", "ServiceName"),
            (TARGET_GROUP, "Name"),
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
    Unique(
        type=SERVICE,
        keys=("Cluster", "ServiceConnectConfiguration.Namespace", "DiscoveryName"),
        items="ServiceConnectConfiguration.Services",
        otherwise="PortName",
        what="the name {} in Service Connect",
        refusal=Refusal(
            answer="SC service is already used by",
            steps=_KEPT_APART,
            source="https://github.com/aws/copilot-cli/issues/4659",
        ),
    ),
    Unique(
        type=LISTENER_RULE,
        keys=("ListenerArn", "Priority"),
        what="priority {} of its listener",
        refusal=Refusal(
            answer="The specified priority is in use",
            steps=(
                "keep the construct id, or give the new rule another priority, and deploy",
                "give it the old priority, if it has to be that one, and deploy",
            ),
            source=f"{_ELB}CreateRule.html",
        ),
    ),
    Unique(
        type=LISTENER,
        keys=("LoadBalancerArn", "Port"),
        what="port {} of its load balancer",
        refusal=Refusal(
            answer="A listener already exists on this port for this load balancer",
            steps=_KEPT_APART,
            source=f"{_ELB}CreateListener.html",
        ),
    ),
    Unique(
        type="AWS::EFS::MountTarget",
        keys=("FileSystemId", "SubnetId"),
        what="the mount target of its subnet",
        refusal=Refusal(
            answer="mount target already exists in this AZ",
            steps=_KEPT_APART,
            source="https://docs.aws.amazon.com/efs/latest/ug/API_CreateMountTarget.html",
        ),
    ),
    *(
        Unique(
            type=type_,
            keys=tuple(sorted(REPLACED_BY[type_], key="IpProtocol".__eq__)),
            what="a rule of a security group for {}",
            refusal=_RULE,
        )
        for type_ in (_INGRESS, _EGRESS)
    ),
)
