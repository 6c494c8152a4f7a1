"""The reference stacks in one app, which all tests of a process read: see the fixture ``told``."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import cdk_nag

from gpu_constructs import acknowledge_aws_solutions
from stacks.tensorflow_benchmark import TensorflowBenchmarkStack
from tests.stacks.stories import STORIES
from tests.synthesis import Site

__all__ = ["BENCHMARKS", "tell", "template_of"]

BENCHMARKS = {
    "tensorflow-benchmark": ["g6.xlarge"],
    "four-gpus": ["g6.12xlarge", "g6.24xlarge"],
    "eight-gpus": ["g6.48xlarge"],
    "old-types": ["p3.2xlarge"],
}


def tell(folder: Path) -> None:
    """Synthesizes every story as `cdk init` would have it, with what cdk-nag and the library say of it."""
    app = cdk.App(outdir=str(folder), context=Site.recommended_context(), tree_metadata=False)
    cdk.Validations.of(app).add_plugins(cdk_nag.AwsSolutionsChecks())
    for name, types in BENCHMARKS.items():
        TensorflowBenchmarkStack(app, name, gpu_instance_types=types)
    for story in STORIES.values():
        story(app)
    acknowledge_aws_solutions(app)
    with suppress(RuntimeError):  # an error ends it, once all is written
        app.synth()


def template_of(told: Path, stack: str) -> dict[str, Any]:
    """The template of one of them."""
    template: dict[str, Any] = json.loads((told / f"{stack}.template.json").read_text())
    return template
