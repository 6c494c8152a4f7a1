"""A shell whose CDK command line and boto talk to an emulator of its own, see ``docs/emulator.md``.

    gpu-constructs-emulator [COMMAND…]    where it is installed
    python -m ecs_emulator [COMMAND…]     in a checkout, as ``make emulator`` does

Runs the command, or a shell, and stops the emulator when it ends; ends as it ended.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from .process import emulator

__all__ = ["main"]

_NAME = "gpu-constructs-emulator"
_COMMAND_LINE = Path(__file__).parents[1] / "node_modules/.bin"
"""Where a checkout has its ``cdk``; without a checkout it is the one on the PATH."""

_NOT_FOUND = 127
"""What shells end with when there is no such command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    words = _parser().parse_args(arguments).command
    if words and shutil.which(words[0], path=_path()) is None:
        fix = "npm install -g aws-cdk" if words[:1] == ["cdk"] else "a command that is on the PATH"
        sys.stderr.write(f"{_NAME}: there is no command {words[0]}; fix: {fix}\n")
        return _NOT_FOUND
    with tempfile.TemporaryDirectory(prefix="gpu-constructs-") as directory, emulator(Path(directory)) as running:
        environment = {
            **running.environment(os.environ),
            "PATH": _path(),
            "CDK_HOME": f"{directory}/cdk",
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CDK_DISABLE_VERSION_CHECK": "1",
        }
        sys.stderr.write(f"emulator at {running.url} until this shell ends, its log in {running.log}\n")
        if not words and shutil.which("cdk", path=environment["PATH"]) is None:
            sys.stderr.write("there is no cdk on the PATH; fix: npm install -g aws-cdk\n")
        return subprocess.call(words or [os.environ.get("SHELL", "sh")], env=environment)


def _path() -> str:
    """That of the caller; a checkout has its own Python and ``cdk``, which need not be on it."""
    own = [str(Path(sys.executable).parent), str(_COMMAND_LINE)] if _COMMAND_LINE.is_dir() else []
    return os.pathsep.join([*own, os.environ["PATH"]])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_NAME,
        description="Runs a command, or a shell, in which cdk and boto talk to an emulator of its own. It is our model "
        "of ECS, not ECS, and reaches no AWS account.",
    )
    parser.add_argument("--version", action="version", version=f"{_NAME} {_version()}")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="such as cdk deploy; else a shell")
    return parser


def _version() -> str:
    try:
        return metadata.version(_NAME)
    except metadata.PackageNotFoundError:
        return "of a checkout"


if __name__ == "__main__":
    sys.exit(main())
