"""Both ways to the same app, and one synthesis of either."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import aws_cdk as cdk

from bench.workloads import Workload

__all__ = ["VARIANTS", "forget", "synthesize", "synthesize_together", "without_the_check"]

VARIANTS = ("library", "plain")
"""Modules of this package, imported when first needed: the memory of one variant is measured without the other."""


_WITHOUT_CDK = ("check", "errors", "facts", "fleet", "placement", "rules", "template")


def synthesize(variant: str, workload: Workload, outdir: Path, *, validation: bool = False) -> None:
    """From a new app to its cloud assembly on disk, with the feature flags of the reference app.

    Args:
        variant: ``library`` or ``plain``.
        workload: What to build.
        outdir: Where the cloud assembly goes.
        validation: Whether CDK validates the templates with its built-in plugin, as it does by default.
    """
    app = cdk.App(outdir=str(outdir), context=_context(), builtin_cloud_formation_validation=validation)
    import_module(f"bench.{variant}").build(app, workload)
    app.synth()


def synthesize_together(variant: str, workloads: Iterable[Workload], outdir: Path) -> list[Path]:
    """Several workloads in one app, each in a stage of its own, without what leaves the templates as they are.

    Args:
        variant: ``library`` or ``plain``.
        workloads: What to build.
        outdir: Where the cloud assembly goes.

    Returns:
        Where the templates of each workload are.
    """
    app = cdk.App(outdir=str(outdir), context=_context(), builtin_cloud_formation_validation=False, tree_metadata=False)
    stages = []
    with nullcontext() if variant != "library" else without_the_check():
        for number, workload in enumerate(workloads):
            stages.append(cdk.Stage(app, f"App{number}"))
            import_module(f"bench.{variant}").build(stages[-1], workload)
    app.synth()
    return [outdir / stage.artifact_id for stage in stages]


@contextmanager
def without_the_check() -> Iterator[None]:
    """What the constructs cost by themselves: nobody builds an app like that."""
    from gpu_constructs.cdk.validation import GpuChecks  # noqa: PLC0415 - of one variant only

    with mock.patch.object(GpuChecks, "add_to"):
        yield


_OF_HINTS = "gpu_constructs.cdk.kinds"


def forget() -> None:
    """Drops the CDK values that the library keeps for a second use, so that each app makes its own.

    An app is usually the only one of its process; without this, all but the first would find them made. What is no
    value of CDK stays, as modules do: what the pure rooms remember about their data, the version, and the type hints of
    our calls.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith("gpu_constructs.") and name.split(".")[1] not in _WITHOUT_CDK and name != _OF_HINTS:
            for value in list(vars(module).values()):
                # By its own room, and not by one that imports it.
                if hasattr(value, "cache_clear") and value.__module__ == name:
                    value.cache_clear()


@cache
def _context() -> dict[str, Any]:
    context: dict[str, Any] = json.loads((Path(__file__).parents[1] / "cdk.json").read_text())["context"]
    return context
