"""What the check adds to a whole ``cdk synth``: ``python -m bench.check_at_synth``.

The same app is synthesized by the CDK CLI without any check, with ours and with cdk-nag's AwsSolutions pack, one after
the other in blocks, so that each ratio is of neighbours. The budget of ours is 1.03.

The same again inside one warm process, where nothing but the synth itself is counted: there ours may add no more than
cdk-nag's pack does.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from shutil import which

__all__ = ["VARIANTS"]

VARIANTS = ("without", "checked", "cdk-nag")
_BUDGET = 1.03
_CDK = which("cdk") or "node_modules/.bin/cdk"
_WARM_UP = 6
_APPS = ("1 capacity", "10 capacities")


def _synthesize(variant: str, workload: str, folder: Path | None = None) -> None:
    """The app itself, as the CDK CLI starts it."""
    import aws_cdk as cdk  # noqa: PLC0415 - the process that measures needs no Node

    from bench.library import build  # noqa: PLC0415 - as above
    from bench.sizes import WORKLOADS  # noqa: PLC0415 - as above
    from bench.variants import without_the_check  # noqa: PLC0415 - as above

    app = cdk.App(outdir=None if folder is None else str(folder))
    if variant == "checked":
        build(app, WORKLOADS[workload])
    else:
        with without_the_check():
            build(app, WORKLOADS[workload])
    if variant == "cdk-nag":
        from cdk_nag import AwsSolutionsChecks  # noqa: PLC0415 - of one variant only

        cdk.Validations.of(app).add_plugins(AwsSolutionsChecks())
    app.synth()


def _milliseconds(workload: str, blocks: int) -> dict[str, list[float]]:
    """How long each variant takes in this process, after a few rounds that do not count."""
    from bench.variants import forget  # noqa: PLC0415 - starts Node

    taken: dict[str, list[float]] = {each: [] for each in VARIANTS}
    with tempfile.TemporaryDirectory() as name:
        for block in range(-_WARM_UP, blocks):
            for variant in VARIANTS if block % 2 else VARIANTS[::-1]:
                forget()
                start = time.perf_counter()
                # What cdk-nag finds ends a synth without the CLI.
                with suppress(RuntimeError):
                    _synthesize(variant, workload, Path(name) / variant)
                if block >= 0:
                    taken[variant].append((time.perf_counter() - start) * 1000)
    return taken


def _seconds(variant: str, workload: str, folder: Path) -> float:
    app = f"{sys.executable} -m bench.check_at_synth --app {variant} --workload '{workload}'"
    start = time.perf_counter()
    # What cdk-nag finds ends the CLI with a status of its own.
    subprocess.run([_CDK, "synth", "--quiet", "--app", app, "--output", str(folder)], capture_output=True, check=False)
    taken = time.perf_counter() - start
    if not (folder / "manifest.json").exists():
        raise SystemExit(f"{variant}: no cloud assembly was written")
    return taken


def _measured(blocks: int) -> None:
    sys.stdout.write(
        "| cdk synth of | without, s | checked, s | ratio | cdk-nag, s | ratio |\n|---|---|---|---|---|---|\n"
    )
    for workload in _APPS:
        taken: dict[str, list[float]] = {each: [] for each in VARIANTS}
        for _ in range(blocks):
            for variant in VARIANTS:
                with tempfile.TemporaryDirectory() as name:
                    taken[variant].append(_seconds(variant, workload, Path(name)))
        plain, ours, nag = (statistics.median(taken[each]) for each in VARIANTS)
        ratio, other = (
            statistics.median(one / two for one, two in zip(taken[each], taken["without"], strict=True))
            for each in VARIANTS[1:]
        )
        over = " (over)" if ratio > _BUDGET else ""
        sys.stdout.write(f"| {workload} | {plain:.2f} | {ours:.2f} | {ratio:.3f}{over} | {nag:.2f} | {other:.3f} |\n")
        sys.stdout.flush()


def _measured_inside(blocks: int) -> None:
    sys.stdout.write("\n| in one process | without, ms | check adds, ms | cdk-nag adds, ms |\n|---|---|---|---|\n")
    for workload in _APPS:
        with tempfile.TemporaryDirectory() as name:
            figures = Path(name) / "figures.json"
            inside = ["--inside", str(figures), "--workload", workload, "--blocks", str(blocks)]
            # The findings go to the output of Node, which is that of the process.
            subprocess.run([sys.executable, "-m", "bench.check_at_synth", *inside], capture_output=True, check=True)
            taken = json.loads(figures.read_text())
        added = {
            each: statistics.median(one - two for one, two in zip(taken[each], taken["without"], strict=True))
            for each in VARIANTS[1:]
        }
        over = " (over)" if added["checked"] > added["cdk-nag"] else ""
        sys.stdout.write(
            f"| {workload} | {statistics.median(taken['without']):.1f} | {added['checked']:.1f}{over} "
            f"| {added['cdk-nag']:.1f} |\n"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--app", choices=VARIANTS, help=argparse.SUPPRESS)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--workload", choices=_APPS, default=_APPS[0], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.app:
        _synthesize(arguments.app, arguments.workload)
    elif arguments.inside:
        arguments.inside.write_text(json.dumps(_milliseconds(arguments.workload, arguments.blocks)))
    else:
        _measured(arguments.blocks)
        _measured_inside(4 * arguments.blocks)
