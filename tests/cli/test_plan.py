"""``gpu-constructs plan``: what people and programs read, and the exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.cli import main
from tests.cli.templates import template, with_choice, written


def planned(body: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, Any]:
    code = main(["plan", written(body, tmp_path / "t.json"), "--format", "json", *more])
    return code, json.loads(capsys.readouterr().out)


def test_a_program_reads_hosts_prices_and_quotas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, facts = planned(template(), tmp_path, capsys, "--region", "us-east-1")
    assert code == 0
    assert facts["levels"]["maximum"] == {
        "hosts": 4,
        "gpus": 4,
        "usd_per_hour": {"least": 3.2192, "most": 3.2192},
        "usd_per_month": {"least": 2350.016, "most": 2350.016},
        "known_hosts": 4,
        "known_gpus": 4,
        "is_complete": True,
        "not_counted": {},
    }
    (pool,) = facts["pools"]
    assert pool["prices"][0]["recorded"] == "2026-07-20"
    assert (pool["desired"]["hosts"], pool["deployment"]["hosts"]) == (1, 2)
    assert pool["tasks"] == [{"workload": "Service", "starter": "service", "copies_per_host": 1}]
    assert [(each["code"], each["maximum_vcpus"]) for each in facts["quotas"]] == [("L-DB2E81BA", 16)]
    assert facts["budget"] is None


def test_people_read_the_same_in_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["plan", written(with_choice("g6.2xlarge"), tmp_path / "t.json")]) == 0
    output = capsys.readouterr().out
    assert max(map(len, output.splitlines())) <= 80
    assert "hosts          0        1          4" in output
    assert "a month    $0.00  $587.50  $2,350.02" in output
    assert "  L-DB2E81BA (on-demand G/VT): 4 at the desired counts, 16 at MaxSize" in output
    assert "where a region is not known, the\nprices of us-east-1 stand in" in output


@pytest.mark.parametrize(("budget", "code"), [("3.22", 0), ("3.2", 1), ("0", 1)])
def test_a_budget_that_is_not_kept_is_1(
    budget: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", written(template(), tmp_path / "t.json"), "--budget", budget]) == code
    assert ("within $3.22 an hour" in capsys.readouterr().out) is (code == 0)


@pytest.mark.parametrize("command", [["plan"], ["check"], ["explain", "Chat"]])
def test_a_program_is_told_from_what_it_writes(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "app.py").write_text("app = App()\ncluster: GpuCluster = GpuCluster(app)\n")
    assert main([*command, str(tmp_path / "app.py")]) == 2
    said = capsys.readouterr().err
    assert "app.py: a program, which writes its templates when it runs;" in said
    assert "fix: run cdk synth, and name the directory cdk.out" in said
    assert main([*command, str(tmp_path / "none.py")]) == 2
    assert "none.py: cannot be read" in capsys.readouterr().err


def test_files_without_hosts_have_no_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
    assert main(["plan", written(body, tmp_path / "t.json")]) == 0
    assert "nothing is planned" in capsys.readouterr().out


@pytest.mark.parametrize(("kind", "code"), [("EC2", 1), ("FARGATE", 0)])
def test_hosts_that_batch_chooses_are_named_and_keep_no_budget(
    kind: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    resources = {"Type": kind, "InstanceTypes": ["optimal"], "MaxvCpus": 256}
    environment = {"Type": "AWS::Batch::ComputeEnvironment", "Properties": {"ComputeResources": resources}}
    path = written({"Resources": {"Chosen": environment}}, tmp_path / "t.json")
    assert main(["plan", path, "--budget", "9999"]) == code
    said = capsys.readouterr().out
    assert said.startswith("not planned: Chosen, because" if code else "no hosts are defined")
    assert main(["plan", path, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["not_planned_environments"] == (["Chosen"] if code else [])


def with_job(limit: int) -> dict[str, Any]:
    """The template with a state machine that runs its task for some seconds, three times at most."""
    body = template()
    state = {
        "Type": "Task",
        "Resource": "arn:aws:states:::ecs:runTask.sync",
        "Parameters": {
            "Cluster": "${Cluster}",
            "TaskDefinition": "${Chat}",
            "CapacityProviderStrategy": [{"CapacityProvider": "${Provider}"}],
        },
        "Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 2}],
        "TimeoutSeconds": limit,
        "End": True,
    }
    definition = json.dumps({"StartAt": "Train", "States": {"Train": state}})
    machine = {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"DefinitionString": {"Fn::Sub": definition}}}
    return {**body, "Resources": {**body["Resources"], "Machine": machine}}


def test_what_a_start_of_a_job_costs_is_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    _, facts = planned(with_job(7200), tmp_path, capsys, "--region", "us-east-1")
    (start,) = facts["starts"]
    assert (start["job"], start["pools"], start["hosts"], start["limit_seconds"]) == (
        "Machine[Train]",
        ["Provider"],
        1,
        7200,
    )
    costs = (start["usd_per_hour"]["most"], start["usd_until_limit"]["least"], start["usd_at_most"])
    assert costs == pytest.approx((0.8048, 1.6096, 4.8288))
    row = "Machine[Train]: 1 host of Provider, $0.80 an hour; $1.61 until its time limit of 2 hours, at most $4.83 with"
    assert main(["plan", str(tmp_path / "t.json")]) == 0
    assert f"  {row} all retries\n" in capsys.readouterr().out
    sides = written(with_job(7200), tmp_path / "old.json"), written(with_job(3600), tmp_path / "new.json")
    assert main(["plan", "--diff", *sides]) == 0
    output = capsys.readouterr().out
    assert "\njobs\n  Machine[Train]: 1 host of Provider" in output
    assert "at most $4.83 with all retries -> 1 host of Provider, $0.80 an hour; $0.80 until" in output


def changed(tmp_path: Path, **changes: Any) -> list[str]:
    """Arguments that compare a template with itself after changes of its group."""
    new = template()
    new["Resources"]["Hosts"]["Properties"] |= changes
    return ["plan", "--diff", written(template(), tmp_path / "old.json"), written(new, tmp_path / "new.json")]


def test_a_difference_is_hosts_costs_and_quotas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(changed(tmp_path, MaxSize="6")) == 0
    output = capsys.readouterr().out
    assert re.search(r"hosts at MaxSize +4 +6 +\+2\n", output)
    assert re.search(r"a month at MaxSize +\$2,350.02 +\$3,525.02 +\+\$1,175.01\n", output)
    assert "Provider changed\n  hosts: 0 at minimum, 1 at the desired counts, 4 at MaxSize -> 0 at minimum," in output
    assert "L-DB2E81BA (on-demand G/VT), vCPUs at MaxSize: 16 -> 24" in output


def test_the_same_is_said_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(changed(tmp_path)) == 0
    said = "The plan is the same.\nImages, commands and variables of containers are not in it.\n"
    assert capsys.readouterr().out == said


_SCALED = {
    "ServiceNamespace": "ecs",
    "ScalableDimension": "ecs:service:DesiredCount",
    "ResourceId": {"Fn::Sub": "service/${Cluster}/${Service.Name}"},
    "MinCapacity": 1,
    "MaxCapacity": 4,
}


def with_services(most: object = "2", *, scaled: bool = False, **services: Any) -> dict[str, Any]:
    """The template with so many hosts at most, and with these services, each a count or properties."""
    body = template(Parameters={"Count": {"Type": "Number"}})
    made = body["Resources"].pop("Service")
    for name, changes in services.items():
        more = changes if isinstance(changes, dict) else {"DesiredCount": changes}
        body["Resources"][name] = {**made, "Properties": {**made["Properties"], **more}}
    body["Resources"]["Hosts"]["Properties"]["MaxSize"] = most
    if scaled:
        target = {"Type": "AWS::ApplicationAutoScaling::ScalableTarget", "Properties": _SCALED}
        body["Resources"]["Scaled"] = target
    return body


@pytest.mark.parametrize(
    ("old", "new", "hosts"),
    [
        (
            with_services(Service=2),
            with_services(Renamed=2),
            "Renamed beside those of Service: that takes at least 4",
        ),
        (
            with_services(Service=1),
            with_services(Service={"DesiredCount": 2, "ServiceName": "a"}),
            "those of the old Service",
        ),
        (with_services(scaled=True, Service=2), with_services(Renamed=2), "at least 3 hosts of Provider"),
        (with_services(A=1, B=1), with_services(B=2), "B beside those of A: that takes at least 3 hosts"),
        (with_services(Service=2), with_services("4", Renamed=2), ""),
        (with_services("4", Service=2), with_services("2", Service=2), ""),
        (with_services("4", A=2, B=2), with_services("2", A=2), ""),
        (with_services(Service=2), with_services({"Ref": "Count"}, Renamed=2), ""),
        (with_services(Service={"DesiredCount": {"Ref": "Count"}}), with_services(Renamed=2), ""),
        (with_services(Service={"SchedulingStrategy": "DAEMON"}), with_services(Renamed=2), ""),
        (with_services(Service={"DeploymentController": {"Type": "EXTERNAL"}}), with_services(Renamed=2), ""),
    ],
)
def test_copies_of_what_goes_and_what_comes_are_counted_together(
    old: Any, new: Any, hosts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = written(old, tmp_path / "old.json"), written(new, tmp_path / "new.json")
    assert main(["plan", "--diff", *sides]) == (1 if hosts else 0)
    said = " ".join(capsys.readouterr().out.split())
    assert ("AWS: service not stable" in said, hosts in said) == (bool(hosts), True)
    assert "CloudFormation replaces services" not in said


@pytest.mark.parametrize(
    ("least", "listed", "said"),
    [
        ("0", True, "every task of Service is replaced on hosts of the new types, for which MaxSize must leave room"),
        ("1", True, "beside the old hosts; hosts of MinSize stay as they are"),
        ("0", False, ""),
    ],
)
def test_other_types_replace_the_tasks_that_name_their_types(
    least: str, listed: bool, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def side(kind: str) -> str:
        body = template(instance_type=kind)
        named = {"Type": "memberOf", "Expression": f"attribute:ecs.instance-type in [{kind}]"}
        body["Resources"]["Chat"]["Properties"]["PlacementConstraints"] = [named] if listed else []
        body["Resources"]["Hosts"]["Properties"]["MinSize"] = least
        return written(body, tmp_path / f"{kind}.json")

    assert main(["plan", "--diff", side("g6.xlarge"), side("g6e.xlarge"), "--format", "json"]) == 0
    (pool,) = json.loads(capsys.readouterr().out)["pools"]
    assert said in pool["note"]
    assert bool(pool["note"]) is bool(said)


def test_a_pool_that_comes_or_goes_is_shown_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    less = template()
    for name in ("Provider", "Association", "Service"):
        del less["Resources"][name]
    sides = written(less, tmp_path / "less.json"), written(template(), tmp_path / "more.json")
    for old, new, status in ((*sides, "added"), (*reversed(sides), "removed")):
        assert main(["plan", "--diff", old, new]) == 0
        assert f"Provider {status}\n  types: g6.xlarge, on-demand, Auto Scaling group\n" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_change_that_is_refused_is_1_and_has_two_deploys(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    old, new = template(), template()
    old["Resources"]["Service"]["Properties"]["ServiceName"] = "a_b"
    del new["Resources"]["Service"]
    new["Resources"]["Chat"] = old["Resources"]["Service"]
    sides = written(old, tmp_path / "old.json"), written(new, tmp_path / "new.json")
    assert main(["plan", "--diff", *sides, "--format", form]) == 1
    output = capsys.readouterr().out
    if form == "json":
        (refused,) = json.loads(output)["refused"]
        assert refused["answer"] == "already exists"
        assert len(refused["steps"]) == 2
    else:
        assert "Chat takes the name 'a_b' from Service, which goes; the old one is deleted last\n" in output
        assert "\n  then: " in output


def test_a_program_reads_both_plans(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*changed(tmp_path), "--format", "json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["same"], facts["pools"], facts["old"]) == (True, [], facts["new"])
