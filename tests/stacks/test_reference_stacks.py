"""The reference stacks tell their stories, and nothing in them changes unseen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from gpu_constructs import DoesNotFitError
from gpu_constructs.check import check_files
from gpu_constructs.check.planning import plan
from stacks.fine_tuning import FineTuningStack
from tests.check.planning.given import usd
from tests.stacks.stories import STORIES
from tests.stacks.told import BENCHMARKS, template_of
from tests.synthesis import ROOT, Site


def said_of(told: Path, plugin: str) -> dict[str, list[str]]:
    """What a plugin found, by the stack."""
    report = json.loads((told / "validation-report.json").read_text())
    (found,) = (each["violations"] for each in report["pluginReports"] if each["pluginName"] == plugin)
    said: dict[str, list[str]] = {}
    for each in found:
        for where in each["violatingConstructs"]:
            text = f"{each['ruleName']} {each['description']}; {each.get('suggestedFix', '')}"
            said.setdefault(where["constructPath"].partition("/")[0], []).append(text)
    return said


def of_type(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Properties of the resources of a type."""
    return [each["Properties"] for each in template["Resources"].values() if each["Type"] == f"AWS::{kind}"]


@pytest.mark.parametrize(
    ("stack", "tasks", "left_out"),
    [
        ("tensorflow-benchmark", [1], [4, 8]),
        ("four-gpus", [1, 4], [8]),
        ("eight-gpus", [1, 4, 8], []),
        ("old-types", [1], [4, 8]),
    ],
)
def test_it_defines_the_tasks_that_its_hosts_run_and_says_which_it_left_out(
    told: Path, stack: str, tasks: list[int], left_out: list[int]
) -> None:
    template = template_of(told, stack)
    assert [each["Family"] for each in of_type(template, "ECS::TaskDefinition")] == [
        f"tensorflow-{gpus}-gpu" for gpus in tasks
    ]
    said = {key: value["Value"] for key, value in template["Outputs"].items() if key.endswith("LeftOut")}
    assert list(said) == [f"Tensorflow{gpus}GpuLeftOut" for gpus in left_out]
    for gpus, words in zip(left_out, said.values(), strict=True):
        assert f"this task needs {gpus}" in words
        assert BENCHMARKS[stack][0] in words


def test_it_is_a_mixed_cluster(told: Path) -> None:
    launched = of_type(template_of(told, "tensorflow-benchmark"), "EC2::LaunchTemplate")
    assert [each["LaunchTemplateData"]["InstanceType"] for each in launched] == ["c7i.2xlarge", "g6.xlarge"]


def test_a_run_task_line_is_ready_for_each_task(told: Path) -> None:
    template = template_of(told, "eight-gpus")
    assert template["Outputs"]["ClusterName"]["Value"]["Ref"] in template["Resources"]
    for gpus in (1, 4, 8):
        line = template["Outputs"][f"Tensorflow{gpus}GpuRunTask"]["Value"]["Fn::Join"][1]
        words = "".join(part if isinstance(part, str) else template["Resources"][part["Ref"]]["Type"] for part in line)
        assert words == (
            f"aws ecs run-task --cluster AWS::ECS::Cluster --task-definition tensorflow-{gpus}-gpu "
            "--capacity-provider-strategy capacityProvider=AWS::ECS::CapacityProvider,weight=1 "
            "--propagate-tags TASK_DEFINITION"
        )


def test_only_the_old_types_of_2019_are_warned_of_and_the_warning_names_a_modern_one(told: Path) -> None:
    said = said_of(told, "gpu-constructs")
    assert said.keys() == {"old-types"}
    (warning,) = said["old-types"]
    assert "GPU001" in warning
    assert "a type of a newer generation, such as g6e.2xlarge" in warning


@pytest.mark.parametrize("stack", [*BENCHMARKS, *STORIES])
def test_no_construct_carries_a_warning(told: Path, stack: str) -> None:
    metadata = json.loads((told / f"{stack}.metadata.json").read_text())
    warnings = [each["data"] for of in metadata.values() for each in of if each["type"] == "aws:cdk:warning"]
    assert [each for each in warnings if "gpu-constructs" in each] == []


def test_nvidia_smi_keeps_to_one_family(told: Path) -> None:
    template = template_of(told, "nvidia-smi")
    (task,) = of_type(template, "ECS::TaskDefinition")
    assert task["PlacementConstraints"] == [
        {"Type": "memberOf", "Expression": "attribute:ecs.instance-type in [g6.12xlarge, g6.24xlarge]"}
    ]
    (container,) = task["ContainerDefinitions"]
    assert container["ResourceRequirements"] == [{"Type": "GPU", "Value": "2"}]
    assert len(of_type(template, "ECS::CapacityProvider")) == 4


