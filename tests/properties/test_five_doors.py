"""Five doors, one answer: check, the check at synth, explain, cfn-lint and the pytest kit on the same generated files.

What agreement means is said here, in what each door shows, and not in the words of the code behind them. A task fits,
cannot fit, or nobody can say.

- explain says which in ``fits``: true, false, null.
- The pytest kit passes where all GPU tasks fit, and else names the others.
- check shows an error or a warning of `CANNOT` where the task cannot fit, and of `DOUBTS` only where it does not
  certainly fit. Where it shows none, the task fits, or nobody can say because a part is missing, or nothing in the
  files says who runs it. A task that is sent to pools, and of which nobody can say, is counted as not checked.
- cfn-lint shows what check shows, at its own ids; the check at synth what check shows of the same assembly.
"""

from __future__ import annotations

import io
import json
from argparse import ArgumentParser, Namespace
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import ManualArgs, lint
from cfnlint.rules import Rules
from cfnlint.template import Template

from gpu_constructs.check import report
from gpu_constructs.check.report import check_files, report_in
from gpu_constructs.cli import explain
from gpu_constructs.lint import lint_id
from gpu_constructs.rules import Finding, Severity
from gpu_constructs.rules.fit.unchecked import UNCHECKED
from gpu_constructs.template import Inputs
from gpu_constructs.testing import gpus
from tests.examples import times
from tests.properties.small_templates import Written, small_template

FILES = times(50)
PACK = "gpu_constructs.lint"

CANNOT = frozenset(
    {
        *("GPU027", "GPU028", "GPU032", "GPU033", "GPU060", "GPU061", "GPU062", "GPU063", "GPU067", "GPU070"),
        "GPU084",
    }
)
"""Rules about a task or its service that say that it runs nowhere, or not where it is sent."""

CANNOT_ON_POOL = frozenset({"GPU052", "GPU054", "GPU058", "GPU310"})
"""Rules about a pool that say that no GPU task runs there, or none at all."""

DOUBTS = frozenset({"GPU006", "GPU014", "GPU030", "GPU064", "GPU061", "GPU069", "GPU071", "GPU042"})
"""Rules about a task or its service that say that it may not run, or not on every host that it may get."""


@pytest.fixture(autouse=True)
def files(monkeypatch: pytest.MonkeyPatch) -> dict[int, str]:
    """Doors that are given the same files share what follows from those alone: stacks, fleet, and what rules find.

    Returns:
        Where a parsed template was written, by its identity: whoever is given the template reads that file.
    """
    written: dict[int, str] = {}
    read = remembered(Inputs)
    monkeypatch.setattr(
        report, "Inputs", lambda given, **named: read([written.get(id(each), each) for each in given], **named)
    )
    monkeypatch.setattr(Inputs, "stacks", remembered(Inputs.stacks))
    # No door is compared by the fixes that it shows, so none is tried.
    for each, always in (("files_of", {}), ("check", {"fixes": False}), ("_found", {})):
        monkeypatch.setattr(report, each, remembered(getattr(report, each), **always))
    monkeypatch.setattr(explain, "alternatives", lambda *_, **__: ())
    return written


def remembered(function: Callable[..., Any], **always: object) -> Callable[..., Any]:
    known: deque[tuple[object, Any]] = deque(maxlen=6)

    def remembering(*arguments: Any, **named: Any) -> Any:
        asked = (arguments, {name: each for name, each in named.items() if each is not None})
        for each, result in known:
            if each == asked:
                return result
        known.append((asked, function(*arguments, **{**named, **always})))
        return known[-1][1]

    return remembering


def test_all_doors_give_the_same_answer(tmp_path: Path, files: dict[int, str]) -> None:
    answers: Counter[bool | None] = Counter()
    for number in range(FILES):
        written = small_template(number)
        template = written.template
        app, file = assembly_of(template, tmp_path / str(number))
        files[id(template)] = file
        # An app is whole, and a template may have hosts elsewhere.
        as_file, as_app = (check_files([each]).findings for each in (file, app))
        assert shown(as_file) == shown_by_lint(template), number
        assert shown(as_app) == shown(report_in([app]).findings), number
        source, found = (app, as_app) if number % 2 else (file, as_file)
        unplaceable = named_by_the_kit(source)
        for task, answer in explained(written, source).items():
            disagreement = against_check(written, task, answer, found)
            assert not disagreement, f"{number} {task}: explain says {answer}, {disagreement}"
            if wants_gpu(written, task):
                assert (answer is not True) is (task in unplaceable), f"{number} {task}: {answer}, {unplaceable}"
            answers[answer] += 1
    assert min(answers[each] for each in (True, False, None)) > FILES // 15, answers


def test_cfn_lint_itself_shows_what_its_rules_show() -> None:
    template = small_template(0).template
    matches = lint(json.dumps(template), config=ManualArgs(append_rules=[PACK], include_checks=["I"]))
    ours = Counter(each.rule.id for each in matches if each.rule.id[1:] >= "9500")
    assert ours == Counter(identity for identity, _ in shown_by_lint(template).elements())


