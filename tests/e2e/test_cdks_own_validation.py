"""The app of the reference stacks: CDK's own validation, cfn-lint and cdk-preflight find nothing.

CDK's own validation takes seconds to load and cannot be switched on in the process of the tests, so that one process of
its own does all. What it finds in a neighbour still fails the synth. The app comes out of it the same as here, and what
it refuses is one line.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import aws_ecs as ecs
from ecs_emulator.install import RESOURCES
from ecs_emulator.stacks import is_known
from gpu_constructs import GpuService
from tools.rule_examples import example_of
from tools.rule_pages import WHO_ELSE
from tools.who_else import cdk_preflight_finds

from tests.documented import APPS, BLOCKS, blocks_of, names_of, templates_of
from tests.kernel import started_directly
from tests.linting import linted
from tests.preflight import DOUBTED, preflighted
from tests.stacks.stories import ON_REQUEST, STORIES
from tests.stacks.told import template_of
from tests.synthesis import ROOT, Site, synth_the_app

VALIDATED = r"""
import json, pathlib, re, runpy, sys
import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2, aws_ecs as ecs
from gpu_constructs import GpuCluster, GpuShare, GpuTaskDefinition
from tests.stacks.stories import ON_REQUEST, STORIES

def app(name):
    return cdk.App(outdir=f"{sys.argv[1]}/{name}", auto_synth=False)

def shares(app):
    stack = cdk.Stack(app, "Stack")
    cluster = GpuCluster(stack, "Gpu", vpc=ec2.Vpc(stack, "Vpc"))
    hosts = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    image = ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")
    shared = GpuTaskDefinition(stack, "Shared", capacity=[hosts])
    shared.add_gpu_container("a", image=image, gpus=GpuShare(memory_mib=4096))
    shared.add_gpu_container("b", image=image, gpus=GpuShare(memory_mib=4096), essential=False)
    neighbour = ecs.Ec2TaskDefinition(stack, "Neighbour")
    neighbour.add_container("c", image=image, memory_limit_mib=64)
    return neighbour.node.default_child

(started,) = re.findall("python (.*)", json.loads(pathlib.Path("cdk.json").read_text())["app"])
runpy.run_path(started)  # into $CDK_OUTDIR

on_request = app("on request")
for story in ON_REQUEST:
    STORIES[story](on_request)
on_request.synth()

(own,) = re.findall(r"```python\n(from aws_cdk.*?)```", pathlib.Path("docs/emulator.md").read_text(), re.DOTALL)
exec(own.replace("App()", "app('page')"), {"app": app})

shared = app("shared")
shares(shared)
shared.synth()

