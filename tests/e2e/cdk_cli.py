"""The real CDK command line, run against the emulator from a directory outside the project."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ecs_emulator.process import ACCOUNT, REGION

from tests.kernel import COMPILED

__all__ = ["ROOT", "Cdk", "CdkError", "about"]

ROOT = Path(__file__).parents[2]
"""The checkout."""

TIME_LIMIT_SECONDS = 300

_PLAIN = ("--no-notices", "--no-color")


def about(assembly: Path, command: str, stack: str, *options: str) -> list[str]:
    """A command about one stack of an assembly."""
    return ["cdk", "--app", str(assembly), command, stack, *options, *_PLAIN]


class CdkError(RuntimeError):
    """A CDK command failed; the text holds what it printed."""


@dataclass(frozen=True)
class Cdk:
    """The ``cdk`` command.

    Args:
        work: Where assemblies and everything else the CLI writes go.
        environment: The environment it runs in, see `Emulator.environment`.
        on_line: Called with each line that it prints.
    """

    work: Path
    environment: Mapping[str, str]
    on_line: Callable[[str], object] = field(default=lambda _: None)

    @staticmethod
    def is_installed() -> bool:
        """Whether there is a ``cdk`` to run."""
        return shutil.which("cdk") is not None

    def synth(self, stack: str, context: Mapping[str, str]) -> Path:
        """Synthesize one stack of the project's app.

        Returns:
            The cloud assembly.
        """
        assembly = self.work / f"assembly-{len(list(self.work.glob('assembly-*')))}"
        settings = [argument for key, value in context.items() for argument in ("-c", f"{key}={value}")]
        words = ["cdk", "synth", stack, "--quiet", "--output", str(assembly), *settings, *_PLAIN]
        self._run(words, cwd=ROOT)
        return assembly

    def bootstrap(self) -> None:
        """Bootstrap the emulator's account."""
        self._run(["cdk", "bootstrap", f"aws://{ACCOUNT}/{REGION}", *_PLAIN])

    def deploy(self, assembly: Path, stack: str) -> dict[str, str]:
        """Deploy a stack.

        Returns:
            Its outputs.
        """
        outputs = self.work / "outputs.json"
        outputs.unlink(missing_ok=True)
        # A change set, the default, takes longer; `emulator/test_installed` has it.
        how = ["--require-approval", "never", "--method", "direct", "--outputs-file", str(outputs)]
        self._run(about(assembly, "deploy", stack, *how))
        read: dict[str, dict[str, str]] = json.loads(outputs.read_text())
        return read.get(stack, {})

    def differs(self, assembly: Path, stack: str) -> bool:
        """Whether the assembly differs from what is deployed, by ``cdk diff``."""
        code = self._run(about(assembly, "diff", stack, "--method", "template", "--fail"), accept=(0, 1))
        return code == 1

    def destroy(self, assembly: Path, stack: str) -> None:
        """Delete a stack."""
        self._run(about(assembly, "destroy", stack, "--force"))

    def _run(self, command: list[str], *, cwd: Path | None = None, accept: tuple[int, ...] = (0,)) -> int:
        environment = {
            **self.environment,
            "CDK_HOME": str(self.work / "cdk-home"),
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CDK_DISABLE_VERSION_CHECK": "1",
            "CI": "true",  # plain lines, all of them on standard output
        }
        if cwd is None:  # jsii would keep what it compiles for nothing: it unpacks CDK into another folder each time
            environment["NODE_COMPILE_CACHE"] = str(COMPILED)
        printed: list[str] = []
        with subprocess.Popen(
            command,
            cwd=cwd or self.work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as process:
            assert process.stdout is not None
            watchdog = threading.Timer(TIME_LIMIT_SECONDS, process.kill)
            try:
                watchdog.start()  # where an interruption comes, it is cancelled: Python would wait for it at its end
                for line in process.stdout:
                    printed.append(line)
                    self.on_line(line.rstrip())
                code = process.wait()
            finally:
                watchdog.cancel()
                process.kill()
        if code not in accept:
            raise CdkError(f"`{' '.join(command)}` ended with {code}:\n{''.join(printed)}")
        return code
