"""What the role of hosts may do."""

from __future__ import annotations


def host_permissions(cluster_arn: str) -> dict[str, object]:
    """The ECS agent on this one cluster and Session Manager, nothing else.

    Images and logs belong to the tasks' execution roles, so the hosts need neither. Narrower than
    AmazonEC2ContainerServiceforEC2Role and AmazonSSMManagedInstanceCore, which may read any SSM parameter. Actions:
    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/instance_IAM_role.html and
    https://docs.aws.amazon.com/systems-manager/latest/userguide/getting-started-create-iam-instance-profile.html
    """
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "RegisterWithTheCluster",
                "Effect": "Allow",
                "Action": [
                    "ecs:DeregisterContainerInstance",
                    "ecs:RegisterContainerInstance",
                    "ecs:SubmitAttachmentStateChanges",
                    "ecs:SubmitContainerStateChange",
                    "ecs:SubmitTaskStateChange",
                ],
                "Resource": cluster_arn,
            },
            {
                "Sid": "TalkToTheCluster",
                "Effect": "Allow",
                "Action": ["ecs:Poll", "ecs:StartTelemetrySession", "ecs:UpdateContainerInstancesState"],
                "Resource": "*",
                "Condition": {"ArnEquals": {"ecs:cluster": cluster_arn}},
            },
            {"Sid": "FindTheEndpoint", "Effect": "Allow", "Action": "ecs:DiscoverPollEndpoint", "Resource": "*"},
            {
                "Sid": "SessionManager",
                "Effect": "Allow",
                "Action": [
                    "ssm:UpdateInstanceInformation",
                    "ssmmessages:CreateControlChannel",
                    "ssmmessages:CreateDataChannel",
                    "ssmmessages:OpenControlChannel",
                    "ssmmessages:OpenDataChannel",
                ],
                "Resource": "*",
            },
        ],
    }
