"""``gpu-constructs preflight``, against a local imitation of AWS."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from gpu_constructs.account.preflight import CHECKS, asking
from gpu_constructs.account.preflight.answer import Answer, UnansweredError
from gpu_constructs.account.preflight.check import Ask, Call
from gpu_constructs.cli import main
from tests.cli.templates import template, written

REGION = "us-east-1"


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """An account in moto, with a quota of 16 vCPUs: moto has those of VPCs alone."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    of_moto = asking.asker

    def with_quota(profile: str | None) -> Callable[[str], Ask]:
        made = of_moto(profile)

        def of_region(region: str) -> Ask:
            ask = made(region)

            def asked(call: Call, arguments: Mapping[str, object]) -> Answer:
                if call.service == "service-quotas":
                    return Answer(call.permission, ({"Quota": {"Value": 16.0}},))
                return ask(call, arguments)

            return asked

        return of_region

    with mock_aws():
        ec2 = boto3.client("ec2", region_name=REGION)
        table = ec2.describe_route_tables()["RouteTables"][0]
        gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=table["VpcId"])
        ec2.create_route(RouteTableId=table["RouteTableId"], DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
        monkeypatch.setattr(asking, "asker", with_quota)
        yield monkeypatch


def stack(path: Path, *, zone: str = "a", hosts: int = 2) -> str:
    """A template whose hosts run in a subnet of the default VPC."""
    zones = [{"Name": "availability-zone", "Values": [f"{REGION}{zone}"]}]
    found = boto3.client("ec2", region_name=REGION).describe_subnets(Filters=zones)["Subnets"]
    body = template()
    group = next(each for each in body["Resources"].values() if each["Type"] == "AWS::AutoScaling::AutoScalingGroup")
    group["Properties"] |= {"VPCZoneIdentifier": [found[0]["SubnetId"]], "MaxSize": str(hosts)}
    return written(body, path / "template.json")


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["preflight", *arguments, "--region", REGION])
    said = capsys.readouterr()
    assert "internal error" not in said.err
    return code, said.out


def test_what_is_there_is_ok_and_what_is_short_has_its_command(
    account: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del account
    only = ("--check", "quotas", "--check", "types", "--check", "subnets")
    code, said = asked(capsys, stack(tmp_path), *only)
    assert code == 0
    assert "AWS offers g6.xlarge in us-east-1a" in said
    assert said.endswith("3 ok\n")
    code, said = asked(capsys, stack(tmp_path, hosts=5), *only)
    assert code == 1
    assert said.splitlines()[:6] == [
        "us-east-1",
        "  short        quotas: G/VT on-demand",
        "    quota L-DB2E81BA is 16 vCPUs, the hosts at MaxSize take 20: 4 short",
        "    fix: aws service-quotas request-service-quota-increase --service-code ec2 \\",
        "    --quota-code L-DB2E81BA --desired-value 20 --region us-east-1",
        "  ok           types: Provider",
    ]
    assert all(len(each) <= 80 for each in said.splitlines())
    code, said = asked(capsys, stack(tmp_path, zone="e"), *only)
    assert code == 1
    assert "    g6.xlarge is not offered in us-east-1e\n" in said


def test_json_has_every_result(account: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del account
    code, said = asked(capsys, stack(tmp_path), "--format", "json")
    results = {each["check"]: each for each in json.loads(said)["results"]}
    assert list(results) == ["quotas", "types", "subnets", "images", "roles", "settings"]
    assert results["types"] == {
        "check": "types",
        "region": REGION,
        "subject": "Provider",
        "verdict": "ok",
        "text": "AWS offers g6.xlarge in us-east-1a",
        "fix": "",
    }
    assert code == 1
    assert results["roles"]["verdict"] == "short"


def test_what_cannot_be_asked_is_not_checked(
    account: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = stack(tmp_path)

    def denied(call: Call, arguments: Mapping[str, object]) -> Answer:
        del arguments
        raise UnansweredError(f"the credentials may not call {call.permission}", code="AccessDenied")

    def partly(call: Call, arguments: Mapping[str, object]) -> Answer:
        return Answer("", ({"Quota": {"Value": 99}},)) if "Quota" in call.operation else denied(call, arguments)

    account.setattr(asking, "asker", lambda _: lambda _region: partly)
    assert asked(capsys, path)[0] == 0
    assert asked(capsys, path, "--strict")[0] == 1
    account.setattr(asking, "asker", lambda _: lambda _region: denied)
    code, said = asked(capsys, path)
    assert code == 2
    assert "the credentials may not call ec2:DescribeInstanceTypeOfferings" in " ".join(said.split())


def test_the_policy_is_that_of_the_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preflight", "--policy", "--check", "quotas"]) == 0
    (statement,) = json.loads(capsys.readouterr().out)["Statement"]
    assert statement["Action"] == ["servicequotas:GetAWSDefaultServiceQuota", "servicequotas:GetServiceQuota"]


def test_without_files_hosts_or_boto3_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["preflight"]) == 2
    assert "PATH: nothing to check" in capsys.readouterr().err
    body: dict[str, Any] = {"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}}
    path = written(body, tmp_path / "template.json")
    assert asked(capsys, path) == (0, "no hosts to check\n")
    monkeypatch.delitem(sys.modules, "gpu_constructs.account.preflight.asking")
    monkeypatch.delitem(sys.modules, "gpu_constructs.account.clients", raising=False)
    monkeypatch.setitem(sys.modules, "boto3", None)
    assert main(["preflight", path]) == 2
    assert "pip install 'gpu-constructs[account]'" in capsys.readouterr().err


def test_the_guide_has_every_check_as_it_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "planning.md").read_text(encoding="utf-8")
    for each in CHECKS:
        named = f"`{each.id}`, where it is named" if each.on_request else f"`{each.id}`"
        assert f"| {named} | {each.question} | {each.reads} |" in page
