"""The app and the commands of ``docs/emulator.md``, by the real CDK command line, as a reader would run them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from .cdk_cli import COMPILED, ROOT

PAGE = (ROOT / "docs" / "emulator.md").read_text()


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_an_own_app_is_deployed_run_and_destroyed_as_the_page_says(tmp_path: Path) -> None:
    app, look, _ = _blocks("python")
    (settings,), (commands,) = _blocks("json"), _blocks("sh")
    # CDK's own validation takes half of each synth; `test_cdks_own_validation` has it for this app.
    # What Node has compiled of the command line takes three quarters of a command; jsii would keep what it compiles of
    # the app for nothing.
    first = f"set -e; cd {tmp_path}; export CDK_VALIDATION=false NODE_COMPILE_CACHE={COMPILED}"
    assert settings.count("python app.py") == 1
    settings = settings.replace("python app.py", "env -u NODE_COMPILE_CACHE python app.py")
    # What was deployed is destroyed: the app would be synthesized for it once more, which says nothing new.
    deploy, look_at_it, destroy = re.split(r"(?=python look|cdk destroy)", commands)
    commands = f"""{deploy}{look_at_it}echo '{{"app": "cdk.out"}}' > cdk.json\n{destroy}"""
    written = {"app.py": app, "look.py": look, "cdk.json": settings, "commands": f"{first}\n{commands}"}
    for name, text in written.items():
        (tmp_path / name).write_text(text)
    ended = subprocess.run(
        [sys.executable, "-m", "ecs_emulator", "sh", str(tmp_path / "commands")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "started arn:aws:ecs:" in ended.stdout
    assert re.search(r"^RUNNING \['GPU-", ended.stdout, re.MULTILINE)
    assert "the job SUCCEEDED" in ended.stdout
    assert "Batch: destroyed" in ended.stderr + ended.stdout
    assert "Traceback" not in ended.stderr
