"""What the real CDK command line shows of the check, and makes of an app that ``gpu-constructs new`` wrote."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from gpu_constructs.cli.program import main

from tests.kernel import COMPILED
from tests.synthesis import ROOT

MORE = """
    stack = Stack(Stage(app, "Prod"), "Train")
    cluster = GpuCluster(stack, "Gpu", vpc=ec2.Vpc(stack, "Vpc"))
    old = cluster.add_capacity("Old", instance_types=["p3.2xlarge"], max_instances=1)
    task = GpuTaskDefinition(stack, "Task", capacity=[old])
    task.add_gpu_container("train", image=ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04"))
    task.node.default_child.add_property_override(
        "ContainerDefinitions.0.ResourceRequirements", [{"Type": "gpu", "Value": "1"}]
    )
    app.synth()
"""


def cdk(*words: str, at: Path) -> tuple[int, str]:
    ended = subprocess.run(
        ["cdk", *words, "--no-notices"],
        cwd=at,
        env={
            **os.environ,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PYTHONPATH": str(ROOT),
            # jsii would keep what it compiles of the app.
            "NODE_COMPILE_CACHE": "" if words[0] == "synth" else str(COMPILED),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_an_error_in_a_stage_of_a_written_app_fails_synth_and_deploy_and_names_its_place(tmp_path: Path) -> None:
    assert main(["new", "scale-to-zero", str(tmp_path)]) == 0
    app = tmp_path / "app.py"
    written = app.read_text(encoding="utf-8")
    for old, new in (("    app.synth()\n", MORE), ("Stack, aws_ec2", "Stack, Stage, aws_ec2")):
        assert old in written
        written = written.replace(old, new)
    app.write_text(written, encoding="utf-8")
    # The tests run without CDK's own validation (`CDK_VALIDATION`), which is also the default of this option; its own
    # rules take seconds to load, and `test_cdks_own_validation` has them.
    without = "@aws-cdk/core:validateAgainstDefaultRules=false"
    code, said = cdk("synth", "--quiet", "--validation", "--context", without, at=tmp_path)
    assert code == 1, said
    assert (tmp_path / "cdk.out/scale-to-zero.template.json").exists()  # as its own settings say, and with no error
    error = ["ERROR", "gpu-constructs::GPU020", "Prod/Train/Task/Resource", '"Type": "GPU"']
    warning = ["WARNING", "gpu-constructs::GPU001", "Prod/Train/Gpu/Old/LaunchTemplate"]
    assert [each for each in (*error, *warning) if each not in said] == []
    assert [each for each in ("Traceback", "Successfully synthesized", " scale-to-zero/") if each in said] == []
    code, said = cdk("deploy", "Prod/Train", "--app", "cdk.out", at=tmp_path)
    assert (code, "gpu-constructs::GPU020" in said) == (1, True), said
    code, said = cdk("ls", "--app", "cdk.out", at=tmp_path)
    assert (code, "GPU020" in said) == (0, False), said