# Of us-east-1 of 2026-07-20, in US dollars an hour: g4dn.12xlarge 3.912, g6.xlarge 0.8048, g6.2xlarge 0.9776,
# g6.16xlarge 3.3968, g6.12xlarge 4.6016, g6.24xlarge 6.6752, g6.48xlarge 13.3504, p5.48xlarge 55.04.
COSTS_BY_HAND = {
    # One type for all hosts of the pool, the cheapest or the dearest: 4 * 0.8048 and 4 * 0.9776; one host at first.
    "chat": ((0.8048, 0.9776), (3.2192, 3.9104), {"L-DB2E81BA": (8, 32)}),
    "image-queue": ((0.0, 0.0), (3.2192, 3.2192), {"L-DB2E81BA": (0, 16)}),  # no copies while the queue is empty
    # 3.912 + 0.8048 + 4.6016 + 13.3504, and with the dearest types 3.912 + 3.3968 + 6.6752 + 13.3504.
    "nvidia-smi": ((0.0, 0.0), (22.6688, 27.3344), {"L-DB2E81BA": (0, 48 + 64 + 96 + 192)}),
    # The same without the T4.
    "benchmark-jobs": ((0.0, 0.0), (18.7568, 23.4224), {"L-DB2E81BA": (0, 64 + 96 + 192)}),
    # Spot: p5.48xlarge at most.
    "fine-tuning": ((0.0, 0.0), (None, 55.04), {"L-7212CCBC": (0, 96), "L-C4BD4855": (0, 192)}),
    # A Capacity Block is paid in advance, and counts against no quota of running instances.
    "pre-training": ((0.0, 0.0), None, {}),
}


@pytest.mark.parametrize("name", COSTS_BY_HAND)
def test_a_reference_stack_costs_what_a_hand_calculation_says(told: Path, name: str) -> None:
    desired, maximum, quotas = COSTS_BY_HAND[name]
    found = plan(check_files([told / f"{name}.template.json"], rules=(), region="us-east-1").fleet)
    assert usd(found.minimum.usd_per_hour) == (0.0, 0.0)
    assert usd(found.desired.usd_per_hour) == desired
    assert usd(found.maximum.usd_per_hour) == maximum
    assert {each.quota.code: (each.desired, each.maximum) for each in found.quotas} == quotas


def test_cdk_nag_finds_nothing_that_is_not_acknowledged(told: Path) -> None:
    assert said_of(told, "AwsSolutions") == {}


def test_the_app_and_its_stories_are_short() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in [ROOT / "app.py", *ROOT.glob("stacks/*.py")]}
    assert lengths["app.py"] < 60
    # given.py reads the command line and has no stack.
    assert sorted(name for name, lines in lengths.items() if lines >= 60) == ["given.py", "tensorflow_benchmark.py"]


def test_the_fine_tuning_says_what_it_needs_of_a_host(told: Path, site: Site) -> None:
    (task,) = of_type(template_of(told, "fine-tuning"), "ECS::TaskDefinition")
    (container,) = task["ContainerDefinitions"]
    assert container["ResourceRequirements"] == [{"Type": "GPU", "Value": "8"}]
    assert container["Cpu"] == 80 * 1024
    with pytest.raises(DoesNotFitError, match="44.7 GiB"):
        FineTuningStack(site.app, "small-gpus", instance_types=["g6e.48xlarge"])


# Networks are CDK's own business; what this library defines is reviewed here, with its logical ids.
_NETWORK = ("Vpc", "CDKMetadata")


def ours(template: dict[str, Any]) -> dict[str, Any]:
    return {
        "Outputs": sorted(template.get("Outputs", ())),
        "Parameters": sorted(value.get("Default", name) for name, value in template["Parameters"].items()),
        "Resources": {
            logical_id: {key: value for key, value in resource.items() if key != "Metadata"}
            for logical_id, resource in template["Resources"].items()
            if not logical_id.startswith(_NETWORK)
        },
    }


def test_snapshot_of_tensorflow_benchmark(told: Path, snapshot: SnapshotAssertion) -> None:
    assert ours(template_of(told, "tensorflow-benchmark")) == snapshot(extension_class=JSONSnapshotExtension)


@pytest.mark.parametrize("story", STORIES)
def test_snapshot_of_the_other_stories(told: Path, snapshot: SnapshotAssertion, story: str) -> None:
    resources = ours(template_of(told, story))["Resources"]
    assert {logical_id: each["Type"] for logical_id, each in resources.items()} == snapshot(
        extension_class=JSONSnapshotExtension
    )
