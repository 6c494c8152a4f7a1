"""How large the library is, and how much of it runs: ``python -m bench.house``.

Prints what it counts beside what was decided, which `tests/test_house.py` holds. Lines are counted twice: all of them,
and code without docstrings, comments and blank lines, beside the bytes of data, so that nothing looks smaller by being
moved.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import pickle
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from bench.sizes import WORKLOADS
from gpu_constructs.rules import all_rules

__all__ = ["main", "rows"]

_ROOT = Path(__file__).parents[1]
_PACKAGE = _ROOT / "gpu_constructs"
_NO_CODE = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)

# The design has a limit for each of them, and one for all the rest.
_LATER = {
    "the reader of Terraform": (("gpu_constructs/template/terraform",), 3_000),
    "doctor": (("gpu_constructs/check/doctor", "gpu_constructs/cli/doctor.py"), 1_000),
}

_TEMPLATE = """
Resources:
  Task:
    Type: AWS::ECS::TaskDefinition
    Properties:
      ContainerDefinitions:
        - Name: main
          Image: nvidia/cuda:12.8.1-base-ubuntu24.04
          Memory: 1024
          ResourceRequirements: [{Type: GPU, Value: "1"}]
"""

_LOADED_BY_CHECK = f"""
import sys
from gpu_constructs.check.report import check_files
check_files(["-"], stdin={_TEMPLATE.encode()!r})
print(sum(name.split(".")[0] == "gpu_constructs" for name in sys.modules))
"""

_APP = """
import sys
import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2, aws_ecs as ecs
from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition
stack = cdk.Stack(cdk.App(), "Stack")
vpc = ec2.Vpc(stack, "Vpc")
cluster = GpuCluster(stack, "Cluster", vpc=vpc)
called = set()
sys.setprofile(lambda frame, event, _: called.add(frame.f_code) if event == "call" else None)
l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=8)
sys.setprofile(None)
task = GpuTaskDefinition(stack, "Task", capacity=[l4])
task.add_gpu_container("main", image=ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04"))
GpuService(stack, "Service", cluster=cluster, task_definition=task)
print(sum(name.split(".")[0] == "gpu_constructs" for name in sys.modules))
print(sum("gpu_constructs" in code.co_filename for code in called))
"""

_FIRST = "1 capacity"


def main() -> None:
    """Counts and measures everything, and prints it."""
    parser = argparse.ArgumentParser(prog="python -m bench.house", description=__doc__)
    parser.add_argument("--runs", type=int, default=9, help="pairs of first synths (default: 9); 0 for none")
    arguments = parser.parse_args()
    table = Table(title="The house", title_justify="left")
    for heading in ("", "now", "at most"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, value, most in rows(arguments.runs):
        table.add_row(name, _written(value), "" if most is None else _written(most))
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def _written(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:.2f}"


def rows(runs: int, *, count_code: bool = True) -> Iterator[tuple[str, float, float | None]]:
    """What is counted, how much there is of it, and how much was decided; None where nothing was.

    Args:
        runs: Pairs of first synths.
        count_code: Whether to count lines of code too, which takes two seconds and has no limit.
    """
    package, tests = sorted(_PACKAGE.rglob("*.py")), sorted((_ROOT / "tests").rglob("*.py"))
    later = [each for rooms, _ in _LATER.values() for each in package if _within(each, *rooms)]
    yield "lines of Python in the package", _lines(package), None
    if count_code:
        yield "  of these code", _code(package), None
    yield "  without what came later", _lines(package) - _lines(later), 65_000
    for what, (rooms, most) in _LATER.items():
        yield f"  {what}", _lines([each for each in package if _within(each, *rooms)]), most
    yield "bytes of data in the package", _bytes_of_data(), None
    yield "files", len(package), 350
    yield "rules", len(all_rules()), 200
    entries = {each.relative_to(_PACKAGE).parts[0] for each in _PACKAGE.rglob("*") if each.suffix in {".py", ".typed"}}
    yield "entries at the top of the package", len(entries), 20
    yield "names of fleet fields", len(_fields(_PACKAGE / "fleet")), 240
    yield "modules that check of one template loads", _printed(_LOADED_BY_CHECK)[0], 160
    loaded, called = _printed(_APP)
    yield "modules that cluster, task and service load", loaded, 200
    yield "functions called by add_capacity", called, 250
    yield "lines of tests", _lines(tests), None
    others = [each for each in tests if not _within(each, "tests/e2e/emulator")]
    yield "  without those of the emulator, a package of its own", _lines(others), 60_000
    if runs:
        ratios = [_first("library") / _first("plain") for _ in range(runs)]
        spread = f"median of {runs} pairs from {min(ratios):.2f} to {max(ratios):.2f}"
        yield f"first synth of a process over plain CDK, {_FIRST}, {spread}", median(ratios), 1.15


def _within(path: Path, *rooms: str) -> bool:
    return any(path.is_relative_to(_ROOT / room) for room in rooms)


def _lines(paths: Sequence[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def _code(paths: Sequence[Path]) -> int:
    """Lines with code: neither blank nor only comment or docstring."""
    return sum(len(_lines_of_code(path.read_text(encoding="utf-8"))) for path in paths)


def _lines_of_code(text: str) -> set[int]:
    used: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            used.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                used.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return used


def _bytes_of_data() -> int:
    return sum(
        path.stat().st_size
        for path in _PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc", ".typed"}
    )


def _fields(room: Path) -> set[str]:
    """Names of the fields of the values in a room."""
    return {
        statement.target.id
        for path in room.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }


def _printed(program: str) -> list[int]:
    """The numbers that a process of its own prints."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=_ROOT)
    return [int(each) for each in done.stdout.split()]


def _first(variant: str) -> float:
    """Milliseconds of a first synth, with the bytecode that an installed package has."""
    command = [sys.executable, "-m", "bench.worker", "first", variant]
    given, kept = pickle.dumps(WORKLOADS[_FIRST]), {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, input=given, capture_output=True, check=True, cwd=_ROOT, env=kept)
    return float(json.loads(done.stdout)["ms"])


if __name__ == "__main__":
    main()
