"""CDK takes a GpuCluster wherever it takes a cluster, and writes the same as for the one inside it."""

from __future__ import annotations

from collections.abc import Callable

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_stepfunctions as stepfunctions
from aws_cdk import aws_stepfunctions_tasks as stepfunctions_tasks

from gpu_constructs import GpuCluster
from tests.synthesis import Site


def _plain_service(site: Site, cluster: ecs.ICluster) -> None:
    ecs.Ec2Service(site.stack, "Plain", cluster=cluster, task_definition=site.plain_cpu_task())


def _rule(site: Site, cluster: ecs.ICluster) -> None:
    nightly = events.Schedule.cron(hour="2", minute="0")
    target = targets.EcsTask(cluster=cluster, task_definition=site.plain_cpu_task())
    events.Rule(site.stack, "Nightly", schedule=nightly, targets=[target])


def _state(site: Site, cluster: ecs.ICluster) -> None:
    run = stepfunctions_tasks.EcsRunTask(
        site.stack,
        "Run",
        cluster=cluster,
        task_definition=site.plain_cpu_task(),
        launch_target=stepfunctions_tasks.EcsEc2LaunchTarget(),
    )
    stepfunctions.StateMachine(site.stack, "Machine", definition_body=stepfunctions.DefinitionBody.from_chainable(run))


def _around(site: Site, cluster: ecs.ICluster) -> None:
    assert GpuCluster(site.stack, "Around", cluster=cluster).cluster is site.cluster.cluster


@pytest.mark.parametrize("use", [_plain_service, _rule, _state, _around])
def test_cdk_takes_it_as_a_cluster(site: Site, use: Callable[[Site, ecs.ICluster], None]) -> None:
    other = Site(cdk.App())
    for each, cluster in ((site, site.cluster), (other, other.cluster.cluster)):
        each.capacity("c7i.large", min_instances=1)
        use(each, cluster)
    assert site.template()["Resources"] == other.template()["Resources"]
