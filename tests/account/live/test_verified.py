"""Elastic Fabric Adapters that are attached, by answers of the shapes that botocore models; providers that scale."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from gpu_constructs.account.live.described import answers
from gpu_constructs.account.live.verified import Check, verify
from gpu_constructs.cli.program import main

from .given import Answer, cluster

EFA = {"DeviceIndex": 0, "NetworkCardIndex": 0, "InterfaceType": "efa"}
SECOND = {"DeviceIndex": 1, "NetworkCardIndex": 1, "InterfaceType": "efa-only"}
PLAIN = {"DeviceIndex": 0, "NetworkCardIndex": 0, "InterfaceType": "interface"}


def answered(operation: str, answer: Answer) -> Answer:
    """The answer, once botocore has found it to be one of the operation."""
    Stubber(boto3.client("ec2", region_name="us-east-1")).add_response(operation, answer)
    return answer


def template(*interfaces: dict[str, Any]) -> Answer:
    data = {"InstanceType": "p5.48xlarge", "NetworkInterfaces": list(interfaces)}
    version = {"LaunchTemplateId": "lt-1", "VersionNumber": 1, "LaunchTemplateData": data}
    return answered("describe_launch_template_versions", {"LaunchTemplateVersions": [version]})


def instance(*interfaces: str) -> Answer:
    attached = [{"InterfaceType": each, "Status": "in-use"} for each in interfaces]
    one = {"InstanceId": "i-1", "InstanceType": "p5.48xlarge", "NetworkInterfaces": attached}
    return answered("describe_instances", {"Reservations": [{"Instances": [one]}]})


def checks(*more: Answer) -> list[Check]:
    group = {"LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "1"}}
    found = verify(answers([cluster(group=group), *more]), region="us-east-1")
    return [each for each in found if each.name == "interfaces attached"]


@pytest.mark.parametrize(
    ("interfaces", "passed", "said"),
    [
        (["efa", "efa-only", "interface"], True, "2 of 2 Elastic Fabric Adapters"),
        (["efa", "interface"], False, "1 of 2 Elastic Fabric Adapters"),
        ([], False, "0 of 2 Elastic Fabric Adapters"),
        (None, None, "an unknown number of 2 Elastic Fabric Adapters"),
    ],
)
def test_a_host_has_the_adapters_of_its_launch_template(
    interfaces: list[str] | None, passed: bool | None, said: str
) -> None:
    described = () if interfaces is None else (instance(*interfaces),)
    (check,) = checks(template(EFA, SECOND), *described)
    assert (check.about, check.passed, check.text) == ("i-1 (g6.xlarge)", passed, said)
    assert bool(check.fix) == (passed is False)


@pytest.mark.parametrize(("desired", "passed"), [(2, False), (1, True)])
def test_a_launch_that_failed_counts_while_the_group_lacks_hosts(desired: int, passed: bool) -> None:
    failed = ("InsufficientInstanceCapacity", "VcpuLimitExceeded")
    found = verify(answers([cluster(activities=failed, group={"DesiredCapacity": desired})]))
    (check,) = [each for each in found if each.name == "provider scales"]
    assert check.passed is passed
    assert all((each in check.text) is not passed for each in ("(capacity): ", "(quota): "))


@pytest.mark.parametrize(
    ("gpu_ids", "definition", "passed", "said"),
    [
        (["GPU-1"], {}, True, "holds 1"),
        (5, {}, False, "holds 0; 1 asked"),
        (["GPU-2"], {}, False, "holds 1; GPU-2 not of its host"),
        (
            ["GPU-1"],
            {"containerDefinitions": 5},
            None,
            "holds 1; how many its task definition asks for is not known",
        ),
    ],
)
def test_a_task_holds_the_gpus_that_it_asks_for(
    gpu_ids: object, definition: Answer, passed: bool | None, said: str
) -> None:
    answer = cluster(definition=definition)
    task = {
        "taskArn": "1",
        "lastStatus": "RUNNING",
        "taskDefinitionArn": answer["taskDefinition"]["taskDefinitionArn"],
        "containerInstanceArn": answer["containerInstances"][0]["containerInstanceArn"],
        "containers": [{"gpuIds": gpu_ids}],
    }
    (check,) = [each for each in verify(answers([{**answer, "tasks": [task]}])) if each.name == "GPU ids held"]
    assert (check.passed, check.text) == (passed, said)


def test_failures_are_shown_last_and_alone_where_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(cluster(gpus=(), group={"DesiredCapacity": 1})), encoding="utf-8")
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["verify", "--answers", str(path)]) == 1
    words = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith(("  ok", "  fails"))]
    assert words == [*["ok"] * 3, *["fails"] * 2]
    assert main(["verify", "--answers", str(path), "--failed"]) == 1
    said = capsys.readouterr().out
    assert said.count("  fails ") == 2
    assert ("  ok " in said, said.splitlines()[-1]) == (False, "5 checks, 2 failed, 0 not checked")
    assert main(["verify", "--answers", str(path), "--format", "json"]) == 1
    checks = json.loads(capsys.readouterr().out)["clusters"][0]["checks"]
    assert {(each["passed"], each["verdict"]) for each in checks} == {(True, "ok"), (False, "fails")}
