"""What `pip install` gives somebody: the wheels in empty environments, for each Python that is here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
from gpu_constructs.errors import __version__

from tests.synthesis import ROOT

MIB = 2**20

TEMPLATE = """
Resources:
  Task:
    Type: AWS::ECS::TaskDefinition
    Properties:
      RequiresCompatibilities: [FARGATE]
      ContainerDefinitions:
        - Name: train
          Image: train
          Memory: 512
          ResourceRequirements: [{Type: GPU, Value: "1"}]
"""

PROGRAM = """
import gpu_constructs
from gpu_constructs import GpuConstructsError
from gpu_constructs.check import Report, check_files
from gpu_constructs.facts import instance_type
from gpu_constructs.rules import Finding, Severity


def errors(*paths: str) -> list[Finding]:
    report: Report = check_files(list(paths))
    return [each for each in report.findings if each.severity is Severity.ERROR]


try:
    print(instance_type("g6.xlarge").memory_mib, gpu_constructs.__version__)
except GpuConstructsError as problem:
    print(problem.fix)
"""

COMMANDS = """
import json, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from gpu_constructs.cli.program import main

said = []
for words in json.loads(sys.argv[1]):
    with redirect_stdout(StringIO()) as out, redirect_stderr(out):
        code = main(words)
    said.append((code, out.getvalue()))
print(json.dumps(said))
"""
"""Several commands in one process, of which each would take longer to start than to run."""


def command_of(version: str) -> str | None:
    """A Python of this version: that of the tests, one on the PATH, or one of pyenv's, whose commands may be off."""
    if version == "{}.{}".format(*sys.version_info):
        return sys.executable
    of_pyenv = Path.home().joinpath(".pyenv", "versions").glob(f"{version}.*/bin/python")
    return shutil.which(f"python{version}", path=os.defpath) or next(map(str, sorted(of_pyenv)), None)


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    world = environment or None
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=world, timeout=300)


