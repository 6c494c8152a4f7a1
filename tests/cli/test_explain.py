"""``gpu-constructs explain``: host by host, why not, and the smallest change that would do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.cli import main
from tests.cli.templates import template, written
from tests.reports import examples, of_wrong

Explained = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]


@pytest.fixture
def explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Explained:
    """The exit code and the answer about Chat of a template."""

    def of(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        code = main(["explain", "Chat", written(body, tmp_path / "t.json"), "--format", "json"])
        return code, json.loads(capsys.readouterr().out)

    return of


def test_a_task_that_fits_is_0(explained: Explained) -> None:
    code, facts = explained(template())
    assert code == 0
    assert facts["fits"] is True
    (pool,) = facts["pools"]
    assert (pool["fits"], pool["services"], pool["fix"]) == (True, ["Service"], "")
    assert pool["hosts"] == [{"instance_type": "g6.xlarge", "declared": False, "fits": True, "reasons": []}]


def test_a_share_of_a_gpu_is_told_in_mib(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = template()
    (container,) = body["Resources"]["Chat"]["Properties"]["ContainerDefinitions"]
    container["ResourceRequirements"] = [{"Type": "GPU", "SharingStrategy": {"NvidiaMps": {"Memory": 6144}}}]
    main(["explain", "Chat", written(body, tmp_path / "t.json")])
    assert "asks for 6144 MiB of a shared GPU, " in capsys.readouterr().out


def test_a_task_that_does_not_fit_is_told_the_numbers_and_the_way_out(
    explained: Explained, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, facts = explained(template(gpus="2"))
    assert code == 1
    assert facts["fits"] is False
    (pool,) = facts["pools"]
    assert pool["hosts"][0]["reasons"] == ["GPUs: 2 asked, g6.xlarge has 1"]
    assert pool["fix"].startswith("hosts of a type such as g6.12xlarge ($4.60 an hour on demand")
    assert pool["fix"].endswith(", or GPUs no higher than 1")
    first, *others = pool["considered"]
    assert first == {"instance_type": "g6.12xlarge", "usd_per_hour": 4.6016}
    assert others
    assert main(["check", str(tmp_path / "t.json")]) == 1
    assert pool["fix"] in " ".join(capsys.readouterr().out.split())  # one answer has one fix


def of_one(**more: Any) -> dict[str, Any]:
    """A task definition of one container."""
    return {"family": "x", "containerDefinitions": [{"name": "a", "image": "x", "memory": 2048, **more}]}


def test_what_a_run_asks_for_instead_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = written(of_one(), tmp_path / "task.json")
    gpu = [{"type": "GPU", "value": "1"}]
    overrides = {"containerOverrides": [{"name": "a", "resourceRequirements": gpu}]}
    run = {"cluster": "c", "taskDefinition": "x", "launchType": "FARGATE", "overrides": overrides}
    assert main(["explain", "x", task, written(run, tmp_path / "run.json")]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "asks for no GPU, 0 CPU units and 2048 MiB of memory; 1 GPU, 0 CPU units and 2048 MiB" in told
    assert "where run runs it" in told


def test_neuron_devices_are_what_a_task_asks_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    devices = {"devices": [{"hostPath": f"/dev/neuron{number}"} for number in range(2)]}
    main(["explain", "x", written(of_one(linuxParameters=devices), tmp_path / "task.json")])
    assert capsys.readouterr().out.startswith("x asks for 2 Neuron devices, 0 CPU units and 2048 MiB of memory")


def test_people_read_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "Chat", written(template(gpus="2"), tmp_path / "t.json")]) == 1
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "Chat asks for 2 GPUs, 2048 CPU units and 8192 MiB of memory"
    assert "  g6.xlarge  does not fit  GPUs: 2 asked, g6.xlarge has 1" in rest
    considered = " ".join(" ".join(rest).split())
    assert re.search(
        r"considered: g6\.12xlarge \$4\.60, .* an hour; chosen: g6\.12xlarge, the smallest of ", considered
    )
    assert rest[-1] == "it fits nowhere that it may come to"
    assert main(["explain", "Chat", written(template(), tmp_path / "t.json")]) == 0
    assert "$0.80 an hour (on-demand list price, us-east-1, " in capsys.readouterr().out


@pytest.mark.parametrize("name", ["Assistant", "Demo/Assistant"])
def test_a_task_goes_by_the_construct_that_runs_it(name: str, tmp_path: Path) -> None:
    body = template()
    body["Resources"]["Service"]["Metadata"] = {"aws:cdk:path": "Demo/Assistant/Service"}
    assert main(["explain", name, written(body, tmp_path / "t.json")]) == 0


def test_a_job_of_batch_goes_by_its_construct(tmp_path: Path) -> None:
    body = template()
    body["Resources"]["Chat"]["Metadata"] = {"aws:cdk:path": "Demo/Queue/Sweep/Definition/Resource"}
    assert main(["explain", "Sweep", written(body, tmp_path / "t.json")]) == 0


def test_an_unknown_name_is_2_with_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("Chatt", template()["Resources"]["Chat"]["Properties"]["ContainerDefinitions"][0]["Name"]):
        assert main(["explain", name, written(template(), tmp_path / "t.json")]) == 2
        assert "did you mean Chat" in capsys.readouterr().err


def test_a_name_of_two_tasks_is_2_with_what_to_call_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [written(template(), tmp_path / f"{name}.json") for name in ("one", "two")]
    assert main(["explain", "chat-family", *files]) == 2
    assert "2 tasks are called 'chat-family'" in capsys.readouterr().err


def test_a_value_of_the_deploy_is_no_fit(explained: Explained) -> None:
    code, facts = explained(template(instance_type={"Ref": "Type"}, Parameters={"Type": {"Type": "String"}}))
    assert code == 1
    assert facts["fits"] is None
    assert "only known at deploy time" in str(facts["pools"][0])


@pytest.mark.parametrize(
    ("gpus", "fix"),
    [("1", "image al2023-gpu"), ("2", "hosts of a type such as g6.12xlarge and image al2023-gpu")],
)
def test_an_image_without_a_driver_is_no_fit(gpus: str, fix: str, explained: Explained) -> None:
    body = template(gpus=gpus)
    data = body["Resources"]["LaunchTemplate"]["Properties"]["LaunchTemplateData"]
    data["ImageId"] = "{{resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/recommended/image_id}}"
    code, facts = explained(body)
    assert code == 1
    (pool,) = facts["pools"]
    assert any("machine image" in each for each in pool["hosts"][0]["reasons"])
    assert pool["fix"].partition(" (")[0] == fix


@pytest.mark.parametrize("asked", [16384, 16128])
def test_less_memory_is_what_a_host_is_certain_to_register(asked: int, explained: Explained) -> None:
    body = template()
    container = body["Resources"]["Chat"]["Properties"]["ContainerDefinitions"][0]
    container["Memory"] = asked
    _, facts = explained(body)
    container["Memory"] = int(re.findall(r"no (?:higher|more) than (\d+) MiB", facts["pools"][0]["fix"])[0])
    assert explained(body)[0] == 0


def with_other_hosts(body: dict[str, Any], instance_type: str) -> dict[str, Any]:
    """The template with a second capacity provider, for hosts of another type."""
    resources = body["Resources"]
    for name in ("LaunchTemplate", "Hosts", "Provider"):
        copy = json.dumps(resources[name])
        for other in ("LaunchTemplate", "Hosts"):
            copy = copy.replace(f'"{other}"}}', f'"Big{other}"}}').replace(f'["{other}",', f'["Big{other}",')
        resources[f"Big{name}"] = json.loads(copy.replace("g6.xlarge", instance_type))
    resources["Association"]["Properties"]["CapacityProviders"].append({"Ref": "BigProvider"})
    return body


def test_hosts_that_its_service_does_not_name_do_not_count(explained: Explained) -> None:
    code, facts = explained(with_other_hosts(template(gpus="2"), "g6.12xlarge"))
    assert code == 1
    assert [(each["fits"], each["counts"]) for each in facts["pools"]] == [(False, True), (True, False)]


def test_an_error_of_hosts_without_room_for_it_does_not_count_where_others_have_room(explained: Explained) -> None:
    body = with_other_hosts(template(), "g5g.xlarge")  # arm64, for which the image is not made, and 8 GiB
    del body["Resources"]["Service"]
    code, facts = explained(body)
    assert [(each["fits"], each["counts"]) for each in facts["pools"]] == [(True, True), (False, True)]
    assert (code, facts["errors"]) == (0, [])


_LISTED = "attribute:ecs.instance-type in [g5.xlarge, g5.2xlarge]"


@pytest.mark.parametrize(
    ("given", "expression", "fix"),
    [
        ({"instance_type": "g6e.xlarge"}, _LISTED, "hosts of a type such as g5.xlarge ("),
        ({"instance_type": "g5.xlarge", "gpus": "4"}, _LISTED, ", in its placement constraint too"),
        ({}, "attribute:ecs.os-type == windows", ""),
        ({}, "attribute:stage == prod", ""),
    ],
    ids=["a type that it allows", "a type that it has to allow", "none", "none that is known"],
)
def test_a_fix_satisfies_the_placement_constraint_or_names_it(
    given: dict[str, str], expression: str, fix: str, explained: Explained
) -> None:
    body = template(**given)
    constraints = [{"Type": "memberOf", "Expression": expression}]
    body["Resources"]["Chat"]["Properties"]["PlacementConstraints"] = constraints
    _, facts = explained(body)
    (pool,) = facts["pools"]
    assert pool["fits"] is not True
    assert fix in pool["fix"] if fix else pool["fix"] == ""


def test_hosts_that_the_task_cannot_reach_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = template(gpus="2", instance_type="g6.12xlarge")
    for hosts in ("g6.xlarge=1", "g6.48xlarge=1"):
        assert main(["explain", "Chat", written(body, tmp_path / "t.json"), "--hosts", hosts]) == 0
        assert "described host" not in capsys.readouterr().out


@pytest.mark.parametrize("rule", ["GPU106", "GPU264", "GPU217"])
def test_nothing_fits_where_check_has_an_error_about_it(
    rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(examples()[rule].file(examples()[rule].wrong), encoding="utf-8")
    report = of_wrong(rule)
    (task,) = (each for each in report.fleet.tasks if each.wants_gpu)
    assert [each.rule for each in report.findings if each.severity == "error"] == [rule]
    assert main(["explain", task.name, str(file)]) == 1
    said = capsys.readouterr().out
    assert said.count(f"{rule} ") == 1
    assert said.endswith(f"there is room for it, and it does not run there: {rule}\n")
    main(["explain", task.name, str(file), "--format", "json"])
    assert json.loads(capsys.readouterr().out)["errors"][0].startswith(rule)


@pytest.mark.parametrize("run_by", ["Service", None])
def test_an_image_that_does_not_run_on_the_gpus_is_said(
    run_by: str | None, explained: Explained, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = template(instance_type="p3.2xlarge")
    body["Resources"]["Chat"]["Properties"]["ContainerDefinitions"][0]["Image"] = "vllm/vllm-openai:v0.27.1"
    if run_by is None:
        del body["Resources"]["Service"]
    code, facts = explained(body)
    assert (code, facts["fits"], facts["no_first_host"]) == (1, True, [])
    assert "has no code for the GPUs" in str(facts["image_fails"])
    assert main(["explain", "Chat", str(tmp_path / "t.json")]) == 1
    assert capsys.readouterr().out.endswith("it fits, and its container image does not run there\n")


def test_without_any_hosts_the_types_that_would_do_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described = of_one(resourceRequirements=[{"type": "GPU", "value": "1"}])
    assert main(["explain", "x", written(described, tmp_path / "task.json")]) == 1
    output = capsys.readouterr().out
    assert "no hosts are defined" in output
    assert "g4dn.xlarge" in output


BATCH_HOSTS = {
    "Type": "AWS::Batch::ComputeEnvironment",
    "Properties": {
        "Type": "MANAGED",
        "ComputeResources": {"Type": "EC2", "InstanceTypes": ["g6.xlarge"], "MinvCpus": 0, "MaxvCpus": 16},
    },
}


def test_hosts_can_be_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = template()
    alone = written({"Resources": {"Chat": body["Resources"]["Chat"]}}, tmp_path / "t.json")
    assert main(["explain", "Chat", alone]) == 1
    assert main(["explain", "Chat", alone, "--hosts", "g6.xlarge=1"]) == 0
    assert "1 described host g6.xlarge" in capsys.readouterr().out


def test_a_task_of_ecs_has_no_place_on_hosts_of_batch(explained: Explained) -> None:
    body = template()
    body["Resources"] = {"Chat": body["Resources"]["Chat"], "Hosts": BATCH_HOSTS}
    code, facts = explained(body)
    assert (code, facts["fits"], facts["pools"]) == (1, None, [])


def test_a_provider_of_weight_0_gets_no_task(explained: Explained) -> None:
    body = template()
    body["Resources"]["Service"]["Properties"]["CapacityProviderStrategy"] = [
        {"CapacityProvider": {"Ref": "Provider"}, "Weight": 0},
        {"CapacityProvider": "elsewhere", "Weight": 1},
    ]
    code, facts = explained(body)
    assert (code, facts["fits"]) == (1, None)
    assert [(each["fits"], each["counts"]) for each in facts["pools"]] == [(True, False)]
    assert facts["elsewhere"] == [{"where": "capacity provider elsewhere", "fits": None}]


def test_a_service_on_fargate_gets_no_gpu(explained: Explained) -> None:
    body = template()
    service = body["Resources"]["Service"]["Properties"]
    del service["CapacityProviderStrategy"]
    service["LaunchType"] = "FARGATE"
    code, facts = explained(body)
    assert (code, facts["fits"]) == (1, False)
    assert facts["elsewhere"] == [{"where": "Fargate", "fits": False}]


def test_a_run_for_which_nothing_starts_a_host_is_1(
    explained: Explained, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = template()
    target = {
        "Arn": {"Fn::GetAtt": ["Cluster", "Arn"]},
        "EcsParameters": {"TaskDefinitionArn": {"Ref": "Chat"}, "LaunchType": "EC2"},
    }
    body["Resources"]["Service"] = {"Type": "AWS::Scheduler::Schedule", "Properties": {"Target": target}}
    code, facts = explained(body)
    assert (code, facts["fits"], [each["fits"] for each in facts["pools"]]) == (1, True, [True])
    (reason,) = facts["no_first_host"]
    assert "RunTask fails at once, because there is no host" in reason
    assert main(["explain", "Chat", str(tmp_path / "t.json")]) == 1
    assert capsys.readouterr().out.endswith("it fits, and nothing starts a host for it\n")
