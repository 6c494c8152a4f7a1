"""The dashboard of a monitored cluster as a resource."""

from __future__ import annotations

from collections.abc import Callable

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from gpu_constructs.cdk.late import late_text
from gpu_constructs.monitoring.dashboard.body import body_of
from gpu_constructs.monitoring.watched import WatchedCluster


def dashboard_of(
    scope: Construct,
    construct_id: str,
    *,
    stack: cdk.Stack,
    cluster: Callable[[], WatchedCluster],
    alarms: Callable[[], list[str]],
) -> cloudwatch.CfnDashboard:
    """Defines the dashboard.

    Args:
        scope: The monitoring.
        construct_id: Its id in that scope.
        stack: The stack around it.
        cluster: Asked for the cluster with all its capacities, at the end.
        alarms: Asked for the ARNs of all alarms, at the end.
    """
    body = late_text(lambda: stack.to_json_string(body_of(cluster(), alarms())))
    return cloudwatch.CfnDashboard(scope, construct_id, dashboard_body=body)
