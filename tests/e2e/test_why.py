"""``why`` after a deploy on the emulator: the layer that holds a service up."""

from __future__ import annotations

from ecs_emulator.account import Account
from ecs_emulator.local import Ask, Deployed, Local

from .templates import Template, cluster_template, service


def wanting(account: Account, cluster: str, count: int) -> None:
    """Lets the service of a cluster have so many tasks, and some minutes pass: a deploy waits until they run."""
    ecs = account.client("ecs")
    (name,) = ecs.list_services(cluster=cluster)["serviceArns"]
    ecs.update_service(cluster=cluster, service=name, desiredCount=count)
    for _ in range(5):
        account.tasks(cluster)
        account.hosts(cluster)


def waiting(cloud: Local, template: Template, *, count: int = 1) -> Deployed:
    template["Resources"]["Service"] = service(count=0)
    stack = cloud.deploy(template)
    wanting(cloud.account, stack.outputs["Cluster"], count)
    return stack


def user_data(template: Template, line: str) -> Template:
    data = template["Resources"]["LaunchTemplate"]["Properties"]["LaunchTemplateData"]
    data["UserData"] = {"Fn::Base64": {"Fn::Sub": line}}
    return template


def test_hosts_whose_user_data_names_another_cluster_have_not_joined(cloud: Local, ask: Ask) -> None:
    stack = waiting(cloud, user_data(cluster_template(), "#!/bin/bash\necho ECS_CLUSTER=other >> /etc/ecs/ecs.config"))
    _, said = ask("why", "Service", "--cluster", stack.outputs["Cluster"])
    assert "not joined: " in said
    assert "their user data names the cluster other" in " ".join(said.split())
    cloud.destroy(stack)


def test_a_service_that_was_removed_is_not_looked_at(cloud: Local, ask: Ask) -> None:
    template = cluster_template()
    template["Resources"]["Service"] = service(count=0)
    stack = cloud.deploy(template)
    cluster, ecs = stack.outputs["Cluster"], cloud.account.client("ecs")
    (name,) = ecs.list_services(cluster=cluster)["serviceArns"]

    ecs.delete_service(cluster=cluster, service=name, force=True)

    assert ecs.list_services(cluster=cluster)["serviceArns"] == []
    (described,) = ecs.describe_services(cluster=cluster, services=[name])["services"]
    assert described["status"] == "INACTIVE"
    assert "service runs" not in ask("verify", "--cluster", cluster)[1]
    cloud.destroy(stack)
