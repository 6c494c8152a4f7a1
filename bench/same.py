"""Whether both variants of a workload come to the same templates, whatever their resources are called.

A template is a graph of resources, and logical ids are only the names of its nodes. Each resource gets a fingerprint of
its type, its properties and the fingerprints of what it refers to, repeated until no two resources can be told apart
any further; the fingerprints then take the place of the ids. What is left out besides: metadata, and the values of Name
tags and the names in descriptions, which CDK writes from construct paths.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bench.variants import VARIANTS, synthesize_together
from bench.workloads import Workload

__all__ = ["canonical", "differences"]

Template = dict[str, Any]

_WORD = re.compile("[A-Za-z0-9]+")  # all that a logical id may be made of
_UNIQUE_NAME = re.compile(r"\b\w*fleet\d+\w*[0-9A-F]{8}\b")  # with which CDK describes security groups


def differences(workloads: Iterable[Workload]) -> dict[str, list[str]]:
    """Lines of a diff from the templates by hand to the library's, by workload; none where they are the same."""
    named = {each.name: each for each in workloads}
    with tempfile.TemporaryDirectory() as folder:
        made = {variant: _templates(variant, named.values(), Path(folder, variant)) for variant in VARIANTS}
    return {
        name: _diff(plain, library) for name, plain, library in zip(named, made["plain"], made["library"], strict=True)
    }


def _templates(variant: str, workloads: Iterable[Workload], outdir: Path) -> list[dict[str, str]]:
    """The templates of each workload, by their files."""
    return [
        {path.name: canonical(json.loads(path.read_text())) for path in folder.glob("*.template.json")}
        for folder in synthesize_together(variant, workloads, outdir)
    ]


def _diff(plain: Mapping[str, str], library: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for name in sorted({*plain, *library}):
        before, after = (each.get(name, "").splitlines() for each in (plain, library))
        lines += difflib.unified_diff(before, after, f"plain/{name}", f"library/{name}", lineterm="")
    return lines


def canonical(template: Template) -> str:
    """The template as text that does not depend on logical ids, nor on the order of its resources."""
    resources = {
        logical_id: {key: value for key, value in resource.items() if key != "Metadata"}
        for logical_id, resource in template.get("Resources", {}).items()
    }
    names = dict.fromkeys(resources, "")
    while True:
        finer = {logical_id: _fingerprint(_renamed(body, names)) for logical_id, body in resources.items()}
        if len(set(finer.values())) == len(set(names.values())):
            break
        names = finer
    bodies = sorted((_renamed(body, names) for body in resources.values()), key=_text)
    rest = {key: _renamed(value, names) for key, value in template.items() if key not in {"Resources", "Metadata"}}
    return json.dumps([*bodies, rest], indent=1, sort_keys=True)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401 - any part of a template
    """The same with logical ids replaced, in references and in names that CDK makes of them."""
    if isinstance(value, str):
        return _WORD.sub(lambda word: names.get(word[0], word[0]), _UNIQUE_NAME.sub("(construct path)", value))
    if isinstance(value, list):
        return [_renamed(each, names) for each in value]
    if isinstance(value, dict):
        if value.keys() == {"Key", "Value"} and value["Key"] == "Name":
            return {"Key": "Name", "Value": "(construct path)"}
        return {key: _renamed(each, names) for key, each in value.items()}
    return value


def _fingerprint(body: Any) -> str:  # noqa: ANN401 - any part of a template
    return hashlib.sha256(_text(body).encode()).hexdigest()[:12]


def _text(body: Any) -> str:  # noqa: ANN401 - any part of a template
    return json.dumps(body, sort_keys=True)
