"""The Python blocks of the pages, of which each runs once for all tests.

The files of tests that read them run in one process, see `conftest.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partialmethod
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from gpu_constructs.facts import catalogue
from tests.synthesis import ROOT, WITHOUT

__all__ = ["APPS", "BLOCKS", "PAGES", "blocks_of", "names_of", "templates_of"]

PAGES = (
    "README.md",
    "docs/guide.md",
    "docs/from-plain-cdk.md",
    "docs/sharing.md",
    "docs/checking.md",
    "docs/serving.md",
    "docs/jobs.md",
    "docs/monitoring.md",
    "docs/updates.md",
    "docs/security.md",
    "docs/existing-clusters.md",
    "docs/placement.md",
    "docs/planning.md",
    "docs/terraform.md",
)
"""Those whose blocks are apps."""

APPS = ("docs/batch.md", "docs/capacity.md", "docs/training.md")
"""Those whose blocks are one app."""

_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def blocks_of(page: str) -> list[str]:
    """Its Python blocks."""
    return _BLOCK.findall((ROOT / page).read_text())


BLOCKS = [(page, block) for page in PAGES for block in blocks_of(page)]


@cache
def names_of(page: str, block: str) -> Mapping[str, Any]:
    """What a block defines, in names of its own, so that what it forgets to import is missing."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "_OF_THE_PROCESS", {})  # the types that it declares are its own
        patch.setattr(cdk.App, "__init__", partialmethod(cdk.App.__init__, **WITHOUT))
        exec(compile(block, page, "exec"), names)  # noqa: S102 - it is our own
    return names


def templates_of(names: Mapping[str, Any]) -> list[Path]:
    """The templates of the apps that a block defines."""
    apps = {each.node.root for each in names.values() if isinstance(each, (cdk.App, cdk.Stack))}
    folders = [Path(app.synth().directory) for app in apps if isinstance(app, cdk.App)]
    return [each for folder in folders for each in sorted(folder.rglob("*.template.json"))]
