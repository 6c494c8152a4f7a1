"""The dashboard of a monitored cluster as a resource."""

from __future__ import annotations

from collections.abc import Callable

import aws_cdk as cdk
import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from gpu_constructs.monitoring.watched import WatchedCluster
from gpu_constructs.monitoring.widgets import body_of

__all__ = ["dashboard_of"]


@jsii.implements(cdk.IStableStringProducer)
class _Body:
    """The body at the end of the synth, when every capacity and every alarm is known."""

    def __init__(self, stack: cdk.Stack, body: Callable[[], dict[str, object]]) -> None:
        self._stack, self._body = stack, body

    def produce(self) -> str:
        """The text that CloudFormation gets."""
        return self._stack.to_json_string(self._body())


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
    body = _Body(stack, lambda: body_of(cluster(), alarms()))
    return cloudwatch.CfnDashboard(scope, construct_id, dashboard_body=cdk.Lazy.string(body))
