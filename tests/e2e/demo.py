"""``make demo``: the end-to-end story for a person to watch.

    python -m tests.e2e.demo

Runs the steps of `scenario` against the emulator and shows them as they happen. Ends with 0 if every check held.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from ecs_emulator.account import Account
from ecs_emulator.process import emulator
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from .cdk_cli import Cdk, CdkError
from .scenario import Findings, Scenario, Step, UnexpectedError

__all__ = ["main"]

HEADER = """\
This is an [bold]emulator[/bold] on this machine, not AWS: moto's server with a model of ECS of our own.
The CDK command line is the real one. Nothing leaves this machine and nothing costs money.
A minute of AWS passes each time the cluster is looked at."""

INTERRUPTED = 130


def main() -> int:
    """Run the demo; returns the exit status."""
    # Wide enough for 8 GPU ids on lines of 4; a terminal that is narrower wraps by itself.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    console.print(Panel(HEADER, title="gpu_constructs on an emulator", expand=False))
    if not Cdk.is_installed():
        console.print("[red]no `cdk` on the PATH; run `make setup` first")
        return 1
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.default_int_handler)  # raises KeyboardInterrupt
    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="gpu-constructs-") as directory:
            _tell(Path(directory), console)
    except KeyboardInterrupt:
        console.print("[yellow]interrupted; the emulator is gone, and whatever was deployed with it")
        return INTERRUPTED
    except (CdkError, UnexpectedError) as error:
        console.print(Text.assemble(("failed: ", "bold red"), str(error)), soft_wrap=True)
        return 1
    console.print(f"[green]every check held[/green], {time.monotonic() - started:.1f} s")
    return 0


def _tell(directory: Path, console: Console) -> None:
    with emulator(directory) as running:
        console.print(f"emulator at {running.url}, account 123456789012\n")
        cdk = Cdk(work=directory, environment=running.environment(os.environ))
        steps = Scenario(cdk=cdk, account=Account(running)).steps
        for number, step in enumerate(steps, start=1):
            _show(console, step, f"{number:>2}/{len(steps)}")


def _show(console: Console, step: Step, number: str) -> None:
    started = time.monotonic()
    with console.status(f"{number}  {step.title}"):
        findings = step.act()
    title = Text.assemble((f"{number}  {step.title}", "bold"), (f"  {time.monotonic() - started:.1f} s", "dim"))
    console.print(title)
    for line in findings.lines:
        console.print(f"       {line}", markup=False, soft_wrap=True)
    if findings.hosts or findings.tasks:
        console.print(Padding(_table(findings), (0, 0, 0, 7)))


def _table(findings: Findings) -> Table:
    table = Table("host", "type", "task", "status", "GPU ids")
    for host in findings.hosts:
        tasks = [task for task in findings.tasks if task.instance_id == host.instance_id]
        for task in tasks:
            table.add_row(host.instance_id, host.instance_type, task.family, task.status, _short(task.gpus))
        if host.free_gpus:
            table.add_row(host.instance_id, host.instance_type, "", "free", _short(host.free_gpus))
    for task in findings.tasks:
        if task.instance_id is None:
            table.add_row("", "", task.family, task.status, "")
    for column in table.columns[:4]:
        column.no_wrap = True
    return table


def _short(gpus: tuple[str, ...]) -> str:
    """GPU ids a line can hold several of; the first group of a UUID tells them apart."""
    return " ".join("-".join(gpu.split("-")[:2]) for gpu in gpus)


if __name__ == "__main__":
    sys.exit(main())