def against_check(written: Written, task: str, answer: bool | None, findings: Iterable[Finding]) -> str:
    """What check shows that does not go with an answer of explain; empty if all does."""
    about = [each for each in findings if concerns(written, task, each)]
    cannot = {each.rule for each in about if each.rule in CANNOT and each.severity is Severity.ERROR}
    cannot |= {each.rule for each in findings if each.rule in CANNOT_ON_POOL and condemns(written, task, each)}
    doubts = {each.rule for each in about if each.rule in DOUBTS or each.rule in CANNOT} - cannot
    if cannot and answer is not False:
        return f"and check says that it cannot: {cannot}"
    if doubts and answer is True:
        return f"and check has doubts: {doubts}"
    is_said = doubts or cannot or any(each.rule == UNCHECKED for each in about)
    if answer is None and is_sent(written, task) and not is_said:
        return f"and check counts it as checked: {sorted({each.rule for each in findings})}"
    if answer is False and not cannot and not doubts and is_sent(written, task):
        return f"and check says nothing: {sorted({each.rule for each in findings})}"
    return ""


def concerns(written: Written, task: str, finding: Finding) -> bool:
    """Whether a finding is about a task or a service of it, wherever its change is to be made."""
    about = finding.about or finding.origin
    return about is not None and about.resource in {task, *written.services[task]}


def condemns(written: Written, task: str, finding: Finding) -> bool:
    """Whether a finding about a pool is about one to which the task is certainly sent, and keeps it from running."""
    pools = {pool for service in written.services[task] for pool in written.sent[service]}
    resource = "" if finding.origin is None else finding.origin.resource.removesuffix("Launch").removesuffix("Group")
    # A host with the image of another architecture does not boot.
    is_for_it = wants_gpu(written, task) or "is built for" in finding.message
    return finding.severity is Severity.ERROR and is_for_it and resource in pools


def is_sent(written: Written, task: str) -> bool:
    """Whether a strategy says to which pools its copies go."""
    return any(written.sent[service] for service in written.services[task])


def wants_gpu(written: Written, task: str) -> bool:
    return '"GPU"' in json.dumps(written.resources[task])


def explained(written: Written, source: str) -> dict[str, bool | None]:
    """What explain says of each task."""
    told: dict[str, bool | None] = {}
    for task in written.tasks:
        out = io.StringIO()
        with redirect_stdout(out):
            code = explain.run(explain_parser().parse_args([task, source, "--format", "json"]))
        facts = json.loads(out.getvalue())
        told[task] = facts["fits"]
        kept = facts["no_first_host"] or facts["errors"]
        assert code == (0 if told[task] is True and not kept else 1)
    return told


@lru_cache(maxsize=1)
def explain_parser() -> ArgumentParser:
    parser = ArgumentParser()
    explain.define(parser)
    return parser


def named_by_the_kit(source: str) -> frozenset[str]:
    """Tasks that the kit does not call placeable."""
    try:
        gpus(source).every_gpu_task_is_placeable()
    except AssertionError as error:
        lines = str(error).splitlines()
        return frozenset(each.split("'")[1].rsplit("/", 1)[-1] for each in lines if each.startswith("task '"))
    return frozenset()


def shown(findings: Iterable[Finding]) -> Counter[tuple[str, str]]:
    return Counter((lint_id(each.rule, each.severity), each.message) for each in findings)


def shown_by_lint(template: dict[str, Any]) -> Counter[tuple[str, str]]:
    """What the rule classes show of a template, without the fix that each text ends with."""
    read = Unindexed(template)
    texts = ((rule.id, each.message.partition(": ")[2]) for rule in lint_rules() for each in rule.match(read))
    return Counter((id_, text.partition("; fix: ")[0]) for id_, text in texts)


class Unindexed(Template):  # type: ignore[misc] # cfn-lint ships no types
    """A template as a rule is given it, without the indexes of its functions, which cost more than all our rules."""

    def __init__(self, template: dict[str, Any]) -> None:
        self.template, self.filename, self.regions = template, "template.yaml", ["us-east-1"]
        self.context = Namespace(parameter_sets=None)


@lru_cache(maxsize=1)
def lint_rules() -> tuple[Any, ...]:
    return tuple(Rules.create_from_module(PACK).data.values())


def assembly_of(template: dict[str, Any], folder: Path) -> tuple[str, str]:
    """A cloud assembly of one stack in a new folder, and the file of its template."""
    file = folder / "Stack.template.json"
    stack = {"type": "aws:cloudformation:stack", "properties": {"templateFile": file.name}}
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps({"version": "48.0.0", "artifacts": {"Stack": stack}}))
    file.write_text(json.dumps(template), encoding="utf-8")
    return str(folder), str(file)
