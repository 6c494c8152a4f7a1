"""What assertions can be made about: whatever a test has at hand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions

from gpu_constructs import GpuService
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.template.model import UnreadableError
from gpu_constructs.testing import gpus, normalized
from tests.synthesis import Site


@pytest.mark.parametrize("nothing", [None, 3, [], object()], ids=lambda each: type(each).__name__)
def test_what_is_no_template_is_refused(nothing: Any) -> None:
    with pytest.raises(InvalidValueError, match="source: nothing to read in"):
        gpus(nothing)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"region": 5}, "region: 5 is not a region"),
        ({"region": "eu_west_1"}, "region: 'eu_west_1' is not a region"),
        ({"parameters": 5}, "parameters: got 5"),
        ({"parameters": {"A": 1}}, "parameters: got {'A': 1}; allowed: texts by name"),
    ],
)
def test_what_is_no_region_and_no_parameter_is_refused(arguments: Any, words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        gpus({"Resources": {}}, **arguments)


def test_what_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        gpus(tmp_path / "gone.yaml")
    with pytest.raises(UnreadableError):
        gpus({"Nothing": 1})


def service_on_l4(site: Site) -> cdk.Stack:
    chat = site.task(name="Chat")
    chat.add_gpu_container("vllm", image=site.image, gpus=1)
    GpuService(site.stack, "ChatService", cluster=site.cluster, task_definition=chat, desired_count=2)
    return site.stack


@pytest.mark.parametrize(
    "given",
    [
        assertions.Template.from_stack,
        lambda stack: assertions.Template.from_stack(stack).to_json(),
        lambda stack: stack,
        lambda stack: stack.node.root,
        lambda stack: stack.node.root.synth().directory,
    ],
    ids=["Template", "dictionary", "stack", "app", "assembly"],
)
def test_whatever_a_cdk_test_has_at_hand_is_read(site: Site, given: Callable[[cdk.Stack], Any]) -> None:
    found = gpus(given(service_on_l4(site)))
    found.has_gpu_task("Chat", gpus=1, on=["g6.xlarge", "g6.2xlarge"])
    found.every_gpu_task_is_placeable().scales_to_zero().has_no_findings(at_least="error")


def test_a_snapshot_is_made_of_whatever_is_at_hand(site: Site) -> None:
    stack = service_on_l4(site)
    template = normalized(assertions.Template.from_stack(stack))
    assembly = Path(site.app.synth().directory)
    assert [normalized(each) for each in (stack, assembly / stack.template_file)] == [template] * 2
    assert [normalized(each) for each in (site.app, assembly)] == [{stack.stack_name: template}] * 2
    with pytest.raises(InvalidValueError, match=r"template: nothing to read in 3; allowed: .* or a path"):
        normalized(3)  # type: ignore[arg-type]


def test_an_app_is_read_with_what_its_stacks_import_from_each_other(site: Site) -> None:
    other = cdk.Stack(site.app, "Other")
    chat = site.task(name="Chat")
    chat.add_gpu_container("vllm", image=site.image, gpus=1)
    GpuService(other, "Service", cluster=site.cluster, task_definition=chat)
    assert gpus(site.app).every_gpu_task_is_placeable().fleet.workloads[0].task is not None


def test_importing_it_starts_no_node_and_needs_no_pytest() -> None:
    code = (
        "import sys, gpu_constructs.testing\n"
        "print([name for name in ('jsii', 'aws_cdk', 'constructs', 'pytest', '_pytest', 'boto3', 'cfnlint')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
