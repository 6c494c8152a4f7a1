"""``gpu-constructs preflight`` against recorded answers of an account; tests/e2e has it against the emulator."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.answered import ACCOUNT, Page, answered
from gpu_constructs.account.answers import UnansweredError
from gpu_constructs.account.preflight import CHECKS, asking
from gpu_constructs.cli import main
from tests.cli.templates import template, written

REGION = "us-east-1"
FIRST = {"Fn::Select": [0, {"Fn::GetAZs": ""}]}
PAGE = Path(__file__).parents[2] / "docs" / "planning.md"


def of_pool(path: Path, *, hosts: int = 2, subnets: object = ("subnet-0a1b2c3d",)) -> str:
    """A template whose hosts run in some subnets; those of a name are new, and their zones those of ``Fn::GetAZs``."""
    body: dict[str, Any] = json.loads(json.dumps(template()).replace('"Provider"', '"L4"'))
    group = body["Resources"]["Hosts"]["Properties"]
    group |= {"VPCZoneIdentifier": subnets, "MaxSize": str(hosts)}
    for name in (each["Ref"] for each in group["VPCZoneIdentifier"] if isinstance(each, dict)):
        body["Resources"][name] = {"Type": "AWS::EC2::Subnet", "Properties": {"AvailabilityZone": FIRST}}
    return written(body, path / "template.json")


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["preflight", *arguments, "--region", REGION])
    said = capsys.readouterr()
    assert "internal error" not in said.err
    return code, said.out


Account = Callable[..., None]


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Account:
    """Lets the command ask an account that has everything but what is given."""
    monkeypatch.setenv("COLUMNS", "80")

    def of(**pages: object) -> None:
        given: dict[str, Page] = {name: lambda *_, page=page: page for name, page in pages.items()}
        monkeypatch.setattr(asking, "asker", lambda *_: answered({**ACCOUNT, **given}))

    return of


def test_what_is_there_is_ok_and_what_is_short_has_its_command(
    account: Account, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    running = {"Reservations": [{"Instances": [{"InstanceType": "g5.xlarge"}]}]}
    account(GetServiceQuota={"Quota": {"Value": 16.0}}, DescribeInstances=running)
    only = ("--check", "quotas", "--check", "types")
    code, said = asked(capsys, of_pool(tmp_path, hosts=3), *only)
    assert (code, said.splitlines()[-1]) == (0, "2 ok")
    assert "AWS offers g6.xlarge in us-east-1a" in said
    assert "quota L-DB2E81BA is 16 vCPUs, 4 in use by others, the hosts at MaxSize take 12" in " ".join(said.split())
    code, said = asked(capsys, of_pool(tmp_path, hosts=5), "--format", "json", "--check", "quotas")
    assert code == 1
    (result,) = json.loads(said)["results"]
    assert result == {
        "check": "quotas",
        "region": REGION,
        "subject": "G/VT on-demand",
        "verdict": "short",
        "passed": False,
        "word": "short",
        "text": "quota L-DB2E81BA is 16 vCPUs, 4 in use by others, the hosts at MaxSize take 20: 8 short",
        "fix": (
            "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-DB2E81BA "
            "--desired-value 24 --region us-east-1"
        ),
    }


def test_the_app_that_most_people_have_can_be_checked_whole(
    account: Account, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its network is new, and CloudFormation chooses the zones."""
    account()
    code, said = asked(capsys, of_pool(tmp_path, subnets=[{"Ref": "One"}, {"Ref": "Two"}]), "--strict")
    assert code == 0, said
    assert "AWS offers g6.xlarge in us-east-1a\n" in said


DENIED = UnansweredError(
    "the credentials may not call ssm:GetParameters", fix="gpu-constructs preflight --policy prints the policy"
)


