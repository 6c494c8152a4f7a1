"""``gpu-constructs check .``: what is found in a directory, and that each one is a world of its own."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.check import repository, worlds
from gpu_constructs.check.report import Asked
from gpu_constructs.check.repository import World, worlds_of
from gpu_constructs.facts.budget import STEPS, work
from tests.cli.many_files import checked, make, put
from tests.cli.templates import app, template, with_choice

ASSET = {"aws:asset:path": "nested.json", "aws:asset:property": "TemplateURL"}
NESTED = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "x"}, "Metadata": ASSET}
TASK = {"family": "train", "containerDefinitions": [{"name": "a", "image": "b", "memory": 512}]}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)  # noqa: S607 - git of the path


def files(*paths: str) -> list[tuple[str, ...]]:
    return [each.inputs for each in worlds_of(paths or (".",)).worlds]


def test_files_are_known_by_what_is_in_them(here: Path) -> None:
    put("infra/stack", template())
    put("infra/t.yml", "Resources:\n  A: {Type: AWS::SNS::Topic}\n")
    put("task.txt", TASK)
    app(here / "out", {})
    put("package.json", {"name": "x", "resources": {}})
    put("web/manifest.json", {"name": "app", "version": "1"})
    put("notes.md", "# Resources\n")
    put("node_modules/a/t.json", template())
    put(".venv/t.json", template())
    put("env/pyvenv.cfg", "")
    put("env/t.json", template())
    Path("image.png").write_bytes(b"\x89PNG\0Resources:")
    found = worlds_of(["."])
    assert [each.inputs for each in found.worlds] == [("task.txt",), ("infra/stack", "infra/t.yml"), ("out",)]
    assert found.skipped == 4


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
def test_a_file_in_another_encoding_is_looked_at_and_told(encoding: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.json").write_bytes(json.dumps({"A": "a" * 5000, **template()}).encode(encoding))
    Path("notes.txt").write_bytes("Resources are few".encode(encoding))
    code, _, told = checked(".", capsys=capsys)
    assert (code, "plan.json: UTF-16 or UTF-32" in told) == ((0, False) if encoding == "utf-8" else (2, True))


@pytest.mark.parametrize("has_git", [True, False])
def test_what_git_ignores_is_left_out_and_an_assembly_among_it_is_named(
    has_git: bool, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("init", "-q")
    put(".gitignore", "cdk.out/\n*.gen.json\n!keep.gen.json\n")
    put("a/.gitignore", "/local.json\n")
    for name in ("t.json", "b.gen.json", "keep.gen.json", "a/local.json", "a/b/local.json"):
        put(name, template())
    app(here / "cdk.out", {})
    if not has_git:
        monkeypatch.setenv("PATH", "")
    found = worlds_of(["."])
    assert [each.inputs for each in found.worlds] == [("keep.gen.json", "t.json"), ("a/b/local.json",)]
    assert found.ignored == ("cdk.out",)
    assert files("cdk.out") == [("cdk.out",)]
    assert files("a") == [("a/b/local.json",)]


def test_what_is_tracked_is_not_ignored_and_a_repository_inside_is_looked_at() -> None:
    git("init", "-q")
    put("t.json", template())
    git("add", "t.json")
    put(".gitignore", "*.json")
    git("init", "-q", "inner")
    put("inner/u.yaml", template())
    assert files() == [("t.json",), ("inner/u.yaml",)]


def test_patterns_choose_files_of_directories_and_none_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    put("a/t.json", template())
    put("b/t.json", template())
    put("b/old/t.json", template())
    assert checked(".", "--exclude", "old/", "--exclude", "/a", capsys=capsys)[1]["files"] == ["b/t.json"]
    assert checked(".", "--include", "b/**", capsys=capsys)[1]["files"] == ["b/t.json", "b/old/t.json"]
    assert checked("a/t.json", "--exclude", "/a", capsys=capsys)[1]["files"] == ["a/t.json"]


def test_links_pipes_and_sockets_keep_nobody_waiting() -> None:
    put("a/t.json", template())
    Path("a/loop").symlink_to("..")
    Path("a/self").symlink_to("self")
    Path("a/gone.json").symlink_to("nowhere")
    os.mkfifo("a/pipe.json")
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("s.json")
        assert files() == [("a/t.json",)]
    git("init", "-q")
    assert files() == [("a/t.json",)]


def test_one_file_that_cannot_be_read_keeps_no_other_from_being_checked(capsys: pytest.CaptureFixture[str]) -> None:
    put("a/t.json", template(gpus="9"))
    put("b/broken.json", '{"Resources": {')
    put("b/t.json", template(gpus="9"))
    code, report, said = checked(".", capsys=capsys)
    assert code == 2
    assert report["files"] == ["a/t.json", "b/t.json"]
    assert {each["file"] for each in report["findings"] if each["severity"] == "error"} == {"a/t.json", "b/t.json"}
    assert [(each["file"], each["line"]) for each in report["unreadable"]] == [("b/broken.json", 1)]
    assert said.startswith("gpu-constructs: b/broken.json:1:16: not JSON")
    assert checked("a/t.json", "b/broken.json", capsys=capsys)[0] == 2


@pytest.mark.parametrize("bad", ["{", "[]", json.dumps({"Resources": {"N": NESTED}})])
def test_one_stack_of_an_assembly_that_cannot_be_read_keeps_no_other_from_being_checked(
    bad: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(here, 18)  # three stacks are those of CDK
    put("cdk/0/Stack6.template.json", bad)
    put("cdk/0/nested.json", "{")
    code, report, told = checked("cdk/0", capsys=capsys)
    assert code == 2
    assert told.count("\n") == 1
    assert ("nested.json" if "Resources" in bad else "Stack6.template.json") in told
    assert {each["file"] for each in report["findings"] if each["rule"] == "GPU060"} == {
        "cdk/0/Stack0.template.json",
        "cdk/0/Stack12.template.json",
    }


def test_an_import_that_another_directory_exports_names_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    put("a/t.json", template(Outputs={"Name": {"Value": "x", "Export": {"Name": "Team:Cluster"}}}))
    put("b/t.json", with_import := template())
    resources = with_import["Resources"]
    resources["Service"]["Properties"]["Cluster"] = {"Fn::ImportValue": "Team:Cluster"}
    put("b/t.json", with_import)
    told = "'Team:Cluster': imported, and exported in another directory"
    assert told in checked("a", "b", capsys=capsys)[2]
    assert told not in checked("a", "b", "--together", capsys=capsys)[2]
    assert told not in checked("b", capsys=capsys)[2]


def test_each_directory_is_a_world_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = {"Name": {"Value": "x", "Export": {"Name": "Team:Cluster"}}}
    put("a/t.json", template(Outputs=outputs))
    put("b/t.json", template(Outputs=outputs))
    assert "Team:Cluster" not in checked(".", capsys=capsys)[2]
    code, report, said = checked(".", "--together", capsys=capsys)
    assert (code, report["summary"]["checked_apart"]) == (0, 1)
    assert "output Name of a/t.json and output Name of b/t.json both export 'Team:Cluster'" in said


def test_a_list_of_things_with_a_name_and_an_image_is_no_task(capsys: pytest.CaptureFixture[str]) -> None:
    put("data/products.json", [{"id": 1, "name": "chair", "image": "chair.png"}])
    put("data/containers.json", [{"name": "a", "image": "b", "memory": 512}])
    code, report, _ = checked(".", capsys=capsys)
    assert (code, report["summary"]["tasks"], report["summary"]["skipped_files"]) == (0, 1, 1)


def test_plans_of_two_environments_lie_side_by_side() -> None:
    for each in ("dev", "prod"):
        put(f"plans/{each}.json", {"format_version": "1.2", "terraform_version": "1.9.0", "resource_changes": []})
    put("plans/task.json", TASK)
    assert files() == [("plans/task.json",), ("plans/dev.json",), ("plans/prod.json",)]


def test_a_nested_template_of_another_directory_is_judged_with_the_parameters_that_it_gets(
    capsys: pytest.CaptureFixture[str],
) -> None:
    put("nested/child.json", with_choice("g6.12xlarge"))
    parameters = {"InstanceType": "g6.12xlarge"}
    nested = {"TemplateURL": "nested/child.json", "Parameters": parameters}
    put("parent.json", {"Resources": {"Child": {"Type": "AWS::CloudFormation::Stack", "Properties": nested}}})
    _, report, _ = checked(".", capsys=capsys)
    assert (report["summary"]["pools"], report["summary"]["checked_apart"]) == (1, 1)


def test_after_forty_whole_calls_a_directory_has_a_part_of_one_though_it_is_judged_again(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []

    def takes_all(*_: object) -> worlds._Answer:
        given.append(work().left)
        work().spend(STEPS)
        return worlds._Answer(report=worlds._NOTHING, beyond=frozenset({str(here / "nested")}))

    monkeypatch.setattr(worlds, "_answer", takes_all)
    of_parent = World(inputs=("nested", "other"), found=frozenset({"nested"}))
    worlds.check_worlds([of_parent, *(World(inputs=(str(number),)) for number in range(40))], Asked(rules=()))
    assert given == [STEPS] * 40 + [STEPS // 20] * 2


def test_a_parameter_has_to_be_declared_somewhere(capsys: pytest.CaptureFixture[str]) -> None:
    put("a/t.json", with_choice("g6.12xlarge"))
    put("b/t.json", template())
    assert checked(".", "--parameter", "InstanceType=g6.12xlarge", capsys=capsys)[0] == 0
    put("c.json", TASK)
    told = checked(".", "--parameter", "Instance=x", capsys=capsys)[2]
    assert "2 templates: no parameter 'Instance' is declared; fix: did you mean InstanceType or" in told
    told = checked(".", "--parameter", "InstanceType=x", capsys=capsys)[2]
    assert ("cannot be 'x'" in told, "no parameter" in told) == (True, False)


def test_nothing_to_check_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    put("a.txt", "a")
    put("deploy.yaml", "version: 0.0\nResources:\n  - TargetService: {Type: AWS::ECS::Service}\n")
    code, _, said = checked(".", capsys=capsys)
    assert (code, "nothing to check in .: none of 2 files is a template" in said) == (2, True)


def test_a_directory_that_cannot_be_opened_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put("a/t.json", template())
    put("secret/t.json", template())
    opened = os.scandir

    def refused(path: str) -> Any:
        if path == "secret":
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path)

    monkeypatch.setattr(os, "scandir", refused)
    code, report, said = checked(".", capsys=capsys)
    assert (code, report["files"]) == (2, ["a/t.json"])
    assert said == "gpu-constructs: secret: cannot be read: permission denied\n"


def test_what_git_could_not_open_is_said(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("init", "-q")
    put("a/t.json", template())
    put(
        "bin/git",
        "#!/bin/sh\necho \"warning: could not open directory 'secret/': Permission denied\" >&2\nprintf 'a/t.json'\n",
    )
    Path("bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{here}/bin:/bin:/usr/bin")
    assert [str(each) for each in worlds_of(["."]).unreadable] == ["secret: cannot be read: permission denied"]


def test_a_tree_that_is_too_large_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(repository, "WALKED", 2)
    for name in "abcd":
        put(f"{name}.json", template())
    code, report, said = checked(".", capsys=capsys)
    assert (code, len(report["files"])) == (2, 2)
    assert ".: more than 2 files are below it; fix: name directories in it, or leave some out with --exclude" in said


def test_an_assembly_without_the_notes_of_its_app_is_checked(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = app(here / "out", {})
    (here / "out" / "Demo.metadata.json").unlink()
    assert checked(folder, capsys=capsys)[0] == 0


def test_a_repository_of_six_tools_is_judged_directory_by_directory(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = make(here, 54)
    code, report, _ = checked(".", capsys=capsys)
    summary = report["summary"]
    plans = 54 // 6  # which each stand alone
    others = sum(not folder.startswith("terraform") for folder in wrong)
    assert (code, summary["checked_apart"], summary["tasks"]) == (1, others + plans, 54)
    found = dict.fromkeys(wrong, 0)
    for each in report["findings"]:
        found[str(Path(each["file"]).parent)] += each["rule"] == "GPU060" and each["severity"] == "error"
    judged = {folder: number for folder, number in wrong.items() if not folder.startswith(("copilot", "batch"))}
    assert {folder: found[folder] for folder in judged} == judged
    assert summary["unchecked"] == sum(folder.startswith(("copilot", "batch")) * 3 for folder in wrong)