def done(*command: str | Path, cwd: Path | None = None) -> str:
    ended = run(*command, cwd=cwd)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("wheels")
    for each in (ROOT, ROOT / "with_cdk"):
        done(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder, cwd=each)
    return {path.name.partition("-")[0]: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def environment(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the command line alone, as an index would give it."""
    folder = tmp_path_factory.mktemp("environment")
    done(sys.executable, "-m", "venv", "--without-pip", folder)
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", folder / "bin/python")
    # Each Python compiles what it needs, which is little of it.
    done(*pip, "install", "--no-index", "--no-deps", "--no-compile", wheels["gpu_constructs_check"])
    yaml = metadata.distribution("pyyaml")
    for file in yaml.files or ():  # laid out as its wheel lays it out
        if ".." not in file.parts:
            target = packages_of(folder) / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(yaml.locate_file(file)), target)
    return folder


def packages_of(environment: Path) -> Path:
    (packages,) = environment.glob("lib/python*/site-packages")
    return packages


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "template.yaml"
    path.write_text(TEMPLATE, encoding="utf-8")
    return path


def node_that_tells(folder: Path) -> Path:
    """A folder for the PATH whose `node` leaves a file named `started`."""
    folder.mkdir()
    node = folder / "node"
    node.write_text(f"#!/bin/sh\necho > {folder}/started\n", encoding="utf-8")
    node.chmod(0o755)
    return folder


def test_the_command_line_is_small(environment: Path) -> None:
    ended = run(environment / "bin/gpu-constructs", "--version", PATH="/nonexistent")
    assert ended.stdout == f"gpu-constructs {__version__}\n"
    assert sum(file.stat().st_size for file in environment.rglob("*") if not file.is_symlink()) <= 40 * MIB


# Of all that are supported, those that this machine has; what the oldest and the newest can, those between can too.
PYTHONS = {f"3.{minor}": found for minor in range(10, 15) if (found := command_of(f"3.{minor}"))}
TRIED = sorted(PYTHONS) if os.environ.get("MATRIX") == "all" else (min(PYTHONS), max(PYTHONS))


@pytest.mark.parametrize("version", dict.fromkeys(TRIED))
def test_the_command_line_runs_without_cdk_and_node(
    version: str, environment: Path, template: Path, tmp_path: Path
) -> None:
    world = {"PATH": str(node_that_tells(tmp_path / "path")), "PYTHONPATH": str(packages_of(environment))}

    asked = [["rules", "GPU028"], ["instances", "--gpus", "1"], ["check", str(template)]]
    asked += [["new", "chat", str(tmp_path / "chat")], ["why", "Train"]]
    ended = run(PYTHONS[version], "-S", "-c", COMMANDS, json.dumps(asked), cwd=tmp_path, **world)
    assert ended.returncode == 0, ended.stderr
    rules, instances, check, new, why = json.loads(ended.stdout)
    assert (rules[0], new[0]) == (0, 0)
    assert "g6.xlarge" in instances[1]
    assert (check[0], "GPU028" in check[1]) == (1, True)
    assert (tmp_path / "chat" / "app.py").read_text("utf-8") == (ROOT / "gpu_stories/apps/chat.py").read_text("utf-8")
    wanted = (tmp_path / "chat" / "requirements.txt").read_text("utf-8").splitlines()[-1]
    assert wanted == f"gpu-constructs-check[cdk,testing]=={__version__}"  # of which this environment has a part
    assert why == [2, "gpu-constructs: boto3 is not installed; fix: pip install boto3\n"]
    assert not (tmp_path / "path" / "started").exists()


def test_a_construct_without_cdk_says_what_brings_it(environment: Path) -> None:
    asked = run(environment / "bin/python", "-c", "from gpu_constructs import GpuCluster")
    assert asked.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: GpuCluster needs aws-cdk-lib, which is not installed; pip install gpu-constructs, or "
        "in a checkout pip install '.[cdk]'"
    )


def test_a_construct_beside_an_old_cdk_says_so(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "aws_cdk" / "_jsii").mkdir(parents=True)
    (tmp_path / "aws_cdk" / "_jsii" / "aws-cdk-lib@2.250.0.jsii.tgz").touch()
    asked = run(environment / "bin/python", "-c", "from gpu_constructs import GpuCluster", PYTHONPATH=str(tmp_path))
    assert asked.stderr.splitlines()[-1].endswith(
        "needs aws-cdk-lib 2.259 or later, and 2.250.0 is installed; pip install --upgrade aws-cdk-lib"
    )


def test_the_constructs_are_the_same_release_with_cdk(wheels: dict[str, Path]) -> None:
    """What `pip install gpu-constructs` brings: no file that the other wheel has, so that none is overwritten."""
    with ZipFile(wheels["gpu_constructs"]) as wheel:
        assert {name.partition("/")[0] for name in wheel.namelist()} == {f"gpu_constructs-{__version__}.dist-info"}
        needed = wheel.read(f"gpu_constructs-{__version__}.dist-info/METADATA").decode()
    assert f"\nRequires-Dist: gpu-constructs-check[cdk]=={__version__}\n" in needed
    with ZipFile(wheels["gpu_constructs_check"]) as wheel:
        assert "gpu_constructs/py.typed" in wheel.namelist()
        offered = wheel.read(f"gpu_constructs_check-{__version__}.dist-info/METADATA").decode()
    extras = set(re.findall(r"Provides-Extra: (\w+)", offered)) - {"cdk", "dev", "fuzz"}
    assert set(re.findall(rf"gpu-constructs-check\[(\w+)\]=={__version__}; extra", needed)) == extras
    assert re.search(r"Requires-Dist: aws-cdk-lib.*; extra == 'cdk'", offered)
    assert re.findall(r"Requires-Dist: ([\w-]+)[^;\n]*\n", offered) == ["pyyaml"]


def test_the_wheel_has_each_file_of_the_package_and_nothing_else(wheels: dict[str, Path]) -> None:
    """Modules, data, ``py.typed``, its license, and what an index shows."""
    folders = (ROOT / "gpu_constructs", ROOT / "gpu_stories")
    package = {path.relative_to(ROOT).as_posix() for each in folders for path in each.rglob("*") if path.is_file()}
    about = f"gpu_constructs_check-{__version__}.dist-info"
    with ZipFile(wheels["gpu_constructs_check"]) as wheel:
        names = {name for name in wheel.namelist() if not name.startswith(f"{about}/")}
        assert f"{about}/licenses/LICENSE" in wheel.namelist()
        said = wheel.read(f"{about}/METADATA").decode()
    assert names == {name for name in package if "__pycache__" not in name}
    assert {"Framework :: AWS CDK", "Typing :: Typed"} <= set(re.findall(r"^Classifier: (.+)$", said, re.MULTILINE))
    assert "License-Expression: Apache-2.0\nLicense-File: LICENSE" in said


def test_type_checkers_know_the_types_of_what_is_installed(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # mypy looks for sources in the working directory first
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    python = environment / "bin/python"
    cache = ROOT / ".mypy_cache" / "installed"  # what it knows of the standard library takes most of its time
    done(sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "--cache-dir", cache, program)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "include": ["program.py"]}', "utf-8")
    done("pyright", "--project", tmp_path, "--pythonpath", python)
