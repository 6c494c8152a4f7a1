"""The door at synth: CDK itself reports, fails and takes acknowledgements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs

from gpu_constructs import GpuChecks, GpuCluster, GpuService, GpuTaskDefinition
from tests.synthesis import Site, app_in, until_said

IMAGE = ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")


def violations(app: cdk.App, kind: str = "violations") -> list[dict[str, Any]]:
    report = Path(app.outdir) / "validation-report.json"
    plugins = json.loads(report.read_text())["pluginReports"] if report.exists() else []
    return [each for plugin in plugins if plugin["pluginName"] == "gpu-constructs" for each in plugin.get(kind, ())]


def gpu_on_fargate(scope: cdk.Stack) -> None:
    task = ecs.FargateTaskDefinition(scope, "Task", cpu=1024, memory_limit_mib=4096)
    task.add_container("work", image=IMAGE, gpu_count=1)


def test_an_error_in_plain_cdk_fails_the_synth_of_an_app_that_asks_for_the_check(tmp_path: Path) -> None:
    app = cdk.App(outdir=str(tmp_path))
    GpuChecks.add_to(app)
    gpu_on_fargate(cdk.Stack(app, "Stack"))
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    (found,) = violations(app)
    assert (found["ruleName"], found["severity"]) == ("GPU028", "error")
    (where,) = found["violatingConstructs"]
    assert where["constructPath"] == "Stack/Task/Resource"


def test_the_check_is_added_once_however_often_it_is_asked_for(site: Site) -> None:
    GpuChecks.add_to(site.app)
    GpuChecks.add_to(site.stack)
    GpuCluster(site.stack, "Gpu", vpc=site.vpc)
    gpu_on_fargate(site.stack)
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        site.app.synth()
    assert [each["ruleName"] for each in violations(site.app)] == ["GPU028"]


def test_a_plugin_that_is_added_by_hand_asks_where_the_templates_are_on_a_new_cdk(tmp_path: Path) -> None:
    app = cdk.App(outdir=str(tmp_path))
    cdk.Validations.of(app).add_plugins(GpuChecks())
    gpu_on_fargate(cdk.Stack(cdk.Stage(app, "Beta"), "Stack"))
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    (found,) = violations(app)
    assert found["ruleName"] == "GPU028"
    assert found["violatingConstructs"][0]["constructPath"] == "Beta/Stack/Task/Resource"


def test_what_is_changed_behind_a_construct_is_seen(site: Site) -> None:
    task = site.task()
    task.add_gpu_container("train", image=site.image).add_environment("NVIDIA_VISIBLE_DEVICES", "all")
    (warning,) = site.warnings()
    assert warning.startswith("GPU037")
    resource = task.node.default_child
    assert isinstance(resource, ecs.CfnTaskDefinition)
    resource.add_property_override("ContainerDefinitions.0.ResourceRequirements", [{"Type": "GPU", "Value": "8"}])
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        site.app.synth(force=True)


def test_what_a_construct_made_is_told_in_the_words_of_its_arguments(site: Site) -> None:
    task = site.task(site.capacity("g6.xlarge", max_instances=1))
    task.add_gpu_container("chat", image=site.image)
    GpuService(site.stack, "Chat", cluster=site.cluster, task_definition=task, desired_count=3)
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        site.app.synth()
    (found,) = violations(site.app)
    words = f"{found['description']}; {found['suggestedFix']}"
    assert "holds 1 at max_instances: " in words
    assert "raise max_instances of " in words


@pytest.mark.parametrize("scopes", [["app"], ["stage", "stack", "construct"]], ids="-".join)
def test_a_finding_is_acknowledged_where_it_is_or_above_on_a_new_cdk(tmp_path: Path, scopes: list[str]) -> None:
    app = app_in(tmp_path)
    for scope in scopes:
        stage = cdk.Stage(app, f"By{scope}")
        site = Site(app, stage)
        pool = site.capacity("p3.2xlarge")
        above = {"app": app, "stage": stage, "stack": site.stack, "construct": pool}
        acknowledged = cdk.Acknowledgment(id="gpu-constructs::GPU001", reason=f"we have it by {scope}")
        cdk.Validations.of(above[scope]).acknowledge(acknowledged)
    app.synth()
    assert violations(app) == []
    found = violations(app, "suppressedViolations")
    assert sorted((each["ruleName"], each["reason"]) for each in found) == sorted(
        ("GPU001", f"we have it by {scope}") for scope in scopes
    )


def test_what_was_not_checked_is_one_line_at_synth(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    app, stack = site.app, site.stack
    GpuChecks.add_to(app)
    theirs = ecs.Cluster.from_cluster_attributes(stack, "Theirs", cluster_name="prod", vpc=site.vpc)
    for name in ("One", "Two"):
        task = ecs.Ec2TaskDefinition(stack, name)
        task.add_container("work", image=IMAGE, gpu_count=1, memory_limit_mib=512)
        ecs.Ec2Service(stack, f"{name}Service", cluster=theirs, task_definition=task)
    app.synth()
    assert violations(app) == []
    (line,) = (
        each for each in capsys.readouterr().err.splitlines() if each.startswith("gpu-constructs: not checked: ")
    )
    assert "these files do not define hosts of cluster prod, so it is not known whether" in line
    assert "(and 1 more task); fix: check these files with those that do" in line


def test_stages_nested_stacks_and_empty_stacks_are_read_beside_one_that_cannot_be(tmp_path: Path) -> None:
    app = cdk.App(outdir=str(tmp_path))
    GpuChecks.add_to(app)
    cdk.Stack(app, "Empty")
    deep = cdk.CfnResource(cdk.Stack(app, "Deep"), "Deep", type="AWS::SNS::Topic")
    deep.add_property_override(".".join("x" * 120), 1)
    nested = cdk.NestedStack(cdk.Stack(cdk.Stage(app, "Prod"), "Outer"), "Inner")
    task = ecs.Ec2TaskDefinition(nested, "Task")
    task.add_container("work", image=IMAGE, gpu_count=32, memory_limit_mib=512)
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    assert [each["ruleName"] for each in violations(app)] == ["GPU063", "GPU116"]


def test_a_property_that_no_template_should_hold_is_no_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    app = cdk.App(outdir=str(tmp_path))
    GpuChecks.add_to(app)
    stack = cdk.Stack(app, "Stack")
    for number, odd in enumerate((7, "x", [], {"Fn::If": "?"}, [[[None]]])):
        cdk.CfnResource(
            stack, f"Odd{number}", type="AWS::ECS::TaskDefinition", properties={"ContainerDefinitions": odd}
        )
    app.synth()
    problem = "Properties.ContainerDefinitions: expects a list, got 7"
    assert problem in until_said(problem, capfd)


def test_the_constructs_own_metadata_is_kept_for_the_reader(site: Site) -> None:
    pool = site.capacity("p5.48xlarge")
    task = GpuTaskDefinition(site.stack, "Task", capacity=[pool])
    task.add_gpu_container(
        "train",
        image=site.image,
        gpus=2,
        gpu_memory_gib=40,
        min_compute_capability="sm_90a",
        precision="FP8",
        nvlink=True,
    )
    task.add_gpu_container("plain", image=site.image, gpus=2, cpu=1024, memory_mib=1024)
    (resource,) = [each for each in site.template()["Resources"].values() if each["Type"] == "AWS::ECS::TaskDefinition"]
    assert resource["Metadata"]["gpu-constructs"] == {
        "Containers": {
            "train": {"GpuMemoryMib": 40960, "ComputeCapability": "9.0a", "Precision": "fp8", "Nvlink": True}
        }
    }
