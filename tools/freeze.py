"""What users get, kept before a change to the library and compared after it.

python -m tools.freeze save FOLDER       # before
python -m tools.freeze compare FOLDER    # after: every difference is a line of the changelog, or a bug

Kept are the templates of every documented example, reference stack and legal combination of the matrix, with CDK's
flags on and off; what `check` finds in the examples of the rules' acceptance set; refusals of constructors; and the
public names with their arguments. The documented examples are kept with the results, so that a changed page is compared
with what its readers had before.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import json
import os
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

# All of the matrix, and no validation by other tools, of which nothing is kept.
os.environ.update(MATRIX="all", CDK_VALIDATION="false")

import aws_cdk as cdk

import gpu_constructs
from gpu_constructs import GpuCluster, GpuConstructsError
from tests.acceptance.recall import BROKEN, GOOD
from tests.documented import APPS, BLOCKS, blocks_of, names_of, templates_of
from tests.e2e.matrix import test_capacity, test_jobs, test_tasks
from tests.matrix.building import build
from tests.matrix.case import Case
from tests.matrix.choices import every_combination
from tests.matrix.contradictions import CONTRADICTIONS, applying
from tests.matrix.jobs import case_of
from tests.reports import of_template
from tests.stacks.stories import STORIES
from tests.synthesis import ROOT, Site

__all__ = ["main"]

Kept = Mapping[str, Any]
"""What is kept, by a name for each."""

_EACH_REFUSAL = 3
_FLAGS: Mapping[str, Mapping[str, Any]] = {"on": Site.recommended_context(), "off": {}}
_LINES = 12


def documented(blocks: Mapping[str, str], flags: str) -> Iterator[tuple[str, Any]]:
    """Templates of the Python blocks of the pages; what an incomplete block raises is kept as well."""
    os.environ["CDK_CONTEXT_JSON"] = json.dumps(_FLAGS[flags])
    for name, block in blocks.items():
        try:
            for path in templates_of(names_of(name, block)):
                yield f"{name} {path.name}", json.loads(path.read_text())
        except Exception as error:  # noqa: BLE001, PERF203 - whatever a block raises
            yield name, f"{type(error).__name__}: {error}"
    del os.environ["CDK_CONTEXT_JSON"]


def stories(flags: str) -> Iterator[tuple[str, Any]]:
    """Templates of the reference stacks."""
    for name, story in STORIES.items():
        with tempfile.TemporaryDirectory() as folder:
            app = cdk.App(outdir=folder, context=dict(_FLAGS[flags]), tree_metadata=False)
            story(app)
            app.synth()
            for path in sorted(Path(folder).rglob("*.template.json")):
                yield f"{name} {path.name}", json.loads(path.read_text())


def combinations(flags: str) -> Iterator[tuple[str, Any]]:
    """Templates of every legal combination of the matrix."""
    cases: Mapping[str, Callable[[], list[Case]]] = {
        "capacity": lambda: [test_capacity._case(each) for each in test_capacity.built_ones()],  # noqa: SLF001
        "tasks": lambda: [each.case for each in test_tasks.landings()],
        "jobs": lambda: [case_of(each, providers=20) for each in test_jobs.built_ones()],
    }
    context = dict(_FLAGS[flags])
    Site.recommended_context = staticmethod(lambda: context)  # type: ignore[method-assign]
    for name, made in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            built = build(Path(folder), made(), nagged=False)
            for stack in built.stacks:
                for logical_id, resource in built.template(stack)["Resources"].items():
                    yield f"{name} {stack} {logical_id}", resource


def verdicts() -> Iterator[tuple[str, Any]]:
    """What `check` finds in the acceptance set."""
    for path in sorted([*BROKEN.iterdir(), *GOOD.iterdir()]):
        if path.name == "expected":
            continue
        for each in of_template(path).findings:
            where = each.origin and [each.origin.resource, *each.origin.path, each.origin.line]
            yield (
                f"{path.parent.name}/{path.name} {each.rule} {each.subject} {each.message[:60]}",
                [str(each.severity), each.message, each.fix, where],
            )


def refusals() -> Iterator[tuple[str, Any]]:
    """What constructors refuse: some combinations for each reason."""
    stack = cdk.Stack()
    cluster = GpuCluster(stack, "Cluster", vpc=cdk.aws_ec2.Vpc(stack, "Vpc", max_azs=2))
    met: Counter[str] = Counter()
    for each in every_combination():
        reasons = [row.name for row in applying(each.traits)]
        if len(reasons) == 1 and met[reasons[0]] < _EACH_REFUSAL:
            met[reasons[0]] += 1
            try:
                test_capacity._add(each, cluster, f"Capacity{met.total()}")  # noqa: SLF001
            except GpuConstructsError as error:
                yield each.name, [type(error).__name__, error.argument, error.rule, str(error)]
        if len(met) == len(CONTRADICTIONS) and min(met.values()) >= _EACH_REFUSAL:
            return


def names() -> Iterator[tuple[str, Any]]:
    """The public names, with the arguments of their constructors and methods."""
    for name in gpu_constructs.__all__:
        thing = getattr(gpu_constructs, name)
        yield name, _signature(thing)
        for key, value in inspect.getmembers(thing):
            if not key.startswith(("_", "jsii")):
                yield f"{name}.{key}", _signature(value) if callable(value) else type(value).__name__


def _signature(thing: object) -> str:
    try:
        return str(inspect.signature(thing)) if callable(thing) else ""
    except ValueError:  # of what is written in C
        return ""


def kept(blocks: Mapping[str, str], only: str) -> Iterator[tuple[str, Kept]]:
    """Everything, part by part."""
    parts: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
        "names": names,
        "verdicts": verdicts,
        "refusals": refusals,
    }
    for flags in _FLAGS:
        parts[f"documented-{flags}"] = lambda flags=flags: documented(blocks, flags)  # type: ignore[misc]
        parts[f"stacks-{flags}"] = lambda flags=flags: stories(flags)  # type: ignore[misc]
        parts[f"matrix-{flags}"] = lambda flags=flags: combinations(flags)  # type: ignore[misc]
    for name, part in parts.items():
        if re.search(only, name):
            names_of.cache_clear()
            yield name, json.loads(json.dumps(dict(part()), default=str).replace(str(ROOT), ""))


def _written(value: object) -> list[str]:
    return json.dumps(value, indent=1, sort_keys=True).splitlines()


def main() -> int:
    """Saves or compares.

    Returns:
        1 if something differs.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.freeze", description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=["save", "compare"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a regular expression for the parts: names, verdicts, matrix-on, …")
    parser.add_argument("--all", action="store_true", help="print every difference, and not the first of each part")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    os.chdir(ROOT)
    folder: Path = arguments.folder
    pages = folder / "documented.json"
    if arguments.action == "save":
        folder.mkdir(parents=True, exist_ok=True)
        every = [*BLOCKS, *((page, block) for page in APPS for block in blocks_of(page))]
        numbered = {f"{page} {number}": block for number, (page, block) in enumerate(every)}
        pages.write_text(json.dumps(numbered))
        for name, part in kept(numbered, arguments.only):
            (folder / f"{name}.json").write_text(json.dumps(part))
            sys.stdout.write(f"{name}: {len(part)}\n")
        return 0
    differences = 0
    for name, part in kept(json.loads(pages.read_text()), arguments.only):
        before = json.loads((folder / f"{name}.json").read_text())
        changed = [key for key in dict.fromkeys([*before, *part]) if before.get(key) != part.get(key)]
        differences += len(changed)
        sys.stdout.write(f"{name}: {len(changed)} of {len(part)} differ\n")
        for key in changed if arguments.all else changed[:_LINES]:
            lines = difflib.unified_diff(_written(before.get(key)), _written(part.get(key)), lineterm="", n=0)
            sys.stdout.write("\n  ".join([f"  {key}", *list(lines)[2 : 2 + _LINES]]) + "\n")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