broken = app("broken")
shares(broken).add_property_override("NoSuchProperty", "x")
broken.synth()
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The apps in a process of their own, with every flag that `cdk init` sets."""
    assert Site.recommended_context()["@aws-cdk/core:validateAgainstDefaultRules"] is True
    folder = Path(tmp_path_factory.mktemp("validated"))
    own = {"CDK_CONTEXT_JSON": json.dumps(Site.recommended_context()), "CDK_VALIDATION": "true"}
    own["CDK_OUTDIR"] = str(folder / "reference")
    command = [sys.executable, "-W", "error", "-c", VALIDATED, str(folder)]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])  # another aws-cdk-lib, if any
    with started_directly():  # its kernel is one of the tests
        environment = {**os.environ, "PYTHONPATH": path, **own}
    return folder, subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def violations(outdir: Path) -> list[Any]:
    plugins = json.loads((outdir / "validation-report.json").read_text())["pluginReports"]
    found = {each["pluginName"]: each["violations"] for each in plugins}
    return list(found.get("CloudFormation Validate", ()))


@pytest.mark.parametrize("app", ["reference", "on request", "page", "shared"])
def test_it_finds_nothing_of_ours(ended: tuple[Path, subprocess.CompletedProcess[str]], app: str) -> None:
    folder, process = ended
    assert (folder / app / "manifest.json").exists(), process.stderr
    assert violations(folder / app) == []


def test_two_synths_are_identical_and_look_nothing_up(ended: tuple[Path, object], told: Path) -> None:
    # The app in a process of its own, with hashes of its own, and its stacks in this one, in an app with others.
    folder = ended[0] / "reference"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert "missing" not in manifest
    assert {"tensorflow-benchmark", *(STORIES.keys() - ON_REQUEST)} <= manifest["artifacts"].keys()
    also = json.loads((told / "manifest.json").read_text())["artifacts"]
    assert [name for name, each in manifest["artifacts"].items() if name != "Tree" and each != also[name]] == []
    # These name the app, or what checked it.
    others = {"manifest.json", "tree.json", "validation-report.json"}
    compared = sorted(path for path in folder.iterdir() if path.name not in others)
    assert len([each for each in compared if each.name.endswith(".template.json")]) == 9
    assert [each.name for each in compared if each.read_bytes() != (told / each.name).read_bytes()] == []


def test_a_share_reaches_the_template_that_is_validated(ended: tuple[Path, object]) -> None:
    assert "SharingStrategy" in (ended[0] / "shared" / "Stack.template.json").read_text()


def test_what_it_finds_in_a_neighbour_still_fails(ended: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, process = ended
    assert process.returncode == 1
    assert "F3002" in process.stdout + process.stderr
    assert "NoSuchProperty" in json.dumps(violations(folder / "broken"))
    assert "SharingStrategy" not in process.stderr


def test_a_wrong_context_is_one_line_and_no_traceback(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        synth_the_app(tmp_path, {"gpu_instance_type": "g6.xlrge"})
    # Python prints a text, and ends with 1.
    assert ended.value.code == (
        "error: gpu_instance_type=g6.xlrge: instance_types: 'g6.xlrge' cannot be an instance type: EC2 has never had a "
        "size 'xlrge'; fix: did you mean g6.xlarge or g6.8xlarge or g6.4xlarge?"
    )


@pytest.mark.parametrize("story", STORIES)
def test_cfn_lint_finds_no_error(ended: tuple[Path, object], story: str) -> None:
    app = "on request" if story in ON_REQUEST else "reference"
    found = linted(template_of(ended[0] / app, story), "us-west-2")
    assert [str(each) for each in found if each.rule.severity == "error"] == []


def test_cdk_preflight_finds_what_is_doubted_and_nothing_else(
    ended: tuple[Path, object], site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = site.task(network_mode=ecs.NetworkMode.HOST)
    task.add_container("log", image=site.image)
    task.add_gpu_container("chat", image=site.image, gpus=1, port_mappings=[ecs.PortMapping(container_port=8000)])
    packed = [ecs.PlacementStrategy.packed_by_cpu()]
    GpuService(site.stack, "Chat", cluster=site.cluster, task_definition=task, placement_strategies=packed)
    doubtful = templates_of({"stack": site.stack})
    monkeypatch.chdir(tmp_path)
    given = [*BLOCKS, *((page, "\n".join(blocks_of(page))) for page in APPS)]
    documented = [each for block in given for each in templates_of(names_of(*block))]
    apps = ("reference", "on request", "page", "shared")
    stacks = [each for app in apps for each in (ended[0] / app).glob("*.template.json")]
    assert len(documented) > 30
    assert len(stacks) > 10

    found = [each.split(maxsplit=2) for each in preflighted([*documented, *stacks, *doubtful])]

    assert [each for each in found if Path(each[1]) not in doubtful] == []
    assert {each[0] for each in found} == DOUBTED.keys()


def test_the_pages_of_rules_say_what_cdk_preflight_finds_of_their_examples() -> None:
    said = WHO_ELSE["cdk-preflight"]
    found = cdk_preflight_finds({each: example_of(each) for each in (*said, "GPU060", "GPU123")})
    assert {name: ", ".join(sorted(ids)) for name, ids in found.items() if ids} == said


def test_the_page_excludes_what_is_doubted() -> None:
    page = (ROOT / "docs" / "checking.md").read_text()
    assert re.findall(r"pf-[\w-]+", page) == sorted(DOUBTED)


def test_cfn_lint_finds_what_is_wrong_and_no_other_error(ended: tuple[Path, object]) -> None:
    read = template_of(ended[0] / "reference", "tensorflow-benchmark")
    for resource in read["Resources"].values():
        if resource["Type"] == "AWS::EC2::LaunchTemplate":
            resource["Properties"]["LaunchTemplateData"]["InstanceType"] = "g6.gigantic"
    errors = [str(each) for each in linted(read, "us-east-1") if each.rule.severity == "error"]
    assert errors
    assert [each for each in errors if "g6.gigantic" not in each] == []


def test_the_emulator_knows_every_type_of_the_documented_apps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert RESOURCES  # which have to be imported
    given = [*BLOCKS, *((page, "\n".join(blocks_of(page))) for page in APPS)]
    found = [
        json.loads(file.read_text()).get("Resources", {}) for each in given for file in templates_of(names_of(*each))
    ]
    assert [each["Type"] for resources in found for each in resources.values() if not is_known(each["Type"])] == []
