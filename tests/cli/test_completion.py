"""``gpu-constructs completion``: a shell completes commands, options and their values."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gpu_constructs.cli import main


def completed(script: str, *words: str, at: Path) -> list[str]:
    """What bash offers for the last of some words."""
    quoted = " ".join(f"'{each}'" for each in words)
    typed = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}"
    asked = f'{script}\n{typed}; _gpu_constructs; printf "%s\\n" "${{COMPREPLY[@]}}"'
    bash = str(shutil.which("bash"))
    return subprocess.run([bash, "-c", asked], cwd=at, capture_output=True, text=True, check=True).stdout.split()


def test_bash_completes_commands_options_values_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    (tmp_path / "template.yaml").touch()
    assert completed(script, "gpu-constructs", "pre", at=tmp_path) == ["preflight"]
    assert completed(script, "gpu-constructs", "check", "--out", at=tmp_path) == ["--output"]
    assert completed(script, "gpu-constructs", "check", "--format", "s", at=tmp_path) == ["sarif"]
    assert completed(script, "gpu-constructs", "plan", "--format", "", at=tmp_path) == ["text", "json"]
    assert completed(script, "gpu-constructs", "check", "te", at=tmp_path) == ["template.yaml"]
    assert completed(script, "gpu-constructs", "completion", "z", at=tmp_path) == ["zsh"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_it(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "preflight" in script
    assert "sarif" in script
    if program := shutil.which(shell):
        subprocess.run([program, "-n", "-c", script], check=True)