def test_what_the_guide_shows_is_what_it_says(
    account: Account, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = {"InstanceType": "g5.12xlarge"}
    account(
        GetServiceQuota={"Quota": {"Value": 64.0}},
        DescribeInstances={"Reservations": [{"Instances": [host]}]},
        GetParameters=DENIED,
    )
    path = of_pool(tmp_path, hosts=5)
    only = [part for check in ("quotas", "types", "images") for part in ("--check", check)]
    code, said = asked(capsys, path, *only)
    assert code == 1
    assert all(len(each) <= 80 for each in said.splitlines())
    assert f"```text\n{said}```\n" in PAGE.read_text(encoding="utf-8"), said


def test_exit_codes_say_what_could_be_checked(
    account: Account, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = of_pool(tmp_path)
    account(GetParameters=DENIED)
    assert asked(capsys, path)[0] == 0
    assert asked(capsys, path, "--strict")[0] == 1
    monkeypatch.setattr(
        asking, "asker", lambda *_: answered({each.partition(":")[2]: lambda *_: DENIED for each in CALLS})
    )
    assert asked(capsys, path)[0] == 2


@pytest.mark.parametrize(
    ("checks", "says"),
    [
        (["account"], ["account (the files do not name an account)"]),
        (["reservations", "account"], ["reservations (no pool is in a", "account (the files do not"]),
    ],
)
def test_checks_without_anything_to_check_say_so(
    account: Account, tmp_path: Path, capsys: pytest.CaptureFixture[str], checks: list[str], says: list[str]
) -> None:
    account()
    path = of_pool(tmp_path, subnets=[{"Ref": "One"}])
    code, said = asked(capsys, path, *(part for each in checks for part in ("--check", each)))
    assert (code, said.splitlines()[-1]) == (2, "nothing was checked")
    assert all(each in " ".join(said.split()) for each in says), said
    code, said = asked(capsys, path, "--check", checks[0], "--format", "json")
    (result,) = json.loads(said)["results"]
    assert (code, result["verdict"]) == (2, "nothing to check")
    # Others that can be asked are what counts.
    code, said = asked(capsys, path, "--check", "types", "--check", checks[0], "--strict")
    assert (code, says[0] in said, said.splitlines()[-1]) == (0, True, "1 ok")


@pytest.mark.parametrize("source", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_the_region_is_that_of_the_aws_cli_where_nothing_names_one(
    source: str, account: Account, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    account()
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "config").write_text("[profile mine]\nregion = eu-west-3\n", encoding="utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    command = ["preflight", of_pool(tmp_path), "--profile", "mine"]
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("eu-west-3\n")
    monkeypatch.setenv(source, "eu-west-2")
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("eu-west-2\n")
    monkeypatch.setenv(source, "eu-wst-2")
    assert main(command) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"gpu-constructs: {source}: 'eu-wst-2' is not a region")
    assert "did you mean eu-west-2" in said


def test_the_policy_is_that_of_the_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preflight", "--policy", "--check", "images"]) == 0
    (statement,) = json.loads(capsys.readouterr().out)["Statement"]
    assert statement["Action"] == ["ssm:GetParameters"]
    assert statement["Resource"] == "arn:aws:ssm:*::parameter/aws/service/*"
    for region, partition in {"cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov"}.items():
        assert main(["preflight", "--policy", "--region", region]) == 0
        said = capsys.readouterr().out
        assert f'"arn:{partition}:ssm:*::parameter/aws/service/*"' in said
        assert "arn:aws:" not in said


def test_without_files_hosts_or_boto3_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["preflight"]) == 2
    assert "PATH: nothing to check" in capsys.readouterr().err
    body: dict[str, Any] = {"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}}
    path = written(body, tmp_path / "template.json")
    assert asked(capsys, path) == (2, "no hosts to check\n")
    monkeypatch.delitem(sys.modules, "gpu_constructs.account.preflight.asking")
    monkeypatch.delitem(sys.modules, "gpu_constructs.account.calls", raising=False)
    monkeypatch.setitem(sys.modules, "boto3", None)
    assert main(["preflight", path]) == 2
    assert "boto3 is not installed; fix: pip install boto3" in capsys.readouterr().err


def test_the_guide_has_every_check_as_it_is() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for each in CHECKS:
        named = f"`{each.id}`, where it is named" if each.on_request else f"`{each.id}`"
        assert f"| {named} | {each.question} | " in page


CALLS = tuple(dict.fromkeys(call for check in CHECKS for call in check.calls))
