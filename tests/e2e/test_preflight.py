"""``preflight`` after a real ``cdk deploy``: what it says of the account is what is there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from gpu_constructs import GpuCluster

from tests.synthesis import Site

from .server import ROOT
from .stage import Stage
from .templates import cluster_template

REGION = "us-east-1"


def test_an_app_and_what_it_deployed_are_there(stage: Stage, tmp_path: Path) -> None:
    """Moto has no quotas of EC2, and no routes of the subnets of a stack."""
    app = cdk.App(outdir=str(tmp_path / "app"), context=Site.recommended_context())
    stack = cdk.Stack(app, "Preflight")
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2, nat_gateways=1, restrict_default_security_group=False)
    GpuCluster(stack, "Cluster", vpc=vpc).add_capacity("L4", instance_types=["g6.xlarge"], max_instances=2)
    assembly = Path(app.synth().directory)
    stage.cdk.deploy(assembly, "Preflight")
    try:
        found = stage.account.client("ec2").describe_subnets(
            Filters=[{"Name": "tag:aws-cdk:subnet-type", "Values": ["Private"]}]
        )["Subnets"]
        body = cluster_template()
        body["Resources"]["Group"]["Properties"]["VPCZoneIdentifier"] = [each["SubnetId"] for each in found]
        own = tmp_path / "own.json"
        own.write_text(json.dumps(body), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "gpu_constructs", "preflight", str(assembly), str(own), "--region", REGION],
            env={**stage.cdk.environment, "COLUMNS": "80", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    finally:
        stage.account.client("cloudformation").delete_stack(StackName="Preflight")
    said = " ".join(done.stdout.replace("\\\n", "").split())
    zones = " and ".join(sorted(each["AvailabilityZone"] for each in found))
    # One pool is in the zones of Fn::GetAZs, the other in subnets that exist: what is the same is said once.
    assert (said.count("ok types: "), said.count(f"AWS offers g6.xlarge in {zones} ")) == (2, 1)
    assert "ok images: " in said
    assert "not checked quotas: G/VT on-demand" in said
    # The name of a parameter has no place to break.
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if " " in line.strip())
    # A new account has no roles yet.
    assert "missing roles: AWSServiceRoleForECS " in said
    assert "aws iam create-service-linked-role --aws-service-name ecs.amazonaws.com" in said
    assert (done.returncode, done.stderr) == (1, "")
