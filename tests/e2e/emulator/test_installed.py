"""What `pip install gpu-constructs-emulator` gives somebody, in which the app of ``docs/emulator.md`` runs."""

from __future__ import annotations

import os
import re
import site
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from ecs_emulator.__main__ import _path

from tests.e2e.cdk_cli import ROOT
from tests.kernel import COMPILED

PAGE = (ROOT / "docs" / "emulator.md").read_text()


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    world = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=world, timeout=300)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment that has the wheel; what it requires is lent by ours."""
    folder = tmp_path_factory.mktemp("emulator")
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    build = (sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder)
    built = run(*build, cwd=ROOT / "ecs_emulator")
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    assert run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder).returncode == 0
    python = folder / "venv/bin/python"
    put = run(*pip, "--python", python, "install", "--no-index", "--no-deps", wheel, cwd=folder)
    assert put.returncode == 0, put.stderr
    (packages,) = folder.glob("venv/lib/python*/site-packages")
    (folder / "library").mkdir()
    (folder / "library/gpu_constructs").symlink_to(ROOT / "gpu_constructs")
    # Files of .pth in a folder that a .pth names are not read: the checkout, which ours has so, is not lent.
    lent = (*site.getsitepackages(), str(folder / "library"))
    (packages / "lent.pth").write_text("\n".join(lent), encoding="utf-8")
    return python.parent


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_an_own_app_is_deployed_run_and_destroyed_as_the_page_says(installed: Path, tmp_path: Path) -> None:
    app, look, _ = _blocks("python")
    (settings,), (commands,) = _blocks("json"), _blocks("sh")
    # CDK's own validation takes half of each synth; `test_cdks_own_validation` has it for this app.
    # What Node has compiled of the command line takes three quarters of a command; jsii would keep what it compiles of
    # the app for nothing.
    first = f"set -e; export CDK_VALIDATION=false NODE_COMPILE_CACHE={COMPILED}"
    assert settings.count("python app.py") == 1
    settings = settings.replace("python app.py", "env -u NODE_COMPILE_CACHE python app.py")
    # Each command would synthesize the app once more, which says nothing new.
    bootstrap, others = commands.splitlines(keepends=True)[0], commands.splitlines(keepends=True)[1:]
    commands = "".join([bootstrap, """echo '{"app": "cdk.out"}' > cdk.json\n""", *others])
    look += "\nimport ecs_emulator\nprint(ecs_emulator.__file__)\n"
    written = {"app.py": app, "look.py": look, "cdk.json": settings, "commands": f"{first}\n{commands}"}
    for name, text in written.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = os.pathsep.join([str(installed), str(ROOT / "node_modules/.bin"), os.environ["PATH"]])
    ended = run(installed / "gpu-constructs-emulator", "sh", "commands", cwd=tmp_path, PATH=path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "started arn:aws:ecs:" in ended.stdout
    assert re.search(r"^RUNNING \['GPU-", ended.stdout, re.MULTILINE)
    assert "the job SUCCEEDED" in ended.stdout
    assert str(installed.parent) in ended.stdout
    assert "Batch: destroyed" in ended.stderr + ended.stdout
    assert "Traceback" not in ended.stderr


def test_a_checkout_has_its_own_python_and_command_line_first() -> None:
    first, second, *_ = _path().split(os.pathsep)
    assert (first, second) == (str(Path(sys.executable).parent), str(ROOT / "node_modules/.bin"))


def test_its_wheel_is_its_own_and_asks_for_the_moto_that_it_fills(installed: Path) -> None:
    (wheel,) = installed.parents[1].glob("*.whl")
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        (about,) = (archive.read(name).decode() for name in names if name.endswith("METADATA"))
    folders = {name.partition("/")[0] for name in names}
    assert folders == {"ecs_emulator", wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"}
    assert len([name for name in names if name.endswith(".py")]) == len(list((ROOT / "ecs_emulator").glob("*.py")))
    locked = re.findall(r"^moto==(\S+)", (ROOT / "requirements/dev.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert re.findall(r"Requires-Dist: (.*)", about) == [f"moto[server]=={each}" for each in locked]
    assert "our model of ECS, not ECS" in about.partition("\n\n")[2]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--version"], 0, "gpu-constructs-emulator 0.1.0\n"),
        (["cdk", "ls"], 127, "gpu-constructs-emulator: there is no command cdk; fix: npm install -g aws-cdk\n"),
    ],
)
def test_it_says_what_it_is_and_lacks(words: list[str], code: int, said: str, installed: Path, tmp_path: Path) -> None:
    ended = run(installed / "gpu-constructs-emulator", *words, cwd=tmp_path, PATH="/nonexistent")
    assert (ended.returncode, (ended.stdout + ended.stderr).splitlines(keepends=True)[-1]) == (code, said)
