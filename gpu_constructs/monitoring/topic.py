"""The topic that is told of alarms: what alarms can publish to, and who lets them."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from gpu_constructs.cdk.same_place import require_same_place
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.hosts.cluster_hosts import ClusterHosts

_ALARMS = "cloudwatch.amazonaws.com"


def require_topic(argument: str, topic: sns.ITopic | None, stack: cdk.Stack) -> None:
    """Refuses a topic that the alarms of a stack cannot use.

    A topic of another region: PutMetricAlarm answers ``Invalid region ca-central-1 specified. Only us-west-2 is
    supported.`` (https://github.com/cds-snc/notification-terraform/pull/128). A FIFO topic delivers to queues alone
    (https://docs.aws.amazon.com/sns/latest/dg/fifo-message-delivery.html), and wants a message group of each message
    (https://docs.aws.amazon.com/sns/latest/api/API_Publish.html), which the messages of a recovery do not have.

    Raises:
        IncompatibleError: It is a FIFO topic, or certain to be in another region.
    """
    if topic is None:
        return
    if topic.fifo:
        raise IncompatibleError(
            "a FIFO topic sends nothing to people: no mail, no text message, no HTTPS",
            argument=argument,
            fix="sns.Topic(self, 'Operators', enforce_ssl=True)",
        )
    why = "and alarms publish in their own region alone"
    require_same_place(stack, argument, region=topic.env.region, what="topic", why=why)


def let_alarms_publish(scope: Construct, topic: sns.ITopic, hosts: ClusterHosts) -> None:
    """Lets the alarms of an account publish to a topic, and use its key.

    The policy that a topic has by itself lets the alarms of its account publish. Any other policy, such as that of
    ``enforce_ssl=True``, replaces it (https://repost.aws/knowledge-center/cloudwatch-receive-sns-for-alarm-trigger).

    Args:
        scope: Where a warning is shown for a topic that CDK does not change, since it is imported.
        topic: The topic.
        hosts: The hosts of the cluster, which are where the alarms are.
    """
    partition, region, account = hosts.place
    alarms = f"arn:{partition}:cloudwatch:{region}:{account}:alarm:*"
    added = topic.add_to_resource_policy(
        iam.PolicyStatement(
            sid="AlarmsPublish",
            principals=[iam.ServicePrincipal(_ALARMS)],
            actions=["sns:Publish"],
            resources=[topic.topic_arn],
            conditions={"ArnLike": {"aws:SourceArn": alarms}},
        )
    )
    if not added.statement_added:
        cdk.Annotations.of(scope).add_warning_v2(
            "gpu-constructs:GpuMonitoring.notify",
            f"the policy of topic {topic.node.id} is not changed, since the topic is imported; alarms reach it where "
            f"that policy allows sns:Publish to {_ALARMS}, or is the one that SNS makes",
        )
    if topic.master_key is not None:
        # https://repost.aws/knowledge-center/cloudwatch-configure-alarm-sns
        topic.master_key.grant(iam.ServicePrincipal(_ALARMS), "kms:Decrypt", "kms:GenerateDataKey*")
