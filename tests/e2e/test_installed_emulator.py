"""What `pip install gpu-constructs-emulator` gives somebody: an app of plain CDK is deployed without the checkout."""

from __future__ import annotations

import json
import os
import re
import site
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from .cdk_cli import COMPILED, ROOT

APP = """
from aws_cdk import App, Stack, aws_ecs as ecs

app = App()
ecs.CfnCluster(Stack(app, "Own"), "Cluster", cluster_name="own")
app.synth()
"""

COMMANDS = """
set -e
cdk bootstrap aws://123456789012/us-east-1
cdk deploy Own --require-approval never
python -c 'import boto3, ecs_emulator; print(boto3.client("ecs").list_clusters()["clusterArns"], ecs_emulator.__file__)'
cdk destroy Own --force
python -c 'import boto3; print(boto3.client("ecs").describe_clusters(clusters=["own"])["clusters"])'
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    world = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=world, timeout=300)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment that has the wheel; what it requires is lent by ours."""
    folder = tmp_path_factory.mktemp("emulator")
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    built = run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, ROOT / "ecs_emulator", cwd=folder)
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    assert run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder).returncode == 0
    python = folder / "venv/bin/python"
    put = run(*pip, "--python", python, "install", "--no-index", "--no-deps", wheel, cwd=folder)
    assert put.returncode == 0, put.stderr
    (packages,) = folder.glob("venv/lib/python*/site-packages")
    # Files of .pth in a folder that a .pth names are not read: the checkout, which ours has so, is not lent.
    (packages / "lent.pth").write_text("\n".join(site.getsitepackages()), encoding="utf-8")
    return python.parent


def test_an_app_of_plain_cdk_is_deployed_and_destroyed(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    (tmp_path / "cdk.json").write_text(json.dumps({"app": "python app.py"}), encoding="utf-8")
    (tmp_path / "commands").write_text(COMMANDS, encoding="utf-8")
    path = os.pathsep.join([str(installed), str(ROOT / "node_modules/.bin"), os.environ["PATH"]])
    world = {"PATH": path, "CDK_VALIDATION": "false", "NODE_COMPILE_CACHE": str(COMPILED)}
    ended = run(installed / "gpu-constructs-emulator", "sh", "commands", cwd=tmp_path, **world)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    seen, left = (line for line in ended.stdout.splitlines() if line.startswith("["))
    assert "cluster/own" in seen
    assert str(installed.parent) in seen
    assert "'ACTIVE'" not in left


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
