"""The app of the reference stacks in a process of its own comes out the same every time, and refuses in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import aws_cdk as cdk
from stacks.nvidia_smi import NvidiaSmiStack
from stacks.tensorflow_benchmark import TensorflowBenchmarkStack

from tests.synthesis import ROOT, Site


def run_app(outdir: Path, **context: str) -> subprocess.CompletedProcess[str]:
    everything = json.dumps({**Site.recommended_context(), **context})
    own = {"CDK_OUTDIR": str(outdir), "CDK_CONTEXT_JSON": everything}
    return subprocess.run(
        [sys.executable, "-W", "error", "app.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **own},
        capture_output=True,
        text=True,
        check=False,
    )


def test_two_synths_are_identical_and_look_nothing_up(tmp_path: Path) -> None:
    # The app in a process of its own, with hashes of its own, and its stacks in this one.
    assert run_app(tmp_path / "first").returncode == 0
    app = cdk.App(outdir=str(tmp_path / "second"), context=Site.recommended_context())
    TensorflowBenchmarkStack(app, "tensorflow-benchmark", gpu_instance_types=["g6.xlarge"])
    NvidiaSmiStack(app, "nvidia-smi")
    app.synth()
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir() if not path.match("*.metadata.json")}
        for name in ("first", "second")
    )
    assert len([name for name in first if name.endswith(".template.json")]) == 2
    # The metadata files hold stack traces, which name the folder that Node unpacked the library into.
    assert first == second
    manifest = json.loads(first["manifest.json"])
    assert "missing" not in manifest
    assert {"tensorflow-benchmark", "nvidia-smi"} <= set(manifest["artifacts"])


def test_a_wrong_context_is_one_line_and_no_traceback(tmp_path: Path) -> None:
    ended = run_app(tmp_path, gpu_instance_type="g6.xlrge")
    assert ended.returncode == 1
    assert ended.stderr.strip() == (
        "error: gpu_instance_type=g6.xlrge: instance_types: "
        "no instance type 'g6.xlrge' in the catalogue of 2026-09-29; "
        "fix: did you mean g6.xlarge or g6.8xlarge or g6.4xlarge?"
    )
