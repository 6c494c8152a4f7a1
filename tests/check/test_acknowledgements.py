"""What an app accepts with a reason counts for the construct that it was said of, and for everything in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.check.acknowledgements import Acknowledged, Acknowledgements
from gpu_constructs.check.report import check_files, report_in
from gpu_constructs.cli import main
from gpu_constructs.fleet import Origin
from gpu_constructs.rules import Finding, Severity
from gpu_constructs.template import Inputs
from gpu_constructs.template.documents.yaml_text import YamlText
from tests.acceptance.recall import BROKEN
from tests.cli.templates import app, template, written

REASON = "a capacity block is ours"


def accepting(path: str, rule: str = "gpu-constructs::GPU901", reason: Any = REASON) -> dict[str, Any]:
    return {path: [{"type": "aws:cdk:acknowledged-rules", "data": {rule: reason}}]}


def finding(folder: str, construct_path: str | None = "Demo/Chat/Resource", **origin: Any) -> Finding:
    file = str(Path(folder, "Demo.template.json"))
    place = Origin(**{"resource": "Chat", "file": file, "construct_path": construct_path, **origin})
    return Finding(rule="GPU901", severity=Severity.ERROR, subject="Chat", message="?", fix="", origin=place)


def accepted(folder: str, found: Finding) -> Acknowledged | None:
    return acknowledgements(folder).of(found)


def acknowledgements(*folders: str) -> Acknowledgements:
    inputs = Inputs(folders)
    return Acknowledgements(inputs.stacks(), inputs)


@pytest.mark.parametrize("in_manifest", [False, True])
@pytest.mark.parametrize("path", ["/Demo/Chat/Resource", "/Demo/Chat", "/Demo"])
def test_a_reason_counts_for_all_that_is_in_its_construct(path: str, in_manifest: bool, tmp_path: Path) -> None:
    folder = app(tmp_path, accepting(path), in_manifest=in_manifest)
    found = finding(folder)
    assert accepted(folder, found) == Acknowledged(finding=found, reason=REASON, in_app=True)


@pytest.mark.parametrize(
    "notes",
    [
        # a reason for something else
        accepting("/Demo/Chat", "gpu-constructs::GPU902"),
        accepting("/Demo/Chat", "GPU901"),
        accepting("/Demo/Cha"),
        accepting("/Demo/Chat/Resource/More"),
        accepting("/Demo/Hosts"),
        # another form
        [],
        {"/Demo/Chat": 5},
        {"/Demo/Chat": ["x", None, {"type": "aws:cdk:acknowledged-rules"}]},
        {"/Demo/Chat": [{"type": "aws:cdk:acknowledged-rules", "data": ["gpu-constructs::GPU901"]}]},
        {"/Demo/Chat": [{"type": "aws:cdk:warning", "data": {"gpu-constructs::GPU901": REASON}}]},
        accepting("/Demo/Chat", reason=None),
        accepting("/Demo/Chat", reason={"why": REASON}),
    ],
)
def test_notes_of_something_else_or_of_another_form_accept_nothing(notes: Any, tmp_path: Path) -> None:
    folder = app(tmp_path, notes)
    assert accepted(folder, finding(folder)) is None


def test_a_finding_without_a_construct_or_a_place_is_not_accepted_by_an_app(tmp_path: Path) -> None:
    folder = app(tmp_path, accepting("/Demo"))
    nowhere = Finding(rule="GPU901", severity=Severity.ERROR, subject="Chat", message="?", fix="")
    assert accepted(folder, finding(folder, construct_path=None)) is None
    assert accepted(folder, nowhere) is None


def odd() -> dict[str, Any]:
    """A stack of CDK in which something is found that somebody may accept."""
    body = template(gpus="8")
    for logical_id, resource in body["Resources"].items():
        resource.setdefault("Metadata", {})["aws:cdk:path"] = f"Demo/{logical_id}/Resource"
    return body


def test_check_of_an_assembly_leaves_out_what_its_app_accepts_and_counts_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = check_files([app(tmp_path, {}, body=odd())]).findings
    rules = {each.rule for each in found}
    assert main(["check", str(tmp_path)]) == 1
    capsys.readouterr()

    entries = [accepting("/Demo", f"gpu-constructs::{rule}")["/Demo"][0] for rule in sorted(rules)]
    app(tmp_path, {"/Demo": entries}, body=odd())
    assert main(["check", str(tmp_path), "--fail-on", "info"]) == 0
    told = capsys.readouterr().out
    assert f"nothing found, {len(found)} acknowledged in 1 file" in told
    assert all(rule in told for rule in rules)


def warned(folder: Path, **names: str) -> str:
    """An app in which constructs of some ids have warned, each twice, as CDK notes it."""
    return app(
        folder,
        {
            f"/Demo/{id_}": [{"type": "aws:cdk:warning", "data": f"so\nit is [ack: {name}]"}] * 2
            for id_, name in names.items()
        },
        body=odd(),
    )


def test_check_of_an_assembly_repeats_once_what_its_constructs_warned_of_and_could_not_check(tmp_path: Path) -> None:
    folder = warned(tmp_path, vllm="gpu-constructs::cpu-units", L4="gpu-constructs::GPU095")
    found = [each for each in check_files([folder]).findings if each.message == "so\nit is"]
    assert [(each.rule, each.severity) for each in found] == [
        ("GPU095", "warning"),
        ("gpu-constructs::cpu-units", "warning"),
    ]
    assert [each.origin and each.origin.construct_path for each in found] == ["Demo/L4", "Demo/vllm"]
    assert all("acknowledge gpu-constructs::" in each.fix for each in found)
    assert "so\nit is" not in {each.message for each in report_in([folder]).findings}  # at synth, CDK shows it
    note = {"type": "aws:cdk:info", "data": "not checked: so it is [ack: gpu-constructs::GPU229]"}
    (finding,) = check_files([app(tmp_path, {"/Demo/vllm": [note]}, body=odd())]).unchecked
    assert (finding.message, finding.severity) == ("so it is", "info")


def test_a_repeated_warning_names_the_other_constructs_that_have_it(tmp_path: Path) -> None:
    folder = warned(tmp_path, **dict.fromkeys(("A/train", "B/train"), "gpu-constructs::cpu-units"))
    assert "so\nit is (also of Demo/B/train)" in {each.message for each in check_files([folder]).findings}


@pytest.mark.parametrize("name", ["other::cpu-units", "gpu-constructs::cpu\nunits", "gpu-constructs::GPU060"])
def test_a_warning_of_others_or_one_that_a_rule_has_is_not_repeated(name: str, tmp_path: Path) -> None:
    folder = warned(tmp_path, Chat=name)
    assert "GPU060" in {each.rule for each in check_files([folder]).findings}
    assert "so\nit is" not in {each.message for each in check_files([folder]).findings}


def test_a_repeated_warning_of_a_rule_that_is_left_out_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = warned(tmp_path, vllm="gpu-constructs::cpu-units", L4="gpu-constructs::GPU095")
    main(["check", folder, "--ignore", "gpu-constructs::gpu095"])
    told = capsys.readouterr().out
    assert "vllm (Demo/vllm)" in told
    assert "warning  gpu-constructs::cpu-units  so" in told
    assert "GPU095" not in told


CPU_UNITS = "gpu-constructs::cpu-units"


@pytest.mark.parametrize(
    "configuration",
    [
        pytest.param(None, id="ignored on the command line"),
        pytest.param({"ignore": [CPU_UNITS]}, id="ignored in the configuration"),
        pytest.param({"ignore": [{"rule": CPU_UNITS, "reason": "we know"}]}, id="accepted with a reason"),
        pytest.param({"severity": {CPU_UNITS: "info"}}, id="made an info"),
    ],
)
def test_a_warning_that_no_rule_finds_is_not_told_where_it_is_(
    configuration: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = warned(tmp_path, vllm=CPU_UNITS, L4="gpu-constructs::GPU095")
    config = None if configuration is None else written(configuration, tmp_path / "configuration.json")
    main(["check", folder, *(["--ignore", "cpu-units"] if config is None else ["--config", config])])
    told = capsys.readouterr().out
    assert "GPU095" in told
    assert f"warning  {CPU_UNITS}" not in told


@pytest.mark.parametrize(("resource", "id_"), [("GpuGroup", "GPU060"), ("Trainer", "gpu-constructs::gpu060")])
def test_a_reason_counts_where_the_change_is_made_and_at_what_it_is_about(resource: str, id_: str) -> None:
    file = BROKEN / "017-smallest-type-of-a-mixed-group.yaml"
    written: Any = YamlText(file.read_text(encoding="utf-8"), file=file.name).data
    written["Resources"][resource]["Metadata"] = {"gpu-constructs": {"Acknowledge": {id_: REASON}}}
    report = check_files([written])
    assert [each.finding.rule for each in report.acknowledged] == ["GPU060"]
    assert "GPU060" not in {each.rule for each in report.findings}
