"""What `cdk synth` shows of the check, through the real CDK command line."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.synthesis import ROOT

APP = """
    import aws_cdk as cdk
    from aws_cdk import aws_ec2 as ec2, aws_ecs as ecs
    from gpu_constructs import GpuCluster, GpuTaskDefinition

    app = cdk.App()
    stack = cdk.Stack(app, "Train")
    cluster = GpuCluster(stack, "Gpu", vpc=ec2.Vpc(stack, "Vpc"))
    old = cluster.add_capacity("Old", instance_types=["p3.2xlarge"], max_instances=1)
    task = GpuTaskDefinition(stack, "Task", capacity=[old])
    task.add_gpu_container("train", image=ecs.ContainerImage.from_registry("nvidia/cuda"))
    task.node.default_child.add_property_override(
        "ContainerDefinitions.0.ResourceRequirements", [{"Type": "gpu", "Value": "1"}]
    )
    app.synth()
"""


def test_the_real_command_line_shows_errors_and_warnings_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(textwrap.dedent(APP))
    ended = subprocess.run(
        ["cdk", "synth", "--quiet", "--no-notices", "--app", f"{sys.executable} app.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode == 1, said
    error = ["ERROR", "gpu-constructs::GPU020", "Train/Task/Resource", '"Type": "GPU"']
    warning = ["WARNING", "gpu-constructs::GPU001", "Train/Gpu/Old/LaunchTemplate"]
    assert [each for each in (*error, *warning) if each not in said] == []
    assert "Traceback" not in said
