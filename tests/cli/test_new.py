"""`gpu-constructs new` writes an app where nothing is, and says which stories there are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gpu_constructs.cli.new import files_of, stories
from gpu_constructs.cli.program import main


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_each_story_is_listed_with_a_price_and_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for story, text in stories().items():
        (row,) = (line for line in lines if line.split(" ")[0] == story)
        assert text[:30] in row


def test_an_app_is_written_and_what_comes_next_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "chat", "my app"]) == 0
    written = {each.relative_to("my app").as_posix() for each in Path("my app").rglob("*") if each.is_file()}
    assert written == files_of("chat").keys()
    assert [each.name for each in tmp_path.iterdir()] == ["my app"]
    assert "\nnext:\n  cd 'my app'\n  python -m pip install -r requirements.txt\n" in capsys.readouterr().out


def test_an_app_says_what_to_change_first() -> None:
    assert "\n- `DOMAIN`: the deploy waits until its owner has confirmed" in files_of("chat")["README.md"]
    assert "\n- `BLOCK, ZONE`: of the Capacity Block that you bought\n" in files_of("gang")["README.md"]
    assert "app.py" not in files_of("existing-cluster")["README.md"]


def test_a_pull_request_is_compared_with_what_it_goes_into() -> None:
    _, _, compared = files_of("chat")[".github/workflows/gpu.yml"].partition("ref: ${{ github.base_ref }}\n")
    assert compared.lstrip().startswith("path: base\n")
    assert "if: hashFiles('base/cdk.json') != ''" in compared  # nothing is there before the first one
    assert "pip install -r base/requirements.txt\n          (cd base && PATH=" in compared
    assert compared.endswith("gpu-constructs plan --diff base/cdk.out cdk.out\n")


def test_the_workflow_of_an_app_has_the_versions_that_are_tested_here() -> None:
    files, top = files_of("chat"), Path(__file__).parents[2]
    workflow = files[".github/workflows/gpu.yml"]
    line = json.loads((top / "package.json").read_text())["devDependencies"]["aws-cdk"]
    assert {*re.findall(r"aws-cdk@(\S+)", workflow)} == {line}
    library = r"^aws-cdk-lib==[\w.]+"
    tested = (top / "requirements" / "dev.txt").read_text()
    assert (
        re.findall(library, files["requirements.txt"], re.MULTILINE) == re.findall(library, tested, re.MULTILINE) != []
    )
    actions = r"actions/checkout@\S+"
    assert {*re.findall(actions, workflow)} == {*re.findall(actions, (top / "docs" / "ci.md").read_text())}


@pytest.mark.parametrize("folder", ["-x", 'it\'s "b"\\'])
def test_the_next_line_leads_into_the_folder(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "chat", "--", folder]) == 0
    line = capsys.readouterr().out.partition("next:\n")[2].splitlines()[0]
    bash = shutil.which("bash") or "bash"
    entered = subprocess.run([bash, "-c", f"{line} && test -f cdk.json"], check=False, capture_output=True)
    assert (entered.returncode, entered.stderr) == (0, b"")


def test_a_new_repository_is_empty_enough() -> None:
    Path(".git").mkdir()
    assert main(["new", "batch", "."]) == 0
    assert Path("app.py").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["chat", "full"], "'full' is not empty; fix: name a folder that is not there"),
        (["chat", "full/mine"], "cannot write full/mine: File exists"),
        (["Chat_private"], "no story is called 'Chat_private'; fix: did you mean chat-private or chat? Or, "),
        (["../chat"], "no story is called '../chat'; fix: "),
        (["kubernetes"], "no story is called 'kubernetes'; fix: gpu-constructs new lists the stories"),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_is_changed(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("full").mkdir()
    Path("full/mine").write_text("kept", encoding="utf-8")
    assert main(["new", *words]) == 2
    assert f"gpu-constructs: {message}" in capsys.readouterr().err
    assert [str(each) for each in sorted(Path().rglob("*"))] == ["full", "full/mine"]


def test_a_capacity_block_is_not_over_when_its_app_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1924992000")  # 2031-01-01
    assert '"2031-01-15T11:30:00+00:00"' in files_of("gang")["app.py"]
