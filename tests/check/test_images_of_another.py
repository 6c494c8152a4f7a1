"""An image that the app builds for another processor than that of the hosts, which CDK and ECS accept."""

from __future__ import annotations

from pathlib import Path

import pytest
from aws_cdk import aws_ecr_assets as assets
from aws_cdk import aws_ecs as ecs

from gpu_constructs import GpuService
from gpu_constructs.check import check_files
from gpu_constructs.rules import Severity
from tests.synthesis import Site, app_in

AMD, ARM = assets.Platform.LINUX_AMD64, assets.Platform.LINUX_ARM64


@pytest.mark.parametrize(
    ("host", "platform", "found"),
    [
        ("g5g.xlarge", AMD, ["g5g.xlarge is arm64, and its image is built for x86_64"]),
        ("g6.xlarge", ARM, ["g6.xlarge is x86_64, and its image is built for arm64"]),
        ("g5g.xlarge", ARM, []),
        ("g6.xlarge", None, []),
    ],
)
def test_it_is_an_error(tmp_path: Path, host: str, platform: assets.Platform | None, found: list[str]) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\n", encoding="utf-8")
    app = app_in(tmp_path / "cdk.out")
    site = Site(app, app)
    task = site.task(site.capacity(host))
    image = ecs.ContainerImage.from_asset(str(tmp_path), platform=platform, exclude=["cdk.out"])
    task.add_gpu_container("train", image=image, gpus=1)
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    if found:
        with pytest.raises(RuntimeError, match="GPU067"):
            app.synth()
    else:
        app.synth()
    report = check_files([str(tmp_path / "cdk.out")])
    errors = [each for each in report.findings if each.severity is Severity.ERROR]
    assert [(each.rule, each.message.rpartition(": ")[2]) for each in errors] == [("GPU067", each) for each in found]
