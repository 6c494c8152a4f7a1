"""``preflight`` before and after a real ``cdk deploy``: what it says of the account is what is there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from .server import ROOT
from .stage import Stage
from .templates import cluster_template

REGION = "us-east-1"


def asked(stage: Stage, path: Path, *more: str) -> tuple[int, str]:
    """The command in a pipe, 80 columns wide; moto has no quotas of EC2, and no routes of the subnets of a stack."""
    environment = {**stage.cdk.environment, "COLUMNS": "80", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "gpu_constructs", "preflight", str(path), "--region", REGION, *more]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert "internal error" not in done.stderr, done.stderr
    return done.returncode, done.stdout


def test_an_app_and_what_it_deployed_are_there(stage: Stage, tmp_path: Path) -> None:
    assembly = stage.cdk.synth("nvidia-smi", {})
    code, said = asked(stage, assembly / "nvidia-smi.template.json", "--check", "images", "--check", "types")
    assert (code, "  ok           images: " in said) == (0, True), said
    stage.cdk.deploy(assembly, "nvidia-smi")
    try:
        ec2 = stage.account.client("ec2")
        subnets = ec2.describe_subnets(Filters=[{"Name": "tag:aws-cdk:subnet-type", "Values": ["Public"]}])["Subnets"]
        body = cluster_template()
        body["Resources"]["Group"]["Properties"]["VPCZoneIdentifier"] = [each["SubnetId"] for each in subnets]
        own = tmp_path / "own.json"
        own.write_text(json.dumps(body), encoding="utf-8")
        code, said = asked(stage, own)
    finally:
        stage.cdk.destroy(assembly, "nvidia-smi")
    zones = " and ".join(sorted(each["AvailabilityZone"] for each in subnets))
    assert f"AWS offers g6.xlarge in {zones}" in said
    assert "  not checked  quotas: G/VT on-demand" in said
    assert all(len(line) <= 80 for line in said.splitlines())
    assert code == 1  # roles, which a new account does not have
    assert "aws iam create-service-linked-role --aws-service-name ecs.amazonaws.com" in " ".join(
        said.replace("\\\n", "").split()
    )
