"""A repository of several teams, each with the files of another tool, as large as one likes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.cli import main
from tests.cli.templates import template
from tests.template.terraform.written_plans import as_plan

WRONG = "9"
"""GPUs of a task for which hosts of one are too small."""


def make(root: Path, number: int) -> dict[str, int]:
    """Writes a repository, an equal part of it by each tool, in directories of up to three files.

    Args:
        root: Where.
        number: How many templates, task definitions and jobs there are.

    Returns:
        How many tasks of each directory fit on no host.
    """
    tools = (_cdk, _cloudformation, _sam, _copilot, _batch, _terraform)
    wrong: dict[str, int] = {}
    for place in range(number):
        tool = tools[place % len(tools)]
        folder = f"{tool.__name__.strip('_')}/{place // (3 * len(tools))}"
        is_wrong = place % 4 == 0
        tool(root / folder, place, WRONG if is_wrong else "1")
        wrong[folder] = wrong.get(folder, 0) + is_wrong
    return wrong


def _cdk(folder: Path, place: int, gpus: str) -> None:
    manifest = folder / "manifest.json"
    artifacts = json.loads(manifest.read_text(encoding="utf-8"))["artifacts"] if manifest.exists() else {}
    file = f"Stack{place}.template.json"
    artifacts[f"Stack{place}"] = {"type": "aws:cloudformation:stack", "properties": {"templateFile": file}}
    put(folder / file, template(gpus=gpus))
    put(manifest, {"version": "55.0.0", "artifacts": artifacts})


def _cloudformation(folder: Path, place: int, gpus: str) -> None:
    # JSON is YAML as well; a key without quotes makes it YAML alone.
    put(folder / f"stack{place}.yaml", f"Description: of a team\n{_yaml(template(gpus=gpus))}")


def _sam(folder: Path, place: int, gpus: str) -> None:
    transform = "Transform: AWS::Serverless-2016-10-31\n"
    put(folder / f"template{place}.yml", f"{transform}{_yaml(template(gpus=gpus))}")


def _copilot(folder: Path, place: int, gpus: str) -> None:
    needs = [{"type": "GPU", "value": gpus}]
    container = {"name": "a", "image": "b", "memory": 512, "resourceRequirements": needs}
    put(folder / f"task{place}.json", {"family": f"t{place}", "containerDefinitions": [container]})


def _batch(folder: Path, place: int, gpus: str) -> None:
    needs = [{"type": "GPU", "value": gpus}, {"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "512"}]
    properties = {"image": "b", "resourceRequirements": needs}
    put(
        folder / f"job{place}.json",
        {"jobDefinitionName": f"j{place}", "type": "container", "containerProperties": properties},
    )


def _terraform(folder: Path, place: int, gpus: str) -> None:
    body = template(gpus=gpus)
    for each in body["Resources"].values():
        each.pop("Metadata", None)  # which a plan has not
    put(folder / f"plan{place}.json", as_plan(body))


def _yaml(body: Mapping[str, Any]) -> str:
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in body.items())


def put(path: str | Path, body: object) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(body if isinstance(body, str) else json.dumps(body), encoding="utf-8")


def checked(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    code = main(["check", *arguments, "--format", "json"])
    told = capsys.readouterr()
    return code, json.loads(told.out or "{}"), told.err
