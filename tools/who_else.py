"""Writes ``tools/who_else.json``: which rules of other tools find the example of a rule of ours, and not the right one.

``make who-else`` runs cfn-lint with its default rules and cdk-preflight, which checks apps of CDK alone, over both
examples of every rule. It takes three minutes. What a tool finds there for another reason is in `_ANOTHER`.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from gpu_constructs.rules import all_rules
from tests.linting import found_by
from tests.preflight import preflighted
from tools.rule_examples import Example, example_of

__all__ = ["cdk_preflight_finds"]

_FILE = Path(__file__).with_suffix(".json")
_ANOTHER: Mapping[str, str] = {
    "pf-batch-ce-security-groups-required": "GPU347 is about nodes that cannot reach each other, however they get none",
    "pf-ecs-cp-managed-termination-scale-in-protection": "GPU123 is about managed scaling, this about the group",
}
"""Rules that differ between examples without saying what ours says, each with why."""


def _cfn_lint_finds(example: Example) -> set[str]:
    """Rules of cfn-lint that find something in an example, and not where it is right."""
    wrong, right = ({each.rule.id for each in found_by(example.file(part))} for part in (example.wrong, example.right))
    return wrong - right


def cdk_preflight_finds(examples: Mapping[str, Example]) -> dict[str, set[str]]:
    """Rules of cdk-preflight that find something in examples, and not where those are right, by the name of each."""
    with TemporaryDirectory() as folder:
        for name, example in examples.items():
            for part, text in (("wrong", example.wrong), ("right", example.right)):
                Path(folder, f"{name}-{part}.json").write_text(json.dumps(example.template(text)), encoding="utf-8")
        found = defaultdict[str, set[str]](set)
        for each in preflighted(sorted(Path(folder).iterdir())):
            rule, file, _ = each.split(maxsplit=2)
            if rule.startswith("pf-") and rule not in _ANOTHER:  # CDK's own validation reports beside it
                found[Path(file).stem].add(rule)
    return {each: found[f"{each}-wrong"] - found[f"{each}-right"] for each in examples}


def _write() -> None:
    examples = {each.id: example_of(each.id) for each in sorted(all_rules(), key=lambda each: each.id)}
    tools = {
        "cfn-lint": {name: _cfn_lint_finds(each) for name, each in examples.items()},
        "cdk-preflight": cdk_preflight_finds(examples),
    }
    said = {tool: {name: ", ".join(sorted(ids)) for name, ids in of.items() if ids} for tool, of in tools.items()}
    about = " and ".join(f"{each} {version(each)}" for each in tools)
    today = dt.datetime.now(tz=dt.timezone.utc).date().isoformat()
    written = {"about": f"{about}; make who-else writes this file", "date": today, **said}
    _FILE.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _write()
