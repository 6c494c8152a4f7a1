"""Services that share hosts and balancers over several stacks: deployed, updated and destroyed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ecs_emulator.local import Deployed, Local

from tests.sharing_services import Shared, build

APPS = {
    "on full hosts, behind one listener": [
        Shared(stack="A", balancer="shared"),
        Shared(stack="A", balancer="shared"),
        Shared(stack="B", balancer="shared"),
        Shared(stack="B", has_gpus=False, balancer="shared"),
    ],
    "with interfaces of their own": [
        Shared(stack="A", mode="awsvpc", balancer="own"),
        Shared(stack="B", mode="awsvpc", has_gpus=False, balancer="shared"),
        Shared(stack="Cluster", balancer="shared"),
        Shared(stack="B", mode="host", balancer="shared"),
    ],
}


def templates_of(folder: Path, services: list[Shared], tag: str) -> dict[str, dict[str, Any]]:
    """The templates of an app by stack, in the order in which they are deployed."""
    assembly = build(folder, services, tag=tag).synth()
    return {each.stack_name: json.loads(Path(each.template_full_path).read_text()) for each in assembly.stacks}


@pytest.mark.parametrize("app", APPS)
def test_each_of_them_is_deployed_updated_and_destroyed(cloud: Local, tmp_path: Path, app: str) -> None:
    before = cloud.inventory()
    first, second = (templates_of(tmp_path / tag, APPS[app], tag) for tag in ("1", "2"))
    stacks: dict[str, Deployed] = {name: cloud.deploy(template, name) for name, template in first.items()}
    for name, template in second.items():
        if template != first[name]:
            cloud.update(stacks[name], template)
    ecs = cloud.account.client("ecs")
    (cluster,) = ecs.list_clusters()["clusterArns"]
    cloud.minutes(cluster, 15)
    services = ecs.describe_services(cluster=cluster, services=ecs.list_services(cluster=cluster)["serviceArns"])[
        "services"
    ]
    assert len(services) == len(APPS[app])
    for each in services:
        assert (each["runningCount"], len(each["deployments"])) == (1, 1), each["serviceName"]
    images = {
        container["image"]
        for arn in ecs.list_tasks(cluster=cluster)["taskArns"]
        for task in ecs.describe_tasks(cluster=cluster, tasks=[arn])["tasks"]
        for container in task["containers"]
    }
    assert images == {"example/serve:2"}
    for stack in reversed(stacks.values()):
        cloud.destroy(stack)
    assert cloud.inventory() == before
