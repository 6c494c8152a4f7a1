"""An app that ``gpu-constructs new`` wrote is deployed by the real command line, with its own ``cdk.json``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gpu_constructs.cli.program import main

from .stage import Stage


def test_it_is_deployed_and_destroyed_as_it_was_written(tmp_path: Path, stage: Stage) -> None:
    assert main(["new", "scale-to-zero", str(tmp_path)]) == 0
    cdk = replace(stage.cdk, project=tmp_path)
    assembly = cdk.synth("scale-to-zero", {})
    outputs = cdk.deploy(assembly, "scale-to-zero")
    assert outputs["Send"].startswith("aws sqs send-message --message-body hello --queue-url http")
    cdk.destroy(assembly, "scale-to-zero")
