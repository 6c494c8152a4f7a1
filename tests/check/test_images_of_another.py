"""An image that the app builds for another processor than that of the hosts, which CDK and ECS accept."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecr_assets as assets
from aws_cdk import aws_ecs as ecs

from gpu_constructs import CapacityChoice, GpuBatchQueue, GpuService, MultiNodeTraining
from gpu_constructs.check import check_files
from gpu_constructs.rules import Severity
from tests.rules.changed import changed
from tests.synthesis import Site, app_in

AMD, ARM = assets.Platform.LINUX_AMD64, assets.Platform.LINUX_ARM64


@pytest.mark.parametrize(
    ("image", "expected"),
    [("arm64v8/python:3.12", ["error"]), ("docker.io/amd64/python:3.12", []), ("example.com/arm64v8/python", [])],
)
def test_an_image_of_docker_hub_for_another_processor_is_an_error_of_its_task(image: str, expected: list[str]) -> None:
    asks = {"ResourceRequirements": [{"Type": "GPU", "Value": "1"}]}
    container = {"Name": "train", "Image": image, "Memory": 512, **asks}
    found = changed("GPU067", {"Task": {"ContainerDefinitions": [container]}}, of="GPU235")
    assert [each.severity.value for each in found] == expected


def _service(host: str, site: Site, image: ecs.ContainerImage) -> None:
    task = site.task(site.capacity(host))
    task.add_gpu_container("train", image=image, gpus=1)
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)


def _nothing_runs_it(site: Site, image: ecs.ContainerImage) -> None:
    site.task(site.capacity("g6.xlarge")).add_gpu_container("train", image=image, gpus=1)


def _other_hosts_could(site: Site, image: ecs.ContainerImage) -> None:
    _nothing_runs_it(site, image)
    site.capacity("g5g.4xlarge", name="Arm")


def _its_task_may_go_to_others(site: Site, image: ecs.ContainerImage) -> None:
    _other_hosts_could(site, image)
    task = site.stack.node.find_child("Task").node.default_child
    assert isinstance(task, ecs.CfnTaskDefinition)
    task.placement_constraints, task.runtime_platform = [], None


def _other_stacks_may_run_it(site: Site, image: ecs.ContainerImage) -> None:
    _nothing_runs_it(site, image)
    task = site.stack.node.find_child("Task").node.default_child
    assert isinstance(task, ecs.CfnTaskDefinition)
    cdk.CfnOutput(site.stack, "Arn", value=task.ref)


def _it_needs_no_gpu(site: Site, image: ecs.ContainerImage) -> None:
    site.capacity("g6.xlarge")
    ecs.Ec2TaskDefinition(site.stack, "Plain").add_container("web", image=image, memory_limit_mib=512)


def _job(site: Site, image: ecs.ContainerImage) -> None:
    _queue(site).add_job("Job", image=image, timeout=cdk.Duration.hours(1))


def _nodes(site: Site, image: ecs.ContainerImage) -> None:
    MultiNodeTraining(site.stack, "Training", queue=_queue(site), hosts=2, image=image, command=["train"])


def _queue(site: Site) -> GpuBatchQueue:
    choice = CapacityChoice("L4", instance_types=["g6.xlarge"], max_instances=2, vpc_subnets=site.one_zone)
    return GpuBatchQueue(site.stack, "Queue", vpc=site.vpc, environments=[choice])


_FOR_ARM = ["g6.xlarge is x86_64, and its image is built for arm64"]


@pytest.mark.parametrize(
    ("ask", "platform", "found"),
    [
        (partial(_service, "g5g.xlarge"), AMD, ["g5g.xlarge is arm64, and its image is built for x86_64"]),
        (partial(_service, "g6.xlarge"), ARM, _FOR_ARM),
        (partial(_service, "g5g.xlarge"), ARM, []),
        (partial(_service, "g6.xlarge"), None, []),
        (_nothing_runs_it, ARM, _FOR_ARM),
        (_other_hosts_could, ARM, _FOR_ARM),
        (_its_task_may_go_to_others, ARM, []),
        (_other_stacks_may_run_it, ARM, []),
        (_it_needs_no_gpu, ARM, []),
        (_job, ARM, _FOR_ARM),
        (_nodes, ARM, _FOR_ARM),
    ],
)
def test_it_is_an_error(
    tmp_path: Path,
    ask: Callable[[Site, ecs.ContainerImage], None],
    platform: assets.Platform | None,
    found: list[str],
) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\n", encoding="utf-8")
    app = app_in(tmp_path / "cdk.out")
    ask(Site(app, app), ecs.ContainerImage.from_asset(str(tmp_path), platform=platform, exclude=["cdk.out"]))
    with pytest.raises(RuntimeError, match="GPU067") if found else nullcontext():
        app.synth()
    errors = [each for each in check_files([tmp_path / "cdk.out"]).findings if each.severity is Severity.ERROR]
    assert [(each.rule, each.message.rpartition(": ")[2]) for each in errors] == [("GPU067", each) for each in found]
