"""``why`` after a deploy on the emulator: the layer that holds a service up, from the account and from a pipe."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from gpu_constructs.account import live_cluster
from gpu_constructs.cli.program import main

from .account import Account
from .local import Deployed, Local
from .server import ROOT
from .stage import Stage
from .templates import Template, cluster_template, service, task_definition

Ask = Callable[..., tuple[int, str]]


@pytest.fixture
def ask(cloud: Local, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """The command line, whose calls the emulator answers; 80 columns wide."""
    monkeypatch.setattr(live_cluster, "clients_of", lambda _: lambda name, _: cloud.account.client(name))
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words: str) -> tuple[int, str]:
        code = main(["why", *words])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def with_service(template: Template, *, gpus: int = 1) -> Template:
    template["Resources"] |= {"Task": task_definition(gpus=gpus), "Service": service(count=0)}
    return template


def wanting(account: Account, cluster: str, count: int) -> None:
    """Lets the service of a cluster have so many tasks, and some minutes pass: a deploy waits until they run."""
    ecs = account.client("ecs")
    (name,) = ecs.list_services(cluster=cluster)["serviceArns"]
    ecs.update_service(cluster=cluster, service=name, desiredCount=count)
    for _ in range(5):
        account.tasks(cluster)
        account.hosts(cluster)


def waiting(cloud: Local, template: Template, *, gpus: int = 1, count: int = 1) -> Deployed:
    stack = cloud.deploy(with_service(template, gpus=gpus))
    wanting(cloud.account, stack.outputs["Cluster"], count)
    return stack


def user_data(template: Template, line: str) -> Template:
    data = template["Resources"]["LaunchTemplate"]["Properties"]["LaunchTemplateData"]
    data["UserData"] = {"Fn::Base64": {"Fn::Sub": line}}
    return template


def layers(ask: Ask, cluster: str) -> list[str]:
    code, said = ask("Service", "--cluster", cluster, "--format", "json")
    assert code == 1, said
    return [each["layer"] for each in json.loads(said)["causes"]]


def test_a_service_that_waits_for_a_full_group_is_told_so_and_how_to_raise_it(cloud: Local, ask: Ask) -> None:
    stack = waiting(cloud, cluster_template(max_size=1), count=2)

    code, said = ask("Service", "--cluster", stack.outputs["Cluster"])

    assert code == 1
    assert "runs 1 of 2 tasks" in said
    assert "is at its maximum of 1 host" in said
    assert "  fix: raise MaxSize of " in said
    assert "1 of 1 hosts: i-" in said
    assert "is busy: 1 GPU asked, 0 free" in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 80
    cloud.destroy(stack)


def test_a_service_that_runs_is_no_finding(cloud: Local, ask: Ask) -> None:
    stack = waiting(cloud, cluster_template())

    code, said = ask("Service", "--cluster", stack.outputs["Cluster"])

    assert code == 0
    assert "runs 1 of 1 tasks\n" in said
    cloud.destroy(stack)


def test_a_task_that_never_fits_is_explained_in_the_words_of_explain(cloud: Local, ask: Ask) -> None:
    stack = waiting(cloud, cluster_template(), gpus=8)

    _, said = ask("Service", "--cluster", stack.outputs["Cluster"])

    words = " ".join(said.split())
    assert "never fits: " in words
    assert "GPUs: 8 asked, g6.xlarge has 1" in words
    assert "fix: launch g6.48xlarge, g4dn.metal or p3dn.24xlarge, or GPUs no higher than 1" in words
    cloud.destroy(stack)


def test_each_layer_is_named(cloud: Local, ask: Ask) -> None:
    cloud.switch("no-capacity", "g6.xlarge")
    stack = waiting(cloud, cluster_template())
    assert layers(ask, stack.outputs["Cluster"]) == ["capacity"]
    cloud.switch("no-capacity", "none")
    cloud.destroy(stack)

    cloud.switch("missing-gpus", "1,1")
    stack = waiting(cloud, cluster_template())
    assert layers(ask, stack.outputs["Cluster"]) == ["GPU not registered"]
    cloud.destroy(stack)

    stack = waiting(cloud, user_data(cluster_template(), "#!/bin/bash\necho ECS_CLUSTER=other >> /etc/ecs/ecs.config"))
    _, said = ask("Service", "--cluster", stack.outputs["Cluster"])
    assert "not joined: " in said
    assert "their user data names the cluster other" in " ".join(said.split())
    cloud.destroy(stack)


def piped(account: Account, cluster: str) -> str:
    """What ``aws ecs describe-…`` and the others print, one after the other."""
    ecs, scaling = account.client("ecs"), account.client("autoscaling")
    names = ecs.list_services(cluster=cluster)["serviceArns"]
    services = ecs.describe_services(cluster=cluster, services=names)
    hosts = ecs.list_container_instances(cluster=cluster)["containerInstanceArns"]
    answers: list[dict[str, Any]] = [
        services,
        ecs.describe_task_definition(taskDefinition=services["services"][0]["taskDefinition"]),
        ecs.describe_container_instances(cluster=cluster, containerInstances=hosts),
        ecs.describe_capacity_providers(),
        scaling.describe_auto_scaling_groups(),
    ]
    return "\n".join(json.dumps(each, default=str, indent=4) for each in answers)


def test_the_same_is_said_of_what_is_piped(cloud: Local, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = waiting(cloud, cluster_template(max_size=1), count=2)
    text = piped(cloud.account, stack.outputs["Cluster"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    code, said = ask("Service", "-")

    assert code == 1
    assert "is at its maximum of 1 host" in said
    assert "not looked at: autoscaling describe-scaling-activities" in said
    cloud.destroy(stack)


def test_after_a_deploy_the_program_asks_the_account_itself(stage: Stage) -> None:
    cloudformation = stage.account.client("cloudformation")
    template = with_service(cluster_template(max_size=1))
    cloudformation.create_stack(StackName="waits", TemplateBody=json.dumps(template))
    outputs = cloudformation.describe_stacks(StackName="waits")["Stacks"][0]["Outputs"]
    cluster = next(each["OutputValue"] for each in outputs if each["OutputKey"] == "Cluster")
    wanting(stage.account, cluster, 2)

    done = subprocess.run(
        [sys.executable, "-m", "gpu_constructs", "why", "Service", "--cluster", cluster],
        env={**stage.cdk.environment, "COLUMNS": "80", "PYTHONPATH": os.fspath(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (1, "")
    assert "is at its maximum of 1 host" in done.stdout
    cloudformation.delete_stack(StackName="waits")
