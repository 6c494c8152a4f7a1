"""What the state machine of a job may do: run its task, watch it and stop it, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence


def permissions_of(
    *, partition: str, region: str, account: str, cluster_arn: str, cluster_name: str, family: str, roles: Sequence[str]
) -> dict[str, object]:
    """The policy of the machine's role.

    Narrower than https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html, which takes every task. Any
    revision of the family may be run, so that an attempt that begins during a deployment may begin.
    """
    here = f"arn:{partition}:ecs:{region}:{account}"
    in_cluster = {"ArnEquals": {"ecs:cluster": cluster_arn}}
    rule = f"arn:{partition}:events:{region}:{account}:rule/StepFunctionsGetEventsForECSTaskRule"
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "RunTheTask",
                "Effect": "Allow",
                "Action": "ecs:RunTask",
                "Resource": f"{here}:task-definition/{family}:*",
                "Condition": in_cluster,
            },
            {
                "Sid": "TagItAsItsDefinition",
                "Effect": "Allow",
                "Action": "ecs:TagResource",
                "Resource": f"{here}:task/{cluster_name}/*",
                "Condition": {"StringEquals": {"ecs:CreateAction": "RunTask"}},
            },
            {
                "Sid": "WatchAndStopIt",
                "Effect": "Allow",
                "Action": ["ecs:DescribeTasks", "ecs:ListTasks", "ecs:StopTask"],
                "Resource": "*",
                "Condition": in_cluster,
            },
            {
                "Sid": "HearOfItsEnd",
                "Effect": "Allow",
                "Action": ["events:DescribeRule", "events:PutRule", "events:PutTargets"],
                "Resource": rule,
            },
            {
                "Sid": "HandOverItsRoles",
                "Effect": "Allow",
                "Action": "iam:PassRole",
                "Resource": list(roles),
                "Condition": {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
            },
        ],
    }
