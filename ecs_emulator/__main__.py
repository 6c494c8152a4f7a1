"""``make emulator``: a shell whose CDK command line and boto talk to an emulator of its own, see ``docs/emulator.md``.

    python -m ecs_emulator [COMMAND…]

Runs the command, or a shell, and stops the emulator when it ends; ends as it ended.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .process import emulator

__all__ = ["main"]

_COMMAND_LINE = Path(__file__).parents[1] / "node_modules/.bin"
"""Where a checkout has its ``cdk``; without a checkout it is the one on the PATH."""


def main() -> int:
    """Run the command; returns its exit status."""
    with tempfile.TemporaryDirectory(prefix="gpu-constructs-") as directory, emulator(Path(directory)) as running:
        environment = {
            **running.environment(os.environ),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), str(_COMMAND_LINE), os.environ["PATH"]]),
            "CDK_HOME": f"{directory}/cdk",
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CDK_DISABLE_VERSION_CHECK": "1",
        }
        sys.stderr.write(f"emulator at {running.url} until this shell ends, its log in {running.log}\n")
        return subprocess.call(sys.argv[1:] or [os.environ.get("SHELL", "sh")], env=environment)


if __name__ == "__main__":
    sys.exit(main())
