"""Starts CDK's kernel without the process that jsii puts before it, and from what Node compiled in an earlier run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from unittest.mock import patch

__all__ = ["COMPILED", "started_directly"]

COMPILED = Path(__file__).parents[1] / "node_modules/.cache/node"
"""What Node has compiled, which later processes load."""


@contextmanager
def started_directly() -> Iterator[None]:
    """An import of `aws_cdk` starts the kernel so in this process; commands of tests start jsii's own (decision 59).

    The environment comes back at the end; lighter calls stay, since they go to the kernel that was started.
    """
    from tests.light_calls import lighten  # noqa: PLC0415 - jsii, which the process that hands out tests needs not

    folder = COMPILED.parent / f"jsii-{version('jsii')}"
    folder.mkdir(parents=True, exist_ok=True)
    for each in files("jsii._embedded.jsii").iterdir():
        name = each.name.removeprefix("lib__")
        if name != each.name and not (folder / name).exists():
            part = folder / f"{name}.{os.getpid()}"
            part.write_bytes(each.read_bytes())
            part.replace(folder / name)
    own = {
        "JSII_RUNTIME": str(Path(__file__).with_suffix(".js")),
        "KERNEL": str(folder / "program.js"),
        "NODE_COMPILE_CACHE": str(COMPILED),
        "NODE_OPTIONS": "--v8-pool-size=1",  # several threads that collect garbage wait for each other busily
    }
    lighten()
    with patch.dict(os.environ, own):
        yield
